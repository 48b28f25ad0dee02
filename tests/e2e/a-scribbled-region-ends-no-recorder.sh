#!/bin/sh
# What a target says of its modules and sites is believed within their tables
# only: a stray write of its own ends nobody else, and what was recorded is kept.
# A function outside all modules is recorded under its address.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
target scribble -O1 $sites -fno-exceptions -std=gnu11 -I"$top/src" -I"$top/include"

for how in "-a counts" "-a latency --all" "-a graph,tree --readers 2"; do
	for what in heap rows counts; do
		label="$how, $what:"
		TRUTH_THREADS= record --why $how -- "$work/scribble" $what
		succeeded
		ends_well
		[ "$what" = heap ] || continue
		exact $(say "$how" | sed 's/-a \([a-z]*\).*/\1/')
		lossless
		[ "$(sql "select count(*) from functions where name like '?!0x%'")" = 1 ] ||
			fail "$label the function outside all modules"
		run "$FLICK" report "$data"
		succeeded
	done
done
