#!/bin/sh
# After flick_close() every byte of code and every mapping of it is what it was:
# by mprotect and by alias, threads running, a library loaded and unloaded.
. "$(dirname "$0")/lib"
need "$CC"

check() {	# FLAGS...
	libraries=
	library text-lib -O1 "$@"
	libraries="-L$(dirname "$FLICK") -lflick -Wl,-rpath,$(dirname "$FLICK")"
	target text -O1 "$@" -I"$top/include"
	for how in mprotect $(aliased); do
		label="$CC $* $how:"
		FLICK_TEXT=$how run "$work/text" close "$work/text-lib.so"
		succeeded
	done
}

check $sites
check $sites -fno-plt
if command -v clang >/dev/null; then
	CC=clang
	check $sites
	check -Oz -fpatchable-function-entry=10
	check -fxray-instrument -fxray-instruction-threshold=1
	CC=gcc
fi
