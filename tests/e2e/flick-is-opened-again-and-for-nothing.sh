#!/bin/sh
# flick.h opened twice, opened again after a close, and closed with nothing to do: hits are
# exact each time, while threads live through all of it.
. "$(dirname "$0")/lib"
BUILD=${BUILD:-$top/build}

for with in "$BUILD/libflick.so -Wl,-rpath,$BUILD" "$BUILD/libflick.a"; do
	label="${with%% *}:"
	libraries=$with target reopen -O2 $sites -I"$top/include"
	run "$work/reopen" again
	[ "$status" -eq 0 ] && grep -qx ok "$out" || fail "$label status $status"
done
