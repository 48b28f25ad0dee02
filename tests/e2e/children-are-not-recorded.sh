#!/bin/sh
# fork, vfork, bare clone, posix_spawn, popen, system: the parent's counts are
# exact and no child's event is among them; a child of fork has its probes off. A
# child of vfork runs in its parent's memory and place, so what it calls before
# exec is its parent's.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
target fork -O2 $sites

check() {
	label="$1:"
	record $1 -- "$work/fork"
	accounted "$2"
}
export FORK_TEXT=1
exhaustively check
unset FORK_TEXT
label="sampling:"
record -- "$work/fork"
succeeded
