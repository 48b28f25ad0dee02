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
	trap '' PIPE HUP XFSZ
	same
	grep -q '^signal 13 blocked 0 ignored' "$out" || fail "$label SIGPIPE is not ignored"
	grep -q '^signal 25 blocked 0 ignored' "$out" || fail "$label SIGXFSZ is not ignored"
) || exit 1

# Who ignores SIGCHLD is told of no child by the kernel; flick knows the target's status, though.
label="SIGCHLD:"
ignoring() {	# PROGRAM [ARGUMENT]...
	rm -rf "$data"
	TRUTH_THREADS= run env --ignore-signal=CHLD "$FLICK" record --exit-code $use -o "$data" "$@"
}
for use in "-a counts" --follow; do
	ignoring sh -c 'exit 7'
	[ "$status" -eq 7 ] || fail "$label status $status"
	grep -q 'exited with status 7' "$err" || fail "$label its status is not told"
	ignoring "$work/env"
	grep -q '^signal 17 blocked 0 ignored' "$out" || fail "$label it is not ignored"
done

label="LD_PRELOAD:"
export LD_PRELOAD="$work/preloaded.so"
same
grep -q '^signal 12 blocked 0 handled' "$out" || fail "$label nothing was preloaded"
