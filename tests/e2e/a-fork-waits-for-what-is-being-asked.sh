#!/bin/sh
# A process forks while another thread of it waits for the recorder's answer about a call
# that it met: the fork waits, too, and the child's calls of the same are recorded.
. "$(dirname "$0")/lib"
no_emulator forks
need sqlite3 "$CC"
target fork-asked -O2 $sites

for how in counts graph; do
	label="$how:"
	limit=20 record --follow -a $how -- "$work/fork-asked"
	succeeded
	exact $how
	lossless
done
