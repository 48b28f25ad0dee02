#!/bin/sh
# A line that rewrites itself on a terminal; in a pipe no control character.
. "$(dirname "$0")/lib"
need script "$CC"
target killme -O1 $sites
run "$FLICK" record -o "$data" -- "$work/killme" "$work/tally" 1 1500
succeeded
cr=$(printf '\r') escape=$(printf '\033')
! cat "$out" "$err" | grep -q "[$cr$escape]" || fail "control characters in a pipe"
TERM=xterm script -qec "'$FLICK' record -o '$data' -- '$work/killme' \
	'$work/tally' 1 1500 >/dev/null" /dev/null >"$work/screen" 2>&1 </dev/null
tr -d '\n' <"$work/screen" | grep -q "${cr}flick: [0-9.]* s" || fail "no progress on a terminal"
TERM=xterm script -qec "'$FLICK' record -o '$data' -- '$work/killme' \
	'$work/tally' 1 1500" /dev/null >"$work/screen" 2>&1 </dev/null
! grep -q "${cr}flick: [0-9.]* s" "$work/screen" || fail "progress among the program's lines"

! emulated calibrate || exit 0
[ "$(nproc)" -ge 2 ] || exit 0		# calibrate needs two
TERM=xterm FLICK_CALIBRATION=$work/kept script -qec "'$FLICK' calibrate --seconds 1" \
	/dev/null >"$work/screen" 2>&1 </dev/null
tr -d '\n' <"$work/screen" | grep -q "${cr}flick: [0-9.]* %" ||
	fail "no progress of calibrate on a terminal"
