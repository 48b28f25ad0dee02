#!/bin/sh
# --rate: a function that ends in a jump to its exit probe, and has calls inside, has its
# times also where its caller began before the window, or before all of them.
. "$(dirname "$0")/lib"
no_emulator windows
need sqlite3 "$CC"

for way in cyg xray; do
	label="$way:"
	case $way in
	cyg) target jumps -O2 $sites ;;
	xray)
		need clang
		clang -O2 -fxray-instrument -fxray-instruction-threshold=1 \
			"$targets/jumps.c" -o "$work/jumps" || skip "clang builds no sleds" ;;
	esac
	record --rate=5% -a latency -- "$work/jumps"
	succeeded
	[ "$(sql "select count(*) from sites where jump")" -gt 0 ] || fail "$label no exit is a jump"
	windows=$(sql "select value from session where key = 'windows'")
	[ "$windows" -gt 2 ] || skip "$label only $windows windows"
	for f in leaf middle outer; do
		# Each window cuts off one call, at most; the first few calls are learnt from.
		lost=$(sql "select 100.0 * unknown / calls > 5 or calls = 0
			from $(rows latency) where name = '$f'")
		[ "$lost" = 0 ] || fail "$label of $f $(sql "select unknown || ' of ' || calls
			from $(rows latency) where name = '$f'") calls are unknown"
	done
done
