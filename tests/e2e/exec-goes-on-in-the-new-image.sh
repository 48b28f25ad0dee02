#!/bin/sh
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
target exec -O2 $sites

check() {
	label="$1:"
	record $1 -- "$work/exec" 3
	accounted "$2"
}
exhaustively check
