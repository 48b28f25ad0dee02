#!/bin/sh
# A program that has changed an instruction in the middle of a function is attached to: a second
# body would be made of the file, and do what the old code did. That function has none, and says
# why; others of the program have theirs.
#
# timeout: 60
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
[ "$(uname -m)" = x86_64 ] || skip "its code is x86's"
. "$here/attach-lib"
target keyed -O1
program=keyed

begin
run "$FLICK" record -p $pid -d 0.3 -o "$data" -a counts -P keyed
one_line_error 1 'the one probe cannot be used: the bytes are not the ones that were there before'
for i in 1 2; do
	label="attach $i:"
	rm -rf "$data"
	run "$FLICK" record -p $pid -d 0.3 -o "$data" -a counts
	[ $status -eq 0 ] || fail "$label status $status"
	grep -q 'probes: [1-9]' "$out" "$err" || fail "$label nothing has a probe"
done
finish
