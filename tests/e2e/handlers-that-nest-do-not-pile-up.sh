#!/bin/sh
# A recorder has no CPU for a second, so the program waits for room in its ring. Handlers that may
# nest (SA_NODEFER) come meanwhile as to a program that has no CPU: not one in the probe of
# another, until the stack has no room.
. "$(dirname "$0")/lib"
need "$CC"
target nests -O1 $sites
(ulimit -s 1024; run "$FLICK" record --exit-code --all -o "$data" -- "$work/nests"; exit $status)
status=$?
[ $status -eq 0 ] || fail "it ends with $status: $(cat "$err")"
grep -qE '^[0-9]+ KiB$' "$out" || fail "it says: $(cat "$out")"
