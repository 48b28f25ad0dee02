#!/bin/sh
# The default profiler: same output and status, a sane result.
. "$(dirname "$0")/lib"
need sqlite3 "$CC" "$(cxx)"
for t in threads recursion longjmp exceptions signals sigaltstack cancel keeper \
	stack-depth short-threads; do
	label="$t:"
	target $t -O2 $sites
	record -- "$work/$t"
	succeeded
	conserved
	n=$(sql "select count(*) from latency where calls > 0")
	[ "$n" -gt 0 ] || fail "$label no function was sampled"
done
