/*
 * many-sites.c - 120,000 functions, each with a pad and a probe of its own, and
 * one that jumps back to its own pad. All are switched as one set. Prints `ok`,
 * or says what failed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "flick.h"

enum { N = 120000, BYTES = 16, ROUNDS = 7 };

/* `nop5; lea 1(%rdi),%eax; ret`, and a loop that comes by its pad again. */
__asm__(".text\n.p2align 4\nmany:\n"
	".rept 120000\n"
	"1: .byte 0x0f, 0x1f, 0x44, 0, 0\nlea 1(%rdi), %eax\nret\n.p2align 4\n"
	".section __patchable_function_entries,\"aw\",@progbits\n.quad 1b\n.text\n"
	".endr\n"
	"again: .byte 0x0f, 0x1f, 0x44, 0, 0\n"
	"dec %edi\njnz again\nmov $7, %eax\nret\n"
	".section __patchable_function_entries,\"aw\",@progbits\n.quad again\n.text\n");
extern unsigned char many[], again[];

static unsigned char *before;

static int call(unsigned char *at, int x)
{
	int (*f)(int);

	memcpy(&f, &at, sizeof f);
	return f(x);
}

static void call_all(void)
{
	for (int i = 0; i < N; i++)
		CHECK(call(many + i * BYTES, i) == i + 1);
	CHECK(call(again, ROUNDS) == 7);
}

/* Each probe of ours was met `times` as often as its code ran once. */
static void check_hits(flick *f, uint64_t times)
{
	struct flick_probe p = { .size = sizeof p };
	uint32_t seen = 0;

	for (uint32_t id = 0; id < flick_count(f); id++) {
		const unsigned char *at;

		CHECK(flick_describe(f, id, &p) == 0);
		at = p.site;
		if (at < many || at > again)
			continue;
		CHECK(p.refusal == 0);
		CHECK(flick_hits(f, id) == times * (at == again ? ROUNDS : 1));
		seen++;
	}
	CHECK(seen == N + 1);
}

static void stage_all(flick *f, enum flick_state to)
{
	for (uint32_t id = 0; id < flick_count(f); id++)
		CHECK(flick_stage_id(f, id, to) == 0);
}

int main(void)
{
	size_t bytes = (size_t)N * BYTES;
	flick *f;

	before = malloc(bytes);
	memcpy(before, many, bytes);
	CHECK(flick_open(&f, NULL) == 0);
	call_all();
	check_hits(f, 0);
	for (uint64_t times = 1; times < 3; times++) {
		stage_all(f, FLICK_OFF);
		stage_all(f, FLICK_ON);		/* off and on in one set: on */
		CHECK(flick_commit(f) >= N);
		call_all();
		check_hits(f, times);
		stage_all(f, FLICK_ON);
		stage_all(f, FLICK_OFF);
		CHECK(flick_commit(f) >= N);
		call_all();
		check_hits(f, times);
	}
	flick_close(f);
	CHECK(memcmp(before, many, bytes) == 0);
	call_all();
	puts("ok");
	return 0;
}
