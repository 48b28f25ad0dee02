#!/bin/sh
# The share of functions that are called in one place is told, and may not grow.
check="$ROOT/tools/check-once"
. "$ROOT/tests/tools/tree.inc"

echo 'once patch 34' | put tools/limits
put src/patch/commit.c <<'END'
static int once(int x)
{
	return x;
}
static int twice(int x);
static int twice(int x)
{
	return x;	/* once(x) and again once(x) */
}
static int member(int x)
{
	return once(x);
}
const struct fl_row row = { .f = member };
int fl_all(int x)
{
	return twice(twice(x));
}
END
clean "one of three; a member of a table is called through it"
grep -q '^patch *1 of *3$' said && grep -q '^src *1 of *3, 33.3 %$' said || { cat said; exit 1; }

echo 'once patch 33' >tools/limits
sees 'once patch: 34; stop at 33 (tools/limits) percent: once' "more than there were"
echo 'once patch 34' >tools/limits
sed -i 's/twice(twice(x))/twice(x)/' src/patch/commit.c
sees 'once patch: 67; stop at 34' "a second one"
