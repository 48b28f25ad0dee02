#!/bin/sh
# --rate: that part of the program's CPU time lies in windows, and about as many
# events are made.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
target windows -O2 $sites

for rate in 5 30; do
	label="$rate %:"
	record --rate $rate% -a counts,latency -- "$work/windows" 250
	succeeded
	exact
	got=$(sql "select value from session where key = 'rate'")
	awk -v got="$got" -v due=$rate 'BEGIN { exit got < due / 2 || got > due * 1.6 + 1 }' ||
		fail "$label $got % was recorded"
	# Two a call in windows, and who called.
	made=$(sql "select 100 * sum(produced) / (select sum(calls) from counts) from threads")
	[ "$made" -lt $((due = 5 * rate)) ] || fail "$label $made events for 100 calls, not $due"
done
