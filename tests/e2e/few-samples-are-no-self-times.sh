#!/bin/sh
# A short program has too few samples of the program counter to tell self times from:
# the report says so, has no column of them, and is sorted by total time. It says what kind of
# times there are, and what short calls lack.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
cat >"$work/short.c" <<'END'
int leaf(int x) { return x + 1; }
int middle(int x) { int s = 0; for (int i = 0; i < 100; i++) s += leaf(x); return s; }
int main(void) { int s = 0; for (int i = 0; i < 1000; i++) s += middle(i); return s == 3; }
END
compile "$work/short" "$work/short.c" -O1 $sites
# Beside other work the few calls that are timed may be long ones, by which there is no total.
has_total() {
	[ -n "$(sql "select total_ns from $(rows latency) where name = 'leaf' and p50_ns < 500")" ]
}
for try in 1 2 3 4; do
	record -- "$work/short"
	succeeded
	! has_total || break
done
run "$FLICK" report "$data"
grep -q 'samples of the program counter are too few to tell self times from' "$out" ||
	grep -q 'the system gave no samples' "$out" || fail "it does not say why"
! grep -q 'Self' "$out" || fail "there are self times"
totals=$(sql "select name from $(rows latency) order by total_ns desc")
[ "$(awk '$NF == "leaf" || $NF == "middle" || $NF == "main" { print $NF }' "$out")" = "$totals" ] ||
	fail "not sorted by total time"
grep -Eq '^  times are elapsed time, (without what the scheduler took, )?of the calls' "$out" ||
	fail "it does not say which times these are"
! has_total ||
	grep -q 'of calls of less than 0.5 us totals may be several times too high' "$out" ||
	fail "it does not say what it knows of short calls"
sqlite3 "$data/results.db" "update latency set p50_ns = 600"
run "$FLICK" report "$data"
! grep -q 'of calls of less than 0.5 us' "$out" || fail "there are no short calls"
