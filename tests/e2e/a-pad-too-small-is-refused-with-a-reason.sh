#!/bin/sh
. "$(dirname "$0")/lib"
need "$CC"
[ "$(uname -m)" = x86_64 ] || skip "a pad of one instruction is enough on this CPU"
target recursion -O2 -fpatchable-function-entry=3
run "$FLICK" list "$work/recursion"
grep -q 'no: ' "$out" || fail "no refusal"
grep 'no: ' "$out" | grep -qi 'short' || fail "the reason is not the size"
