#!/bin/sh
# start.sh - what it takes to start a recording of a large program: python3.11,
# googletest's own unit tests and perl, built from Debian's sources with
# -finstrument-functions.
#
#	start.NAME           milliseconds that flick record -P main adds to the program's
#	                     run, from the command to its last line
#	start.NAME.all       the same with all functions wanted: the default report
#	start.NAME.cpu, start.NAME.all.cpu     user + system time likewise
#	start.NAME.sites     profiling calls of the program
#	start.python.tests   the default report of python -m test test_generators, over the
#	                     same alone, wall; its .cpu, user + system time
#
# The programs do next to nothing: python -c pass, perl -e 1, all unit tests of
# googletest, which take some ten milliseconds. Runs take turns. The first time
# python takes two minutes to build on two CPUs, the others less than one each.
set -eu
. "$(dirname "$0")/lib.sh"

rounds=${FLICK_ROUNDS:-15}
programs=${FLICK_PROGRAMS:-"python googletest perl"}
export PYTHONHASHSEED=0 PYTHONDONTWRITEBYTECODE=1 PERL_HASH_SEED=0

# Sets $wall and $cpu; false and $why.
timed() {	# COMMAND...
	rm -rf "$scratch/flick.data"
	"$out/timed" "$scratch/times" "$@" </dev/null >"$scratch/output" 2>"$scratch/log" || {
		why="$(last_line "$scratch/log")"
		return 1
	}
	read -r wall cpu <"$scratch/times"
}

record() {	# OPTIONS... -- COMMAND...
	timed "$build/flick" record --exit-code -o "$scratch/flick.data" "$@"
}

add_milliseconds() {	# NAME
	add "$1" "$(calc "1000 * ($wall - $alone)")"
	add "$1.cpu" "$(calc "1000 * ($cpu - $alone_cpu)")"
}

# Sets $program and $arguments.
build_program() {	# NAME
	real=$1
	[ "$1" != perl ] || real=miniperl
	FLICK_REAL="$build/real" sh "$top/tests/real/build" "$real" \
		>"$scratch/path" 2>"$scratch/log" || {
		why="$(last_line "$scratch/log")"
		why=${why#skip: }
		return 1
	}
	program=$(cat "$scratch/path")
	case $1 in
	python) arguments="-c pass" ;;
	googletest) arguments= ;;
	perl) arguments="-e 1" ;;
	esac
}

measure() {	# NAME
	why=
	build_program "$1" || return 0
	add "start.$1.sites" "$("$build/flick" list --json "$program" | grep -c '"cyg"')"
	timed "$program" $arguments || return 0		# warm
	for round in $(seq "$rounds"); do
		timed "$program" $arguments || return 0
		alone=$wall alone_cpu=$cpu
		record -P main -- "$program" $arguments || return 0
		add_milliseconds "start.$1"
		record -- "$program" $arguments || return 0
		add_milliseconds "start.$1.all"
	done
}

measure_tests() {
	build_program python || return 0
	arguments="-m test test_generators"
	timed "$program" $arguments || return 0		# warm
	for round in $(seq $((rounds < 5 ? rounds : 5))); do
		timed "$program" $arguments || return 0
		alone=$wall alone_cpu=$cpu
		record -- "$program" $arguments || return 0
		add start.python.tests "$(calc "$wall / $alone")"
		add start.python.tests.cpu "$(calc "$cpu / $alone_cpu")"
	done
}

[ -x "$build/flick" ] || { echo "no $build/flick" >&2; exit 1; }
for name in $programs; do
	measure "$name"
	for what in '' .cpu .all .all.cpu; do
		report "start.$name$what" ms "$why"
	done
	report "start.$name.sites" calls "$why"
	[ "$name" = python ] || continue
	[ "$why" ] || measure_tests
	report start.python.tests x "$why"
	report start.python.tests.cpu x "$why"
done
