#!/bin/sh
# A running program that may not make code writable (PR_SET_MDWE) is attached to (flick record -p)
# all the same, once and again, behind a killed reader too: its code is another mapping's from
# then on, and its bytes are its files' behind each recording.
#
# timeout: 120
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
. "$here/attach-lib"
target deny -O2
"$work/deny" wx true || skip "PR_SET_MDWE is not to be had (Linux 6.3)"
program=deny

is_right() {
	sql "select name, calls from $(rows counts)" >"$work/got"
	awk '{ n[$1] = $2 } END { exit !(n["work"] > 100 && n["leaf"] > 9.9 * n["work"] - 100 &&
		n["leaf"] < 10.1 * n["work"] + 100) }' "$work/got" ||
		fail "$label $(tr '\n' ' ' <"$work/got")"
}

for kind in sites bodies; do
	target attached -O2 $([ $kind = bodies ] || say "$sites")
	begin wx "$work/attached" 3
	grep -q 'r-xp.*attached' /proc/$pid/maps || fail "$kind: it does not run"
	for i in 1 2 3; do
		label="$kind, attach $i:"
		attach -a counts -P work -P leaf
		is_right
		is_as_it_was
	done
	label="$kind, killed:"
	"$FLICK" record -p $pid -o "$data" -a counts -P work -P leaf 2>"$err" &
	recorder=$!
	sleep 0.5
	kill -KILL $recorder
	wait $recorder 2>/dev/null
	is_as_it_was
	label="$kind, behind it:"
	attach -a counts -P work -P leaf
	is_right
	is_as_it_was
	label=$kind
	finish
done
