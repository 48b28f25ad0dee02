#!/bin/sh
# One call in fifty takes 5 ms and the others 5 us: the long ones are told, too, though they are
# those that end last; in one thread and in several, whether they sleep or spin. As each fiftieth
# is long, they are also those that no epoch begins before.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
target seldom-long -O2 -pthread $sites

# The total is $1 to $2 percent of what the program says, and the average. What the scheduler
# took of calls that spin is no time of theirs, where the kernel tells of it.
within() {
	succeeded
	conserved
	spent=lasted
	case "$label $(sql "select value from session where key = 'preempted'")" in
	*spin*out) spent=ran ;;
	esac
	lasted=$(awk -v spent=$spent '$1 == spent { print $3 }' "$out")
	calls=$(awk '$1 == "calls" { print $3 }' "$out")
	n=$(sql "select count(*) from $(rows latency) where name = 'mixed' and calls = $calls and
		total_ns between $lasted / 100.0 * $1 and $lasted / 100.0 * $2 and
		avg_ns between $lasted / $calls / 100.0 * $1 and $lasted / $calls / 100.0 * $2")
	[ "$n" -eq 1 ] || fail "$label $lasted ns in $calls calls; told:" \
		$(sql "select total_ns, calls, avg_ns, sampled from $(rows latency)
			where name = 'mixed'")
}

for how in '1 1500 sleep' '1 1500 spin' '4 1500 sleep' '4 1500 spin'; do
	label="$how:"
	record -K 200 -- "$work/seldom-long" $how
	within 88 112
done
label="as it is by default:"		# some forty of them are timed
record -- "$work/seldom-long" 4 2000 sleep
within 45 200
