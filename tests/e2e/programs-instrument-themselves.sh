#!/bin/sh
# flick.h: with libflick.so and libflick.a, every compiler and level; the
# program checks each promise and each error itself.
. "$(dirname "$0")/lib"
BUILD=${BUILD:-$top/build}
shared="$BUILD/libflick.so -Wl,-rpath,$BUILD"
static=$BUILD/libflick.a

check() {	# PROGRAM-ARGUMENTS; compiled by target() before
	run "$work/$name" "$@"
	[ "$status" -eq 0 ] && grep -qx ok "$out" || fail "$label status $status"
}

for CC in gcc clang; do
	command -v $CC >/dev/null || continue
	label="$CC library:"
	# Of clang's code for AArch64, that goes by a pointer, a scan names no call.
	own=$CC
	[ "$(uname -m)" = x86_64 ] || CC=gcc
	library self-lib -O1 $sites
	CC=$own
	for level in -O0 -O2; do
		label="$CC $level libflick.so:"
		libraries=$shared target self $level $sites -I"$top/include"
		check "$work/self-lib.so"
		label="$CC $level libflick.a PIE:"
		libraries=$static target self $level $sites -I"$top/include" \
			-fPIE -pie
		check "$work/self-lib.so"
		label="$CC $level libflick.a -no-pie -fno-plt:"
		libraries=$static target self $level $sites -I"$top/include" \
			-fno-pie -no-pie -fno-plt
		check "$work/self-lib.so"
	done
	[ "$(uname -m)" = x86_64 ] || continue		# self-refused is code of it
	label="$CC refusals:"
	libraries=$shared target self-refused -O2 -I"$top/include"
	check
	libraries=$static target self-refused -O2 -I"$top/include"
	check
done
