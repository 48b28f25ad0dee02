#!/bin/sh
# bzip2.sh - a real program, recorded: bzip2 -O2 on 30 MB of shared libraries.
#
#	record.bzip2         flick, exhaustive latency of every function
#	profiler.bzip2       flick's default, the sampling profiler
#	peer.uftrace.bzip2   uftrace record of the same binary
#	bzip2.instrumented   the binary with -finstrument-functions, used by nobody
#
# NAME is wall time over the instrumented binary run alone; NAME.o2 over the
# one compiled without -finstrument-functions; NAME.cpu and NAME.o2.cpu are
# user + system time, of the reader too. The profiler's are percent on top,
# the others factors. A run counts only when it wrote the bytes that the plain
# one wrote. Programs run on CPU 0, readers on CPU 1.
set -eu
. "$(dirname "$0")/lib.sh"

rounds=5
input_bytes=30000000
plain_bin=$out/bzip2-o2
probed_bin=$out/bzip2-instrumented
input=$out/bzip2.input
times=$scratch/times

give_up() {	# REASON
	for name in record.bzip2 profiler.bzip2 peer.uftrace.bzip2; do
		skip $name "$1"
	done
	exit 0
}

build_one() {	# PROGRAM SOURCE FLAGS...
	program=$1 source=$2
	shift 2
	[ -x "$program" ] && return
	(cd "$source" && gcc -O2 -w -D_FILE_OFFSET_BITS=64 "$@" \
		blocksort.c huffman.c crctable.c randtable.c compress.c \
		decompress.c bzlib.c bzip2.c "$out/pin.o" "$out/bench.o" \
		-lm -o "$program")
}

build_all() {
	source=$(FLICK_REAL="$build/real" \
		sh "$top/tests/real/source" bzip2 2>"$scratch/log") ||
		give_up "no bzip2 source: $(last_line "$scratch/log")"
	build_one "$plain_bin" "$source"
	build_one "$probed_bin" "$source" -finstrument-functions
}

make_input() {
	find /usr/lib -name '*.so*' -type f -size +20k | LC_ALL=C sort |
		xargs cat 2>/dev/null | head -c $input_bytes >"$input"
	[ "$(wc -c <"$input")" -eq $input_bytes ] ||
		give_up "fewer than $input_bytes bytes of shared libraries"
}

# Run COMMAND -kf INPUT; leaves $wall and $cpu. Fails when the command does,
# or when it wrote other bytes than the first run.
timed_run() {	# COMMAND...
	"$out/timed" "$times" "$@" -kf "$input" >"$scratch/log" 2>&1 || {
		bad="$(last_line "$scratch/log")"
		return 1
	}
	read -r wall cpu <"$times"
	sum=$(cksum <"$input.bz2")
	[ "${first_sum:=$sum}" = "$sum" ] || {
		bad="the output is not the plain run's"
		return 1
	}
}

add_factors() {	# NAME
	add "$1" "$(calc "$wall / $probed_wall")"
	add "$1.cpu" "$(calc "$cpu / $probed_cpu")"
	add "$1.o2" "$(calc "$wall / $plain_wall")"
	add "$1.o2.cpu" "$(calc "$cpu / $plain_cpu")"
}

add_percents() {	# NAME
	add "$1" "$(calc "100 * ($wall / $probed_wall - 1)")"
	add "$1.cpu" "$(calc "100 * ($cpu / $probed_cpu - 1)")"
	add "$1.o2" "$(calc "100 * ($wall / $plain_wall - 1)")"
	add "$1.o2.cpu" "$(calc "100 * ($cpu / $plain_cpu - 1)")"
}

baselines() {
	timed_run "$plain_bin" || give_up "bzip2 failed: $bad"
	plain_wall=$wall plain_cpu=$cpu
	timed_run "$probed_bin" || give_up "instrumented bzip2 failed: $bad"
	probed_wall=$wall probed_cpu=$cpu
	add bzip2.instrumented "$(calc "$wall / $plain_wall")"
}

run_record() {
	timed_run $on_other "$build/flick" record -a latency --all \
		-o "$scratch/flick.data" -- "$probed_bin" ||
		{ record_reason="flick: $bad"; return 0; }
	add_factors record.bzip2
}

run_profiler() {
	timed_run $on_other "$build/flick" record \
		-o "$scratch/flick.data" -- "$probed_bin" ||
		{ profiler_reason="flick: $bad"; return 0; }
	add_percents profiler.bzip2
}

run_uftrace() {
	timed_run $on_other uftrace record -d "$scratch/uftrace.data" \
		"$probed_bin" || { uftrace_reason="uftrace: $bad"; return 0; }
	add_factors peer.uftrace.bzip2
	add peer.uftrace.bzip2.mb \
		"$(calc "$(du -sb "$scratch/uftrace.data" | cut -f 1) / 1e6")"
}

record_reason= profiler_reason= uftrace_reason=
if [ ! -x "$build/flick" ]; then
	record_reason="no $build/flick"
	profiler_reason=$record_reason
fi
command -v uftrace >/dev/null || uftrace_reason="uftrace is not installed"
build_all
make_input
timed_run "$plain_bin" || give_up "bzip2 failed: $bad"	# warm

round=0
while [ $round -lt $rounds ]; do
	baselines
	for tool in record profiler uftrace; do
		eval "reason=\$${tool}_reason"
		[ "$reason" ] && continue
		rm -rf "$scratch"/*.data
		run_$tool
	done
	round=$((round + 1))
done
rm -f "$input.bz2"

for what in '' .cpu .o2 .o2.cpu; do
	report record.bzip2$what x "$record_reason"
	report profiler.bzip2$what % "$profiler_reason"
	report peer.uftrace.bzip2$what x "$uftrace_reason"
done
report peer.uftrace.bzip2.mb MB "$uftrace_reason"
report bzip2.instrumented x
