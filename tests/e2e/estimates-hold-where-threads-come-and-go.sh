#!/bin/sh
# Threads that live for 100 us call two functions too often to count each call: what windows
# saw stands for the calls that there were, though threads take their counts with them in the
# middle of it. So it does of one that is switched off and on again all the time: behind each
# change it is counted in windows, as before.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
target gusts -O1 -pthread

start() {
	rm -rf "$data"
	"$FLICK" record -o "$data" --budget=1 "$@" -- "$work/gusts" >"$work/truth" 2>"$err" &
	recorder=$!
	until grep -q ready "$work/truth"; do sleep 0.01; done
	pid=$(program_of $recorder gusts) || fail "no program"
}

# How many of a hundred calls are told: $told.
finish() {	# FUNCTION
	kill -TERM $pid
	wait $recorder || fail "$label $(cat "$err")"
	sql "select sum(calls) from $(rows latency) where name = '$1'" >"$work/got"
	told=$(awk -v name="$1" -v got="$(cat "$work/got")" \
		'$1 == name { print int(100 * got / $2) }' "$work/truth")
	say "$label of a hundred calls of $1 $told are told"
}

label="always on:"
start -P rare -P often
sleep 2
finish rare
[ "$told" -ge 60 ] && [ "$told" -le 160 ] || fail "it is $told of a hundred"

! emulated ptrace || exit 0
label="on for half of the time:"
start -P often
sleep 0.3
for i in $(seq 40); do
	"$FLICK" ctl -p $pid stage on rare >"$out" && "$FLICK" ctl -p $pid commit >"$out" ||
		fail "$label $(cat "$out")"
	sleep 0.02
	"$FLICK" ctl -p $pid stage off rare >"$out" && "$FLICK" ctl -p $pid commit >"$out" ||
		fail "$label $(cat "$out")"
	sleep 0.02
done
finish rare
[ "$told" -ge 15 ] && [ "$told" -le 60 ] || fail "it is $told of a hundred"
