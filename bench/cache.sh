#!/bin/sh
# cache.sh - what a simulated access costs.
#
#	cache.access		flick's simulator, an access of data, on the trace that
#				valgrind's lackey wrote of bzip2 and a part of a library
#	cache.split		time of one thread over that of two on the same
set -eu
. "$(dirname "$0")/lib.sh"

input=$scratch/input
head -c 40000 "$(ldd "$(command -v bzip2)" | awk '/libc\.so/ { print $3 }')" >"$input"

taskset -c 1 valgrind --tool=lackey --trace-mem=yes --log-file="$scratch/trace" \
	bzip2 -c "$input" >"$scratch/compressed"
"$out/cache" "$scratch/trace" ${json:+--json}
