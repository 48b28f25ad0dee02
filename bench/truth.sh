#!/bin/sh
# truth.sh - do flick's numbers agree with an observer's that costs nothing?
#
#	truth.self.P		points between self shares by function that the default
#				report shows and those of perf's samples of the program
#				alone, over what perf differs from itself
#	truth.self.P.all	the same of a recording of every call
#	truth.self.P.perf	perf against perf
#	truth.self.P.off	the first, where perf samples the program while flick has
#				switched its profiling calls off
#	truth.self.P.moved	how far that is from the program alone: what the empty
#				calls move, over perf against perf
#	truth.samples.P		samples of the program counter behind flick's
#	truth.calls.P, .all	the largest error of the calls of a function that has
#				1 % of all or more, against counts of every call
#	truth.cost.P		points that the cost which flick says lies above the
#				slowdown over the same with its probes off, run in turn
#	truth.cost.P.said	that cost
#	truth.cost.P.alone	the slowdown over the program alone, whose empty calls run
#	truth.ticks.N		a function of N ticks: what flick says of each call, and of
#	truth.ticks.N.within	a caller of a hundred, a call: the error in units of what
#	truth.ticks.N.all, ...	is allowed, 5 ticks or 5 %; by default, and of every call,
#	truth.ticks.N.precise	as it is and with --precise
#
# The distance is the total variation, in points: 0 the same, 100 disjoint. Shares
# are of the program's own functions, built with -O2 -fno-inline
# -finstrument-functions; perf samples its cpu-clock in user mode, five times as often
# as flick. Either runs the program until it has FLICK_SAMPLES, but for that of every
# call, which is recorded once. Each program runs on CPU 0, flick's reader on another.
set -eu
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/programs.sh"

rounds=${FLICK_ROUNDS:-1}
judged="${FLICK_JUDGED-demo bzip2 phalanx perl x264 nbody hull blackscholes}"
length=${FLICK_LENGTH:-long}
samples=${FLICK_SAMPLES:-20000}
costed=${FLICK_COSTED-bzip2 nbody}
cost_rounds=${FLICK_COST_ROUNDS:-5}
ticks="10 30 100 300 1k 10k"
of_self=".all .perf .off .moved"

skip_judged() {	# REASON
	for p in $judged; do
		for what in '' $of_self; do
			skip "truth.self.$p$what" "$1"
		done
		skip "truth.samples.$p" "$1"
	done
}

value() {	# KEY
	sqlite3 "$scratch/data/results.db" "select value from session where key = '$1'"
}

# ---- programs ----------------------------------------------------------------------

# Sets $probed: one body a function.
build_noinline() {	# PROGRAM
	case $1 in
	demo)
		probed=$out/demo-noinline
		gcc -O2 -g -fno-inline -finstrument-functions -pthread \
			"$top/tests/targets/demo.c" -o "$probed" ;;
	nbody|hull|blackscholes)
		build_own "$1" noinline "-fno-inline -finstrument-functions" && probed=$own ;;
	*)
		real=$1
		[ "$1" != perl ] || real=miniperl
		build_real "$real-noinline" >"$scratch/path" || return 1
		probed=$(cat "$scratch/path") ;;
	esac
}

prepare() {	# PROGRAM
	build_steady && build_noinline "$1" || { why=${why:-it does not compile}; return 1; }
	arguments= stdin=/dev/null
	[ "$1" != demo ] || return 0
	make_input "$1" || return
	choose "$1" "$length"
}

run_it() {	# COMMAND... BINARY
	(cd "$scratch" && STEADY=${probed##*/} LD_PRELOAD=$out/steady.so \
		exec "$out/timed" "$times" "$@" $arguments) \
		<"$stdin" >/dev/null 2>"$scratch/log" || {
		why="$(last_line "$scratch/log")"
		return 1
	}
	read -r wall cpu <"$times"
}

flick_run() {	# OPTIONS...
	rm -rf "$scratch/data"
	run_it $on_other "$build/flick" record --target-cpu 0 "$@" -o "$scratch/data" \
		-- "$probed"
}

# ---- self times ----------------------------------------------------------------------

# FUNCTION SHARE lines out of FUNCTION AMOUNT lines. Stubs are nobody's: those of the
# hooks, and those through which libraries are called.
shares() {
	LC_ALL=C awk '$1 !~ /__cyg_profile|@plt|^\[/ { n[$1] += $2; sum += $2 }
		END { for (f in n) print f, n[f] / sum }'
}

# Runs are repeated until there are samples enough, so often at most.
most_runs=30

by_perf() {	# FILE COMMAND...
	file=$1 runs=0
	shift
	: >"$scratch/selfs"
	while [ "$(wc -l <"$scratch/selfs")" -lt "$samples" ] && [ $runs -lt $most_runs ]; do
		rm -rf "$scratch/data"
		run_it perf record -q -e cpu-clock:u -F 5000 -o "$scratch/perf.data" -- "$@" \
			"$probed" || return
		perf script -i "$scratch/perf.data" -F sym,dso,ip 2>/dev/null | LC_ALL=C awk \
			-v dso="(/${probed##*/})" '
			substr($NF, length($NF) - length(dso) + 2) == substr(dso, 2) {
				print $2, 1
			}' >>"$scratch/selfs"
		runs=$((runs + 1))
	done
	shares <"$scratch/selfs" >"$scratch/$file"
}

# Self times of the last recording, added to FILE.
add_selfs() {	# FILE
	sqlite3 -batch -noheader -separator ' ' "$scratch/data/results.db" "
		select f.name, t.self_ns from latency t
		join functions f on f.id = t.function join modules m on m.id = f.module
		where t.self_ns > 0 and m.path like '%/${probed##*/}'" >>"$scratch/$1"
}

by_default() {
	: >"$scratch/selfs"
	n=0 runs=0
	while [ $n -lt "$samples" ] && [ $runs -lt $most_runs ]; do
		flick_run || return
		add_selfs selfs
		n=$((n + $(value pc_samples))) runs=$((runs + 1))
	done
	shares <"$scratch/selfs" >"$scratch/default"
}

by_all() {
	: >"$scratch/selfs"
	flick_run --all || return
	add_selfs selfs
	shares <"$scratch/selfs" >"$scratch/all"
}

# Points of FILE beyond what perf differs from itself.
beyond() {	# FILE FILE
	calc "$(distance "$1" "$2") - $own_distance"
}

# ---- calls --------------------------------------------------------------------------

# FUNCTION CALLS lines of the last recording's TABLE; clones of a function are one.
calls() {	# TABLE
	sqlite3 -batch -noheader -separator ' ' "$scratch/data/results.db" "
		select f.name, sum(t.calls) from $1 t join functions f on f.id = t.function
		where t.calls > 0 group by 1"
}

# Percent; of functions that have a hundredth of all calls.
worst_error() {	# FILE FILE
	LC_ALL=C awk '
		FILENAME == ARGV[1] { n[$1] = $2; sum += $2; next }
		{ said[$1] = $2 }
		END {
			for (f in n) {
				d = (said[f] - n[f]) / n[f] * 100
				if (d < 0) d = -d
				if (n[f] >= sum / 100 && d > worst) worst = d
			}
			printf "%.4f", worst
		}' "$scratch/$1" "$scratch/$2"
}

# ---- one program ----------------------------------------------------------------------

compare() {	# PROGRAM
	by_perf perf taskset -c 0 && by_perf again taskset -c 0 || return
	own_distance=$(distance perf again)
	add "truth.self.$1.perf" "$own_distance"
	by_perf off $on_other "$build/flick" record --target-cpu 0 -P main \
		-o "$scratch/data" -- || return
	add "truth.self.$1.moved" "$(beyond perf off)"
	flick_run -a counts --all || return
	calls counts >"$scratch/calls"
	by_default || return
	add "truth.self.$1" "$(beyond perf default)"
	add "truth.self.$1.off" "$(beyond off default)"
	add "truth.samples.$1" "$n"
	calls latency >"$scratch/said"
	add "truth.calls.$1" "$(worst_error calls said)"
	by_all || return
	add "truth.self.$1.all" "$(beyond perf all)"
	calls latency >"$scratch/said"
	add "truth.calls.$1.all" "$(worst_error calls said)"
}

judge() {	# PROGRAM
	why= reason= round=0
	prepare "$1" || reason=${why:-it cannot be had}
	while [ -z "$reason" ] && [ $round -lt "$rounds" ]; do
		compare "$1" || reason=${why:-it failed}
		round=$((round + 1))
	done
	for what in '' $of_self; do
		report "truth.self.$1$what" points "$reason"
	done
	report "truth.samples.$1" samples "$reason"
	report "truth.calls.$1" % "$reason"
	report "truth.calls.$1.all" % "$reason"
}

# ---- the cost ------------------------------------------------------------------------

# What flick says is over the program's own time, without profiling calls; so is the
# first baseline, where all of them are off.
compare_cost() {	# PROGRAM
	flick_run -P main || return
	off=$(value duration_ns)
	run_it taskset -c 0 "$probed" || return
	alone=$(calc "$wall * 1e9")
	flick_run || return
	said=$(sed -n 's/^cost: \([0-9.]*\) % of CPU time.*/\1/p' "$scratch/log")
	[ "$said" ] || { why="no cost was said"; return 1; }
	took=$(value duration_ns)
	add "truth.cost.$1" "$(calc "$said - 100 * ($took / $off - 1)")"
	add "truth.cost.$1.said" "$said"
	add "truth.cost.$1.alone" "$(calc "100 * ($took / $alone - 1)")"
}

judge_cost() {	# PROGRAM
	why= reason= round=0
	prepare "$1" || reason=${why:-it cannot be had}
	while [ -z "$reason" ] && [ $round -lt "$cost_rounds" ]; do
		compare_cost "$1" || reason=${why:-it failed}
		round=$((round + 1))
	done
	report "truth.cost.$1" points "$reason"
	report "truth.cost.$1.said" % "$reason"
	report "truth.cost.$1.alone" % "$reason"
}

# ---- known ticks ---------------------------------------------------------------------

# FUNCTION TICKS of the last recording: the median, as others on the machine stretch some.
said_ticks() {
	sqlite3 -batch -noheader -separator ' ' "$scratch/data/results.db" "
		select f.name, t.p50_ns / k.value
		from latency t join functions f on f.id = t.function, session k
		where k.key = 'ns_per_tick'"
}

# The program times twins of its functions that have no probe. Of the caller the error
# of one of its hundred calls counts.
compare_ticks() {	# SUFFIX
	said_ticks >"$scratch/said"
	grep '^ticks ' "$scratch/ticks.out" >"$scratch/true"
	for n in $ticks; do
		LC_ALL=C awk -v n="$n" -v suffix="$1" '
			function off(said, is,	d) {
				d = said > is ? said - is : is - said
				return d / (is > 100 ? is / 20 : 5)
			}
			FILENAME == ARGV[1] { is[$2] = $3; next }
			{ said[$1] = $2 }
			END {
				leaf = "leaf_" n
				nest = "nest_" n
				if (!(leaf in said) || !(nest in said)) exit
				print off(said[leaf], is[leaf]), \
					off(said[nest] / 100, is[nest] / 100)
			}' "$scratch/true" "$scratch/said" >"$scratch/off"
		read -r alone within <"$scratch/off" || continue
		add "truth.ticks.$n$1" "$alone"
		add "truth.ticks.$n.within$1" "$within"
	done
}

run_ticks() {	# SUFFIX OPTIONS...
	suffix=$1
	shift
	rm -rf "$scratch/data"
	$on_other "$build/flick" record --target-cpu 0 "$@" -o "$scratch/data" \
		-- "$out/ticks" >"$scratch/ticks.out" 2>"$scratch/log" || {
		why="$(last_line "$scratch/log")"
		return 1
	}
	compare_ticks "$suffix"
}

judge_ticks() {
	why= reason= round=0
	gcc -O2 -finstrument-functions "$top/tests/targets/ticks.c" -o "$out/ticks" ||
		reason="ticks.c does not compile"
	while [ -z "$reason" ] && [ $round -lt "$cost_rounds" ]; do
		run_ticks "" && run_ticks .all --all &&
			run_ticks .precise --all --precise || reason=${why:-it failed}
		round=$((round + 1))
	done
	for n in $ticks; do
		for what in '' .within .all .within.all .precise .within.precise; do
			report "truth.ticks.$n$what" "of what may be" "$reason"
		done
	done
}

# ---- all of it -----------------------------------------------------------------------

[ -x "$build/flick" ] || { echo "no $build/flick" >&2; exit 1; }
command -v sqlite3 >/dev/null || { echo "sqlite3 is not installed" >&2; exit 1; }
mkdir -p "$inputs"
judge_ticks
for p in $costed; do
	judge_cost "$p"
done
reason=$(no_samples)
if [ "$reason" ]; then
	skip_judged "$reason"
else
	for p in $judged; do
		judge "$p"
	done
fi
