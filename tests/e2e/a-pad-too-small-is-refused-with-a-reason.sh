#!/bin/sh
. "$(dirname "$0")/lib"
need "$CC"
target recursion -O2 -fpatchable-function-entry=3
run "$FLICK" list "$work/recursion"
grep -q 'no: ' "$out" || fail "no refusal"
grep 'no: ' "$out" | grep -qi 'short' || fail "the reason is not the size"
