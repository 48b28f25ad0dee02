#!/bin/sh
# By default a call whose thread goes on on a coroutine's stack is timed to its end, wherever that
# stack lies: below the thread's own by all of its address, above it by the half that records have,
# and the other way round. What it left by longjmp() is not open at the end.
. "$(dirname "$0")/lib"
no_emulator samples
need sqlite3 "$CC"
cat >"$work/far.c" <<'END'
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define ALONE __attribute__((noipa))
enum { BYTES = 256 << 10, MIB = 1 << 20 };

static ucontext_t own, other;
static volatile int n;
static jmp_buf back;

ALONE void step(void) { n++; }
ALONE void leaves(void) { n++; longjmp(back, 1); }
ALONE void round_trip(void) { step(); swapcontext(&other, &own); n++; }
ALONE void coroutine(void) { for (;;) { round_trip(); n++; } }

/* 64 GiB down, and there as far above or below the low half of where we are. */
static void *stack_at(int far)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0) & ~(uintptr_t)0xffff;
	uintptr_t down = here - ((uintptr_t)16 << 32);
	uintptr_t low = (uint32_t)here + (uintptr_t)(intptr_t)far;

	for (uintptr_t at = (down & ~(uintptr_t)UINT32_MAX) + low; at > MIB;
	     at -= (uintptr_t)1 << 32) {
		void *p = mmap((void *)at, BYTES, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

		if (p == (void *)at)
			return p;
	}
	exit(2);
}

ALONE void whole(int far)
{
	getcontext(&other);
	other.uc_stack.ss_sp = stack_at(far);
	other.uc_stack.ss_size = BYTES;
	makecontext(&other, coroutine, 0);
	for (int i = 0; i < 40; i++)
		swapcontext(&own, &other);
	for (volatile int i = 0; i < 20; i++)
		if (!setjmp(back))
			leaves();
	n++;
}

int main(int argc, char **argv)
{
	(void)argc;
	whole(atoi(argv[1]) * MIB);
	n++;
	return 0;
}
END
$CC -O1 -o "$work/far" "$work/far.c" || fail "it does not compile"
for far in 16 -16; do
	label="$far MiB:"
	record -- "$work/far" $far
	succeeded
	for f in main whole; do
		got=$(sql "select sampled, coalesce(open, 0), total_ns > 0 from latency_named
			   where function = '$f'")
		[ "$got" = "1 0 1" ] || fail "$label $f is $got, not timed to its end"
	done
	[ "$(sql "select coalesce(sum(open), 0) from latency_named where function = 'leaves'")" = 0 ] ||
		fail "$label what was left is open"
	[ "$(sql "select calls from latency_named where function = 'round_trip'")" = 40 ] ||
		fail "$label calls of round_trip"
done
