#!/bin/sh
# A second `flick record -p` comes while the first has probes in what makes a thread: in
# pthread_create(), in the allocator, in what fills a thread's own part. The bare thread that
# makes one is nobody's: the program goes on, and nothing is lost.
. "$(dirname "$0")/lib"
. "$(dirname "$0")/attach-lib"

# Until the first one has all its probes it takes nobody beside it.
beside() {
	for i in $(seq 50); do
		run "$FLICK" record -p $pid -d 0.5 -o "$work/second" -P leaf
		[ $status -ne 0 ] || return 0
		[ -e /proc/$pid/exe ] || fail "$label the program is gone: $(cat "$err")"
		sleep 0.1
	done
	fail "$label $(cat "$err")"
}

for pattern in 'libc.so*!*pthread_create*' 'libc.so*!*'; do
	label="attached, $pattern:"
	rm -rf "$work/first"
	begin 3
	"$FLICK" record -p $pid -P "$pattern" -o "$work/first" >"$work/first.err" 2>&1 8<&- &
	recorder=$!
	for i in $(seq 500); do		# its turn begins before it makes its directory
		[ ! -d "$work/first" ] || break
		sleep 0.01
	done
	beside				# it waits until the first one has come in
	kill -TERM $recorder
	wait $recorder || fail "$label status $?: $(cat "$work/first.err")"
	is_as_it_was
	finish

	label="started, $pattern:"
	launch -P "$pattern"
	beside
	finish
	wait $recorder || fail "$label the first one: status $?"
done

# One comes in at a time: the second waits, as long as the first has a thread of the program's.
killer=${BUILD:-$top/build}/tests/flick-kill-at
[ -x "$killer" ] || exit 0
FLICK_LIB=$(readlink -f "$(dirname "$FLICK")/libflick.so.0")
export FLICK_LIB FLICK_KILL_ONCE="$work/once"
label="two at once:"
rm -f "$work/begun"
begin 3
: >"$FLICK_KILL_ONCE"
rm -rf "$work/first"
FLICK_KILL_AT=attach.called KILLER=$killer sh -c 'FLICK_KILL_STOP=$$ exec "$KILLER" "$@"' sh \
	record -p $pid -d 0.1 -a counts -o "$work/first" 2>"$work/first.err" 8<&- &
recorder=$!
for i in $(seq 500); do
	grep -q '^State:.*T' /proc/$recorder/status && break
	sleep 0.01
done
[ ! -e "$FLICK_KILL_ONCE" ] || fail "$label the first does not come there"
"$FLICK" record -p $pid -d 0.1 -a counts -o "$work/second" 2>"$work/second.err" 8<&- &
second=$!
sleep 4		# who is traced by another is tried for 3 seconds
kill -0 $second 2>/dev/null || fail "$label the second has ended: $(cat "$work/second.err")"
kill -CONT $recorder
wait $recorder || fail "$label the first: $(cat "$work/first.err")"
wait $second || fail "$label the second: $(cat "$work/second.err")"
is_as_it_was
finish
