#!/bin/sh
# As somebody who may not read the program nor write the directory.
. "$(dirname "$0")/lib"
need "$CC"
target recursion -O2 $sites
me="env"
if [ "$(id -u)" -eq 0 ]; then
	need setpriv
	me="setpriv --reuid=65534 --regid=65534 --clear-groups"
	chmod 755 "$work"
	$me test -x "$FLICK" || skip "another user cannot reach $FLICK"
fi
chmod 711 "$work/recursion"
[ "$me" = env ] && chmod 000 "$work/recursion"
label="list:"
run $me "$FLICK" list "$work/recursion"
one_line_error 1 'permission denied'
chmod 755 "$work/recursion"
mkdir -m 555 "$work/locked"
label="record:"
run $me "$FLICK" record -o "$work/locked/data" -- "$work/recursion"
one_line_error 1 'permission denied'
! grep -q '^count' "$out" || fail "the program ran for nothing"
