#!/bin/sh
# The process of flick's that measures what probes and samples cost ends by itself, also where it is
# interrupted often: it leaves nothing mapped out that the kernel is to read then (rseq).
# timeout: 300
. "$(dirname "$0")/lib"
need sqlite3
target short-calls -O2 $sites
spinners=
for i in 1 2 3; do
	while :; do :; done &
	spinners="$spinners $!"
done
trap 'kill $spinners; rm -rf "$work"' EXIT
for i in 1 2 3; do
	TRUTH_THREADS= record --all -- "$work/short-calls" 0.3
	[ "$status" -eq 0 ] || fail "exit status $status"
	ns=$(sql "SELECT value FROM session WHERE key = 'pc_sample_ns'")
	[ "${ns:-0}" -gt 0 ] || fail "run $i: a sample costs '$ns' ns"
done
