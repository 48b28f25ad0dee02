#!/bin/sh
# Before the experiments, in one line: no place for the result, one processor.
. "$(dirname "$0")/lib"
no_emulator calibrate

cannot() {	# PATTERN ENV-ARGS...
	pattern=$1
	shift
	label="$*:"
	run env "$@" "$FLICK" calibrate --seconds 1000
	one_line_error 1 "$pattern"
}

: >"$work/file"
cannot 'FLICK_CALIBRATION' FLICK_CALIBRATION="$work"
cannot 'FLICK_CALIBRATION' FLICK_CALIBRATION="$work/file/below"
cannot 'HOME is not set' -i
need taskset
label="one processor:"
run env FLICK_CALIBRATION="$work/kept" taskset -c "$(taskset -cp $$ |
	sed 's/.*: *\([0-9]*\).*/\1/')" "$FLICK" calibrate --quick
one_line_error 1 'needs two processors'
[ ! -e "$work/kept" ] || fail "it kept what it could not measure"
