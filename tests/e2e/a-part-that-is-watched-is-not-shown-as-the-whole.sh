#!/bin/sh
# record -a cache and -a paths tell of functions that have second bodies: recording and report say
# what share of samples these had, and which of the others had most.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
[ "$(uname -m)" = x86_64 ] || skip "accesses are told on x86-64"
export TRUTH_THREADS=
target unwatched -O1

share() {	# BEFORE: the number behind that text, in $err
	sed -n "s/.*$1\([0-9]*\)\.[0-9].*/\1/p" "$err"
}

woven() {	# samples cannot say what telling takes: the cost is no more than the least
	grep -q '^cost: at least [0-9.]* % of CPU time (.*), and what tells in bodies, which samples' \
		"$err" || fail "$label $(grep '^cost' "$err")"
}

label="accesses:"
record --lines -- "$work/unwatched"
succeeded
grep -q 'too few to tell' "$err" && skip "no samples: $(grep cost "$err")"
woven
watched=$(share "rows are of functions that had at most ") refused=$(share "cannot be watched had at least ")
[ "${watched:-0}" -ge 25 ] && [ "$watched" -le 75 ] || fail "$label watched ${watched:-nothing}"
[ "${refused:-0}" -ge 25 ] && [ "$refused" -le 75 ] || fail "$label refused ${refused:-nothing}"
line=$(sed -n 's/^flick: \(rows are of functions.*\)/\1/p' "$err")
case $line in *"(translates "*) ;; *) fail "$label the largest has no name: $line" ;; esac
run "$FLICK" report "$data"
succeeded
grep -qF "$line" "$out" || fail "$label the report does not say it"

label="paths:"
record -a paths -- "$work/unwatched"
succeeded
woven
watched=$(share "rows are of functions that had at most ")
[ "${watched:-0}" -ge 80 ] || fail "$label watched ${watched:-nothing}"

label="times:"
record -- "$work/unwatched"
succeeded
grep -q 'at least\|what tells' "$err" && fail "$label $(grep '^cost' "$err")"
grep -q 'rows are of' "$err" && fail "$label it is said of what samples tell in any case"
exit 0
