#!/bin/sh
# The default profiler: same output and status, a sane result.
. "$(dirname "$0")/lib"
need sqlite3 "$CC" "$(cxx)"

# What the target prints, without the numbers that time decides, or how much of a
# stack a library's thread-local data leaves.
steady() {
	case $t in
	signals | stack-depth) sed 's/[0-9]*$//' "$out" ;;
	*) sed '/^about/s/[0-9]*$//' "$out" ;;
	esac
}

for t in threads recursion longjmp exceptions signals sigaltstack cancel keeper \
	stack-depth short-threads; do
	label="$t:"
	target $t -O2 $sites
	run "$work/$t"
	succeeded
	steady >"$work/plain"
	TRUTH_THREADS= record -- "$work/$t"
	succeeded
	conserved
	steady | cmp -s - "$work/plain" || fail "$label $(steady | diff "$work/plain" -)"
	n=$(sql "select count(*) from latency where sampled > 0")
	[ "$n" -gt 0 ] || fail "$label no function was sampled"
done
