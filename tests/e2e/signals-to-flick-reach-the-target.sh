#!/bin/sh
# A signal to flick alone (kill, a supervisor, a terminal that is closed) ends the
# target as it would without flick, and --duration does so by SIGTERM.
. "$(dirname "$0")/lib"
need sqlite3 od "$CC"
env --default-signal=INT true 2>/dev/null || skip "env cannot reset signals"
target killme -O2 $sites
ulimit -c 0

for sig in INT/130 TERM/143 HUP/129 QUIT/131; do
	label="SIG${sig%/*}:"
	rm -rf "$data" "$work/tally"
	# A shell makes what it starts in the background ignore SIGINT and SIGQUIT.
	env --default-signal=INT,QUIT "$FLICK" record -a counts --exit-code -o "$data" -- \
		"$work/killme" "$work/tally" 2 20000 >"$out" 2>"$err" &
	wait_for_calls "$work/tally" 5000
	kill -s "${sig%/*}" $!
	wait $!
	status=$?
	succeeded "${sig#*/}"
	within_tallies "$work/tally" 1
	ends_well
done

lasted() {	# MS, since $begun
	ms=$((($(date +%s%N) - begun) / 1000000))
	[ $ms -ge "$1" ] && [ $ms -lt 10000 ] || fail "$label over after $ms ms, not $1"
	grep -q 'was ended by signal 15' "$err" || fail "$label it does not say SIGTERM"
	[ "$(tallies "$work/tally" | awk '{ n += $3 } END { print n }')" -gt 1000 ] ||
		fail "$label the target had not begun"
}

! emulated times || exit 0
label="record -d:"
rm -f "$work/tally"
begun=$(date +%s%N)
record -a counts -d 0.4 -- "$work/killme" "$work/tally" 2 20000
succeeded 143
lasted 400
for command in count latency; do
	label="flick $command -d:"
	rm -f "$work/tally"
	begun=$(date +%s%N)
	run "$FLICK" $command -d 1 step -- "$work/killme" "$work/tally" 2 20000
	[ "$status" -eq 0 ] || fail "$label exit status $status"
	lasted 1000
done
