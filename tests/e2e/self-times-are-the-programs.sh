#!/bin/sh
# The default report's self times are the program's own: what its functions say they
# spend, not what their probes cost; waiting is no CPU time. Where the system gives no
# samples none are made up.
. "$(dirname "$0")/lib"
no_emulator samples
need sqlite3 "$CC"
target spin -O2 $sites
target deny -O2

# Percent of all self times, of a function.
share() {
	sql "select round(100.0 * self_ns / (select sum(self_ns) from latency))
		from $(rows latency) where name = '$1'"
}

near() {	# FUNCTION PERCENT
	got=$(share "$1")
	awk -v got="${got:-0}" -v want="$2" 'BEGIN {
		d = got - want
		exit d < -7 || d > 7 }' || fail "$label $1: $got % of the time, not $2"
}

for way in mprotect alias; do
	label="$way:"
	record --text=$way -- "$work/spin"
	succeeded
	near heavy 60
	near medium 30
	near light 10
	near sleeper 0
	near tiny 0
	n=$(sql "select value from session where key = 'pc_samples'")
	[ "$n" -gt 500 ] || fail "$label a second of CPU time has $n samples"
done
label=
run "$FLICK" report "$data"
succeeded
grep -q 'samples of the program counter' "$out" || fail "the report does not say on what it rests"
[ "$(awk '/^ +==/ { getline; print $NF } ' "$out")" = heavy ] || fail "heavy is not first"

# Bodies that are all in main have times of their own, and so has main.
for cc in gcc clang; do
	for way in mprotect alias; do
		every 3 || continue
		label="inlined, $cc, $way:"
		CC=$cc target spin -O2 $sites -DREST=100000 \
			'-DBODY=static inline __attribute__((always_inline))'
		record --text=$way -- "$work/spin"
		succeeded
		near main 50
		near heavy 30
		near medium 15
		near light 5
		near tiny 0
	done
done
label=
target spin -O2 $sites

run "$work/deny" perf "$FLICK" record -o "$data" -- "$work/spin"
succeeded
run "$FLICK" report "$data"
succeeded
grep -q 'gave no samples' "$out" || fail "it does not say that there are none"
! grep -q 'Self' "$out" || fail "self times are made up"

# What flick cost is measured: little by default, much where every call of a
# tiny function is timed.
record -- "$work/spin"
cost=$(sed -n 's/^cost: \([0-9.]*\) % of CPU time.*/\1/p' "$err")
samples=$(sed -n 's/^cost: .*samples \([0-9.]*\),.*/\1/p' "$err")
awk -v c="${cost:-99}" -v samples="${samples:-0}" 'BEGIN { exit c > 3 && (c - samples > 1.5 || samples > 8) }' ||
	fail "the default costs $cost %"
grep -q '^cost: ' "$err" || fail "no cost is said"
target demo -O2 $sites -DPAGES=800
record --all -- "$work/demo"
cost=$(sed -n 's/^cost: \([0-9.]*\) % of CPU time.*/\1/p' "$err")
awk -v c="${cost:-0}" 'BEGIN { exit c < 20 }' || fail "every call costs $cost %"
n=$(sql "select count(*) from functions where name like '[%anon%'")
[ "$n" -eq 0 ] || fail "glue is no function of the program's"
sql "select value from session where key = 'cost'" | grep -q "^$cost % of CPU time" ||
	fail "what the recording cost is not kept"
run "$work/deny" perf "$FLICK" record -o "$data" -- "$work/spin"
grep -q '^cost: unknown' "$err" || fail "a cost is made up"
