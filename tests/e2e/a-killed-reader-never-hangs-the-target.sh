#!/bin/sh
# SIGKILL of `flick record` at any moment from its start on: the target, which
# is nobody's child then, goes on and ends by itself.
. "$(dirname "$0")/lib"
need od pgrep "$CC"
target killme -O2 $sites
program="^(qemu-aarch64 .* )?$work/killme"	# as it is, or by an emulator

calls() {
	tallies "$work/tally" | awk '{ n += $3 } END { print n + 0 }'
}

# Until the target has said what it did; it must not end otherwise.
await_end() {
	for i in $(seq 150); do
		! grep -q '^count step' "$out" || return 0
		pgrep -f "$program" >"$work/pids" || break
		sleep 0.1
	done
	! grep -q '^count step' "$out" || return 0
	[ -s "$work/pids" ] || fail "$label the target died"
	kill -KILL $(cat "$work/pids")
	fail "$label the target hangs"
}

kill_reader() {	# CALLS OPTIONS
	every 3 || return 0
	label="reader killed after $1 calls, $2:"
	rm -rf "$data" "$work/tally" "$out"
	"$FLICK" record $2 -o "$data" -- "$work/killme" "$work/tally" 4 700 \
		>"$out" 2>"$err" &
	reader=$!
	[ "$1" -eq 0 ] && child_of $reader >/dev/null || wait_for_calls "$work/tally" "$1"
	kill -KILL $reader || fail "$label it had ended"
	wait $reader 2>/dev/null
	then=$(calls)
	if [ "$1" -eq 0 ] && ! pgrep -f "$program" >/dev/null && [ ! -e "$work/tally" ]
	then
		return			# it was flick's own child still
	fi
	await_end
	[ "$(calls)" -gt $((then + 1000)) ] || fail "$label the target stood still"
	grep -q "^count step $(calls)\$" "$out" || fail "$label other calls than it made"
	ran=$((ran + 1))
}

ran=0
for calls in 0 1 2000 200000; do
	kill_reader $calls "-a latency --all"
	kill_reader $calls "-a counts"
	kill_reader $calls ""
	kill_reader $calls "-a graph --rate=30%"
done

# Sleds go on, armed, under threads that are just coming back to them.
if command -v clang >/dev/null; then
	CC=clang target killme -O2 -fxray-instrument -fxray-instruction-threshold=1
	for calls in 2000 200000; do
		kill_reader $calls "-a latency --all"
		kill_reader $calls ""
	done
fi
[ $ran -ge 4 ] || fail "$ran targets ran"
