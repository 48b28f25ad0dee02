/*
 * places.c - what users of flick/patch.h do wrong, and what they are told; and
 * places beside probes. Argument: a library with `answer`. Prints `ok`, or says
 * what failed.
 */
#define PLAIN __attribute__((no_instrument_function))

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "check.h"
#include "flick/patch.h"

/* mov $n,%eax; ret */
static const unsigned char one[6] = { 0xb8, 1, 1, 1, 1, 0xc3 };
static const unsigned char two[5] = { 0xb8, 2, 2, 2, 2 };
static unsigned char *code;

__attribute__((noinline)) int work(int x) { __asm__(""); return x + 1; }

PLAIN static unsigned char *lay(size_t offset)
{
	return memcpy(code + offset, one, sizeof one);
}

PLAIN static int run(const void *at)
{
	int (*f)(void);

	memcpy(&f, &at, sizeof f);
	return f();
}

PLAIN static void wrong_lengths(void)
{
	struct flick_patch p;
	unsigned char *at = lay(0);

	CHECK(flick_patch_init(&p, at, two, 4) == FLICK_E_INSN);
	CHECK(flick_patch_init(&p, at, two, 0) == FLICK_E_INSN);
	CHECK(flick_patch_init(&p, at, "\xb8\2\2\2\2\xc3", 6) == FLICK_E_INSN);
	CHECK(flick_patch_init(&p, at, "\x06\x06\x06\x06\x06", 5) == FLICK_E_INSN);
	CHECK(flick_patch(at, two, 3) == FLICK_E_INSN);
	CHECK(flick_patch_init(&p, NULL, two, 5) == -EFAULT);
	CHECK(flick_patch_init(&p, (void *)work, two, 5) == FLICK_E_READONLY);
	CHECK(run(at) == 0x01010101);
}

PLAIN static void wrong_calls(void)
{
	struct flick_patch p;
	unsigned char *at = lay(0);

	CHECK(flick_call_init(&p, at, code, 0) == FLICK_E_UNKNOWN);
	memcpy(at, "\xff\xd0\x90\x90\x90", 5);		/* call *%rax */
	CHECK(flick_call_init(&p, at, code, 0) == FLICK_E_UNKNOWN);
	memcpy(at, "\x90\x90\x90\x90\x90", 5);
	CHECK(flick_call_init(&p, at, code, 0) == FLICK_E_NOSPACE);
	memcpy(at, "\xe8\0\0\0\0", 5);
	CHECK(flick_call_init(&p, at, (void *)1, 0) == FLICK_E_NOREACH);
	CHECK(flick_call_init(&p, at, code, 2) == FLICK_E_OPTION);
}

PLAIN static void never_taken(void)
{
	struct flick_patch p = { { 0 } };
	struct flick_change c = { &p, FLICK_ON };
	size_t bad = 7;

	CHECK(flick_patch_switch(&p, FLICK_ON) == -EINVAL);
	CHECK(flick_patch_start(&p, FLICK_ON) == -EINVAL);
	CHECK(flick_patch_release(&p) == -EINVAL);
	CHECK(flick_patch_commit(&c, 1, &bad) == -EINVAL && bad == 0);
	CHECK(flick_patch_commit(NULL, 0, NULL) == 0);
}

/* Between start and the last finish the place is nobody else's. */
PLAIN static void while_started(void)
{
	struct flick_patch p;
	struct flick_change c = { &p, FLICK_OFF };
	unsigned char *at = lay(6);

	CHECK(flick_patch_init(&p, at, two, 5) == 0);
	CHECK(strcmp(flick_patch_tactic(&p), "wide") == 0);
	CHECK(flick_patch_start(&p, FLICK_ON) == 0);
	CHECK(flick_patch_start(&p, FLICK_OFF) == FLICK_E_BUSY);
	CHECK(flick_patch_switch(&p, FLICK_OFF) == FLICK_E_BUSY);
	CHECK(flick_patch_commit(&c, 1, NULL) == FLICK_E_BUSY);
	CHECK(flick_patch_release(&p) == FLICK_E_BUSY);
	while (flick_patch_finish(&p) == -EAGAIN)
		;
	CHECK(run(at) == 0x02020202 && flick_patch_state(&p) == FLICK_ON);
	CHECK(flick_patch_finish(&p) == 0);
	CHECK(flick_patch_release(&p) == 0 && flick_patch_release(&p) == -EINVAL);
	CHECK(memcmp(at, one, sizeof one) == 0);
}

/* A set whose last change is refused, and one that has a place twice, on and
 * off: nothing of them happens. */
PLAIN static void sets(void)
{
	struct flick_patch p[2], never = { { 0 } };
	struct flick_change c[3] = {
		{ &p[0], FLICK_ON }, { &p[1], FLICK_ON }, { &never, FLICK_ON }
	};
	size_t bad = 7;

	for (int i = 0; i < 2; i++)
		CHECK(flick_patch_init(&p[i], lay(i ? 70 : 1), two, 5) == 0);
	CHECK(flick_patch_commit(c, 3, &bad) == -EINVAL && bad == 2);
	c[2] = (struct flick_change){ &p[0], FLICK_OFF };
	CHECK(flick_patch_commit(c, 3, &bad) == FLICK_E_BUSY && bad == 2);
	CHECK(run(code + 1) == 0x01010101 && run(code + 70) == 0x01010101);
	CHECK(flick_patch_commit(c, 2, &bad) == 0);
	CHECK(run(code + 1) == 0x02020202 && run(code + 70) == 0x02020202);
	CHECK(flick_patch_release(&p[0]) == 0 && flick_patch_release(&p[1]) == 0);
}

/* In the text of a library that comes and goes. */
PLAIN static void a_library(const char *path)
{
	for (int i = 0; i < 3; i++) {
		void *h = dlopen(path, RTLD_NOW), *answer = h ? dlsym(h, "answer") : NULL;
		struct flick_patch p;

		CHECK(answer && run(answer) == 0x01010101);
		CHECK(flick_patch_init(&p, answer, two, 5) == FLICK_E_READONLY);
		CHECK(flick_text_writable(answer, 5) == 0);
		CHECK(flick_patch_init(&p, answer, two, 5) == 0);
		CHECK(flick_patch_switch(&p, FLICK_ON) == 0);
		CHECK(run(answer) == 0x02020202);
		CHECK(flick_patch_release(&p) == 0 && run(answer) == 0x01010101);
		CHECK(flick_text_restore(answer, 5) == 0);
		dlclose(h);
	}
}

/* The address of the first entry probe of `work`, and its id. */
PLAIN static void *site_of_work(flick *f, uint32_t *found)
{
	struct flick_probe p = { .size = sizeof p };

	for (uint32_t id = 0; id < flick_count(f); id++) {
		CHECK(flick_describe(f, id, &p) == 0);
		if (p.function != (void *)work || p.kind != FLICK_ENTRY)
			continue;
		*found = id;
		return (void *)p.site;
	}
	CHECK(!"work has a probe");
	return NULL;
}

/* What a probe has cannot be taken; it counts on. */
PLAIN static void beside_probes(void)
{
	struct flick_patch p;
	unsigned char *at;
	uint32_t id = 0;
	flick *f;

	CHECK(flick_open(&f, NULL) == 0);
	at = site_of_work(f, &id);
	CHECK(flick_text_writable(at, 5) == 0);
	CHECK(flick_call_init(&p, at, at, FLICK_FLAGS_DEAD) < 0);
	CHECK(flick_patch_init(&p, at, at, 5) == FLICK_E_OVERLAP);
	CHECK(flick_stage_id(f, id, FLICK_ON) >= 0 && flick_commit(f) == 1);
	CHECK(work(1) == 2 && flick_hits(f, id) == 1);
	CHECK(flick_patch_init(&p, at, at, 5) == FLICK_E_OVERLAP);
	flick_close(f);
	CHECK(work(1) == 2);
}

/* And the reverse: the probe whose bytes are taken is refused. */
PLAIN static void probes_beside(void *at)
{
	struct flick_patch p;
	uint32_t id = 0;
	flick *f;

	CHECK(flick_text_writable(at, 5) == 0);
	CHECK(flick_patch_init(&p, at, at, 5) == 0);
	CHECK(flick_open(&f, NULL) == 0 && site_of_work(f, &id) == at);
	CHECK(flick_on(f, id, NULL, NULL) == FLICK_E_REFUSED);
	CHECK(flick_why(f, id, NULL, 0) == FLICK_E_OVERLAP);
	flick_close(f);
	CHECK(flick_patch_release(&p) == 0 && work(1) == 2);
}

PLAIN static void *first_site(void)
{
	uint32_t id;
	flick *f;
	void *at;

	CHECK(flick_open(&f, NULL) == 0);
	at = site_of_work(f, &id);
	flick_close(f);
	return at;
}

PLAIN static void before_opening(void)
{
	struct flick_patch p;

	CHECK(flick_patch_init(&p, code, "\xb8\2\2\2\2", 5) == FLICK_E_UNOPENED);
	CHECK(flick_call_init(&p, code, code, 0) == FLICK_E_UNOPENED);
}

PLAIN int main(int argc, char **argv)
{
	void *at;

	code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(argc == 2 && code != MAP_FAILED);
	before_opening();
	CHECK(flick_patch_open("nonsense") == FLICK_E_OPTION);
	CHECK(flick_patch_open(NULL) == 0 && flick_patch_open(flick_patch_sync()) == 0);
	wrong_lengths();
	wrong_calls();
	never_taken();
	while_started();
	sets();
	a_library(argv[1]);
	at = first_site();
	beside_probes();
	probes_beside(at);
	puts("ok");
	return 0;
}
