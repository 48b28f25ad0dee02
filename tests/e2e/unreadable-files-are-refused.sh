#!/bin/sh
# As somebody who may not read the program, nor write the directory, nor read the results.
. "$(dirname "$0")/lib"
need "$CC"
place=$(mktemp -d /tmp/flick-test.XXXXXX)	# that others may enter
trap 'rm -rf "$work" "$place"' EXIT
chmod 755 "$place"
me="env"
if [ "$(id -u)" -eq 0 ]; then
	need setpriv
	me="setpriv --reuid=65534 --regid=65534 --clear-groups"
	$me test -x "$FLICK" || skip "another user cannot reach $FLICK"
fi
target recursion -O2 $sites
cp "$work/recursion" "$place"
app=$place/recursion
run $me "$app"
succeeded

chmod 711 "$app"
[ "$me" = env ] && chmod 000 "$app"
label="list:"
run $me "$FLICK" list "$app"
one_line_error 1 'permission denied'
chmod 755 "$app"

mkdir -m 555 "$place/locked"
refused() {	# DIR PATTERN
	label="record -o $1:"
	run $me "$FLICK" record -o "$1" -- "$app"
	one_line_error 1 "cannot write results: $2: permission denied\$"
	! grep -q '^count' "$out" || fail "$label the program ran for nothing"
}
refused "$place/locked/data" "$place/locked/data"
refused "$place/locked" "$place/locked"

data=$place/data
record -- "$app"
succeeded
label="report:"
chmod 000 "$data/results.db"
run $me "$FLICK" report "$data"
one_line_error 1 "$data/results.db: permission denied\$"
chmod 600 "$data/results.db"
chmod 000 "$data"
run $me "$FLICK" report "$data"
one_line_error 1 "$data: permission denied\$"
chmod 700 "$data"
