#!/bin/sh
# SIGKILL of `flick record --follow` at any moment: all of the family go on, and
# end by themselves.
# timeout: 300
. "$(dirname "$0")/lib"
no_emulator forks
need pgrep "$CC"
target family -O2 $sites

kill_reader() {	# DELAY OPTIONS
	label="reader killed after $1 s, $2:"
	rm -rf "$data"
	: >"$out"			# it may be killed before it opens its own
	"$FLICK" record -f $2 -o "$data" -- "$work/family" linger 150 >"$out" 2>"$err" &
	reader=$!
	sleep "$1"
	kill -KILL $reader
	wait $reader 2>/dev/null
	for i in $(seq 200); do
		pgrep -f "^$work/family" >"$work/pids" || break
		sleep 0.1
	done
	[ ! -s "$work/pids" ] || kill -KILL $(cat "$work/pids")
	[ ! -s "$work/pids" ] || fail "$label a family hangs"
	n=$(grep -c '^pid' "$out")
	[ "$n" -eq 7 ] || [ "$n" -eq 0 ] || fail "$label $n of 7 processes ended well"
	ended=$((ended + n))
}

ended=0
for delay in 0 0.05 0.1 0.2; do
	kill_reader $delay "-a latency --all"
	kill_reader $delay "-a counts --text=alias"
	kill_reader $delay ""
done
[ "$ended" -gt 0 ] || fail "no family had begun when its reader was killed"
