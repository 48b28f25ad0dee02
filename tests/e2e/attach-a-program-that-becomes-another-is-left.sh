#!/bin/sh
# A program becomes another one (exec) at each step by which flick comes in: that is said in one
# line, and the new program is as it would be. No step waits for an exec that waits for it. One
# that begins again and again is attached to, or not yet, and notices nothing.
#
# timeout: 120
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
killer=${BUILD:-$top/build}/tests/flick-kill-at
[ -x "$killer" ] || skip "no $killer; make check makes it"
. "$here/attach-lib"
target becomes -O2
program=becomes
FLICK_LIB=$(readlink -f "$(dirname "$FLICK")/libflick.so.0")
export FLICK_LIB

# It has begun its threads, too.
await_last() {
	for i in $(seq 200); do
		tr '\0' ' ' <"/proc/$pid/cmdline" | grep -q ' 0 [0-9]* again' &&
			[ "$(ls "/proc/$pid/task" | wc -l)" -eq 4 ] && threads=4 && return
		sleep 0.05
	done
	fail "$label it does not come to its last program"
}

# Flick has come to that point, and waits there for a fifth of a second, in which there is
# another. Who is asked first is main: it becomes nothing while it is held.
for case in main:attach.seized thread:attach.seized thread:attach.borrowed \
	thread:attach.called; do
	point=${case#*:}
	label="$case:"
	begin ${case%:*} 1 0
	rm -rf "$data"
	: >"$work/once"
	FLICK_KILL_AT=$point FLICK_KILL_STOP=$pid FLICK_KILL_SIGNAL=10 limit=8 \
		FLICK_KILL_ONCE="$work/once" run "$killer" record -p $pid -d 0.1 -o "$data"
	[ ! -e "$work/once" ] || fail "$label flick does not come there: $(cat "$err")"
	[ $status -eq 1 ] || fail "$label status $status: $(cat "$err")"
	[ "$(wc -l <"$err")" -eq 1 ] || fail "$label more than one line: $(cat "$err")"
	grep -q 'became another program meanwhile (exec)' "$err" ||
		fail "$label it is not said: $(cat "$err")"
	await_last
	attach -a counts -P work
	is_as_it_was
	finish
done

for who in main thread; do
	label="$who, again and again:"
	begin $who 30 40
	went=0
	for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
		rm -rf "$data"
		for=0.05 limit=8 run "$FLICK" record -p $pid -d 0.01 -a counts -o "$data"
		case $status in
		0) went=$((went + 1)) ;;
		1) grep -qE 'try again|it has ended|may not be dumped' "$err" || fail "$label $(cat "$err")" ;;
		*) fail "$label status $status: $(cat "$err")" ;;
		esac
	done
	say "attached to $went times of 12"
	await_last
	attach -a counts -P work
	is_as_it_was
	finish
done
