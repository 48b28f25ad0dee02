#!/bin/sh
# main() and whoever is open when the program ends, by exit() far inside, _exit(), SIGKILL or Ctrl-C,
# has its time until then, by default, of every call and in graph and tree; it is one call, has no average,
# and is marked. A thread that ended in a call long before does not prolong it.
# waits
. "$(dirname "$0")/lib"
no_emulator beside
need sqlite3 "$CC"
target open-at-end -O2 -pthread $sites

# What the program said of FUNCTION, in ns.
said() {
	awk -v name="$1" '$1 == "open" && $2 == name { print $3 }' "$out"
}

# RESULT FUNCTION LEAST MOST: its total in ns, and the rest.
open_call() {
	n=$(sql "select count(*) from $(rows "$1") where name = '$2' and calls = 1 and open = 1 and
		avg_ns is null and total_ns between $3 and $4")
	[ "$n" -eq 1 ] || fail "$label $2 in $1 from $3 to $4 ns:" \
		$(sql "select total_ns, calls, open, avg_ns from $(rows "$1") where name = '$2'")
}

# At least what the program saw of it, less what the first probe takes, and what the scheduler
# took, which is in no time by default; no more than all took.
each() {	# RESULT
	waited=$(awk '$1 == "waited" { print $2 }' "$out")
	for f in main outer inner; do
		open_call "$1" $f $(($(said $f) - ${waited:-0} - 3000000)) $(($(date +%s%N) - began))
	done
}

# Nearer to what its thread saw than to what it would be if it went on.
early() {
	mine=$(said ends_early) whole=$(said main)
	say $(((${mine:-$whole} + whole) / 2))
}

for how in exit _exit kill; do
	label="$how:"
	began=$(date +%s%N)
	record -- "$work/open-at-end" $how
	conserved
	each latency
	n=$(sql "select count(*) from $(rows latency) where name = 'ends_early' and calls = 1 and
		(total_ns is null or total_ns <= $(early))")
	[ "$n" -eq 1 ] || fail "$label a thread that ended goes on"
	label="$how --all:"
	began=$(date +%s%N)
	record --all -a latency,graph,tree -- "$work/open-at-end" $how
	conserved
	for result in latency graph tree; do
		each $result
	done
	open_call latency ends_early 0 "$(early)"
done
label='ended from outside:'
began=$(date +%s%N)
rm -rf "$data"
: >"$out"		# what was said last time is no sign
"$FLICK" record -o "$data" -- "$work/open-at-end" wait >"$out" 2>"$err" &
until grep -q 'open inner' "$out" || ! kill -0 $! 2>/dev/null; do
	sleep 0.1
done
kill -TERM $!		# a job of sh ignores SIGINT
wait $!
each latency
run "$FLICK" report "$data"
succeeded
grep -Eq '^ +>[0-9]+\.?[0-9]* m?s .* main$' "$out" || fail "$label not marked"
grep -Eq '^ +> with calls that had not ended' "$out" || fail "$label nor is the mark explained"
