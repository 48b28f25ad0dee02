#!/bin/sh
# One call of a profiling function, made for one function or another (compilers
# join tails): each event is its own function's, whichever came first.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
target shared-site -O2 $sites
for how in "-a counts" "-a latency --all" "-a graph"; do
	label="$how:"
	record $how -- "$work/shared-site"
	succeeded
	lossless
	case $how in
	*graph) ;;
	*) exact "$(echo "$how" | cut -d' ' -f2)"; continue ;;
	esac
	bad=$(sql "select * from graph where unknown or unsure")
	[ -z "$bad" ] || fail "$label calls without their ends: $bad"
	n=$(sql "select sum(calls) from graph")
	[ "$n" = 4701 ] || fail "$label $n calls, not 4701"
done

# One that is not wanted leaves the others theirs.
chosen() {	# "NAME CALLS ..." OPTIONS...
	label="chosen $*:" expected=$1
	shift
	record --all -a counts "$@" -- "$work/shared-site"
	succeeded
	lossless
	got=$(sql "select name, sum(calls) from $(rows counts) group by 1 order by 1" | tr '\n' ' ')
	[ "$got" = "$expected " ] || fail "$label $got"
}
chosen "seldom 1250 start 1" -P 's*'
chosen "follows 300 start 1" -P follows -P start
