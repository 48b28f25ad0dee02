#!/bin/sh
# -fpatchable-function-entry=N,M: N NOPs, M of them before the entry; behind
# endbr64 too; gcc's are of one byte, clang's are long ones. Where an endbr64
# stands between the two parts, the part behind it must do.
. "$(dirname "$0")/lib"
need sqlite3

check() {	# PAD none | LANDING-PADS
	every 5 || return 0
	label="$CC -fpatchable-function-entry=$1 $2:"
	[ "$2" = none ] && protection=${landing_pads%=*}=none || protection=$landing_pads
	target recursion -O2 -fpatchable-function-entry=$1 $protection
	record -a counts -- "$work/recursion"
	succeeded
	exact
}

for CC in gcc clang; do
	command -v $CC >/dev/null || continue
	for pad in 5 6 8 9 16 20 7,2 10,5; do
		check $pad none
		check $pad pads
	done
	check 9,7 none
	check 16,14 none
done
