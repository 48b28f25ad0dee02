#!/bin/sh
# SIGKILL of `flick record -p` wherever it has borrowed a thread of the program's, while it
# records, and while it leaves: the program goes on and notices nothing, its code is as it was,
# and another recorder can come.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
killer=${BUILD:-$top/build}/tests/flick-kill-at
[ -x "$killer" ] || skip "no $killer; make check makes it"
. "$here/attach-lib"
FLICK_LIB=$(readlink -f "$(dirname "$FLICK")/libflick.so.0")
export FLICK_LIB FLICK_KILL_ONCE="$work/once"

kill_at() {	# POINT TIMES
	label="at $1, $2 times before:"
	: >"$FLICK_KILL_ONCE"
	rm -rf "$data"
	FLICK_KILL_AT=$1 FLICK_KILL_AFTER=$2 "$killer" record -p $pid -d 5 -a counts \
		-o "$data" >"$out" 2>"$err"
	[ $? -eq 137 ] || fail "$label it was not killed"
	[ ! -e "$FLICK_KILL_ONCE" ] || fail "$label it did not come there"
}

kill_in() {	# SIGNAL, then SIGKILL a little later
	label="$1 and KILL:"
	rm -rf "$data"
	"$FLICK" record -p $pid -a counts -o "$data" >"$out" 2>"$err" &
	reader=$!
	sleep 0.3
	kill -$1 $reader
	[ $1 = KILL ] || sleep 0.0$2
	kill -KILL $reader
	wait $reader 2>/dev/null
}

for n in 0 7; do
	for point in attach.borrowed:0 attach.called:0 attach.borrowed:1 attach.called:1 \
		attach.borrowed:2 attach.called:2 attach.unmasked:0; do
		every 2 || continue
		begin $n
		kill_at ${point%:*} ${point#*:}
		sleep 0.05
		is_as_it_was
		attach -a counts
		is_as_it_was
		finish
	done
	begin $n
	for late in 1 3 5 9; do
		kill_in KILL
		is_as_it_was
		kill_in TERM $late
		is_as_it_was
	done
	attach -a counts
	is_as_it_was
	finish
done
