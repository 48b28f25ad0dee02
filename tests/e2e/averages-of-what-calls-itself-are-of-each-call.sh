#!/bin/sh
# By default the average of a function that calls itself is of all of its calls, also of those in
# one another, and not of the few that were timed, which are outermost ones: a sample is time of
# each call that it stood in. Where stacks are cut, also of those samples that have more of them,
# the average is that of timed calls, and marked.
# timeout: 120
. "$(dirname "$0")/lib"
no_emulator samples
need sqlite3 "$CC"
. "$here/totals-lib"

cat >"$work/down.c" <<'C'
#include <stdlib.h>
#include <time.h>
static volatile long spun;
__attribute__((noinline)) static long spin(void)
{
	for (int i = 0; i < 1000; i++)	/* longer than all 25 calls around it */
		spun++;
	return spun;
}
__attribute__((noinline)) static long down(int n)
{
#ifdef WIDE
	volatile char room[WIDE];

	room[0] = (char)n;
#endif
	return n ? down(n - 1) + 1 : spin();
}
int main(int argc, char **argv)
{
	long n = 0;

	while (clock() < atol(argv[argc - 1]) * (CLOCKS_PER_SEC / 1000))
		for (int i = 0; i < 100; i++)
			n += down(24);
	return n == 0;
}
C
"$CC" -O1 -fno-optimize-sibling-calls -o "$work/down" "$work/down.c" || fail "no target"
"$CC" -O1 -fno-optimize-sibling-calls -DWIDE=512 -o "$work/wide" "$work/down.c" ||
	fail "no target"
"$CC" -O1 -fno-optimize-sibling-calls -DWIDE=4096 -o "$work/wider" "$work/down.c" ||
	fail "no target"

label="stacks that are whole:"
record -- "$work/down" 1200
succeeded
total=$(value total_ns down)
near "what all calls took" "$(value sum_ns down)" "$((25 * total))" 8
near "calls times their average" "$(value 'calls * avg_ns' down)" "$(value sum_ns down)" 10
near "what others took, in all" "$(value sum_ns spin)" "$(value total_ns spin)" 1

# Of one sample in 41 there are 32 KiB of stack, which hold 25 calls of 512 bytes, and not as many of 4 KiB.
label="stacks that are cut, but for some:"
record -- "$work/wide" 1200
succeeded
near "what all calls took" "$(value sum_ns down)" "$((25 * $(value total_ns down)))" 15

label="stacks that are cut:"
record -- "$work/wider" 500
succeeded
[ "$(value 'avg_error_ns >= avg_ns' down)" = 1 ] || fail "$label the average is as if it were known"
"$FLICK" report "$data" | grep -q '~[0-9.]* [mun]*s .*down$' || fail "$label it is not marked"
