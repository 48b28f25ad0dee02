#!/bin/sh
# A library with sites, constructors and a thread, loaded and unloaded while
# another thread calls.
# timeout: 300
. "$(dirname "$0")/lib"
need sqlite3
for CC in gcc clang; do
	command -v $CC >/dev/null || continue
	for kind in "$sites" "$sites -fno-plt" -fpatchable-function-entry=5; do
		every 2 || continue
		label="$CC $kind:"
		target dlopen -O2 $kind
		library dlopen-lib -O2 $kind
		record -a counts -- "$work/dlopen" "$work/dlopen-lib.so" 200
		accounted counts
	done
done
label="sampling:"
record -- "$work/dlopen" "$work/dlopen-lib.so" 200
succeeded
conserved

# Probes in what the loader calls, and calls that a handler leaves: nobody waits.
for t in own-malloc leave-switch; do
	target $t -O2 $sites
	label="$t, switching all the time:"
	record -K 1 --epoch 1 -- "$work/$t" "$work/dlopen-lib.so"
	succeeded
	conserved
	label="$t:"
	record -a counts -- "$work/$t" "$work/dlopen-lib.so"
	succeeded
	conserved
done
