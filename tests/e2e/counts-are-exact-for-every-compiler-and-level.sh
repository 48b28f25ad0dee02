#!/bin/sh
# timeout: 300
# Providers x compilers x optimisation x ways to link: each call is counted.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"

matrix() {	# PROVIDER FLAGS...
	provider=$1
	shift
	for level in -O0 -O1 -O2 -O3; do
		for pie in "-fPIE -pie" "-fno-pie -no-pie" "-fPIC -pie -fno-plt"; do
			every 5 || continue
			label="$CC $level $pie $provider:"
			target recursion $level $pie "$@"
			record -a counts -- "$work/recursion"
			succeeded
			exact
			lossless
		done
	done
}

for CC in gcc clang; do
	command -v $CC >/dev/null || { say "no $CC"; continue; }
	matrix cyg -finstrument-functions
	matrix patchable -fpatchable-function-entry=5
done
