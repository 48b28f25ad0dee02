#!/bin/sh
# second.sh - what an event costs that two recorders want, over one: second.c, which a second
# `flick record -p` comes to and leaves, round after round.
set -eu
. "$(dirname "$0")/lib.sh"

rounds=${FLICK_ROUNDS:-15}
mkfifo "$scratch/to" "$scratch/from"
taskset -c 1 "$build/flick" record --all -o "$scratch/one" -- "$out/second" \
	<"$scratch/to" >"$scratch/from" 2>"$scratch/log" &
recorder=$!
exec 8>"$scratch/to" 9<"$scratch/from"
pid=

measure() {
	echo >&8
	read -r ticks <&9
}

# Who brings the second one in has gone when the program has one thread again.
await_second() {
	for i in $(seq 500); do
		[ "$(grep -c memfd:flick "/proc/$pid/maps")" -gt "$1" ] &&
			[ "$(ls "/proc/$pid/task" | wc -l)" -eq 1 ] && return
		sleep 0.01
	done
	return 1
}

for i in $(seq "$rounds"); do
	measure
	one=$ticks
	pid=$(pgrep -P $recorder -x second)
	had=$(grep -c memfd:flick "/proc/$pid/maps")
	taskset -c 1 "$build/flick" record --all -p "$pid" -o "$scratch/two.$i" 2>"$scratch/log.two" 8>&- 9<&- &
	second=$!
	await_second "$had" || break
	measure
	add session.event.one "$one"
	add session.event.two "$ticks"
	add session.second "$(awk "BEGIN { print $ticks / $one }")"
	kill -TERM $second
	wait $second || break
done
exec 8>&- 9<&-
wait $recorder || :
why=
[ -s "$scratch/session.second" ] || why="flick: $(last_line "$scratch/log.two")"
report session.event.one ticks/event "$why"
report session.event.two ticks/event "$why"
report session.second times "$why"
