#!/bin/sh
. "$(dirname "$0")/lib"
need sqlite3
for CC in gcc clang; do
	command -v $CC >/dev/null || continue
	for level in -O0 -O2 -O3; do
		label="$CC $level:"
		target inline $level $sites
		record -a counts -- "$work/inline"
		succeeded
		exact
	done
done
