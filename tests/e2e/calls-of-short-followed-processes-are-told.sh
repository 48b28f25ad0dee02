#!/bin/sh
# Children that end between two windows: what they were called since the last one is
# estimated as well, also of those that begin with what others were counted for.
# timeout: 60
. "$(dirname "$0")/lib"
x86_target shorts
need sqlite3 "$CC"
target shorts -O2 $sites

record --follow -- "$work/shorts" 2000
succeeded
conserved
grep -q 'process.* not recorded' "$err" && skip "more children than there is room for"
made=$(sed -n 's/^calls //p' "$out")
got=$(sql "select sum(calls) from $(rows latency) where name = 'step'")
awk -v got="$got" -v made="$made" 'BEGIN { exit !(got > made / 1.5 && got < made * 1.5) }' ||
	fail "$got calls of $made"
