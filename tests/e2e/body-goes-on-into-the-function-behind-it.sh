#!/bin/sh
# A function that ends in no return or jump, and goes on into the one behind it: both are
# counted, and the first one is left there.
. "$(dirname "$0")/lib"
x86_target runs-on
need sqlite3
export TRUTH_THREADS= FLICK_BODIES=1

target runs-on -O2
for how in "-a counts" "-a latency --all" "-a tree"; do
	label="$how:"
	record $how -- "$work/runs-on"
	succeeded
	case $how in
	*counts) exact ;;
	*latency*) exact latency ;;
	*) exact tree ;;
	esac
	lossless
done

# Refused, or gone on: each way is a path of its own.
label="-a paths:"
record -a paths -- "$work/runs-on"
succeeded
told=$(sql "select name || ' ' || calls from $(rows paths) where name like 'check%'
	order by name, calls" | tr '\n' ' ')
[ "$told" = "check 75 check 675 check_far 25 check_far 225 " ] || fail "paths: $told"
lossless
