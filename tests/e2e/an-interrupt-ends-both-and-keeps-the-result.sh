#!/bin/sh
# Ctrl-C goes to target and reader: what was recorded is there, with the account.
. "$(dirname "$0")/lib"
need sqlite3 setsid od "$CC"
env --default-signal=INT true 2>/dev/null || skip "env cannot reset signals"
target killme -O2 $sites
for how in "" "-a counts" "-a latency --all"; do
	label="interrupted $how:"
	rm -rf "$data" "$work/tally"
	# A shell makes what it starts in the background ignore the interrupt.
	setsid env --default-signal=INT "$FLICK" record $how -o "$data" -- \
		"$work/killme" "$work/tally" 2 20000 >"$out" 2>"$err" &
	group=$!
	wait_for_calls "$work/tally" 5000
	kill -s INT -- -$group
	wait $group
	conserved
	ends_well
	! grep -q '^count step' "$out" || fail "$label the target did not end"
done
