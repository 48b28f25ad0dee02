#!/bin/sh
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
for kind in "$sites" -fpatchable-function-entry=5; do
	target stack-depth -O2 $kind
	# A pad has no exit behind it: its calls are counted, never timed.
	[ "$kind" = "$sites" ] && timed="-a latency --all" || timed="-a counts"
	for how in "-a counts" "$timed" ""; do
		label="$kind $how:"
		record $how -- "$work/stack-depth"
		succeeded
		[ "$how" != "-a counts" ] || exact
	done
done
