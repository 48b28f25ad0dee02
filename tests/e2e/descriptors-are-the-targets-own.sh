#!/bin/sh
# A program that closes every descriptor it did not open is recorded still, and
# sees the same numbers as without flick. Standard files that were closed when flick
# began are closed for the program.
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

are_open='for fd in 0 1 2; do [ ! -e /proc/$$/fd/$fd ] || all="$all $fd"; done; echo "open:$all" >&7'
rm -rf "$data"
"$FLICK" record -o "$data" -- sh -c "$are_open" 7>"$work/none" <&- >&- 2>&-
"$FLICK" record -o "$data" -- sh -c "$are_open" 7>"$work/last" <&- >&- 2>"$err"
grep -qx 'open:' "$work/none" || fail "without any there are $(cat "$work/none")"
grep -qx 'open: 2' "$work/last" || fail "with the last there are $(cat "$work/last")"
