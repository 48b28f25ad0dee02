#!/bin/sh
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
target short-threads -O2 $sites

check() {
	label="$1:"
	record $1 -- "$work/short-threads"
	accounted "$2"
	got=$(sql "select count(*) from threads")
	[ "$got" -eq 2001 ] || fail "$label $got threads, not 2001"
}
exhaustively check
