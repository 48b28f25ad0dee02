#!/bin/sh
# Standard input is the target's; a closed output is its business.
. "$(dirname "$0")/lib"
need "$CC"
cat >"$work/copy.c" <<'END'
#include <stdio.h>
static int pass(int c) { return putchar(c); }
int main(void)
{
	for (int c; (c = getchar()) != EOF;)
		pass(c);
	return 0;
}
END
compile "$work/copy" "$work/copy.c" -O1 $sites
seq 20000 >"$work/in"
"$FLICK" record -a counts -o "$data" -- "$work/copy" <"$work/in" \
	>"$out" 2>"$err" || fail "status $?"
cmp -s "$work/in" "$out" || fail "the output is not the input"
yes | head -c 3000000 | timeout 30 "$FLICK" record -a counts -o "$data" -- \
	"$work/copy" 2>"$err" | head -n 1 >"$out"
[ "$(cat "$out")" = y ] || fail "nothing came through the pipe"
grep -q "$ending" "$err" || fail "no account after SIGPIPE"
