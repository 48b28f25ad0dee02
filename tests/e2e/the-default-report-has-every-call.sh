#!/bin/sh
# Calls of the default report are all calls, exactly, where they can be afforded: of threads, of recursion, of
# what longjmp leaves, of modules that come and go, of a family; a few of them are
# timed. A sampled function counts, and is not off.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"

for t in "threads 8 20000" recursion longjmp cancel short-threads; do
	label="$t:"
	set -- $t
	name=$1
	shift
	target $name -O2 $sites
	TRUTH_THREADS= record -K 3 --budget=100 -- "$work/$name" "$@"
	succeeded
	exact latency
	n=$(sql "select count(*) from latency where sampled > calls")
	[ "$n" -eq 0 ] || fail "$label more calls are timed than there are"
done

# Of those that cannot, it says so; also where the program ends as soon as it is decided.
label='not all counted:'
for i in 1 2 3 4 5; do
	record --budget=0.5 -- "$work/threads" 8 20000
	for name in step leaf twig; do
		said=$(awk -v f=$name '$1 == "count" && $2 == f { print $3 }' "$out")
		n=$(sql "select count(*) from $(rows latency) where name = '$name' and
			(calls = $said or (counted is not null and counted < calls))")
		[ "$n" -eq 1 ] || fail "$label $name is neither $said nor an estimate"
	done
done

# A total is so many calls of so long, where calls do not lie in one another.
label=total:
target steady -O2 $sites
record -- "$work/steady" 200
succeeded
n=$(sql "select count(*) from $(rows latency) where name in ('one', 'two', 'three') and
	calls > 2 * sampled and abs(total_ns - calls * avg_ns) < total_ns / 10 + calls")
[ "$n" -eq 3 ] || fail "$label $n of 3 totals"
label=recursion:
target recursion -O2 $sites
record -K 1000 -- "$work/recursion"
n=$(sql "select count(*) from $(rows latency) where sampled > 20 and total_ns is null")
[ "$n" -gt 0 ] || fail "$label the time of calls in calls is said to be their total"
run "$FLICK" report "$data"
grep -Eq '^ +Total +(Self +)?(Self% +)?Calls +Avg +P50 +P99' "$out" ||
	fail "$label other columns"
