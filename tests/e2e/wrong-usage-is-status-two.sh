#!/bin/sh
. "$(dirname "$0")/lib"

wrong() {	# PATTERN ARGS...
	pattern=$1
	shift
	label="flick $*:"
	run "$FLICK" "$@"
	[ "$status" -eq 2 ] || fail "$label status $status, not 2"
	grep -Eiq -- "$pattern" "$err" || fail "$label it does not say $pattern"
	[ ! -s "$out" ] || fail "$label errors belong on standard error"
}

wrong 'reco?rd' recrod
wrong 'nonsense' record --nonsense -- true
wrong 'program' record
wrong 'analys|counts' record -a nonsense -- true
wrong '-o' record -o
wrong 'usage|help' list
wrong 'from 1' calibrate --seconds 0
wrong 'from 1' calibrate --seconds soon
wrong 'exclude' calibrate --quick --show
wrong '--quick' calibrate --quack
wrong 'usage' calibrate now
