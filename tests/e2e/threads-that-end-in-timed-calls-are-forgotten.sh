#!/bin/sh
# A thread ends in the middle of a timed call. The process beside the program finds it, gives
# its calls up, and switches their function off, as it is the one that waits for them.
. "$(dirname "$0")/lib"
need "$CC"
target left-in-a-call -O2 -pthread $sites

for n in 1 3 20; do
	label="$n threads:"
	record -K 3 --budget=100 -- "$work/left-in-a-call" $n
	succeeded
	! grep -q flick-watch "$err" || fail "$label $(grep flick-watch "$err")"
done
