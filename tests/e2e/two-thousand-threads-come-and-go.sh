#!/bin/sh
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
target short-threads -O2 $sites
for how in "-a counts" "-a latency --all"; do
	label="$how:"
	record $how -- "$work/short-threads"
	succeeded
	exact "$(echo "$how" | cut -d' ' -f2)"
	lossless
	got=$(sql "select count(*) from threads")
	[ "$got" -eq 2001 ] || fail "$got threads, not 2001"
done
