#!/bin/sh
# SIGKILL in mid-run: of each thread, every call that had returned was delivered,
# entry and exit, and none that had not begun.
. "$(dirname "$0")/lib"
need sqlite3 od "$CC"
target killme -O2 $sites

kill_target() {	# CALLS OPTIONS EACH
	label="killed after $1 calls, $2:"
	rm -rf "$data" "$work/tally"
	"$FLICK" record $2 -o "$data" -- "$work/killme" "$work/tally" 3 60000 \
		>"$out" 2>"$err" &
	reader=$!
	wait_for_calls "$work/tally" "$1"
	kill -KILL "$(child_of $reader)" || fail "no target"
	wait $reader
	within_tallies "$work/tally" "$3"
	lossless
}

check() {
	for calls in 1 2000 50000 400000; do
		kill_target $calls "$1" "$3"
	done
}
exhaustively check
