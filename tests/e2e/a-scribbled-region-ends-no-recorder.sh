#!/bin/sh
# What a target says of its modules, sites, threads and records is believed within
# their tables only: a stray write of its own ends nobody else, waits for nobody, and
# where it is not of what was recorded that is kept. A function outside all modules is
# recorded under its address.
# timeout: 240
. "$(dirname "$0")/lib"
need sqlite3 "$CC" mkfifo
target scribble -O1 $sites -fno-exceptions -std=gnu11 -I"$top/src" -I"$top/include"
mkfifo "$work/pipe"

# Recorded with $how, and shown: neither ends by a signal, nor waits.
survives() {	# WHAT...
	label="$how, $*:"
	limit=20
	rm -rf "$data"
	run "$FLICK" record -o "$data" --why $how -- "$work/scribble" "$@"
	[ "$status" -le 3 ] || fail "$label exit status $status"
	[ -e "$data/results.db" ] || return
	run "$FLICK" report "$data"
	[ "$status" -le 1 ] || fail "$label report: exit status $status"
}

for how in "-a counts" "-a latency --all" "-a graph,tree --readers 2"; do
	for what in heap rows counts fewer paths mutex errors; do
		label="$how, $what:"
		TRUTH_THREADS= record --why $how -- "$work/scribble" $what
		succeeded
		ends_well
		exact $(say "$how" | sed 's/-a \([a-z]*\).*/\1/')
		[ "$what" != heap ] || lossless
		n=$(sql "select count(*) from functions where name like '?!0x%'")
		[ "$what" != heap ] || [ "$n" = 1 ] ||
			fail "$label the function outside all modules"
		run "$FLICK" report "$data"
		succeeded
	done
done
for how in "-a latency" "-a latency --all --trace" "-a tree --readers 2" \
	"-a graph --rate=50%"; do
	for what in slots records windows "file $work/pipe" "file /dev/zero" mutex; do
		survives $what
	done
done
survives flip
how="-a counts -d 1"
survives ask
