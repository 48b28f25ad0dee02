#!/bin/sh
# A program whose data is limited (ulimit -d) keeps most of it: what flick has of its own there
# is as much less, and all calls are recorded. Where a program that is recorded becomes one that
# has no room for flick, flick has nothing there but libflick.so.
. "$(dirname "$0")/lib"
no_emulator data
need sqlite3 "$CC"
target threads -O2 $sites

# data_of	what the program printed of itself, in KiB
data_of() {
	awk '$1 == "VmData:" { print $2 }' "$out"
}

check() {
	label="$1:"
	record_below "-d 300000" $1 -- "$work/threads" 3 20000
	accounted "$2"
}
exhaustively check

for use in "" --all --follow "-a paths"; do
	label="a quarter ${use:-sampled}:"
	record_below "-d 300000" $use -- cat /proc/self/status
	succeeded
	[ "$(data_of)" -lt 75000 ] || fail "$label flick has $(data_of) KiB of 300000"
done

# The first array of a table has no room, or one of the others.
for limit in 20000 200000 340000; do
	label="too little, $limit:"
	record -a counts -- sh -c "ulimit -d $limit; exec cat /proc/self/status"
	succeeded
	grep -q 'cannot record .*memory' "$err" || fail "$label recorded"
	[ "$(data_of)" -lt 4000 ] || fail "$label flick has kept $(data_of) KiB"
done
