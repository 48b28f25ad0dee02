#!/bin/sh
. "$(dirname "$0")/lib"
need "$CC"
target recursion -O2 $sites
run "$work/recursion"
cp "$out" "$work/plain"

check() {
	[ "$status" -eq 1 ] || fail "$label status $status, not 1"
	cmp -s "$work/plain" "$out" || fail "$label the target did not end well"
	grep -Eiq 'no space|full|too large' "$err" || fail "$label it is not said"
	[ "$(n_errors)" -eq 1 ] || fail "$label more than a line"
}

# A limit on the size of files holds for shared memory too.
label="file size limit:"
(
	ulimit -f 4
	trap '' XFSZ
	exec timeout 60 "$FLICK" record -a latency --all -o "$data" -- \
		"$work/recursion"
) 2>"$err" >"$out" </dev/null
status=$?
one_line_error 1 'too large|limit|memory|space|disk'

mkdir "$work/small"
mount -t tmpfs -o size=16k flick-test "$work/small" 2>/dev/null ||
	skip "cannot mount a small file system here"
trap 'umount "$work/small"; rm -rf "$work"' EXIT
label="full file system:"
run "$FLICK" record -a latency --all -o "$work/small/data" -- "$work/recursion"
check
