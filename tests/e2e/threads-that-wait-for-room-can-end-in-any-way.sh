#!/bin/sh
# The reader is stopped until every thread waits for room in a small ring. Then
# they are cancelled, handle a signal, end in its handler, the process forks, is
# killed, or becomes another: each thread's account is exact, also of rings that
# are half full. See tests/targets/stalled.c, which waits for each of these.
. "$(dirname "$0")/lib"
no_emulator calls
need sqlite3 od mkfifo "$CC"
[ -r /proc/self/syscall ] || skip "/proc/PID/syscall cannot be read here"
target stalled -O2 $sites

stall() {	# OPTIONS
	rm -rf "$data" "$work/tally" "$work/fifo"
	mkfifo "$work/fifo"
	timeout -k 5 60 "$FLICK" record $1 --buffer 8 -o "$data" -- "$work/stalled" \
		"$work/tally" "$work/fifo" "$how" >"$out" 2>"$err" </dev/null &
	waiting=$!
	timeout 50 cat "$work/fifo" || fail "$label the target does not end"
	reader=$(child_of $waiting)
	[ -z "$reader" ] || kill -CONT "$reader" 2>/dev/null
	wait $waiting
	status=$?
}

for options in "-a latency --all" "-a graph,tree" "-a latency --all --readers=2"; do
	for how in cont cancel handler handler-exit fork kill abort exec half; do
		label="$how $options:"
		stall "$options"
		[ "$status" -eq 0 ] || fail "$label exit status $status"
		within_tallies "$work/tally" 2
		lossless
		n=$(sql "select count(*) from threads where delivered > 0")
		[ "$n" -eq 4 ] || fail "$label $n threads called, not 4"
	done
done

# Nobody is left to keep an account; the target goes on to its right end.
how=kill-reader
label="$how:"
stall "-a latency --all"
grep -q '^count step 80000$' "$out" || fail "$label the target did not end well"
