#!/bin/sh
# `strace -f` of recorder and target: all goes on as without.
. "$(dirname "$0")/lib"
need sqlite3 strace "$CC"
strace -o "$work/trace" true 2>/dev/null || skip "strace cannot trace a process here"
target threads -O2 $sites

check() {
	label="$1:"
	rm -rf "$data"
	run strace -f -o "$work/trace" "$FLICK" record $1 -o "$data" -- "$work/threads" 3 20000
	accounted "$2"
	grep -q 'exited with 0' "$work/trace" || fail "$label nothing was traced"
}
exhaustively check
label="sampling:"
run strace -f -o "$work/trace" "$FLICK" record -o "$data" -- "$work/threads" 3 20000
succeeded
conserved
