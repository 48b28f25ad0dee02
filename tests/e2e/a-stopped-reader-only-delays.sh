#!/bin/sh
# Exhaustive recording waits for its reader: stopped for a while, it loses
# nothing.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
target threads -O2 $sites
"$FLICK" record -a latency --all -o "$data" -- "$work/threads" 3 400000 \
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
