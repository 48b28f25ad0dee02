#!/bin/sh
# call.sh - what recording entry and exit of one call costs its thread.
#
#	record.call          flick, exhaustive latency: extra ticks a call
#	record.call.precise  the same with --precise
#	peer.uftrace.call    uftrace record
#	peer.lttng.call      LTTng-UST, lttng_ust_cyg_profile_fast, blocking
#
# The same binary (build/bench/call), plain and under each in turn. The target
# runs on CPU 0, readers and daemons on CPU 1. A run counts only when every
# event was delivered to the reader.
set -eu
. "$(dirname "$0")/lib.sh"

rounds=${FLICK_ROUNDS:-10}
calls=5000000
target=$out/call
ticks=$scratch/ticks

# What the last run cost beyond the plain one before it.
add_extra() {	# NAME
	add "$1" "$(calc "$(cat "$ticks") - $plain")"
}

plain_call() {
	"$target" $calls "$ticks"
	plain=$(cat "$ticks")
}

record_all() {	# NAME OPTIONS...
	name=$1
	shift
	rm -rf "$scratch/flick.data"
	$on_other "$build/flick" record -a latency --all "$@" -o "$scratch/flick.data" \
		-- "$target" $calls "$ticks" >"$scratch/log" 2>&1 ||
		{ flick_reason="flick: $(last_line "$scratch/log")"; return 0; }
	delivered=$(sed -n 's/^events: .* \([0-9]*\) delivered.*/\1/p' \
		"$scratch/log")
	if [ "${delivered:-0}" -lt $((2 * calls)) ]; then
		flick_reason="only ${delivered:-0} of $((2 * calls)) delivered"
		return 0
	fi
	add_extra "$name"
}

flick_call() {
	record_all record.call
	plain_call
	record_all record.call.precise --precise
}

uftrace_call() {
	rm -rf "$scratch/uftrace.data"
	$on_other uftrace record -d "$scratch/uftrace.data" \
		"$target" $calls "$ticks" >"$scratch/log" 2>&1 ||
		{ uftrace_reason="uftrace: $(last_line "$scratch/log")"; return 0; }
	bytes=$(cat "$scratch"/uftrace.data/[0-9]*.dat | wc -c)
	if [ "$bytes" -lt $((2 * calls * 16)) ]; then
		uftrace_reason="uftrace lost events: $bytes bytes written"
		return 0
	fi
	add_extra peer.uftrace.call
}

lttng_call() {
	rm -rf "$scratch/lttng"
	$on_other sh "$top/bench/lttng.sh" "$scratch/lttng" \
		"$target" $calls "$ticks" >"$scratch/log" 2>&1 ||
		{ lttng_reason="lttng: $(cat "$scratch/log" \
			"$scratch/lttng/log" 2>/dev/null | tail -n 1)"; return 0; }
	bytes=$(du -sb "$scratch/lttng/trace" | cut -f 1)
	if [ "$bytes" -lt $((2 * calls * 8)) ]; then
		lttng_reason="lttng lost events: $bytes bytes written"
		return 0
	fi
	add_extra peer.lttng.call
}

flick_reason= uftrace_reason= lttng_reason=
[ -x "$build/flick" ] || flick_reason="no $build/flick"
command -v uftrace >/dev/null || uftrace_reason="uftrace is not installed"
command -v lttng-sessiond >/dev/null || lttng_reason="lttng is not installed"

plain_call				# warm
round=0
while [ $round -lt $rounds ]; do
	for tool in flick uftrace lttng; do
		eval "reason=\$${tool}_reason"
		[ "$reason" ] && continue
		plain_call
		${tool}_call
	done
	round=$((round + 1))
done
report record.call ticks/call "$flick_reason"
report record.call.precise ticks/call "$flick_reason"
report peer.uftrace.call ticks/call "$uftrace_reason"
report peer.lttng.call ticks/call "$lttng_reason"
