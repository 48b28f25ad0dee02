#!/bin/sh
# --rate: that part of the program's CPU time lies in windows.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
target windows -O2 $sites

for rate in 5 30; do
	label="$rate %:"
	record --rate $rate% -a counts -- "$work/windows" 250
	succeeded
	exact
	got=$(sql "select value from session where key = 'rate'")
	awk -v got="$got" -v due=$rate 'BEGIN { exit got < due / 2 || got > due * 1.6 + 1 }' ||
		fail "$label $got % was recorded"
done
