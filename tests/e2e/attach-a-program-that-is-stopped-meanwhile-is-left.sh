#!/bin/sh
# SIGSTOP of a program at each step by which flick comes in, up to the thread that it begins
# there (how far that one gets is a matter of chance): that is said in one line, soon, and flick
# ends. The program is stopped, as it was told, and when it goes on it notices nothing,
# its code is as it was, and another recorder can come.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
killer=${BUILD:-$top/build}/tests/flick-kill-at
[ -x "$killer" ] || skip "no $killer; make check makes it"
. "$here/attach-lib"
FLICK_LIB=$(readlink -f "$(dirname "$FLICK")/libflick.so.0")
export FLICK_LIB FLICK_KILL_ONCE="$work/once"

stop_at() {	# POINT TIMES
	label="$n threads more, stopped at $1, $2 times before:"
	: >"$FLICK_KILL_ONCE"
	rm -rf "$data"
	FLICK_KILL_AT=$1 FLICK_KILL_AFTER=$2 FLICK_KILL_STOP=$pid limit=8 \
		run "$killer" record -p $pid -d 0.1 -a counts -o "$data"
	[ ! -e "$FLICK_KILL_ONCE" ] || fail "$label it did not come there"
	[ $status -eq 1 ] || fail "$label status $status"
	[ "$(grep -c 'stopped meanwhile; `kill -CONT`' "$err")" -eq 1 ] || fail "$label not said"
	[ "$(wc -l <"$err")" -eq 1 ] || fail "$label more than one line"
	grep -q '^State:.*T' /proc/$pid/status || fail "$label it is not stopped"
	kill -CONT $pid
}

# A stop itself ends epoll_wait(2), so not of all that waits.
for n in 0 3; do
	for point in attach.borrowed:0 attach.called:0 attach.borrowed:1 attach.called:1 \
		attach.borrowed:2; do
		every 2 || continue
		begin $n
		stop_at ${point%:*} ${point#*:}
		is_as_it_was
		stop_at attach.borrowed 0	# what the first one has left is used again
		is_as_it_was
		attach -a counts
		is_as_it_was
		finish
	done
done
