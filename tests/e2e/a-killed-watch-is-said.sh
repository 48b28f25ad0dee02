#!/bin/sh
# What waits for flick beside a program is killed alone: the program runs on, and its
# recorder says that functions stayed off. So a fault in it is seen by every test.
. "$(dirname "$0")/lib"
no_emulator names
need "$CC"
target steady -O2 $sites

# The child of the recorder that is not the target.
watch_of() {	# RECORDER
	for child in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do
		! grep -qx flick-watch "/proc/$child/comm" 2>/dev/null || say "$child"
	done
}

for how in "" --follow; do
	label="$how:"
	rm -rf "$data"
	"$FLICK" record --exit-code $how -o "$data" -- "$work/steady" 1000 >"$out" 2>"$err" &
	recorder=$!
	for i in $(seq 100); do
		watch=$(watch_of $recorder)
		[ -z "$watch" ] || break
		sleep 0.05
	done
	[ -n "$watch" ] || fail "$label nothing waits beside the program"
	! "$FLICK" ctl -p "$watch" status >"$work/said" 2>&1 || fail "$label it is recorded"
	grep -q "process $watch is flick's own, beside a program" "$work/said" ||
		fail "$label who asks for it is told: $(cat "$work/said")"
	kill -KILL "$watch"
	wait $recorder
	status=$?
	[ $status -eq 0 ] || fail "$label exit status $status"
	grep -q '^flick: flick-watch was ended by signal 9 ' "$err" || fail "$label it is not said"
	ends_well
done

label="another child of the recorder's:"
"$FLICK" record --exit-code $compilers --follow -o "$data" -- \
	sh -c "$work/steady 9000 & echo \$! >$work/pid" >"$out" 2>"$err" &
recorder=$!
for i in $(seq 100); do
	grep -qx steady "/proc/$(cat "$work/pid" 2>/dev/null)/comm" 2>/dev/null && break
	sleep 0.05
done
kill -KILL "$(cat "$work/pid")"
wait $recorder
status=$?
[ $status -eq 0 ] || fail "$label exit status $status"
! grep -q flick-watch "$err" || fail "$label it is taken for what waits"
ends_well
