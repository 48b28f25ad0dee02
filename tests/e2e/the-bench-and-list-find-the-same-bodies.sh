#!/bin/sh
# bench/bodies.sh counts as many functions that can have a body as `flick list` shows of a program.
. "$(dirname "$0")/lib"
no_emulator programs
need "$CC"
target shorts -O2
row=$(BUILD=$(dirname "$FLICK") sh "$top/bench/bodies.sh" "$work/shorts" 2>"$err") ||
	fail "bench/bodies.sh: $row"
run "$FLICK" list --provider=body "$work/shorts"
succeeded
listed=$(grep ' body ' "$out" | grep -cv ' no: ')
[ "$listed" -gt 0 ] || fail "no function is listed"
say "$row" | grep -q "\"shaped\":$listed," || fail "$listed are listed: $row"
