#!/bin/sh
# flick/patch.h: what a program does wrong is refused with the error that the
# manual page names, and has changed nothing; places in a library that comes and
# goes; a place and a probe never share bytes. Shared and static.
. "$(dirname "$0")/lib"
x86_target places
BUILD=${BUILD:-$top/build}
say 'int answer(void) { return 0x01010101; }' >"$work/answer.c"
compile "$work/answer.so" "$work/answer.c" -O2 -fcf-protection=none -shared -fPIC

check() {
	run "$work/places" "$work/answer.so"
	[ "$status" -eq 0 ] && grep -qx ok "$out" || fail "$label status $status"
}

for CC in gcc clang; do
	command -v $CC >/dev/null || continue
	label="$CC libflick.so:"
	libraries="$BUILD/libflick.so -Wl,-rpath,$BUILD" \
		target places -O2 $sites -I"$top/include"
	check
	label="$CC libflick.a:"
	libraries=$BUILD/libflick.a target places -O2 $sites -I"$top/include"
	check
done
