#!/bin/sh
# fork, vfork, bare clone, posix_spawn, popen, system: the parent's counts are
# exact and no child's event is among them. A child of vfork runs in its
# parent's memory and place, so what it calls before exec is its parent's.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
target fork -O2 $sites

check() {
	label="$1:"
	record $1 -- "$work/fork"
	accounted "$2"
}
exhaustively check
label="sampling:"
record -- "$work/fork"
succeeded
