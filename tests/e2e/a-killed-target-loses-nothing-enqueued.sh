#!/bin/sh
# SIGKILL in mid-run: every call that had returned was delivered, entry and
# exit, and none that had not begun.
. "$(dirname "$0")/lib"
need sqlite3 od "$CC"
target killme -O2 $sites

kill_target() {	# CALLS ANALYSIS EVENTS-A-CALL
	label="killed after $1 calls, $2:"
	rm -rf "$data" "$work/tally"
	"$FLICK" record $2 -o "$data" -- "$work/killme" "$work/tally" 2 60 \
		>"$out" 2>"$err" &
	reader=$!
	wait_for_calls "$work/tally" "$1"
	kill -KILL "$(child_of $reader)" || fail "no target"
	wait $reader
	conserved
	tallies "$work/tally" >"$work/sums"
	got=$(sql "select sum($3) from $4")
	awk -v got="$got" -v each="$5" '
		{ begun += $1; returned += $2 }
		END { exit !(got >= each * returned && got <= each * begun + 2) }
	' "$work/sums" || fail "$label $got; $(cat "$work/sums")"
}

for calls in 1 2000 50000 400000; do
	kill_target $calls "-a latency --all" delivered threads 2
	kill_target $calls "-a counts" calls counts 1
done
