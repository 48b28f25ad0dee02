#!/bin/sh
# totals.sh - total times of the default report, beside perf's stacks.
#
#	truth.total.P		points between the total of a function, as a share of the
#				program's CPU time, and the share of perf's samples that have
#				it in their stack (--call-graph dwarf): the mean of functions
#				with a twentieth or more whose totals samples tell
#	truth.total.P.worst	the worst of them
#	truth.total.P.perf	perf against perf, as the first
#
# Programs are built with -O2 -fno-inline, without a compiler's sites: second bodies are
# recorded. Each runs on CPU 0, flick's reader on another.
set -eu
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/programs.sh"

rounds=${FLICK_ROUNDS:-3}
programs=${FLICK_PROGRAMS:-demo nbody hull blackscholes}

prepare() {	# PROGRAM
	case $1 in
	demo)
		alone="$out/demo-plain"
		gcc -O2 -g -fno-inline -pthread "$top/tests/targets/demo.c" -o "$alone" ;;
	nbody) build_own nbody totals "-g -fno-inline" && alone="$own 3000 20" ;;
	hull) build_own hull totals "-g -fno-inline" && alone="$own 300000 20" ;;
	blackscholes) build_own blackscholes totals "-g -fno-inline" && alone="$own 50000 150" ;;
	esac
}

# FUNCTION SHARE lines: of samples, those that have the function in their stack.
by_perf() {	# FILE
	taskset -c 0 perf record -q -e cpu-clock:u -F 997 --call-graph dwarf,8192 \
		-o "$scratch/perf.data" -- $alone >/dev/null 2>"$scratch/log" || return
	perf script -i "$scratch/perf.data" --no-inline -F ip,sym 2>/dev/null | LC_ALL=C awk '
		NF == 0 { for (f in has) n[f]++; delete has; all += is; is = 0; next }
		{ has[$2] = 1; is = 1 }
		END { for (f in n) print f, n[f] / all }' >"$scratch/$1"
}

# ... of functions whose totals samples tell.
by_flick() {
	rm -rf "$scratch/data"
	$on_other "$build/flick" record --target-cpu 0 -o "$scratch/data" -- $alone \
		>/dev/null 2>"$scratch/log" || return
	sqlite3 -batch -noheader -separator ' ' "$scratch/data/results.db" "
		select f.name, t.total_ns * 1.0 / (select sum(self_ns) from latency)
		from latency t join functions f on f.id = t.function
		where t.stack_samples is not null" >"$scratch/flick"
}

# Points, of functions that are in flick's and have a twentieth by perf.
off() {	# mean|worst FILE
	LC_ALL=C awk -v what="$1" '
		FILENAME == ARGV[1] { share[$1] = $2; next }
		FILENAME == ARGV[2] { told[$1] = 1; next }
		$1 in share && $1 in told && share[$1] >= 0.05 {
			d = 100 * ($2 - share[$1])
			if (d < 0) d = -d
			if (d > worst) worst = d
			sum += d
			n++
		}
		END { printf "%.2f", what == "worst" ? worst : n ? sum / n : 100 }' \
		"$scratch/perf" "$scratch/told" "$scratch/$2"
}

compare() {	# PROGRAM
	by_perf perf && by_perf again && by_flick || return
	cp "$scratch/flick" "$scratch/told"
	add "truth.total.$1" "$(off mean flick)"
	add "truth.total.$1.worst" "$(off worst flick)"
	add "truth.total.$1.perf" "$(off mean again)"
}

judge() {	# PROGRAM
	why= round=0
	[ -n "$reason" ] || prepare "$1" || reason="it does not compile"
	while [ -z "$reason" ] && [ $round -lt "$rounds" ]; do
		compare "$1" || reason=$(last_line "$scratch/log")
		round=$((round + 1))
	done
	for what in '' .worst .perf; do
		report "truth.total.$1$what" points "$reason"
	done
}

[ -x "$build/flick" ] || { echo "no $build/flick" >&2; exit 1; }
command -v sqlite3 >/dev/null || { echo "sqlite3 is not installed" >&2; exit 1; }
missing=$(no_samples)
for p in $programs; do
	reason=$missing
	judge "$p"
done
