#!/bin/sh
# record -p: what waits for flick beside the program is killed alone. The recording goes on, and when
# it ends all code is as it was, no event is lost, and the program can be recorded again: its probes
# stayed, on, and cost it several times its CPU time. So it does where no recorder is left, as
# behind `pkill -9 flick`.
. "$(dirname "$0")/lib"
need sqlite3 "$CC" pgrep
. "$here/attach-lib"
compile "$work/attached-plain" "$targets/attached.c" -O2

# Its parent is gone, and its command line is the program's.
kill_watch() {
	until watch=$(pgrep -f "^$work/$program 3\$" | grep -vx "$pid"); do
		kill -0 $recorder 2>/dev/null || fail "$label no recording: $(cat "$err")"
		sleep 0.01
	done
	kill -KILL $watch
	while [ -e "/proc/$watch/exe" ]; do :; done
}

for program in attached attached-plain; do
	begin 3
	for how in --all "-a counts" ""; do
		label="$program, $how:"
		rm -rf "$data"
		"$FLICK" record -p $pid $how -o "$data" >"$out" 2>"$err" &
		recorder=$!
		while ! "$FLICK" ctl -p $pid status >"$work/status" 2>&1 ||
			grep -q 'is on yet' "$work/status"; do
			kill -0 $recorder || fail "$label it does not begin"
			sleep 0.01
		done
		kill_watch
		! "$FLICK" ctl -p $pid session new x leaf >"$work/said" 2>&1 ||
			fail "$label a session begins"
		grep -q '(flick-watch) was killed: nothing can be changed' "$work/said" ||
			fail "$label ctl: $(cat "$work/said")"
		kill -TERM $recorder
		wait $recorder || fail "$label status $?"
		! grep -q 'let go of' "$err" || fail "$label its probes stay"
		is_as_it_was
		conserved
		for=0.1 attach $how
		is_as_it_was
	done
	label="$program, both:"
	rm -rf "$data"
	"$FLICK" record -p $pid -a counts -o "$data" >"$out" 2>"$err" &
	recorder=$!
	kill_watch
	kill -KILL $recorder
	wait $recorder 2>/dev/null
	for=0.1 attach -a counts
	is_as_it_was
	finish
done
