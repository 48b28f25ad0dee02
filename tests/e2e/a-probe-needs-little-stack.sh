#!/bin/sh
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
for kind in "$sites" -fpatchable-function-entry=5; do
	target stack-depth -O2 $kind
	for how in "-a counts" "-a latency --all" ""; do
		label="$kind $how:"
		record $how -- "$work/stack-depth"
		succeeded
		[ "$how" != "-a counts" ] || exact
	done
done
