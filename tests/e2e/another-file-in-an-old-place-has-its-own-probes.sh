#!/bin/sh
# Two libraries with their sites at the same offsets take turns at one place: each
# call is of the function that was there then.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
target swap-lib -O2 $sites
for which in first_one other_one; do
	library swap-lib -O2 $sites -DWORK=$which
	mv "$work/swap-lib.so" "$work/$which.so"
done

check() {
	label="$1:"
	TRUTH_THREADS= record $1 -- "$work/swap-lib" "$work/first_one.so" "$work/other_one.so"
	succeeded
	! grep -q '^elsewhere' "$out" || skip "the loader chose another place"
	exact "$2"
	lossless
}
check "-a counts" counts
check "-a latency --all" latency
