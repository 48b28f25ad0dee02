#!/bin/sh
# analysis.sh - the same analysis in the program's thread and beside it.
#
#	analysis.A.sequential.P	analysis A of program P run inline, by inline.c
#	analysis.A.concurrent.P	flick record -a A --all: by a reader on CPU 1; of the
#				calls that inline.c sees, not of a library's bodies
#	analysis.A.share.P	the second's overhead over the first's
#
# The overheads are percent of wall time over the instrumented binary run alone,
# .o2 over the one compiled without -finstrument-functions; the share is of
# those over -O2, which is what paper 2 calls overhead. Without .P they are the
# mean of all programs, in each round. A run counts only when the program's
# output is right, and a pair of figures only when both gave the same result.
set -eu
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/programs.sh"

rounds=${FLICK_ROUNDS:-3}
analyses="counts graph tree latency"

# What the last run took beyond the two baselines: $over, $over_o2.
take_overhead() {
	over=$(calc "100 * ($wall / $probed_wall - 1)")
	over_o2=$(calc "100 * ($wall / $plain_wall - 1)")
}

add_overhead() {	# ANALYSIS MODE PROGRAM OVER OVER_O2
	add "analysis.$1.$2.$3" "$4"
	add "analysis.$1.$2.o2.$3" "$5"
	echo "$4 $5" >>"$scratch/mean.$1.$2"
}

run_sequential() {	# ANALYSIS PROGRAM
	preload=:$inline
	FLICK_SHM=$1:$scratch/rows.inline timed_run "$2" short "$probed" ||
		{ preload=; return 1; }
	preload=
	take_overhead
	sequential=$over sequential_o2=$over_o2
}

run_concurrent() {	# ANALYSIS PROGRAM
	rm -rf "$scratch/data"
	timed_run "$2" short $on_other "$build/flick" record -a "$1" --all \
		--provider cyg -o "$scratch/data" -- "$probed" || return 1
	take_overhead
}

# Once a program and analysis: sequential is what concurrent is.
check_results() {	# ANALYSIS PROGRAM
	[ $round -eq 0 ] || return 0
	"$top/bench/analysis/rows" "$scratch/data" "$1" >"$scratch/rows.flick" &&
	why=$("$top/bench/analysis/same" "$1" "$scratch/rows.inline" \
		"$scratch/rows.flick")
}

refuse() {	# ANALYSIS PROGRAM
	echo "${why:-failed}" >"$scratch/refused.$1.$2"
}

# Of a pair that fails neither half is in any figure.
run_pair() {	# ANALYSIS PROGRAM
	[ ! -e "$scratch/refused.$1.$2" ] || return 0
	run_sequential "$1" "$2" && run_concurrent "$1" "$2" &&
		check_results "$1" "$2" || { refuse "$1" "$2"; return 0; }
	add_overhead "$1" sequential "$2" "$sequential" "$sequential_o2"
	add_overhead "$1" concurrent "$2" "$over" "$over_o2"
	add "analysis.$1.share.$2" "$(calc "$over_o2 / $sequential_o2")"
}

run_program() {	# PROGRAM
	[ ! -e "$scratch/refused.$1" ] || return 0
	build_program "$1"
	baselines "$1" short || { refuse "$1" all; mv "$scratch/refused.$1.all" \
		"$scratch/refused.$1"; return 0; }
	add "analysis.instrumented.$1" "$(calc "100 * ($probed_wall / $plain_wall - 1)")"
	for a in $analyses; do
		run_pair "$a" "$1"
	done
}

# The means of a round, over the programs that were run.
add_means() {
	for a in $analyses; do
		for mode in sequential concurrent; do
			[ -s "$scratch/mean.$a.$mode" ] || return 0
			set -- $(awk '{ x += $1; y += $2 } END { print x / NR, y / NR }' \
				"$scratch/mean.$a.$mode")
			rm "$scratch/mean.$a.$mode"
			add "analysis.$a.$mode" "$1"
			add "analysis.$a.$mode.o2" "$2"
			eval "mean_$mode=$2"
		done
		add "analysis.$a.share" "$(calc "$mean_concurrent / $mean_sequential")"
	done
}

report_pair() {	# ANALYSIS [PROGRAM [REASON]]
	for mode in sequential concurrent; do
		report "analysis.$1.$mode${2:+.$2}" % "${3-}"
		report "analysis.$1.$mode.o2${2:+.$2}" % "${3-}"
	done
	report "analysis.$1.share${2:+.$2}" x "${3-}"
}

reason_of() {	# ANALYSIS PROGRAM
	cat "$scratch/refused.$2" "$scratch/refused.$1.$2" 2>/dev/null | head -n 1
}

build_inline || { echo "inline.so does not build" >&2; exit 1; }
for p in $programs; do
	ready "$p" || echo "$why" >"$scratch/refused.$p"
done
round=0
while [ $round -lt $rounds ]; do
	for p in $programs; do
		run_program "$p"
	done
	add_means
	round=$((round + 1))
done

for a in $analyses; do
	report_pair $a
	for p in $programs; do
		report_pair $a $p "$(reason_of $a $p)"
	done
done
for p in $programs; do
	report "analysis.instrumented.$p" % "$(reason_of all $p)"
done
