#!/bin/sh
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
target exit-main -O2 $sites
for how in "-a counts" "-a latency --all"; do
	label="$how:"
	record $how -- "$work/exit-main"
	succeeded
	exact "$(echo "$how" | cut -d' ' -f2)"
	lossless
done
