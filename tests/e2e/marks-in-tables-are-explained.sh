#!/bin/sh
# What - and ~ mean stands below a table, a line for each reason that is in it, and none
# where there is none.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
cat >"$work/marks.c" <<'END'
#include <unistd.h>
__attribute__((noinline)) int down(int n) { return n ? down(n - 1) + 1 : 0; }
__attribute__((noinline)) void often(void) { __asm__ volatile("" ::: "memory"); }
__attribute__((noinline)) void last(void) { _exit(0); }
int main(int argc, char **argv)
{
	(void)argv;
	for (int i = 0; i < 100; i++)
		often();
	for (int i = 0; argc > 1 && i < 100; i++)
		down(50);
	if (argc > 2)
		last();
	return 0;
}
END
compile "$work/marks" "$work/marks.c" -O1 $sites
shown() {	# OPTION...
	run "$FLICK" report "$@" "$data"
	succeeded
}
legend() {
	sed -n '/^ *==/,$p' "$out" | sed '1,/^$/d'
}
expect() {	# PATTERN...: these lines, and no others
	[ "$(legend | wc -l)" -eq $# ] || fail "$label $(legend | wc -l) lines, not $#: $(legend)"
	for pattern; do
		legend | grep -Eq "$pattern" || fail "$label not said: $pattern"
	done
}

label="nothing to explain:"
record --all -- "$work/marks"
shown
expect
label="recursion:"
record --budget=100 -- "$work/marks" 1
sqlite3 "$data/results.db" "delete from latency where avg_ns is null;
	update latency set avg_error_ns = 0 where total_ns is not null"
shown
expect '^  ~ it calls itself, and few calls were timed' '^  - it calls itself: '
sqlite3 "$data/results.db" "update latency set avg_error_ns = 0"
shown
expect '^  - it calls itself: '
shown -f calls
expect
shown --format=csv
! grep -q 'calls itself' "$out" || fail "csv: it is said"
record --all -- "$work/marks" 1
shown
expect
label="what never ended:"
record --all -- "$work/marks" 1 2
shown -f total,calls
expect '^  > with calls that had not ended when their thread, or the recording, did'
label="few long calls:"
record --budget=100 -- "$work/marks"
sqlite3 "$data/results.db" "update latency set avg_error_ns = avg_ns"
shown -f avg,calls
expect '^  ~ few of the calls that were timed took most of the time'
label="estimates, and all at once:"
record --budget=100 -- "$work/marks" 1
sqlite3 "$data/results.db" "update latency set counted = 1 where calls > 1;
	update latency set total_ns = null, sum_ns = null where function =
	(select id from functions where name = 'often')"
shown
legend >"$work/got"
for pattern in '^  ~ to count all' '^  - it calls itself' '^  - the few calls that were timed'; do
	grep -q "$pattern" "$work/got" || fail "$label not said: $pattern"
done
label="graph:"
record -a graph -- "$work/marks"
shown
expect 'not known who called, or nobody did'
label="comparison:"
mv "$data" "$work/before"
record -a graph -- "$work/marks" 1
shown --diff "$work/before"
expect 'not in this recording, or not known there'
label="lines:"
record -a counts -- "$work/marks"
sqlite3 "$data/results.db" "update functions set file = null, line = null"
shown --lines
expect 'no debug information'
