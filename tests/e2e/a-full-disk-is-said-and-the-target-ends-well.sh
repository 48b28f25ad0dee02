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
grep -q "$work/small/data: No space left on device; nothing of this recording is kept" "$err" ||
	fail "$label it is not said of which directory, and what is kept"
[ -z "$(ls "$work/small/data" 2>/dev/null)" ] || fail "$label files are left"
dd if=/dev/zero of="$work/small/fill" bs=1k 2>/dev/null
label="already full:"
run "$FLICK" record -o "$work/small/data" -- "$work/recursion"
one_line_error 1 "cannot write results: $work/small/data: No space left on device\$"
! grep -q '^count' "$out" || fail "$label the program ran for nothing"
[ ! -e "$work/small/data" ] || fail "$label the directory is left"
label="dump:"
record -a tree -P fib -- "$work/recursion"
succeeded
run "$FLICK" dump --format=flame -o "$work/small/out" "$data"
one_line_error 1 "small/out: No space left on device"
