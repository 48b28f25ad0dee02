#!/bin/sh
# By every analysis, for each thread, and twice as many events as calls: entries
# and exits.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
target threads -O2 $sites

check() {
	label="$1:"
	record $1 -- "$work/threads" 8 20000
	accounted "$2"
	got=$(sql "select count(*) from threads where delivered > 0")
	[ "$got" -eq 9 ] || fail "$label $got threads, not 9"
}
exhaustively check
