/*
 * self.c - a program that instruments itself through flick.h, and checks every
 * promise and every error of it. Prints `ok` and exits 0, or says what failed.
 */
#define PLAIN __attribute__((no_instrument_function))

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "flick.h"

__attribute__((noinline)) int work_one(int x) { return x * 3 + 1; }
__attribute__((noinline)) int work_two(int x) { return work_one(x) ^ 5; }
__attribute__((noinline)) double other(double x) { return x / 3; }

static uint32_t discovered, entry_one = -1u, exit_one = -1u;
static uint64_t handled, argument;
static flick *f;

PLAIN static void on_discovered(const struct flick_probe *p, void *arg)
{
	CHECK(arg == &discovered && p->id == discovered);
	discovered++;
	if (strcmp(p->name, "work_one") == 0 && p->kind == FLICK_ENTRY && entry_one == -1u)
		entry_one = p->id;
	if (strcmp(p->name, "work_one") == 0 && p->kind == FLICK_EXIT && exit_one == -1u)
		exit_one = p->id;
}

PLAIN static void on_hit(uint32_t id, void *arg)
{
	handled += id == entry_one;
	argument = (uint64_t)(uintptr_t)arg;
}

PLAIN static void on_hit_once(uint32_t id, void *arg)
{
	(void)arg;
	handled++;
	CHECK(flick_off(f, id) == 0);		/* from inside its own handler */
}

PLAIN static void check_options(void)
{
	struct flick_opt wrong = { .size = 4 };
	struct flick_opt unknown = { .size = sizeof unknown, .flags = 1u << 31 };

	struct flick_opt few = { .size = sizeof few, .max_probes = 3 };

	CHECK(flick_open(&f, &few) == FLICK_E_FULL);
	CHECK(work_one(1) == 4);
	CHECK(flick_open(&f, &wrong) == FLICK_E_OPTION);
	CHECK(flick_open(&f, &unknown) == FLICK_E_OPTION);
}

PLAIN static void check_errors(void)
{
	flick *again;
	struct flick_probe p = { .size = sizeof p }, small = { .size = 1 };
	char text[100];

	CHECK(flick_open(&again, NULL) == FLICK_E_OPEN);
	CHECK(flick_describe(f, 1u << 30, &p) == FLICK_E_NOPROBE);
	CHECK(flick_describe(f, 0, &small) == FLICK_E_OPTION);
	CHECK(flick_on(f, 1u << 30, NULL, NULL) == FLICK_E_NOPROBE);
	CHECK(flick_on(f, 1u << 30, on_hit, NULL) == FLICK_E_NOPROBE);
	CHECK(flick_stage_id(f, 1u << 30, FLICK_ON) == FLICK_E_NOPROBE);
	CHECK(flick_stage(f, "no_such_function", FLICK_ON) == FLICK_E_NOMATCH);
	CHECK(flick_stage(f, "", FLICK_ON) == FLICK_E_PATTERN);
	CHECK(flick_why(f, entry_one, text, sizeof text) == 0 && !*text);
	CHECK(flick_why(f, 1u << 30, text, sizeof text) == FLICK_E_NOPROBE && *text);
	CHECK(strcmp(text, flick_error(FLICK_E_NOPROBE)) == 0);
}

PLAIN static void check_describe(void)
{
	struct flick_probe p = { .size = sizeof p };

	CHECK(discovered == flick_count(f) && discovered >= 6);
	CHECK(entry_one != -1u && exit_one != -1u);
	CHECK(flick_describe(f, entry_one, &p) == 0);
	CHECK(p.function == (void *)work_one && p.kind == FLICK_ENTRY);
	CHECK(strcmp(p.name, "work_one") == 0 && strstr(p.module, "self"));
}

PLAIN static void *call_500(void *arg)
{
	for (int i = 0; i < 500; i++)
		work_two(i);
	return arg;
}

PLAIN static void check_set(void)
{
	pthread_t t;
	uint64_t before = flick_hits(f, entry_one);
	int n;

	work_two(1);
	CHECK(flick_hits(f, entry_one) == before);	/* every probe begins off */
	n = flick_stage(f, "work_*", FLICK_ON);
	CHECK(n >= 4);
	flick_abort(f);
	CHECK(flick_commit(f) == 0);
	work_two(1);
	CHECK(flick_hits(f, entry_one) == before);
	CHECK(flick_stage(f, "self*!work_*", FLICK_ON) == n);
	CHECK(flick_commit(f) == n);
	for (int i = 0; i < 1000; i++)
		work_two(i);
	CHECK(flick_hits(f, entry_one) == before + 1000);
	CHECK(flick_hits(f, exit_one) == before + 1000);
	CHECK(pthread_create(&t, NULL, call_500, NULL) == 0);
	CHECK(pthread_join(t, NULL) == 0);
	CHECK(flick_hits(f, entry_one) == before + 1500);	/* of all threads */
	CHECK(flick_hits(f, exit_one) == before + 1500);
	flick_stage(f, "*", FLICK_OFF);
	flick_commit(f);
	work_two(2);
	CHECK(flick_hits(f, entry_one) == before + 1500);
}

PLAIN static void check_handlers(void)
{
	int x = 0;

	CHECK(flick_on(f, entry_one, on_hit, &x) == 0);
	for (int i = 0; i < 10; i++)
		work_one(i);
	CHECK(handled == 10 && argument == (uint64_t)(uintptr_t)&x);
	CHECK(flick_on(f, entry_one, on_hit, &handled) == 0);
	work_one(1);
	CHECK(handled == 11 && argument == (uint64_t)(uintptr_t)&handled);
	CHECK(flick_on(f, entry_one, on_hit_once, NULL) == 0);
	work_one(1);
	work_one(1);
	CHECK(handled == 12);
}

PLAIN static void *call_and_toggle(void *arg)
{
	for (int i = 0; i < 20000; i++) {
		CHECK(work_one(i) == i * 3 + 1);
		CHECK(flick_on(f, entry_one, on_hit, arg) == 0);
		CHECK(other(3.0 * i) == i);
		CHECK(flick_off(f, entry_one) == 0);
	}
	return NULL;
}

PLAIN static void check_threads(void)
{
	pthread_t t[4];

	for (int i = 0; i < 4; i++)
		CHECK(pthread_create(&t[i], NULL, call_and_toggle, &t[i]) == 0);
	for (int i = 0; i < 4; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
}

/* A module that goes takes its probes with it. */
PLAIN static void check_unload(const char *library)
{
	uint32_t n = flick_count(f);
	char text[100];
	void *h = dlopen(library, RTLD_NOW);

	/* Naming it puts a copy of the loader's variable into this program. */
	CHECK(_r_debug.r_version > 0);
	CHECK(h && flick_count(f) > n);
	CHECK(flick_on(f, n, NULL, NULL) == 0);
	CHECK(dlclose(h) == 0);
	CHECK(flick_on(f, n, NULL, NULL) == FLICK_E_GONE);
	CHECK(flick_why(f, n, text, sizeof text) == FLICK_E_GONE);
}

/* What stood at the functions before and after must be the same bytes. */
static unsigned char text_before[3][64];

PLAIN static void *body_of(int i)
{
	void *const bodies[3] = { (void *)work_one, (void *)work_two, (void *)other };

	return bodies[i];
}

PLAIN int main(int argc, char **argv)
{
	struct flick_opt opt = {
		.size = sizeof opt, .discovered = on_discovered, .arg = &discovered,
	};

	for (int i = 0; i < 3; i++)
		memcpy(text_before[i], body_of(i), 64);
	check_options();
	CHECK(flick_open(&f, &opt) == 0);
	CHECK(memcmp(text_before[0], body_of(0), 64));
	check_describe();
	check_errors();
	check_set();
	check_handlers();
	check_threads();
	if (argc > 1)
		check_unload(argv[1]);
	flick_close(f);
	for (int i = 0; i < 3; i++)
		CHECK(memcmp(text_before[i], body_of(i), 64) == 0);
	CHECK(work_two(7) == ((7 * 3 + 1) ^ 5));
	puts("ok");
	return 0;
}
