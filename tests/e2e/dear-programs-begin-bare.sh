#!/bin/sh
# With --follow a program whose probes take longer to arm than its processes run, as a compiler's,
# has probes in the first of these alone. They write what they write without flick, samples tell
# of all, calls are estimated, and that is said, when it is recorded and by the report. Named
# functions, --all and other analyses have probes in each process.
# timeout: 240
. "$(dirname "$0")/lib"
no_emulator samples
need sqlite3 gcc

compiler=$(gcc -print-prog-name=cc1)
[ -x "$compiler" ] || skip "there is no cc1"
runs=10
cat >"$work/some.c" <<'C'
int sum(const int *of, int n) { int s = 0; for (int i = 0; i < n; i++) s += of[i]; return s; }
int last(const int *of, int n) { return n > 0 ? of[n - 1] : sum(of, n); }
C
cat >"$work/all" <<SH
for i in $(seq $runs | tr '\n' ' '); do $compiler -quiet -O2 $work/some.c -o $work/\$i.s || exit 1; done
SH
sh "$work/all" || skip "cc1 does not compile"
cat "$work"/*.s >"$work/plain"
rm "$work"/*.s

compile() {	# OPTION...
	label="$*:"
	record --follow "$@" -- sh "$work/all"
	succeeded
	cat "$work"/*.s | cmp -s - "$work/plain" || fail "$label other code came of it"
	bare=$(grep '^flick: processes without probes' "$err" | grep -o "[0-9]* of $runs of cc1")
	bare=${bare%% *}
}

told() {	# COLUMN FUNCTION [TABLE]
	sql "select sum($1) from ${3:-latency} t join functions f on f.id = t.function
		join modules m on m.id = f.module
		where f.name like '$2' and m.path like '%/cc1'"
}

near() {	# WHAT NUMBER OF LEAST MOST
	[ "${2:-0}" -ge "$4" ] && [ "${2:-0}" -le "$5" ] || fail "$label $1 is $2, not $4 to $5"
}

compile
near "bare processes" "$bare" of 1 $((runs - 1))
near "main's calls that were counted" "$(told counted main)" of $((runs - bare)) $((runs - bare))
near "main's calls" "$(told calls main)" of $((runs - 1)) $((runs + 1))	# one a process
near "their error" "$(told calls_error main)" of 1 $((runs / 2))
# It has nearly all of the program's time, and no more: by samples, of all processes.
self=$(sql "select sum(self_ns) from latency t join functions f on f.id = t.function
	join modules m on m.id = f.module where m.path like '%/cc1'")
near "main's total" "$(told total_ns main)" of $((self * 6 / 10)) $((self * 2))
near "functions whose totals are of timed calls" \
	"$(told 'total_ns is not null and stack_samples is null' %)" of 0 0
"$FLICK" report "$data" 2>&1 | grep -q "of processes without probes.* $bare of $runs of cc1" ||
	fail "$label the report does not say it"
"$FLICK" report "$data" 2>&1 | grep -q '^  where these have most samples totals are CPU time' ||
	fail "$label the report does not say what totals are"
"$FLICK" report "$data" 2>&1 | grep -q '^  - no samples tell its total: ' ||
	fail "$label the report does not say why there is no total"
! "$FLICK" report "$data" 2>&1 | grep -q 'than the time there was' ||
	fail "$label the report says that there was not the time"

for how in --all "-a counts" "-P main"; do
	every 2 || continue
	compile $how
	[ -z "$bare" ] || fail "$label $bare processes have no probes"
	case $how in *counts) table=counts ;; *) table=latency ;; esac
	near "main's calls" "$(told calls main $table)" of $runs $runs
done

# Samples that are too few for self times are too few for calls.
sed "s, -quiet .*, --version </dev/null >/dev/null 2>\&1; done," "$work/all" >"$work/few"
label="few samples:"
record --follow -- sh "$work/few"
succeeded
n=$(sql "select value from session where key = 'pc_samples'")
if [ "$n" -ge 100 ]; then
	say "a compiler that does nothing has $n samples here: they are not few"
else
	grep -q "^flick: processes without probes.* of $runs of cc1; their calls are not counted" \
		"$err" || fail "$label it does not say that calls are not counted"
	"$FLICK" report "$data" 2>&1 |
		grep -q "^  calls of processes without probes are not counted: .* $runs of cc1" ||
		fail "$label the report does not say that calls are not counted"
fi
# What each process executed before, with probes, has its calls, and no more.
cat >"$work/before.c" <<'C'
#include <unistd.h>
__attribute__((noinline)) void turn(volatile int *n) { ++*n; }
int main(int argc, char **argv)
{
	volatile int n = 0;

	while (n < 10000000)
		turn(&n);
	return argc > 1 ? execv(argv[1], argv + 1) : 0;
}
C
gcc -O1 -o "$work/before" "$work/before.c" || fail "no target"
sed -i "s|do $compiler|do $work/before $compiler|" "$work/all"
compile
near "bare processes" "$bare" of 1 $((runs - 1))
turns=$(sql "select sum(calls) from $(rows latency) where name = 'turn'")
near "calls before" "$turns" of $((runs * 7500000)) $((runs * 12500000))
