#!/bin/sh
# cache.sh - what simulated caches cost: an access, and a program.
#
#	cache.bzip2		flick record -a cache of Debian's bzip2 -k on the first
#				5,000,000 bytes of the shared libraries: its time over
#				that of the program alone, in turn, with flick's own
#				start and end; a run counts only with the same output
#	cache.access		flick's simulator, an access of data, on the trace that
#				valgrind's lackey wrote of bzip2 and a part of a library
#	cache.split		time of one thread over that of two on the same
set -eu
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/programs.sh"

rounds=${FLICK_ROUNDS:-5}

compress() {
	mkdir -p "$inputs"
	libraries 5000000 || return 0
	subject="bzip2 -kc $inputs/libraries.5000000"
	round=0
	while [ $round -lt $rounds ]; do
		alone=$(take_time taskset -c 0 $subject)
		cp "$output" "$scratch/alone"
		recorded=$(take_time "$build/flick" record --cpu=1 --target-cpu=0 -a cache \
			-o "$scratch/flick.data" -- $subject)
		cmp -s "$output" "$scratch/alone" || { why="other output"; return 0; }
		add cache.bzip2 "$(calc "$recorded / $alone")"
		round=$((round + 1))
	done
}

why=
if command -v bzip2 >/dev/null; then
	compress
else
	why="bzip2 is not installed"
fi
report cache.bzip2 x "$why"

input=$scratch/input
head -c 40000 "$(ldd "$(command -v bzip2)" | awk '/libc\.so/ { print $3 }')" >"$input"

taskset -c 1 valgrind --tool=lackey --trace-mem=yes --log-file="$scratch/trace" \
	bzip2 -c "$input" >"$scratch/compressed"
"$out/cache" "$scratch/trace" ${json:+--json}
