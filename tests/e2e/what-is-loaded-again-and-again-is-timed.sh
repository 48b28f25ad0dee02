#!/bin/sh
# Of a library that is loaded and unloaded all the time calls are timed as those of one that
# stays: in each epoch some, though it is gone whenever one begins. Libraries that lie by turns
# at one place are timed each.
. "$(dirname "$0")/lib"
no_emulator times
need sqlite3 "$CC"

# timed LEAST LIBRARY...	of turn() in each so many calls at least; all are counted
timed() {
	least=$1
	shift
	# shellcheck disable=SC2086
	record --wait -K 3 --budget 100 -- "$work/by-turns" 12000 "$@"
	succeeded
	conserved
	[ "$(sql "select sum(calls) from $(rows latency) where name = 'turn'")" = 12000 ] ||
		fail "$label not all calls are counted"
	sql "select sampled, avg_ns from $(rows latency) where name = 'turn'" >"$work/timed"
	awk '$1 < '"$least"' || !($2 > 0) { bad = 1 } END { exit bad || NR != '$#' }' \
		"$work/timed" || fail "$label of turn are timed:" $(cat "$work/timed")
}

target by-turns -O2
for kind in "" "$sites"; do
	for i in 1 2 3; do
		# shellcheck disable=SC2086
		library by-turns-lib -O2 $kind -DTURN=$i
		mv "$work/by-turns-lib.so" "$work/turn$i.so"
	done
	label="${kind:-bodies}:"
	timed 40 "$work/turn1.so"
	label="${kind:-bodies}, by turns:"
	timed 15 "$work/turn1.so" "$work/turn2.so" "$work/turn3.so"
done
