#!/bin/sh
# Standard output and the exit status of a target are its own, in every mode.
. "$(dirname "$0")/lib"
need "$CC"
target demo -O2 $sites -DPAGES=400
run "$work/demo"
cp "$out" "$work/plain"
for how in "" "-a counts" "-a latency"; do
	label="record $how:"
	record $how -- "$work/demo"
	succeeded
	cmp -s "$work/plain" "$out" || fail "$label $(diff "$work/plain" "$out")"
	tail -n 1 "$err" | grep -q "$ending" || fail "$label no account"
done
