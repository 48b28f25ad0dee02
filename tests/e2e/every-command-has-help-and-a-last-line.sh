#!/bin/sh
. "$(dirname "$0")/lib"
need "$CC" sqlite3
target recursion -O2 $sites

help() {
	label="$*:"
	run "$FLICK" "$@"
	succeeded
	grep -qi usage "$out" || fail "$label no usage on standard output"
	[ ! -s "$err" ] || fail "$label it writes to standard error"
}

help --help
commands=$(sed -n 's/^  *\([a-z][a-z]*\)  *.*/\1/p' "$out")
for c in record report replay dump list count ctl latency live cache doctor calibrate selftest; do
	"$FLICK" --help | grep -qw "$c" || fail "--help does not list $c"
	help $c --help
done
for how in --version -V version; do
	run "$FLICK" $how
	succeeded
	grep -q '^flick [0-9.]*$' "$out" || fail "$how: no version"
done
"$FLICK" --help | grep -q -e --version || fail "--help does not name --version"
(cd "$work" && "$FLICK" record ./recursion) >"$out" 2>"$err" ||
	fail "record ./recursion"
label=record
ends_well
set -f			# f* is for flick
for command in "count f* -- $work/recursion" "count fib -- $work/recursion" \
	"latency fib -- $work/recursion"; do
	label="$command:"
	run "$FLICK" $command
	succeeded
	ends_well
done
for command in "report $work/flick.data" "report --format=csv $work/flick.data" doctor "doctor $work/recursion" \
	"list $work/recursion"; do
	run "$FLICK" $command
	succeeded
	! grep -q "$ending\|^cost: " "$out" "$err" || fail "$command records nothing, and has an account"
done
