#!/bin/sh
# Catch2's own tests, as a compiler makes them without flick: each check that fails throws,
# through frames of templates, handlers and destructors, and many are made to fail. What they
# print and how they end is as without flick, with every function of theirs on.
. "$(dirname "$0")/lib"
need sqlite3
tests=$(program catch2-plain) || { say "$tests"; exit 77; }
limit=600

# It prints addresses of its stack.
results() {
	sed 's/0x[0-9a-f]*/0x/g' "$out"
}

run "$tests" '*'
plain=$status
results >"$work/plain"
thrown=$(grep -c 'FAILED\|unexpected exception' "$work/plain")
[ "$thrown" -ge 100 ] || fail "only $thrown checks fail"
for how in "" "--all" "-a counts" "-a graph" "-a paths" "-a cache"; do
	label="catch2 $how:"
	record --exit-code $how -- "$tests" '*'
	[ "$status" -eq "$plain" ] || fail "$label status $status, $plain without flick"
	results >"$work/with"
	cmp -s "$work/plain" "$work/with" ||
		fail "$label $(diff "$work/plain" "$work/with" | head -n 3)"
	[ "$(sql "select count(distinct function) from sites
		where provider = 'body' and wanted and not refusal")" -ge 500 ] ||
		fail "$label has no probes"
done
say "catch2: $thrown checks fail as they do without flick"
