#!/bin/sh
# -f chooses columns, -s sorts by several and shows what it sorts by; --lines; what is empty
# says why; totals, averages and counts agree, or it is said which is which.
. "$(dirname "$0")/lib"
need "$CC" sqlite3
cat >"$work/calls.c" <<'END_C'
#include <signal.h>
#include <unistd.h>
__attribute__((noinline)) int down(int n) { return n ? down(n - 1) + 1 : 0; }
__attribute__((noinline)) void once(void) { for (volatile int i = 0; i < 9999; i++); }
__attribute__((noinline)) void often(void) { __asm__ volatile("" ::: "memory"); }
__attribute__((noinline)) void never(void) { __asm__ volatile("" ::: "memory"); }
int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1)
		raise(usleep(20000) ? SIGTERM : SIGKILL);	/* what waits beside it has begun */
	if (argc > 2)
		never();
	for (int i = 0; i < 100; i++)
		often();
	once();
	return down(50) - 50;
}
END_C
(cd "$work" && compile calls calls.c -O1 $sites)
record --all -- "$work/calls"
succeeded

titles() {
	grep -B 1 '^ *==' "$out" | head -n 1 | sed 's/^ *//; s/   */,/g'
}
shows() {	# TITLES OPTION...
	want=$1 label="$2 $3 $4 $5"
	shift
	run "$FLICK" report "$@" "$data"
	succeeded
	[ "$(titles)" = "$want" ] || fail "$label shows $(titles)"
}
shows "Total,P99,Function" -f total,p99 -n 9
shows "Self%,Function" -f self% -n 9
shows "Self%,Sum of times,Raw total,Function" -f 'Self%,SUM,Raw total' -n 9
shows "Calls,Max,Function" -f Calls -s Max
shows "Function,Calls" -f function,calls -n 9
shows "Function" -f none -n 9
shows "Calls,Max,Function" -f calls -s max
shows "Total,Self,Self%,Calls,Avg,P50,P99,P90,Function" -f +p90 -n 9
shows "Total,Self,Self%,Calls,Avg,P50,P99,Max,Function" -s max -n 9

run "$FLICK" report -f calls -s calls,function --format=csv "$data"
succeeded
tr -d '\r' <"$out" | tr '\n' ' ' >"$work/got"
[ "$(cat "$work/got")" = "calls,function 100,often 51,down 1,main 1,once " ] ||
	fail "two keys: $(cat "$work/got")"
for option in -f -s; do
	run "$FLICK" report $option total,nonsense "$data"
	one_line_error 2 'there is no column .nonsense. .*; there are .*p99'
done

# Lines are those of the source; what has none has none.
cd "$work" || exit
run "$FLICK" report --lines -f none "$data"
succeeded
grep -Eq '^ +down +calls\.c:3$' "$out" || fail "--lines: down is not in line 3"
run "$FLICK" report --lines --format=csv "$data"
grep -q '^once,.*,calls\.c:4' "$out" || fail "--lines: no csv"
sqlite3 "$data/results.db" "update functions set file = null, line = null where name = 'once'"
run "$FLICK" report --lines -f none "$data"
grep -Eq '^ +once +-$' "$out" || fail "--lines: a line from nowhere"
run "$FLICK" report --lines --diff "$data" "$data"
one_line_error 2 'cannot be used with --diff'
cd / || exit

# What does not multiply says what it is; the sum does.
run "$FLICK" report "$data"
grep -q 'Total is of the outermost calls, Avg of all' "$out" || fail "recursion is not said"
bad=$(sql "select name from $(rows latency) where abs(sum_ns - avg_ns * calls) > calls or
	(name <> 'down' and sum_ns <> total_ns)")
[ -z "$bad" ] || fail "the sum is not of all calls: $bad"
bad=$(sql "select name from $(rows latency) where name = 'down' and sum_ns <= total_ns")
[ -z "$bad" ] || fail "calls in calls are not in the sum"
run "$FLICK" latency down -- "$work/calls"
succeeded
awk '/^avg = / { ok = ($3 * $9 - $6) ^ 2 < $9 ^ 2 && $9 == 51 } END { exit !ok }' "$out" ||
	fail "average times count is not the total"
sqlite3 "$data/results.db" "delete from latency where total_ns < sum_ns"
run "$FLICK" report "$data"
! grep -q outermost "$out" || fail "recursion that is none"

# A result without times, or without calls, is no bare table.
record -- "$work/calls" killed
[ "$status" -eq 137 ] || fail "exit status $status"
run "$FLICK" report "$data"
succeeded
emulated beside || grep -Eq '^ +>[0-9.]+ .s +1 .* main$' "$out" ||
	fail "what was killed has no time"
sqlite3 "$data/results.db" "update latency set sampled = 0, total_ns = null, open = 0"
run "$FLICK" report "$data"
grep -q 'none of these calls ended, so no time is known' "$out" || fail "no times, and no word"
# Who tells of it comes late: no call was open longer than the program was there.
FLICK_LIB=${BUILD:-$top/build}/tests/libflick-kill-at.so FLICK_LATE_AT=watch.over \
	record -- "$work/calls" killed
run "$FLICK" report -f total "$data"
emulated beside || grep -Eq '^ +>[0-9.]+ .s  main$' "$out" ||
	fail "who was told of late has no time"
record -P never -- "$work/calls"
succeeded
run "$FLICK" report "$data"
succeeded
[ "$(cat "$out")" = "no function with a probe was called" ] || fail "an empty table"
run "$FLICK" report --format=json "$data"
[ "$(tr -d '\n' <"$out")" = "[]" ] || fail "empty json"

# Lost events are said by whoever shows a recording.
sqlite3 "$data/results.db" "update session set value = 12 where key = 'lost'"
run "$FLICK" report "$data"
one_line_error 0 '12 events were lost when this was recorded'
