#!/bin/sh
# Calls that no scan could name are brought by the first process of a family that meets
# them; those that come later have them from the start, and every call counts.
. "$(dirname "$0")/lib"
x86_target late-sites
need sqlite3 "$CC"
target late-sites -O2 $sites

count() {	# PROCESSES
	TRUTH_THREADS= record $compilers -f -a counts -- sh -c "i=0
		while [ \$i -lt $1 ]; do '$work/late-sites' direct 2 >/dev/null; i=\$((i + 1)); done"
	succeeded
	tail -n 1 "$err" | grep -q " $(($1 * 12000)) delivered, 0 lost; " ||
		fail "$1 processes: events are missing"
	sql "select count(*) || ' sites, ' || (select count(*) from modules) || ' modules, ' ||
		max(calls) || ' calls' from sites, (select max(calls) as calls from counts)"
}

one=$(count 1)
eight=$(count 8)
[ "${one%, *}" = "${eight%, *}" ] || fail "one process: $one, eight: $eight"
[ "${eight##*, }" = "16 calls" ] || fail "$eight of each in eight processes"
