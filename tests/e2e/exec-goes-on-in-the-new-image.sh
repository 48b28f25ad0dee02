#!/bin/sh
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
target exec -O2 $sites
for how in "-a counts" "-a latency --all"; do
	label="$how:"
	record $how -- "$work/exec" 3
	succeeded
	exact "$(echo "$how" | cut -d' ' -f2)"
	lossless
done
