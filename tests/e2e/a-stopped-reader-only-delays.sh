#!/bin/sh
# Exhaustive recording waits for its reader: stopped for a while, it loses
# nothing, and the wait is no time of the program's.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
target threads -O2 $sites
"$FLICK" record -a latency --all -o "$data" -- "$work/threads" 3 1600000 \
	>"$out" 2>"$err" &
reader=$!
for i in 1 2 3; do
	sleep 0.2
	kill -STOP $reader 2>/dev/null || break
	sleep 0.3
	kill -CONT $reader
done
wait $reader
status=$?
succeeded
exact latency
lossless
# Its threads waited for it while it was stopped, 0.9 s if they ran so long.
ms=$(sql "select ((select value from session where key = 'duration_ns') - max(max_ns))
	/ 1000000 from $(rows latency) where name = 'worker'")
[ "$ms" -gt 500 ] || fail "a thread's time is $ms ms less than the recording's"
