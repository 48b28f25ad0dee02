#!/bin/sh
# fork, vfork, bare clone, posix_spawn, popen, system: the parent's counts are
# exact and no child's event is among them; a child of fork has its probes off, those
# of profiling calls in pages of code that it runs in, and no other page is written to.
# A child of vfork runs in its parent's memory and place, so what it calls before exec is
# its parent's.
. "$(dirname "$0")/lib"
no_emulator wiped
need sqlite3 "$CC"
target fork -O2 $sites

check() {
	label="$1:"
	record $1 -- "$work/fork"
	accounted "$2"
}
export FORK_TEXT=used
exhaustively check
label="sampling:"
unset FORK_TEXT		# probes may be off by then, and have nothing to change
record -- "$work/fork"
succeeded
target fork -O2 -fpatchable-function-entry=5
export FORK_TEXT=all
check "-a counts" counts
