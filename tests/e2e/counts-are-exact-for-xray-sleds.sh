#!/bin/sh
. "$(dirname "$0")/lib"
need sqlite3 clang
CC=clang
xray="-fxray-instrument -fxray-instruction-threshold=1"
echo 'int main(void){return 0;}' >"$work/probe.c"
clang $xray "$work/probe.c" -o "$work/probe" 2>/dev/null ||
	skip "clang's XRay runtime is not installed"
for level in -O0 -O2 -O3; do
	for pie in "-fPIE -pie" "-fno-pie -no-pie"; do
		label="$level $pie:"
		target recursion $level $pie $xray
		record -a counts -- "$work/recursion"
		succeeded
		exact
		lossless
	done
done
