#!/bin/sh
# profiler.sh - what flick's default, the sampling profiler, costs (Table 3).
#
#	profiler.P		wall over the instrumented binary run alone, percent;
#				flick switches off the empty calls that this one makes
#	profiler.P.o2		over the one compiled without sites
#	profiler.P.cpu, .o2.cpu	the same of user + system time, of the reader too
#	profiler.P.samples	records of the profiler a second, two a timed call
#	profiler.P.toggles	sites switched a second
#	profiler.P.toggling	share of the time that goes into switching, percent
#
# The profiler is the paper's: ten calls of a function, then its sites are off
# until the next epoch of 10 ms. All options are the defaults.
# A run counts only when the program's output is right.
set -eu
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/programs.sh"

rounds=${FLICK_ROUNDS:-3}
command -v sqlite3 >/dev/null || { echo "sqlite3 is not installed" >&2; exit 1; }

value() {	# KEY
	sqlite3 "$scratch/data/results.db" "select value from session where key = '$1'"
}

# What the recording says, if it does. Else: half of the switches are made by the
# agent, which times them; the other half, by the program's threads, take 2.4 times
# as long, as these also block and unblock signals for each function.
switching() {
	said=$(sed -n 's/^cost: .*switching \([0-9.]*\).*/\1/p' "$scratch/log")
	echo "${said:-$(calc "100 * 3.4 * $(value rearm_ticks) * $(value ns_per_tick) / \
		$(value duration_ns)")}"
}

add_rates() {	# NAME
	seconds=$(calc "$(value duration_ns) / 1e9")
	add "$1.samples" "$(calc "$(value delivered) / $seconds")"
	add "$1.toggles" "$(calc "$(value toggles) / $seconds")"
	add "$1.toggling" "$(switching)"
}

refuse() {	# PROGRAM
	echo "${why:-failed}" >"$scratch/refused.$1"
}

run_program() {	# PROGRAM
	build_program "$1"
	baselines "$1" long || { refuse "$1"; return 0; }
	rm -rf "$scratch/data"
	timed_run "$1" long $on_other "$build/flick" record -o "$scratch/data" \
		-- "$probed" || { refuse "$1"; return 0; }
	add_percents "profiler.$1"
	add_rates "profiler.$1"
}

for p in $programs; do
	ready "$p" || refuse "$p"
done
round=0
while [ $round -lt $rounds ]; do
	for p in $programs; do
		[ -e "$scratch/refused.$p" ] || run_program "$p"
	done
	round=$((round + 1))
done

for p in $programs; do
	reason=$(cat "$scratch/refused.$p" 2>/dev/null || :)
	for what in '' .cpu .o2 .o2.cpu .toggling; do
		report "profiler.$p$what" % "$reason"
	done
	report "profiler.$p.samples" "/s" "$reason"
	report "profiler.$p.toggles" "/s" "$reason"
done
