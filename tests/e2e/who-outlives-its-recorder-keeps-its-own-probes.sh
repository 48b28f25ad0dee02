#!/bin/sh
# SIGKILL of `flick record` while its program switches probes of its own: these go on, and all
# calls are handled; what the recorder wanted goes off. What is closed then cannot be opened
# again.
. "$(dirname "$0")/lib"
need pgrep "$CC"
BUILD=${BUILD:-$top/build}
libraries="$BUILD/libflick.so -Wl,-rpath,$BUILD" target beside -O2 $sites -I"$top/include"

await() {	# LINE
	for i in $(seq 150); do
		! grep -qx "$1" "$out" || return 0
		sleep 0.1
	done
	fail "$label it does not say $1"
}

for how in "-a counts" "--all -a latency" "" "-a graph --rate=30%"; do
	label="$how:"
	rm -rf "$data" "$out"
	"$FLICK" record $how -o "$data" -- "$work/beside" killed >"$out" 2>"$err" &
	reader=$!
	await open
	kill -KILL $reader || fail "$label it had ended"
	wait $reader 2>/dev/null
	await ok
done
