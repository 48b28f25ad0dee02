#!/bin/sh
# SIGKILL of `flick record` at any moment from its start on: the target, which
# is nobody's child then, goes on and ends by itself.
. "$(dirname "$0")/lib"
need od pgrep "$CC"
target killme -O2 $sites

kill_reader() {	# DELAY OPTIONS
	label="reader killed after $1 s, $2:"
	rm -rf "$data" "$work/tally" "$out"
	"$FLICK" record $2 -o "$data" -- "$work/killme" "$work/tally" 4 400 \
		>"$out" 2>"$err" &
	reader=$!
	sleep "$1"
	kill -KILL $reader
	wait $reader 2>/dev/null
	for i in $(seq 150); do
		grep -q '^count step' "$out" && return
		pgrep -f "^$work/killme" >/dev/null || break
		sleep 0.1
	done
	grep -q '^count step' "$out" && return
	[ -s "$work/tally" ] || return 0	# killed before the target ran
	pgrep -f "^$work/killme" >"$work/pids" &&
		kill -KILL $(cat "$work/pids") && fail "$label the target hangs"
	fail "$label the target died"
}

for delay in 0 0.01 0.03 0.06 0.1 0.2 0.4; do
	kill_reader $delay "-a latency --all"
	kill_reader $delay "-a counts"
	kill_reader $delay ""
	kill_reader $delay "-a graph --rate=30%"
done

# Sleds go on, armed, under threads that are just coming back to them.
command -v clang >/dev/null || exit 0
CC=clang target killme -O2 -fxray-instrument -fxray-instruction-threshold=1
for delay in 0.1 0.15 0.2 0.25; do
	kill_reader $delay "-a latency --all"
	kill_reader $delay ""
done
