#!/bin/sh
# One call in fifty takes 5 ms and the others 5 us: the long ones are told, too, though they are
# those that end last; in one thread and in several, whether they sleep or spin. As each fiftieth
# is long, they are also those that no epoch begins before.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
target seldom-long -O2 -pthread $sites

value() {
	awk -v name="$1" '$1 == name { print $3 }' "$out"
}

# The average is from $1 percent of what the calls took to $2, and chance has it off as far as
# is said. They took what they were meant to, or longer, as they waited for a processor. What
# the scheduler took of calls that spin is no time of theirs, where the kernel tells of it.
within() {
	succeeded
	conserved
	low=meant high=lasted
	case "$label $(sql "select value from session where key = 'preempted'")" in
	*spin*out) low=ran high=ran ;;
	*spin*) low=lasted ;;
	esac
	calls=$(value calls)
	n=$(sql "select count(*) from $(rows latency) where name = 'mixed' and calls = $calls and
		avg_ns + ${3:-0} * coalesce(avg_error_ns, 0) >= $(value $low) / $calls * $1 / 100 and
		avg_ns - ${3:-0} * coalesce(avg_error_ns, 0) <= $(value $high) / $calls * $2 / 100")
	[ "$n" -eq 1 ] || fail "$label $(value $low) to $(value $high) ns in $calls calls; told:" \
		$(sql "select total_ns, calls, avg_ns, avg_error_ns, sampled from $(rows latency)
			where name = 'mixed'")
}

for how in '1 1500 sleep' '1 1500 spin' '4 1500 sleep' '4 1500 spin'; do
	label="$how:"
	record -K 200 -- "$work/seldom-long" $how
	within 88 112 4
	[ "$(sql "select total_ns > avg_ns * (calls - 1) and avg_error_ns < avg_ns / 4
		from latency")" = 1 ] || fail "$label $(sql "select * from latency")"
done
label="as it is by default:"		# some forty of them are timed
record -- "$work/seldom-long" 4 2000 sleep
within 30 250
