#!/bin/sh
# A program that may not read the processor's clock (PR_SET_TSC) is attached to, once and again:
# flick's threads in it read the clock all the same, its own count and do not.
#
# timeout: 60
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
[ "$(uname -m)" = x86_64 ] || skip "PR_SET_TSC is x86's"
. "$here/attach-lib"
target clockless -O1
program=clockless

begin
for i in 1 2 3; do
	label="attach $i:"
	attach -a counts -P work
	[ "$(sql "select calls from $(rows counts) where name = 'work'")" -gt 1000 ] ||
		fail "$label work was not counted"
	is_as_it_was
done
finish
