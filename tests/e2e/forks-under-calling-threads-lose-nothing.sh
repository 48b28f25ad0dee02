#!/bin/sh
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
target busy-fork -O2 $sites

check() {
	label="$1:"
	record $1 -- "$work/busy-fork"
	accounted "$2"
}
exhaustively check
