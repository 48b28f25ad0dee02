#!/bin/sh
# A function of which few calls have nearly all the time, below frames that are larger than what is
# copied of a stack: its timed calls, the others, tell next to nothing, and most samples that stood
# in it lack it. Other samples tell who called, in the tree; so does the total, which was a part.
. "$(dirname "$0")/lib"
no_emulator samples
need sqlite3 "$CC"
cat >"$work/few.c" <<'END'
#include <time.h>
#define OUT __attribute__((noinline, noclone))

static volatile unsigned sink;

OUT void spin(long ns)
{
	struct timespec from, now;

	clock_gettime(CLOCK_MONOTONIC, &from);
	do {
		for (int i = 0; i < 200; i++)
			sink++;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - from.tv_sec) * 1000000000L + now.tv_nsec - from.tv_nsec < ns);
}

OUT void inner(long ns)
{
	volatile char room[3000];

	room[sink % sizeof(room)] = 1;
	spin(ns);
	sink++;
}

OUT void large(long ns)
{
	volatile char room[3000];

	room[sink % sizeof(room)] = 1;
	inner(ns);
	sink++;
}

OUT void once(int i)
{
	for (int k = 0; k < 5000; k++)
		sink++;
	if (i % 300 == 150)
		large(100000000);
	sink++;
}

int main(void)
{
	for (int i = 0; i < 1200; i++)
		once(i);
	return 0;
}
END
compile "$work/few" "$work/few.c" -O2
of() {	# COLUMN FUNCTION
	sql "select coalesce($1, '') from latency_named where function = '$2'"
}

# A long call may be timed by chance: then its average is too long, and there may be no total.
told=0
for i in 1 2 3 4; do
	record -- "$work/few"
	succeeded
	total=$(of total_ns once)
	[ -n "$(of stack_samples once)" ] || continue
	[ "$total" -gt $(($(sql "select sum(self_ns) from latency") * 7 / 10)) ] ||
		fail "once() has $total, and what it calls $(of total_ns large)"
	told=$((told + 1))
	run "$FLICK" report --callers once "$data"
	grep -q ' once$' "$out" || fail "no callers"
	tree=$(awk '$NF == "once" { print $4; exit }' "$out")
	[ "$tree" = "$(of stack_samples once)" ] ||
		fail "$tree samples in the tree, $(of stack_samples once) in the table"
done
[ $told -gt 0 ] || fail "no total of samples in four recordings"
