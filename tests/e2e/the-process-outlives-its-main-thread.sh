#!/bin/sh
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
target exit-main -O2 $sites

check() {
	label="$1:"
	record $1 -- "$work/exit-main"
	accounted "$2"
}
exhaustively check
