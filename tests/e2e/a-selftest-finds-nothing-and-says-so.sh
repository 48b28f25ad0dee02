#!/bin/sh
# A short selftest passes, and prints a line of counts a test and a verdict.
#
# timeout: 200
. "$(dirname "$0")/lib"
no_emulator calibrate

tests='sync flip body word line wide set async contest signals threads fork'
counts='old [1-9][0-9]* new [1-9][0-9]* | torn 0 lost 0 stray 0'

label='selftest:'
limit=150
run "$FLICK" selftest --seconds 4
succeeded
for t in $tests; do
	grep -Eq "^$t +(old [1-9][0-9]* new [1-9][0-9]* \| torn 0 lost 0 stray 0|skipped: .*)$" \
		"$out" || fail "$label no line for $t"
done
for t in sync flip body word wide set async contest signals threads fork; do
	grep -q "^$t *$counts\$" "$out" || fail "$label $t did not run"
done
grep -Eq '^switched: flip [1-9][0-9]*, word [1-9][0-9]*, line [0-9]+, wide [1-9][0-9]*$' \
	"$out" || fail "$label no counts of switches"
tail -n 1 "$out" | grep -q '^switching works on this machine: [1-9][0-9]* executions' ||
	fail "$label no verdict"
[ "$(wc -l <"$out")" -eq 14 ] || fail "$label $(wc -l <"$out") lines"
[ ! -s "$err" ] || fail "$label it writes to standard error"

label='selftest --test --sync --format=json:'
run "$FLICK" selftest --seconds 1 --test set --sync membarrier --format=json
if [ "$status" -eq 0 ]; then
	sed -n '2p' "$out" | grep -Eq '^  \{"test": "set", "skipped": false, "old": [1-9][0-9]*,'\
' "new": [1-9][0-9]*, "torn": 0, "lost": 0, "stray": 0, "switched": \{"flip": [1-9]' ||
		fail "$label the line of set"
	tail -n 1 "$out" | grep -q '"works": true}$' || fail "$label no verdict"
	if command -v python3 >/dev/null; then
		python3 -m json.tool "$out" >/dev/null || fail "$label it is no JSON"
	fi
fi

wrong() {	# PATTERN ARGS...
	pattern=$1
	shift
	label="selftest $*:"
	run "$FLICK" selftest "$@"
	one_line_error 2 "$pattern"
	[ ! -s "$out" ] || fail "$label it prints something"
}

wrong 'wide' --test wyde
wrong 'test is sync, flip, .* or fork, not .nonsense' --test nonsense
wrong 'seconds' --seconds 0
wrong 'seconds' --seconds soon
wrong 'text or json' --format=xml
wrong 'sync is membarrier, .*not .nonsense' --sync nonsense
wrong 'usage' word
wrong 'seconds' --second 3
