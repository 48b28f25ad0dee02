#!/bin/sh
# record, count and latency of a program that runs, one after the other: each sees what was
# called meanwhile, whatever the one before wanted, and leaves nothing but its library.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
. "$here/attach-lib"

# Of each call of work() there are ten of leaf(), but at the edges.
is_right() {
	sql "select name, calls from $(rows "$1")" >"$work/got"
	awk '{ n[$1] = $2 } END { exit !(n["work"] > 100 && n["leaf"] > 9.9 * n["work"] - 100 &&
		n["leaf"] < 10.1 * n["work"] + 100) }' "$work/got" ||
		fail "${label:-} $1: $(tr '\n' ' ' <"$work/got")"
}

for n in 0 7; do
	label="$n threads more:"
	begin $n
	attach -a counts
	is_right counts
	up=$(awk '{ print int($1 * 1e9) }' /proc/uptime)
	[ "$(sql "select value > $up - 5e9 and value < $up + 1e9 from session
		where key = 'begun_ns'")" = 1 ] || fail "$label when its probes were on"
	is_as_it_was
	attach -a counts -P work
	sql "select count(*) from $(rows counts)" >"$work/got"
	is_as_it_was
	attach -a latency --all
	is_right latency
	is_as_it_was
	attach
	is_as_it_was
	run "$FLICK" count -p $pid -d 0.2 leaf
	grep -q '^leaf  *[1-9]' "$out" || fail "$label count: $(cat "$out" "$err")"
	is_as_it_was
	run "$FLICK" latency -p $pid -d 0.2 'wor*'
	grep -q '^Function = work' "$out" || fail "$label latency: $(cat "$out" "$err")"
	is_as_it_was
	run "$FLICK" record -p $pid -d 0.2 -o "$data" -P nothing
	[ $status -ne 0 ] || fail "$label nothing was found, and it is not said"
	is_as_it_was
	libraries=$(grep -c 'r-xp.*libflick' /proc/$pid/maps)
	[ "$libraries" -eq 1 ] || fail "$label $libraries times loaded"
	finish
done
