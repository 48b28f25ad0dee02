#!/bin/sh
# A program that takes orphans, and waits for any child, is told of no process of flick's.
. "$(dirname "$0")/lib"
no_emulator exec
need sqlite3 "$CC"
target reaper -O1 $sites

for options in "" "-a counts" "-a latency --all" "--text=alias" "--sync=signal"; do
	for follow in "" --follow; do
		label="$follow $options:"
		TRUTH_THREADS= record $follow $options -- "$work/reaper"
		succeeded
	done
done
