#!/bin/sh
# A program ends at each step by which flick comes in, or when its agent has begun: one line
# says so, status 1.
. "$(dirname "$0")/lib"
need "$CC"
killer=${BUILD:-$top/build}/tests/flick-kill-at
slain=${BUILD:-$top/build}/tests/libflick-kill-at.so
[ -x "$killer" ] && [ -f "$slain" ] || skip "no $killer, or $slain; make check makes them"
export FLICK_KILL_ONCE="$work/once"
target attached -O2 -pthread
pid=
trap 'kill -KILL $pid 2>/dev/null; rm -rf "$work"' EXIT

begin() {
	rm -f "$work/begun"
	"$work/attached" 2 >"$work/begun" 2>&1 &
	pid=$!
	while [ ! -s "$work/begun" ]; do sleep 0.01; done
	: >"$FLICK_KILL_ONCE"
}

is_told() {
	[ ! -e "$FLICK_KILL_ONCE" ] || fail "$label it did not come there"
	wait $pid 2>/dev/null
	one_line_error 1 "process $pid.* $1"
}

FLICK_LIB=$(readlink -f "$(dirname "$FLICK")/libflick.so.0")
export FLICK_LIB
for point in seized borrowed called; do
	label="$point:"
	begin
	FLICK_KILL_AT=attach.$point FLICK_KILL_STOP=$pid FLICK_KILL_SIGNAL=9 limit=20 \
		run "$killer" record -p $pid -o "$data"
	is_told 'has ended'
done

cp "$slain" "$work/libflick.so.0"		# it is known by its name
FLICK_LIB=$work/libflick.so.0
for point in table.written table.published; do
	label="$point:"
	FLICK_KILL_AT=$point begin
	limit=20 run "$FLICK" record -p $pid -o "$data"
	is_told 'ended'
done
