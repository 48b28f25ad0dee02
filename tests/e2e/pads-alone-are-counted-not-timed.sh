#!/bin/sh
# Behind an entry pad there is no exit: no time, and it is said.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
target recursion -O2 -fpatchable-function-entry=8

label="no option:"
record -- "$work/recursion"
succeeded
grep -q 'entry probes only.*counted' "$err" || fail "$label it is not said"
exact
lossless
ends_well
run "$FLICK" report "$data"
succeeded
grep -q 'fib$' "$out" || fail "$label no report"

for how in "-a latency" "--all" "-a latency,counts"; do
	label="$how:"
	record $how -- "$work/recursion"
	one_line_error 1 'entry probes only.*-a counts'
	! grep -q '^count' "$out" || fail "$label the program ran for nothing"
done
label="flick latency:"
run "$FLICK" latency fib -- "$work/recursion"
one_line_error 1 'entry probes? only.*-a counts'

label="both kinds:"
compile "$work/pad.so" "$targets/inline.c" -shared -fPIC -O0 \
	-fpatchable-function-entry=8
libraries=$work/pad.so target recursion -O2 $sites -Wl,--no-as-needed
record -a latency --all -- "$work/recursion"
succeeded
grep -q 'entry probes only' "$err" || fail "$label it is not said"
exact latency
