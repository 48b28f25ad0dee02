#!/bin/sh
# body.sh - what a second body costs (body.c), compiled without sites.
#
#	body.call   entry + exit with time, delivered to the reader: extra ticks over the
#	            plain call, which takes turns with it
#	body.off    a call of an armed function that is off, extra over one of its like
#
# The target runs on CPU 0, the recorder on CPU 1. A run of body.call counts only when
# every event was delivered to the reader.
set -eu
. "$(dirname "$0")/lib.sh"

rounds=${FLICK_ROUNDS:-10}
calls=5000000
target=$out/body
ticks=$scratch/ticks

record() {
	rm -rf "$scratch/flick.data"
	$on_other "$build/flick" record -a latency --all -P probed -o "$scratch/flick.data" \
		-- "$target" "$@"
}

call_once() {
	"$target" call "$ticks" $calls
	plain=$(cat "$ticks")
	record call "$ticks" $calls >"$scratch/log" 2>&1 ||
		{ reason="flick: $(last_line "$scratch/log")"; return 0; }
	delivered=$(sed -n 's/^events: .* \([0-9]*\) delivered.*/\1/p' "$scratch/log")
	if [ "${delivered:-0}" -lt $((2 * calls)) ]; then
		reason="only ${delivered:-0} of $((2 * calls)) delivered"
		return 0
	fi
	add body.call "$(calc "$(cat "$ticks") - $plain")"
}

reason=
round=0
while [ $round -lt $rounds ] && [ ! "$reason" ]; do
	call_once
	round=$((round + 1))
done
report body.call ticks/call "$reason"

record off "$build/flick" ${json:+--json} >"$scratch/lines" 2>"$scratch/log" || :
grep body.off "$scratch/lines" || skip body.off "flick: $(last_line "$scratch/log")"
