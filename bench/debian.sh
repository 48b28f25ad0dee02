#!/bin/sh
# debian.sh - programs as Debian has them, recorded by second bodies: what that costs.
#
#	body.profiler.P		default record over the program alone, wall, percent
#	body.P			latency of every call of every chosen function (--all), times
#	body.start.python3	milliseconds that `flick record python3 -c pass` adds to the run
#
# The program and the libraries it brings are chosen, as by default. Runs take turns; the
# program is on CPU 0, what else flick does on another. A run counts only when the output
# is that of the program alone.
set -eu
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/programs.sh"
. "$(dirname "$0")/debian-programs.sh"

rounds=${FLICK_ROUNDS:-5}
programs=${FLICK_PROGRAMS:-$debian_programs}

# Sets $wall. The interpreter's name may be a link.
timed() {	# COMMAND...
	name=$(readlink -f "$(command -v "${command%% *}")")
	(cd "$scratch" && STEADY=${name##*/} LD_PRELOAD=$out/steady.so \
		exec "$out/timed" "$scratch/times" "$@" $command) \
		</dev/null >"$scratch/output" 2>"$scratch/log" || {
		why="$(last_line "$scratch/log")"
		return 1
	}
	read -r wall cpu <"$scratch/times"
	[ -e "$scratch/$program.output" ] || cp "$scratch/output" "$scratch/$program.output"
	cmp -s "$scratch/output" "$scratch/$program.output" || {
		why="the output is not the plain run's"
		return 1
	}
}

recorded() {	# OPTIONS...
	rm -rf "$scratch/data"
	timed $on_other "$build/flick" record --target-cpu 0 "$@" -o "$scratch/data" --
}

run_program() {
	prepare "$program" && timed || return
	plain=$wall
	recorded || return
	add "body.profiler.$program" "$(calc "100 * ($wall / $plain - 1)")"
	recorded -a latency --all || return
	add "body.$program" "$(calc "$wall / $plain")"
}

run_start() {
	program=start
	command="/usr/bin/python3 -c pass"
	timed || return
	plain=$wall
	recorded || return
	add body.start.python3 "$(calc "1000 * ($wall - $plain)")"
}

round=0
while [ $round -lt $rounds ]; do
	for program in $programs; do
		[ -e "$scratch/refused.$program" ] || run_program ||
			echo "${why:-failed}" >"$scratch/refused.$program"
	done
	run_start || :
	round=$((round + 1))
done
for program in $programs; do
	reason=$(cat "$scratch/refused.$program" 2>/dev/null || :)
	report "body.profiler.$program" % "$reason"
	report "body.$program" times "$reason"
done
report body.start.python3 ms
