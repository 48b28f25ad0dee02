#!/bin/sh
# The last object of flick list --json has the numbers of the text's last line, those of
# second bodies, too.
. "$(dirname "$0")/lib"
need "$CC"
label=list

echo 'int main(void) { return 0; }' >"$work/plain.c"
"$CC" -O2 "$work/plain.c" -o "$work/plain" || fail "cannot build"
"$FLICK" list "$work/plain" >"$out" 2>"$err" || fail "$label"
want=$(sed -n 's/^sites: \([0-9]*\) usable, \([0-9]*\) refused, \([0-9]*\) unnamed; bodies: \([0-9]*\) functions, \([0-9]*\) refused$/{"usable": \1, "refused": \2, "unnamed": \3, "bodies": \4, "without_body": \5}/p' "$err")
[ -n "$want" ] || fail "$label has no last line with bodies"
"$FLICK" list --json "$work/plain" >"$out" 2>"$err" || fail "$label --json"
[ "$(tail -n 1 "$out")" = "$want" ] || fail "$label --json does not end with $want"
