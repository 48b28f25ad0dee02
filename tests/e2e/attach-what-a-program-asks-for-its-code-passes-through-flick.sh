#!/bin/sh
# record -p of a program that takes the right to write from its own code and gives it back, each 50
# us: no store of flick's, nor of the program's own, faults, whatever is recorded, and by either
# way to store. mlockall() locks none of flick's gigabytes. Behind it the C library is as its file.
# timeout: 300
. "$(dirname "$0")/lib"
no_emulator ptrace
need "$CC"
compile "$work/same-text" "$targets/same-text.c" -O2
compile "$work/bodies" "$targets/own-rights.c" -O2 -rdynamic -pthread
compile "$work/sites" "$targets/own-rights.c" -O2 -rdynamic -pthread $sites
pid=
trap 'kill $pid 2>/dev/null; rm -rf "$work"' EXIT

lives() {
	kill -0 $pid 2>/dev/null || fail "$label it is gone: $(cat "$err" "$work/own")"
}

recorded() {	# OPTION...
	label="$program $*:"
	run "$FLICK" record -p $pid -d 0.5 -o "$data" "$@"
	lives
	[ $status -eq 0 ] || fail "$label status $status"
	"$work/same-text" $pid >"$out"		# it may be written to just then
	! grep differs "$out" || fail "$label its code is not its files'"
}

for program in bodies sites; do
	rm -f "$work/begun"
	mkfifo "$work/begun"
	"$work/$program" >"$work/begun" 2>"$work/own" &
	pid=$!
	exec 9<"$work/begun"
	read -r line <&9
	for way in mprotect $(aliased); do
		for what in "-a counts" "-a latency"; do
			every 3 || continue
			recorded --text=$way $what
		done
	done
	label="$program, its memory:"
	"$FLICK" record -p $pid -d 20 -a counts -o "$data" 2>"$err" &
	recorder=$!
	while ! "$FLICK" ctl -p $pid status >"$out" 2>&1 || grep -q 'is on yet' "$out"; do
		kill -0 $recorder 2>/dev/null || fail "$label $(cat "$err")"
		sleep 0.01
	done
	kill -USR1 $pid
	read -r line kib <&9
	lives
	[ "$line" = locked ] && [ "$kib" -lt 1000000 ] || fail "$label $line $kib"
	kill $recorder
	wait $recorder || fail "$label $(cat "$err")"
	[ "$(sql "select calls > 1000 from counts_named where function = 'work'")" = 1 ] ||
		fail "$label its calls are not told"
	kill $pid
	wait $pid 2>/dev/null
	pid=
done
[ -z "$pid" ]
