#!/bin/sh
# A program takes its handlers away, waits (flick_drain), and closes the plugin that has them
# and frees what they were given, two hundred times, while threads call them and come and go:
# at profiling calls, pads and sleds, alone and beside a recorder, which loses nothing. What it
# commits is one step for each thread.
. "$(dirname "$0")/lib"
BUILD=${BUILD:-$top/build}
libraries= library drain-lib -O2

check() {
	run "$work/drain" "$work/drain-lib.so"
	[ "$status" -eq 0 ] && grep -qx ok "$out" || fail "$label status $status"
	label="$label recorded:"
	record -P work -a counts -- "$work/drain" "$work/drain-lib.so"
	succeeded
	conserved
	grep -qx ok "$out" || fail "$label the program failed"
}

libraries="$BUILD/libflick.so -Wl,-rpath,$BUILD"
label="profiling calls:"
target drain -O2 $sites -I"$top/include"
check
label="pads:"
target drain -O2 -fpatchable-function-entry=5 -I"$top/include"
check
if command -v clang >/dev/null; then
	label="sleds:"
	CC=clang target drain -O2 -fxray-instrument -fxray-instruction-threshold=1 \
		-I"$top/include"
	check
fi
