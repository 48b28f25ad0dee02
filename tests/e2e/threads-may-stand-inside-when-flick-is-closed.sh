#!/bin/sh
# flick_close() under threads that are blocked inside instrumented functions,
# and then return, throw, or leave by longjmp; and flick_open() under them.
. "$(dirname "$0")/lib"
BUILD=${BUILD:-$top/build}
for CC in gcc clang; do
	command -v $CC >/dev/null || continue
	for level in -O0 -O2; do
		label="$CC $level:"
		libraries="$BUILD/libflick.so -Wl,-rpath,$BUILD" \
			target close $level $sites -I"$top/include"
		run "$work/close"
		[ "$status" -eq 0 ] && grep -qx ok "$out" || fail "$label status $status"
	done
done
