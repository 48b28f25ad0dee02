#!/bin/sh
# count in the manner of funccount, latency in that of funclatency.
. "$(dirname "$0")/lib"
need "$CC"
target recursion -O2 $sites
run "$FLICK" count 'f*' -- "$work/recursion"
succeeded
for f in factorial fib; do
	n=$(sed -n "s/^count $f //p" "$out")
	grep -v '^count' "$out" | grep -w $f | grep -qw "$n" ||
		fail "$f is not said to have $n calls"
done
! grep -v '^count' "$out" | grep -qw even || fail "even was not asked for"
run "$FLICK" latency fib -- "$work/recursion"
succeeded
grep -Eq 'avg *=.*total.*count' "$out" || fail "no summary of the latency"
