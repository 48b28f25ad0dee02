#!/bin/sh
# Who attaches has samples of the program counter: of the threads that are there, of those that
# come later, of each once. So self times are the program's, the cost is told, and calls that
# are open or preempted are told as of a program that flick has started. Where the system
# gives no samples none are made up.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
. "$here/attach-lib"
target attach-spins -O2 $sites
compile "$work/attach-spins-plain" "$targets/attach-spins.c" -O2 -rdynamic
target deny -O2

near() {	# FUNCTION PERCENT
	got=$(sql "select round(100.0 * self_ns / (select sum(self_ns) from latency))
		from $(rows latency) where name = '$1'")
	awk -v got="${got:-0}" -v want="$2" 'BEGIN { d = got - want
		exit d < -7 || d > 7 }' || fail "$label $1: $got % of the time, not $2"
}

value() {
	sql "select value from session where key = '$1'"
}

for program in attach-spins attach-spins-plain; do
	begin
	for i in 1 2; do
		label="$program, attach $i:"
		before=$(awk '{ print $14 }' /proc/$pid/stat)
		for=1.5 attach
		after=$(awk '{ print $14 }' /proc/$pid/stat)
		near heavy 60
		near medium 30
		near light 10
		near tiny 0
		sql "select name from $(rows latency) where name like '%unknown%' and self_ns > 0" \
			>"$work/got"
		[ -s "$work/got" ] && fail "$label samples have no name: $(cat "$work/got")"
		# It runs all the time, one thread at a time; ticks are 10 ms. Beside other work it
		# has less of the CPU, and more of that is had while flick comes.
		n=$(value pc_samples)
		most=$(((after - before) * 10 * 115 / 100 + 50))
		least=$(((after - before) * 10 / 2))
		[ $least -lt 300 ] || least=300
		[ "$n" -gt $least ] && [ "$n" -lt $most ] ||
			fail "$label $n samples, where CPU time has $least to $most"
		grep -q '^cost: [0-9]' "$err" || fail "$label $(grep cost "$err")"
		[ "$(value preempted)" = out ] || fail "$label nothing tells of switches"
		is_as_it_was
	done
	label=
	finish
done

begin
run "$work/deny" perf "$FLICK" record -p $pid -d 0.3 -o "$data"
[ $status -eq 0 ] || fail "without samples: status $status"
grep -q '^cost: unknown (the system gives no samples)' "$err" ||
	fail "without samples: $(cat "$err")"
finish
