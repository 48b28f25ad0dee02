#!/bin/sh
# main() and whoever is open when the program ends, by exit() far inside, _exit(), SIGKILL or Ctrl-C,
# has its time until then, by default, of every call and in graph and tree; it is one call, has no average,
# and is marked. A thread that ended in a call long before does not prolong it.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
target open-at-end -O2 -pthread $sites

# RESULT FUNCTION LEAST MOST: its total in ms, and the rest.
open_call() {
	n=$(sql "select count(*) from $(rows "$1") where name = '$2' and calls = 1 and open = 1 and
		avg_ns is null and total_ns between $3 * 1000000 and $4 * 1000000")
	[ "$n" -eq 1 ] || fail "$label $2 in $1:" \
		$(sql "select total_ns, calls, open, avg_ns from $(rows "$1") where name = '$2'")
}
each() {	# RESULT
	open_call "$1" main 700 900
	open_call "$1" outer 700 900
	open_call "$1" inner 600 800
}
for how in exit _exit kill; do
	label="$how:"
	record -- "$work/open-at-end" $how
	conserved
	each latency
	n=$(sql "select count(*) from $(rows latency) where name = 'ends_early' and calls = 1 and
		(total_ns is null or total_ns < 300000000)")
	[ "$n" -eq 1 ] || fail "$label a thread that ended goes on"
	label="$how --all:"
	record --all -a latency,graph,tree -- "$work/open-at-end" $how
	conserved
	for result in latency graph tree; do
		each $result
	done
	open_call latency ends_early 0 300
done
label='ended from outside:'
record --duration 0.75 -- "$work/open-at-end" wait
each latency
run "$FLICK" report "$data"
succeeded
grep -Eq '^ +>7[0-9]+\.?[0-9]* ms .* main$' "$out" || fail "$label not marked"
grep -Eq '^ +> with calls that had not ended' "$out" || fail "$label nor is the mark explained"
