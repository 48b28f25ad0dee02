#!/bin/sh
# What flick has beside each process of a tree wakes up often, and beside other work takes the
# processor from the program each time: these are no switches of the program's, for which the
# kernel would be asked no more what it takes. One call of the 3,000 that are timed, held up for a
# millisecond, would be worth a second.
. "$(dirname "$0")/lib"
no_emulator samples
need sqlite3 "$CC"
target short-calls -O2
spinners=
for i in 1 2 3 4; do
	while :; do :; done &
	spinners="$spinners $!"
done
trap 'kill $spinners; rm -rf "$work"' EXIT

told() {	# COLUMN, of down()
	sql "select $1 from $(rows latency) where name = 'down'"
}

for i in 1 2 3; do
	record --follow -- "$work/short-calls" 0.3 pool 4
	succeeded
	[ "$(sql "select value from session where key = 'preempted'")" = out ] ||
		fail "run $i: it is not told"
	total=$(told total_ns) self=$(told self_ns)
	[ "$total" -gt $((self * 3 / 4)) ] && [ "$total" -lt $((self * 5 / 4)) ] ||
		fail "run $i: down's total is $total, not $self"
done
