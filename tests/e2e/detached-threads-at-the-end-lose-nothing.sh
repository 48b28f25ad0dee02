#!/bin/sh
# The process ends, or becomes another, by any thread and in any way, while
# detached threads go on calling: what each had called is there.
. "$(dirname "$0")/lib"
need sqlite3 od "$CC"
target ends -O2 $sites

check() {
	for end in return exit quick abort kill thread-exit thread-kill exec thread-exec
	do
		label="$end $1:"
		rm -f "$work/tally"
		record $1 -- "$work/ends" "$work/tally" $end
		[ "$status" -eq 0 ] || fail "$label exit status $status"
		within_tallies "$work/tally" "$3"
		lossless
		n=$(sql "select count(*) from threads where delivered >= 3000")
		[ "$n" -eq 3 ] || fail "$label $n threads called, not 3"
	done
}
exhaustively check
