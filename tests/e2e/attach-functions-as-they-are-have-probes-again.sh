#!/bin/sh
# A program without a site for tools that runs already: its functions get second bodies, under
# all of its threads, exceptions find their way through them, and its code is as it was
# afterwards. So again and again, whatever was recorded before, also where jumps are looked up.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
. "$here/attach-lib"
target attached -O1
target attach-throws -O1
target attach-switches -O1

for n in 0 7; do
	for i in 1 2; do
		label="$n threads more, attach $i:"
		[ $i -eq 1 ] && begin $n
		attach -a counts -P work -P leaf
		sql "select name, calls from $(rows counts)" >"$work/got"
		awk '$1 == "leaf" && $2 > 1000 { ok = 1 } END { exit !ok }' "$work/got" ||
			fail "$label $(tr '\n' ' ' <"$work/got")"
		is_as_it_was
	done
	finish
done

program=attach-throws begin
for how in "--all" "-a counts" "" "--all"; do
	label="exceptions, $how:"
	attach $how
	is_as_it_was
done
finish

program=attach-switches begin
for i in 1 2 3 4; do
	label="look-ups, attach $i:"
	attach
	grep -q '^events: [1-9]' "$err" "$out" || fail "$label $(cat "$err")"
	is_as_it_was
done
finish
