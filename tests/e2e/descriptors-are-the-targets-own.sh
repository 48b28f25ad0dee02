#!/bin/sh
# A program that closes every descriptor it did not open is recorded still, and
# sees the same numbers as without flick.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
target fdcloser -O2 $sites
run "$work/fdcloser"
cp "$out" "$work/plain"
TRUTH_THREADS= record -a counts -- "$work/fdcloser"
succeeded
exact
lossless
grep -v '^count' "$out" | diff "$work/plain" - >"$work/diff" || true
cmp -s "$work/plain" "$out" || fail "$(diff "$work/plain" "$out")"
