#!/bin/sh
# abort, SIGSEGV, SIGKILL from within, _exit, exit: all calls up to it are in, and
# --exit-code tells it as a shell would.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
target crash -O2 $sites

check() {
	for end in abort/134 segv/139 kill/137 quick/5 exit/6; do
		label="$end $1:"
		record $1 -- "$work/crash" ${end%/*}
		succeeded ${end#*/}
		grep -q '^count leaf 5000' "$out" || fail "$label did not run"
		case $end in
		*/1??) said="was ended by signal $((${end#*/} - 128)) " ;;
		*) said="exited with status ${end#*/}\$" ;;
		esac
		grep -q "^flick: .*/crash $said" "$err" || fail "$label its end is not said"
		exact "$2"
		by_thread
		lossless
	done
}
exhaustively check
