#!/bin/sh
# Threads that outnumber the CPUs, one that waits, and recursion: a self time is what the
# processors did, a total what the clock says, once in recursion, by default without what the
# scheduler took; and the report says so.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
target deny -O2
target busy -O2 $sites -pthread

ms() {	# FUNCTION COLUMN
	sql "select $2 / 1000000 from $(rows latency) where name = '$1'"
}

between() {	# FUNCTION COLUMN LEAST MOST
	got=$(ms "$1" "$2")
	[ "${got:-0}" -ge "$3" ] && [ "${got:-0}" -le "$4" ] ||
		fail "$label $1 has ${got:-no} ms of $2, not $3 to $4"
}

says() {	# PATTERN
	run "$FLICK" report "$data"
	succeeded
	head -n 1 "$out" | grep -q "$1" || fail "$label the report does not say \`$1'"
}

# On one CPU each of six threads takes about as long as all, but for what the others had.
for mode in "" --all; do
	label="${mode:-default}:"
	record --target-cpu 0 -a latency $mode -- "$work/busy"
	succeeded
	grep -q '^cost: unknown' "$err" && skip "the system gives no samples"
	between burner self_ns 450 750
	if [ -n "$mode" ]; then
		between burner total_ns 1500 1000000
		between burner max_ns 300 1000000
	else
		between burner total_ns 450 750
		between burner max_ns 75 200
	fi
	between waiter self_ns 0 30
	between waiter total_ns 295 1000000
	between descend self_ns 35 65
	says 'self times are CPU time, from [0-9]* samples'
done
# Five calls of 10 ms, each around the next: 50, not 150.
between descend total_ns 49 1000000
outer=$(sql "select total_ns = max_ns from $(rows latency) where name = 'descend'")
[ "$outer" = 1 ] || fail "$label recursion is counted more than once"

label="no samples:"
run "$work/deny" perf "$FLICK" record --target-cpu 0 --all -o "$data" -- "$work/busy"
succeeded
between waiter self_ns 295 1000000
between burner self_ns 1500 1000000
says 'all times are elapsed, without what probes took'

label=--raw:
record --raw --all -- "$work/busy"
succeeded
between waiter self_ns 295 1000000
ends_well
says 'all times are elapsed, with what probes took'
