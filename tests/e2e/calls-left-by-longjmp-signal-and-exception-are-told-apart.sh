#!/bin/sh
# Latency, graph and tree are exhaustive here: each entry is a call, whether it
# returned or not.
. "$(dirname "$0")/lib"
need sqlite3 "$CC" "$(cxx)"

check() {
	every 3 || return 0
	label="$t $level $1:"
	record $1 -- "$work/$t"
	succeeded
	exact "$2"
	lossless
	by_thread
}
for t in recursion longjmp exceptions signals sigaltstack cancel; do
	for level in -O0 -O2; do
		target $t $level $sites
		exhaustively check
	done
done
