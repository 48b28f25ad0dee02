#!/bin/sh
# record -p of a program in a frozen cgroup says so, and not that it has ended. When the program
# is thawed it notices nothing, and can be attached to.
# waits
. "$(dirname "$0")/lib"
need "$CC"
. "$here/attach-lib"
for root in /sys/fs/cgroup/freezer /sys/fs/cgroup; do
	group=$root/flick-test.$$
	mkdir "$group" 2>/dev/null && break
	group=
done
[ -n "$group" ] || skip "no cgroup may be made here"
trap 'thaw; kill $pid 2>/dev/null; wait; rmdir "$group"; rm -rf "$work"' EXIT
state=$group/freezer.state how="FROZEN THAWED"
[ -e "$state" ] || state=$group/cgroup.freeze how="1 0"
[ -e "$state" ] || skip "a cgroup has no state to be frozen here"
is_frozen() {
	grep -q FROZEN "$state" || grep -q '^frozen 1' "$group/cgroup.events" 2>/dev/null
}
freeze() {
	echo ${how% *} >"$state"
	until is_frozen; do sleep 0.01; done
}
thaw() {
	echo ${how#* } >"$state" 2>/dev/null
}

for n in 0 3; do
	label="$n threads more:"
	begin $n
	echo $pid >"$group/cgroup.procs" 2>/dev/null
	grep -qx $pid "$group/cgroup.procs" || skip "no process may be put into a cgroup here"
	freeze
	run "$FLICK" record -p $pid -d 0.1 -a counts -o "$data"
	one_line_error 1 'is frozen .cgroup.; try again behind that'
	thaw
	is_as_it_was
	attach -a counts
	is_as_it_was
	finish
done
