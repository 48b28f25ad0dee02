#!/bin/sh
# 70,000 functions, each call of each counted, with windows and without, for each
# thread: no counter is missing. Where addresses are limited some are, which is said.
. "$(dirname "$0")/lib"
x86_target wide-counts
need sqlite3 "$CC"
target wide-counts -O2

all_counted() {	# OPTIONS
	label="$1:"
	record $1 -- "$work/wide-counts" "$2"
	succeeded
	lossless
	all=$(awk '$1 == "all" { print $2 }' "$out")
	[ "$(sql "select count(*), sum(calls), min(calls), max(calls) from counts")" = \
		"70000 $all $((2 * $2)) $((2 * $2))" ] ||
		fail "$label $(sql "select count(*), sum(calls), min(calls), max(calls)
			from counts"), not $all"
}
all_counted "-a counts" 1
all_counted "-a counts --buffer 8" 1
all_counted "--rate=10% -a counts" 20

label="ulimit -v:"
record_below "-v 1000000" -a counts -- "$work/wide-counts" 1
succeeded 3
conserved
grep -q '^flick: 8928 events lost: no counter free' "$err" || fail "$label loss is not told"
