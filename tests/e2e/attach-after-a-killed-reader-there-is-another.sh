#!/bin/sh
# SIGKILL of `flick record`, and at once `record -p` of the program that it recorded, which
# goes on: it was started with flick, or attached to. The next one tells every call, again and
# again, code is the files' behind it, and the program finds nothing changed.
# timeout: 300
. "$(dirname "$0")/lib"
need sqlite3 "$CC" pgrep
. "$here/attach-lib"
slain=${BUILD:-$top/build}/tests/libflick-kill-at.so
[ -f "$slain" ] || skip "no $slain; make check makes it"
cp "$slain" "$work/libflick.so.0"		# it is known by its name
slain=$work/libflick.so.0
export FLICK_KILL_OTHER="$work/kill"
for=0.1
cp "$work/attached" "$work/sites"
compile "$work/bodies" "$targets/attached.c" -O2
# launched OPTION...	$program is started with flick, which is killed a moment later
launched() {
	launch "$@"
	threads=8
	sleep $after
	kill -KILL $recorder $([ -z "${both:-}" ] || pgrep -P $recorder -x flick-watch)
}

# slain_at POINT COMMAND...	COMMAND, which the program kills when it comes to POINT
slain_at() {
	rm -rf "$data"
	FLICK_LIB=$slain sh -c 'echo "$1 $$" >"$2"; shift 2; exec "$@"' sh "$1" \
		"$FLICK_KILL_OTHER" "$FLICK" record -o "$data" -a counts "$2" "$3" $4 >"$to" 2>"$err" &
	recorder=$!
}

# launched_until POINT
launched_until() {
	rm -f "$work/begun"
	mkfifo "$work/begun"
	to=$work/begun slain_at "$1" -- "$work/$program" 7
	exec 8<"$work/begun"
	read -r line <&8
	wait $recorder 2>/dev/null
	[ ! -e "$FLICK_KILL_OTHER" ] || fail "$label it did not come there"
	pid=
	for p in $(pgrep -f "^$work/$program 7"); do	# who watches has its command line
		[ "$(cat "/proc/$p/comm")" != "$program" ] || pid=$p
	done
	[ -n "$pid" ] || fail "$label no target"
}

# tells	all calls are there: work() calls leaf() ten times
tells() {
	sum=$(sql "select cast(sum(calls * (name = 'leaf')) as real) /
		sum(calls * (name = 'work')) from $(rows counts)")
	echo "$sum" | grep -qE '^(9\.9|10\.0)' || fail "$label leaf is called $sum times as often"
}

next() {
	attach -a counts -P work -P leaf
	tells
	is_as_it_was
}

# And again, as often as one likes.
next_ones() {
	next
	attach --all -P work
	is_as_it_was
	next
}

# It is no child of ours.
fine() {
	kill -TERM $pid
	read -r line <&8
	exec 8<&-
	[ "$line" = fine ] || fail "$label the program found: $line"
}

for program in sites bodies; do
	[ $program = sites ] && after=0 || after=0.2
	for how in "-a counts" "--all" "" "--rate=30%" "-a counts --text=alias" \
		"-f -a counts" "-a counts -P leaf"; do
		every 3 || continue
		label="$program, $how, after $after s:"
		launched $how
		next_ones
		fine
	done
	for point in processes.joined table.published agent.asked processes.unlock \
		thread.claim; do
		every 3 || continue
		label="$program, killed at $point:"
		launched_until $point
		next
		fine
	done
	for point in agent.given table.published agent.asked thread.claim; do
		every 3 || continue
		label="$program, the next one is killed at $point:"
		launched_until agent.asked
		to=$out slain_at $point -p $pid "-d 5"
		wait $recorder 2>/dev/null
		[ ! -e "$FLICK_KILL_OTHER" ] || fail "$label it did not come there"
		next
		fine
	done
	if every 3; then
		label="$program, who watches is killed, too:"
		after=0.2 both=yes
		launched -a counts
		both=
		next
		fine
	fi
	begin 7
	for how in "-a counts" "--all" ""; do
		label="$program, attached, $how:"
		"$FLICK" record -p $pid $how -o "$data" >"$out" 2>"$err" &
		recorder=$!
		sleep 0.3
		kill -KILL $recorder
		next_ones
	done
	finish
	# The thread that it has sent is in the agent yet when the next one comes.
	export FLICK_LATE_AT=agent.asked
	begin 7
	unset FLICK_LATE_AT
	for i in 1 2 3; do
		label="$program, attached, killed while its thread is in, $i:"
		to=$out slain_at agent.asked -p $pid "-d 5"
		wait $recorder 2>/dev/null
		[ ! -e "$FLICK_KILL_OTHER" ] || fail "$label it did not come there"
		next
	done
	finish
done
