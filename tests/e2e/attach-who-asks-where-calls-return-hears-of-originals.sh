#!/bin/sh
# Who asks by backtrace() or _Unwind_Backtrace() where calls return to, in a program that ran
# before, hears of the program's own functions while its bodies are called: whether each was
# called before flick came or is bound by its first call behind that. An address that was kept
# leads where it led.
# waits
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
. "$here/attach-lib"
program=asked-late

turns() {	# TABLE
	n=$(sql "select coalesce(sum(calls), 0) from $(rows $1) where name = 'inner'")
	[ "$n" -gt 3 ] || fail "$label $1: inner is called $n times"
}

for flags in "-O2" "-O2 -no-pie" "-O1 -Wl,-z,now"; do
	# shellcheck disable=SC2086
	target asked-late $flags -ldl
	for when in early late; do
		label="$flags, $when:"
		begin $when
		rm -rf "$data"
		"$FLICK" record -p $pid -d 0.8 -a counts -o "$data" 2>"$err" 8<&- &
		recorder=$!
		sleep 0.5		# if it is not there yet, the others tell
		kill -USR1 $pid
		wait $recorder || fail "$label record -p: status $?"
		attach -a counts
		turns counts
		attach --all
		turns latency
		is_as_it_was
		finish
	done
done
