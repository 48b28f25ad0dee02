#!/bin/sh
# timeout: 3600
# Debian's python3 as it is, and what it starts, every function of it with a second body,
# runs its own tests: exceptions, threads, signals, forks, callbacks from C. Each test's
# result is the one without flick. What differs from itself without flick, twice run, says
# nothing and is left out, by name.
. "$(dirname "$0")/lib"
need sqlite3 /usr/bin/python3
python="/usr/bin/python3 -m test -v"
/usr/bin/python3 -c 'import test.test_exceptions' 2>/dev/null || skip "no libpython3.11-testsuite"
tests="exceptions generators threading threadsignals signal faulthandler fork1 os
	ctypes sqlite3 ssl zlib pickle gc socket contextlib json re weakref traceback"
limit=600

# The line of each test may have what it prints behind `...`.
results() {
	sed -n 's/^\(test[^ ]* ([^)]*)\).*\.\.\. \(ok\|FAIL\|ERROR\|skipped\).*/\1 \2/p' \
		"$out" "$err" | LC_ALL=C sort
	echo "status $status"
}

different=0 unstable=0 same=0
for t in $tests; do
	cd "$work" || exit
	run $python "test_$t"
	results >"$work/before"
	record --exit-code --follow --allow-loss ${FLICK_RECORD:-} -- $python "test_$t"
	results >"$work/with"
	n=$(grep -c '^test' "$work/before")
	cmp -s "$work/before" "$work/with" && { same=$((same + n)); continue; }
	run $python "test_$t"
	results >"$work/after"
	LC_ALL=C comm -12 "$work/before" "$work/after" >"$work/stable"
	LC_ALL=C comm -23 "$work/stable" "$work/with" >"$work/differs"
	say "test_$t: $(head -n 3 "$work/differs")"
	different=$((different + $(wc -l <"$work/differs")))
	unstable=$((unstable + n - $(grep -c '^test' "$work/stable")))
	same=$((same + $(LC_ALL=C comm -12 "$work/stable" "$work/with" | wc -l)))
done
say "python3: $same tests the same, $different different, $unstable unstable"
: >"$out"
[ $different -eq 0 ] && [ $unstable -lt 10 ] && [ $same -gt 1500 ] || fail "see above"
