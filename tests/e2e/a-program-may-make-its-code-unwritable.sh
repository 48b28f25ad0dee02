#!/bin/sh
# mprotect(R-X) of a program's own code while its probes are switched: no switch faults,
# what is recorded is exact, and what the program asked for is there after flick_close().
. "$(dirname "$0")/lib"
need sqlite3 "$CC"

check() {	# ARGUMENT FLAGS...
	between=$1
	shift
	target unwritable -O1 "$@"
	for way in mprotect $(aliased); do
		label="$* $way:"
		record --text=$way -a counts -- "$work/unwritable" $between
		accounted counts
		for options in "" "-K 1 --epoch=10" "--rate=30%"; do
			label="$* $way $options:"
			record --text=$way $options -- "$work/unwritable" $between
			succeeded
		done
	done
}

check between $sites
if command -v clang >/dev/null; then
	CC=clang
	check "" -fxray-instrument -fxray-instruction-threshold=1
	CC=gcc
fi

libraries="-L$(dirname "$FLICK") -lflick -Wl,-rpath,$(dirname "$FLICK")"
target text -O1 $sites -I"$top/include"
label="flick.h:"
FLICK_TEXT=mprotect run "$work/text" protect
succeeded
