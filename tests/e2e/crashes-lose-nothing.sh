#!/bin/sh
# abort, SIGSEGV, SIGKILL from within, _exit, exit: all calls up to it are in.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
target crash -O2 $sites

check() {
	for end in abort segv kill quick exit; do
		label="$end $1:"
		record $1 -- "$work/crash" $end
		grep -q '^count leaf 5000' "$out" || fail "$label did not run"
		exact "$2"
		by_thread "$3"
		lossless
	done
}
exhaustively check
