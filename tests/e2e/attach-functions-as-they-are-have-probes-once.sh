#!/bin/sh
# A program without a site for tools that runs already: its functions get second bodies, under
# all of its threads, exceptions find their way through them, and its code is as it was
# afterwards. Another recorder is told that it can have none.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
. "$here/attach-lib"
target attached -O1
target attach-throws -O1

for n in 0 7; do
	label="$n threads more:"
	begin $n
	attach -a counts -P work -P leaf
	sql "select name, calls from $(rows counts)" >"$work/got"
	awk '$1 == "leaf" && $2 > 1000 { ok = 1 } END { exit !ok }' "$work/got" ||
		fail "$label $(tr '\n' ' ' <"$work/got")"
	is_as_it_was
	run "$FLICK" record -p $pid -d 0.2 -o "$data"
	[ $status -eq 1 ] || fail "$label a second one: status $status"
	grep -q 'can have once' "$err" || fail "$label it is not said"
	is_as_it_was
	finish
done

for how in "--all" "-a counts" ""; do
	label="exceptions, $how:"
	program=attach-throws begin
	attach $how
	is_as_it_was
	finish
done
