#!/bin/sh
# Latency is exhaustive here: each entry is a call, whether it returned or not.
. "$(dirname "$0")/lib"
need sqlite3 "$CC" "$(cxx)"
for t in recursion longjmp exceptions signals sigaltstack cancel; do
	for level in -O0 -O2; do
		label="$t $level:"
		target $t $level $sites
		record -a counts -- "$work/$t"
		succeeded
		exact
		lossless
		record -a latency --all -- "$work/$t"
		succeeded
		exact latency
		lossless
	done
done
