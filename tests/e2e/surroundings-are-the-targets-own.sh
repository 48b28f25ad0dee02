#!/bin/sh
# Arguments, environment, signals, limits, name, cwd: as without flick.
. "$(dirname "$0")/lib"
need "$CC"
target env -O2 $sites
run "$work/env" "a b" '' '*'
cp "$out" "$work/plain"
record -a counts -- "$work/env" "a b" '' '*'
succeeded
cmp -s "$work/plain" "$out" || fail "$(diff "$work/plain" "$out" | head -n 5)"

# Ignored signals stay so, whichever.
(
	trap '' PIPE HUP
	run "$work/env"
	cp "$out" "$work/plain"
	record -a counts -- "$work/env"
)
grep -q '^signal 13 blocked 0 ignored' "$work/plain" || fail "this test ignores no SIGPIPE"
cmp -s "$work/plain" "$out" || fail "$(diff "$work/plain" "$out" | head -n 5)"
