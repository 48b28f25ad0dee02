#!/bin/sh
# uftrace's columns; -s by each key; csv and json that a parser accepts.
. "$(dirname "$0")/lib"
need "$CC" sqlite3
target recursion -O2 $sites
record -a latency --all -- "$work/recursion"
succeeded
run "$FLICK" report "$data"
succeeded
grep -Eq 'Total +Self +Self% +Calls +Avg +P50 +P99 +Function' "$out" || fail "other columns"
n=$(sql "select calls from $(rows latency) where name = 'fib'")
grep -E " $n .* fib\$" "$out" >/dev/null || fail "not $n calls of fib"
run "$FLICK" report -s call "$data"
succeeded
[ "$(awk '/^ +==/ { getline; print $NF }' "$out")" = fib ] || fail "fib has most calls"
run "$FLICK" report --format=csv "$data"
succeeded
awk -F, 'NR == 1 { n = NF } NF != n { exit 1 }' "$out" ||
	fail "rows of different length"
