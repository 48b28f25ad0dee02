#!/bin/sh
# timeout: 3600
# perl, every function with a probe, runs its own t/op/*.t: each test's results
# are those without flick. A test that differs from itself without flick, twice
# run, says nothing and is left out, by name.
. "$(dirname "$0")/lib"
need sqlite3
perl=$(program perl) || { say "$perl"; exit 77; }
cd "${perl%/*}/t" || fail "no tests"
limit=300

# The test points of a TAP output: `ok N` and `not ok N`, the plan, the status.
results() {
	sed -n 's/^\(\(not \)\{0,1\}ok [0-9]*\).*/\1/p; /^1\.\.[0-9]*/p' "$out"
	echo "status $status"
}

different=0 unstable=0 same=0
for t in op/*.t; do
	switches=$(sed -n '1s/^#!.*perl//p' "$t")	# such as -T
	run ../perl -I../lib $switches "$t"
	results >"$work/before"
	record --exit-code ${FLICK_RECORD:-} -- ../perl -I../lib $switches "$t"
	results >"$work/with"
	cmp -s "$work/before" "$work/with" && { same=$((same + 1)); continue; }
	run ../perl -I../lib $switches "$t"
	results >"$work/after"
	if cmp -s "$work/before" "$work/after"; then
		say "$t: $(diff "$work/before" "$work/with" | head -n 3)"
		different=$((different + 1))
	else
		say "$t: differs from itself without flick"
		unstable=$((unstable + 1))
	fi
done
say "perl: $same tests the same, $different different, $unstable unstable"
: >"$out"
[ $different -eq 0 ] && [ $unstable -lt 5 ] && [ $same -gt 200 ] || fail "see above"
