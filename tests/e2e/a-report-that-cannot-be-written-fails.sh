#!/bin/sh
. "$(dirname "$0")/lib"
need "$CC"
[ -c /dev/full ] || skip "no /dev/full"
target recursion -O2 $sites
record -a latency --all -- "$work/recursion"
succeeded
for command in "report $data" "report --format=csv $data" \
	"list $work/recursion" "count fib -- $work/recursion" \
	"latency fib -- $work/recursion" "record --help"; do
	label="$command:"
	"$FLICK" $command >/dev/full 2>"$err"
	[ $? -eq 1 ] || fail "$label a full output is no failure"
	grep -qi 'no space' "$err" || fail "$label it is not said"
	[ "$(grep -c 'cannot write' "$err")" = 1 ] || fail "$label it is said twice"
done
