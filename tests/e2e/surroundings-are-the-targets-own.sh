#!/bin/sh
# Arguments, environment, signals, limits, name, cwd, what the user preloads: as
# without flick.
. "$(dirname "$0")/lib"
no_emulator environment
need "$CC"
target env -O2 $sites
library preloaded

same() {	# ARGUMENTS
	TRUTH_THREADS= run "$work/env" "$@"
	cp "$out" "$work/plain"
	TRUTH_THREADS= record -a counts -- "$work/env" "$@"
	succeeded
	cmp -s "$work/plain" "$out" || fail "$label $(diff "$work/plain" "$out" | head -n 5)"
}

label="arguments:"
same "a b" '' '*'

# Ignored signals stay so, whichever.
label="signals:"
(
	trap '' PIPE HUP
	same
	grep -q '^signal 13 blocked 0 ignored' "$out" || fail "$label SIGPIPE is not ignored"
) || exit 1

label="LD_PRELOAD:"
export LD_PRELOAD="$work/preloaded.so"
same
grep -q '^signal 12 blocked 0 handled' "$out" || fail "$label nothing was preloaded"
