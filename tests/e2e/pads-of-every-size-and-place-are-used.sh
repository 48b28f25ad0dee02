#!/bin/sh
# -fpatchable-function-entry=N,M: N NOPs, M of them before the entry; behind
# endbr64 too; gcc's are of one byte, clang's are long ones.
. "$(dirname "$0")/lib"
need sqlite3
for CC in gcc clang; do
	command -v $CC >/dev/null || continue
	for pad in 5 6 8 9 16 20 7,2 10,5 8,6 7,5 ; do
		for cet in none branch; do
			label="$CC -fpatchable-function-entry=$pad $cet:"
			target recursion -O2 -fpatchable-function-entry=$pad \
				-fcf-protection=$cet
			record -a counts -- "$work/recursion"
			succeeded
			exact
		done
	done
done
