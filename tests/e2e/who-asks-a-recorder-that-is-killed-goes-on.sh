#!/bin/sh
# The recorder is killed while a program waits for its answer: the program goes on.
. "$(dirname "$0")/lib"
need "$CC"
target asked-in-vain -O2 $sites

for how in "" --follow; do
	label="$how:"
	"$FLICK" record $how -a counts -o "$data" -- "$work/asked-in-vain" >"$out" 2>"$err"
	[ $? -eq 137 ] || fail "$label the recorder was not killed"
	for i in $(seq 100); do
		grep -qx 'done' "$out" && break
		sleep 0.1
	done
	grep -qx 'done' "$out" || fail "$label it does not go on"
done
