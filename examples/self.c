/*
 * self.c - a program that switches its own probes, with every call of flick.h.
 *
 *	cc -O2 -finstrument-functions self.c $(pkg-config --cflags --libs flick) -o self
 *	./self
 *
 * flick.h is plain C; self.cc does the same from C++.
 */
#include <flick.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What runs at a probe must not be instrumented itself. */
#define QUIET __attribute__((no_instrument_function))
#define BODY __attribute__((noinline))

/* ---- what is watched --------------------------------------------------------- */

BODY int parse_digit(int c)
{
	return c - '0';
}

BODY int parse_number(const char *text)
{
	int n = 0;

	for (; *text; text++)
		n = 10 * n + parse_digit(*text);
	return n;
}

BODY int square(int n)
{
	return n * n;
}

/* ---- who watches -------------------------------------------------------------- */

struct found {
	int probes;
	uint32_t square;		/* id of its entry */
};

/* Once for every probe; it must not call flick. */
QUIET static void discovered(const struct flick_probe *p, void *arg)
{
	struct found *f = arg;

	f->probes++;
	if (p->kind == FLICK_ENTRY && !strcmp(p->name, "square"))
		f->square = p->id;
}

QUIET static void count_call(uint32_t id, void *arg)
{
	(void)id;
	++*(int *)arg;
}

/* A handler may switch its own probe. */
QUIET static void only_once(uint32_t id, void *arg)
{
	flick *const *f = arg;

	flick_off(*f, id);
}

QUIET static int check(const char *what, int err)
{
	if (err >= 0)
		return err;
	fprintf(stderr, "self: %s: %s\n", what, flick_error(err));
	exit(1);
}

QUIET static void print_hits(flick *f, const char *when)
{
	struct flick_probe p = { .size = sizeof p };

	for (uint32_t id = 0; id < flick_count(f); id++) {
		if (flick_describe(f, id, &p) || p.kind != FLICK_ENTRY)
			continue;
		if (flick_hits(f, id))
			printf("%s: %s was called %llu times\n", when, p.name,
			       (unsigned long long)flick_hits(f, id));
	}
}

int main(void)
{
	struct found found = { .square = UINT32_MAX };
	struct flick_opt opt = {
		.size = sizeof opt, .discovered = discovered, .arg = &found,
	};
	int calls = 0, sum = 0;
	char why[128];
	flick *f;

	check("open", flick_open(&f, &opt));
	printf("found %s probes\n", found.probes > 0 ? "some" : "no");

	/* A set, by pattern: probes without a handler count. */
	check("stage", flick_stage(f, "parse_*", FLICK_ON));
	check("commit", flick_commit(f));
	sum += parse_number("12345");
	check("stage", flick_stage(f, "*", FLICK_OFF));
	check("commit", flick_commit(f));
	sum += parse_number("678");
	print_hits(f, "staged");

	/* One probe, at once, with a handler. */
	check("on", flick_on(f, found.square, count_call, &calls));
	for (int i = 0; i < 1000; i++)
		sum += square(i);
	check("off", flick_off(f, found.square));
	sum += square(3);
	printf("handler: square was called %d times\n", calls);

	/* One that switches itself off. */
	check("on", flick_on(f, found.square, only_once, &f));
	sum += square(4);
	printf("itself: square is switchable%s\n",
	       flick_why(f, found.square, why, sizeof why) ? why : "");

	/* Errors are sentences. */
	printf("no such function: %s\n", flick_error(flick_stage(f, "sqaure", FLICK_ON)));
	flick_close(f);
	printf("sum %d\n", sum);
	return 0;
}
