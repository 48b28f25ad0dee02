#!/bin/sh
# With -mcmodel=large the profiling functions are called through a register:
# no site to scan for, but each call is there, from the first on, in threads
# that meet it at the same time.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
target threads -O2 $sites -mcmodel=large -fno-pie -no-pie
for how in "-a counts" "-a latency --all"; do
	for round in 1 2 3 4 5; do
		label="$how:"
		record $how -- "$work/threads" 8 2000
		succeeded
		exact "$(echo "$how" | cut -d' ' -f2)"
		lossless
	done
done

# With --rate counts are exact, of those too.
label="--rate 20%:"
record --rate 20% -a counts -- "$work/threads" 4 20000
succeeded
exact counts
lossless
