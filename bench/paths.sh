#!/bin/sh
# paths.sh - what it costs to count each path of programs as Debian has them.
#
#	paths.P			flick record -a paths: its time over that of the program
#				alone, in turn, with flick's own start and end; a run
#				counts only with the same output
#	paths.P.callgrind	valgrind's callgrind, which counts jumps: the same
set -eu
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/programs.sh"
. "$(dirname "$0")/debian-programs.sh"

rounds=${FLICK_ROUNDS:-5}
programs=${FLICK_PROGRAMS:-bzip2 lua sqlite}
output=$scratch/output

# Sets $time; false: the output is another one.
time_of() {	# COMMAND...
	time=$(take_time "$@" </dev/null)
	[ -e "$scratch/$program.output" ] || cp "$output" "$scratch/$program.output"
	cmp -s "$output" "$scratch/$program.output" || {
		why="the output is not the plain run's"
		return 1
	}
}

run_program() {
	prepare "$program" || return
	round=0
	while [ $round -lt "$rounds" ]; do
		time_of taskset -c 0 $command || return
		alone=$time
		time_of "$build/flick" record --cpu=1 --target-cpu=0 -a paths \
			-o "$scratch/flick.data" -- $command || return
		add "paths.$program" "$(calc "$time / $alone")"
		round=$((round + 1))
	done
	command -v valgrind >/dev/null || return 0
	time_of taskset -c 0 valgrind -q --tool=callgrind --collect-jumps=yes \
		--callgrind-out-file=/dev/null $command || return
	add "paths.$program.callgrind" "$(calc "$time / $alone")"
}

for program in $programs; do
	why=
	run_program || why=${why:-failed}
	report "paths.$program" times "$why"
	report "paths.$program.callgrind" times "${why:-$(command -v valgrind >/dev/null ||
		echo "valgrind is not installed")}"
done
