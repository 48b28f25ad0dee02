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
	for i in 1 2 3 4 5 6; do
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
for=0.1 attach --why --all -P first -P second
grep -q 'refused: a thread of the program could not be stopped for a moment' "$out" "$err" ||
	fail "$label it is not said"
[ "$(ls /proc/$pid/task | wc -l)" -ge "$threads" ] || fail "$label it is gone"
finish

label="a word for good:"
begin word 3000
for=0.1 attach --why --all -P first -P second
grep -q '1 function refused: a thread stands in the bytes .*(first)' "$out" "$err" ||
	fail "$label it is not said"
grep -q 'probes: [1-9][0-9]* active, 1 refused' "$out" "$err" || fail "$label the other is not"
is_as_it_was
finish
