#!/bin/sh
# The process ends, or becomes another, by any thread and in any way, while
# detached threads go on calling: what each had called is there.
. "$(dirname "$0")/lib"
need sqlite3 od "$CC"
target ends -O2 $sites

emulated exec || execs="exec/0 thread-exec/0"

check() {
	for end in return/0 exit/0 quick/0 abort/134 kill/137 thread-exit/0 thread-kill/137 \
		${execs:-}
	do
		label="$end $1:"
		rm -f "$work/tally"
		record $1 -- "$work/ends" "$work/tally" ${end%/*}
		succeeded ${end#*/}
		within_tallies "$work/tally" "$3"
		lossless
		n=$(sql "select count(*) from threads where delivered >= 3000")
		[ "$n" -eq 3 ] || fail "$label $n threads called, not 3"
	done
}
exhaustively check
