#!/bin/sh
# valgrind executes a translation of the program, which no store to its code reaches, and keeps
# shadows of all that is mapped: the agent stays away, and the program does what it does.
#
# timeout: 60
. "$(dirname "$0")/lib"
need valgrind "$CC"
compile "$work/hull" "$top/bench/programs/hull.c" -O2 $sites -lm

expect=$(valgrind -q "$work/hull" 3000 2 2>/dev/null)
for how in "" "--follow" "--all -a counts"; do
	label="$how:"
	record $how -- sh -c "true; exec valgrind -q $work/hull 3000 2"
	[ "$(cat "$out")" = "$expect" ] || fail "$label it printed something else"
	! grep -q '^==' "$err" || fail "$label valgrind complains"
	! grep -q 'exited with\|was ended' "$err" || fail "$label $(cat "$err")"
done
