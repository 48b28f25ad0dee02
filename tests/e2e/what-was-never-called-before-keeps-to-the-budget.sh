#!/bin/sh
# A program whose tiny functions are others every 50 ms is twice as slow if they are
# counted until somebody looks. What is counted between two looks is limited, so that costs
# no more than the budget; the bound leaves room for a busy machine.
# timeout: 60
. "$(dirname "$0")/lib"
need "$CC"
target bursts -O2 $sites

record -- "$work/bursts" 1500
succeeded
conserved
grep -q '^cost: unknown (the system' "$err" && skip "the system gives no samples"
cost=$(sed -n 's/^cost: \([0-9.]*\) % of CPU time.*/\1/p' "$err")
awk -v c="${cost:-99}" 'BEGIN { exit c > 12 }' || fail "it cost $cost %"
made=$(sed -n 's/^calls //p' "$out")
got=$(sql "select sum(calls) from $(rows latency)")
awk -v got="$got" -v made="$made" 'BEGIN { exit !(got > made / 6 && got < made * 6) }' ||
	fail "$got calls of $made"
