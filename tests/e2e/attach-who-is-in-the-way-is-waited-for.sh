#!/bin/sh
# A thread cannot be stopped, as it waits for a child of vfork(), or keeps an address among bytes
# that become a jump: each most of the time, and for longer than threads are held. An attach
# waits until it does not, arms all and puts all back. Of who never lets go it says so
# (FLE_STUCK, FLE_STANDS), and the others are armed.
#
# timeout: 120
. "$(dirname "$0")/lib"
need "$CC"
. "$here/attach-lib"
target in-the-way -O1
program=in-the-way

for way in vfork word; do
	begin $way 600
	for i in 1 2 3; do
		label="$way, attach $i:"
		for=0.1 attach --why --all -P first -P second
		grep -q 'probes: [1-9][0-9]* active, 0 refused' "$out" "$err" ||
			fail "$label something is refused"
		is_as_it_was
	done
	finish
done

label="vfork for good:"
begin vfork 3000
run "$FLICK" record -p $pid -d 0.1 -o "$data" --all -P first -P second
one_line_error 1 'none of the 2 probes .*: a thread of the program could not be stopped for a moment'
[ "$(ls /proc/$pid/task | wc -l)" -ge "$threads" ] || fail "$label it is gone"
finish

# Who attaches borrows a thread, main if it can.
killer=${BUILD:-$top/build}/tests/flick-kill-at
FLICK_LIB=$(readlink -f "$(dirname "$FLICK")/libflick.so.0")
export FLICK_LIB FLICK_KILL_ONCE="$work/once"
if [ -x "$killer" ]; then
	label="main waits for a child:"
	begin main 20000
	kill -USR1 $pid
	while ! grep -q '^State:.*D' /proc/$pid/status; do :; done
	run "$FLICK" record -p $pid -d 0.3 -o "$data" --all -P second
	one_line_error 1 'the one probe .*: a thread of the program could not be stopped for a moment'
	kill $(child_of $pid)
	finish
	label="main begins to when it is seized:"
	begin main 3000
	: >"$FLICK_KILL_ONCE"
	rm -rf "$data"
	FLICK_KILL_AT=attach.seized FLICK_KILL_STOP=$pid FLICK_KILL_SIGNAL=10 \
		run "$killer" record -p $pid -d 0.1 -a counts -o "$data" -P second
	[ ! -e "$FLICK_KILL_ONCE" ] || fail "$label it did not come there"
	[ $status -eq 0 ] || fail "$label status $status: $(cat "$err")"
	is_as_it_was
	finish
fi

label="a word for good:"
begin word 3000
for=0.1 attach --why --all -P first -P second
grep -q '1 function refused: a thread stands in the bytes .*(first)' "$out" "$err" ||
	fail "$label it is not said"
grep -q 'probes: [1-9][0-9]* active, 1 refused' "$out" "$err" || fail "$label the other is not"
is_as_it_was
finish
