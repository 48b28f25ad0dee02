#!/bin/sh
# A program started by the target is not recorded without --follow, and nothing of
# flick's takes room there: with few addresses (ulimit -v) it gets all the memory
# that it gets without.
. "$(dirname "$0")/lib"
need "$CC"
target limited -O2 $sites
run "$work/limited"
cp "$out" "$work/plain"
[ "$(grep -c ': granted' "$out")" = 8 ] || skip "32 MB of addresses are too few here"
for how in "-a counts" "-a latency --all" "" "--rate=30%"; do
	label="record $how:"
	TRUTH_THREADS= record $how -- "$work/limited"
	succeeded
	cmp -s "$work/plain" "$out" || fail "$label $(diff "$work/plain" "$out")"
done
