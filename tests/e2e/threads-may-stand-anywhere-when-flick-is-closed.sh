#!/bin/sh
# flick_close(), flick_open() and flick_close() while a thread stands, in turn, at
# each instruction of a call whose probes are on, its handlers among them: all text
# is that of the file, and the thread gets through. For every form of site.
# timeout: 240
. "$(dirname "$0")/lib"
x86_target stand
need "$CC"
libraries="-L$(dirname "$FLICK") -lflick -Wl,-rpath,$(dirname "$FLICK")"

stands() {	# WAYS FLAGS...
	ways=$1
	shift
	target stand "$@" -I"$top/include"
	for how in $ways; do
		every 3 || continue
		label="$CC $* $how:"
		FLICK_TEXT=$how run "$work/stand"
		succeeded
		grep -qx ok "$out" || fail "$label does not say ok"
	done
}

CC=gcc
stands "mprotect alias" -O2 $sites
stands mprotect -O2 $sites -fno-plt -fPIC
stands mprotect -O2 -fpatchable-function-entry=5
stands mprotect -O2 -fpatchable-function-entry=9,7
command -v clang >/dev/null || exit 0
CC=clang
stands mprotect -O2 $sites
for pad in 5 6 7 10; do
	stands mprotect -Oz -fpatchable-function-entry=$pad
done
stands "mprotect alias" -O2 -fpatchable-function-entry=9,7
stands "mprotect alias" -O2 -fxray-instrument -fxray-instruction-threshold=1
