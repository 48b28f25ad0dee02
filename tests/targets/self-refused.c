/*
 * self-refused.c - probes that cannot be: the same pad named twice, and a pad
 * that is too short. Prints `ok`, or says what failed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "flick.h"

int padded(int x);
int cramped(int x);

__asm__(".text\n"
	".globl padded\n.type padded,@function\n"
	"padded:\n"
	".fill 8, 1, 0x90\n"
	"lea 1(%rdi), %eax\nret\n"
	".size padded, .-padded\n"
	".globl cramped\n.type cramped,@function\n"
	"cramped:\n"
	".fill 2, 1, 0x90\n"
	"lea 2(%rdi), %eax\nret\n"
	".size cramped, .-cramped\n"
	".section __patchable_function_entries,\"aw\",@progbits\n"
	".p2align 3\n"
	".quad padded\n.quad padded\n.quad cramped\n"
	".text\n");

static uint32_t refused_for(flick *f, const void *function, int why)
{
	struct flick_probe p = { .size = sizeof p };
	uint32_t found = -1u;

	for (uint32_t id = 0; id < flick_count(f); id++) {
		CHECK(flick_describe(f, id, &p) == 0);
		if (p.function == function && p.refusal == why)
			found = id;
	}
	CHECK(found != -1u);
	return found;
}

static void check_refused(flick *f, const void *function, int why)
{
	uint32_t id = refused_for(f, function, why);
	char text[200];

	CHECK(flick_on(f, id, NULL, NULL) == FLICK_E_REFUSED);
	CHECK(flick_off(f, id) == FLICK_E_REFUSED);
	CHECK(flick_why(f, id, text, sizeof text) == why);
	CHECK(strstr(text, flick_error(why)));
}

int main(void)
{
	flick *f;
	uint32_t usable;

	CHECK(flick_open(&f, NULL) == 0);
	usable = refused_for(f, (void *)padded, 0);
	check_refused(f, (void *)padded, FLICK_E_OVERLAP);
	check_refused(f, (void *)cramped, FLICK_E_NOSPACE);
	CHECK(flick_on(f, usable, NULL, NULL) == 0);
	CHECK(padded(1) == 2 && cramped(1) == 3);
	CHECK(flick_hits(f, usable) == 1);
	flick_close(f);
	CHECK(padded(1) == 2);
	puts("ok");
	return 0;
}
