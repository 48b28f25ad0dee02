#!/bin/sh
# Self time is within total, total of main is the most of all, quantiles are in
# order, and a recursive function's total counts its outermost calls once.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
for t in recursion longjmp threads; do
	label="$t:"
	target $t -O1 $sites
	record -a latency --all -- "$work/$t"
	succeeded
	bad=$(sql "select name from $(rows latency) where self_ns > total_ns or
		min_ns > p50_ns or p50_ns > p90_ns or p90_ns > p99_ns or
		p99_ns > max_ns or avg_ns > max_ns or avg_ns < min_ns")
	[ -z "$bad" ] || fail "$label columns disagree: $bad"
done
target recursion -O1 $sites
record -a latency --all -- "$work/recursion"
# What probes took is measured before the run: beside other work an emulator takes another time
# for it, and main has most of that.
totals="raw_total_ns total_ns"
! emulated cost || totals=raw_total_ns
for total in $totals; do
	bad=$(sql "select name from $(rows latency) where $total >
		(select $total from $(rows latency) where name = 'main')")
	[ -z "$bad" ] || fail "longer than main by $total: $bad"
done
