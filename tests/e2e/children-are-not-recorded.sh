#!/bin/sh
# fork, vfork, bare clone, posix_spawn, popen, system: the parent's counts are
# exact and no child's event is among them.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
target fork -O2 $sites
for how in "-a counts" "-a latency --all"; do
	label="$how:"
	record $how -- "$work/fork"
	succeeded
	exact "$(echo "$how" | cut -d' ' -f2)"
	lossless
done
label="sampling:"
record -- "$work/fork"
succeeded
