#!/bin/sh
# timeout: 3600
# sqlite's own tests, as a compiler makes them without flick, every function with a second
# body: what each file of tests prints is as without flick. One that differs from itself without
# flick, twice run, says nothing and is left out, by name. FLICK_SQLITE: a pattern of files.
. "$(dirname "$0")/lib"
need sqlite3
fixture=$(program testfixture-plain) || { say "$fixture"; exit 77; }
cd "$work" || fail "no scratch"
limit=300
few="select[1-9] insert update delete index func expr trigger1 trigger2 where where2 join
	subquery view types2 collate1 vacuum pragma alter attach lock trans savepoint rollback
	fkey1 date printf like json101 with1 window1 wal shared thread001 thread002 malloc3
	corrupt2 corrupt3 intarray blob minmax sort"

# The tests that it names and how they ended, without times and addresses.
results() {
	sed -n 's/\.\.\. \(Ok\|Omitted\)$/ \1/p; /^! /p; /errors out of/s/ on .*//p' "$out"
	echo "status $status"
}

different=0 unstable=0 same=0 tests=0
for name in ${FLICK_SQLITE:-$few}; do
	for t in "${fixture%/*}"/test/$name.test; do
		run "$fixture" "$t"
		results >before
		record --exit-code ${FLICK_RECORD:---all} -o "$work/data" -- "$fixture" "$t"
		results >with
		if cmp -s before with; then
			same=$((same + 1))
			tests=$((tests + $(grep -c ' Ok$' with)))
			continue
		fi
		run "$fixture" "$t"
		results >after
		if cmp -s before after; then
			say "${t##*/}: $(diff before with | head -n 3)"
			different=$((different + 1))
		else
			say "${t##*/}: differs from itself without flick"
			unstable=$((unstable + 1))
		fi
	done
done
say "sqlite: $same files the same, $tests tests, $different different, $unstable unstable"
: >"$out"
[ $different -eq 0 ] && [ $unstable -lt 3 ] || fail "see above"
[ "${FLICK_SQLITE:-}" ] || [ $same -gt 40 ] && [ $tests -gt 5000 ] || fail "few tests"
