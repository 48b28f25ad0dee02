#!/bin/sh
# live.sh - what `flick live` costs a program that it shows.
#
#	live.cost            percent that a program of tiny functions, compiled for tools,
#	                     takes longer while it is shown, by the clock
#	live.cost.cpu        the same of its CPU time
#
# The program, bench/live.c, sorts pages for a second; it is compiled with
# -finstrument-functions. It says itself how long that took. Runs take turns; the terminal
# is one of script(1), where each look is drawn.
set -eu
. "$(dirname "$0")/lib.sh"

rounds=${FLICK_ROUNDS:-15}
program=$out/live
times=$scratch/said
gcc -O2 -g -finstrument-functions -o "$program" "$top/bench/live.c"

# q, once it has said how long it took.
press_q() {
	for i in $(seq 600); do
		[ ! -s "$times" ] || break
		sleep 0.1
	done
	sleep 0.2
	printf q
}

shown() {
	rm -f "$times"
	press_q | TERM=xterm script -qec "'$build/flick' live -o /dev/null '$program' '$times'" \
		/dev/null >/dev/null 2>&1 || return 1
	[ -s "$times" ]
}

why=
command -v script >/dev/null || why="no script(1)"
while [ -z "$why" ] && [ "$rounds" -gt 0 ]; do
	rounds=$((rounds - 1))
	"$program" "$times"
	read -r wall cpu sum <"$times"
	shown || { why="flick live failed"; break; }
	read -r live_wall live_cpu sum <"$times"
	add live.cost "$(calc "100 * ($live_wall / $wall - 1)")"
	add live.cost.cpu "$(calc "100 * ($live_cpu / $cpu - 1)")"
done
report live.cost % "$why"
report live.cost.cpu % "$why"
