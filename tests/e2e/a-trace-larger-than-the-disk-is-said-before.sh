#!/bin/sh
# Where a trace may fill the disk, that is said before the program runs; when it
# does, the trace ends, and the program and the results do not.
. "$(dirname "$0")/lib"
need sqlite3 mount "$CC"
target threads -O2 $sites

traced() {	# DIR THREADS CALLS
	data=$1
	rm -rf "$data"
	timeout 60 "$FLICK" record --trace -a latency -o "$data" -- "$work/threads" "$2" \
		"$3" >"$out" 2>&1 </dev/null
	status=$?
	grep -n 'MB free' "$out" >"$work/said"
}

label="a large disk:"
if [ "$(df -Pk "$work" | awk 'END { print $4 }')" -gt 1200000 ]; then
	traced "$work/data" 1 10
	succeeded
	[ ! -s "$work/said" ] || fail "$label $(cat "$work/said")"
fi

mkdir "$work/small"
mount -t tmpfs -o size=4m flick-test "$work/small" 2>/dev/null ||
	skip "cannot mount a small file system here"
trap 'umount "$work/small"; rm -rf "$work"' EXIT

label="a small disk that suffices:"
traced "$work/small/data" 1 10
succeeded
grep -q '^1:.* 4.* MB free: .* after 1[0-9]\{5\} calls, and ends there' "$work/said" ||
	fail "$label not said first"
! grep -q million "$work/said" || fail "$label no calls at all"
exact latency

label="a small disk that does not:"
traced "$work/small/data" 3 400000
[ "$status" -eq 1 ] || fail "$label exit status $status"
grep -q '^1:' "$work/said" || fail "$label not said first"
grep -q 'the trace ends early.*[Nn]o space' "$out" || fail "$label its end is not said"
exact latency
lossless
run "$FLICK" dump --format=chrome "$data"
[ "$(wc -c <"$out")" -gt 100000 ] || fail "$label nothing of the trace is left"
