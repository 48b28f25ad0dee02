#!/bin/sh
# An error that nothing raises or no test provokes does not pass.
check="$ROOT/tools/check-errors"
. "$ROOT/tests/tools/tree.inc"

put include/flick/errors.def <<'END'
/* FLICK_ERR(COMMENT, 1, "no error") */
FLICK_ERR(ALPHA, -5001, "the first thing went wrong")
FLICK_ERR(BETA,  -5002, "the second, \"so\" to speak, went wrong")
END
put src/a/a.c <<'END'
int f(int x)
{
	return x ? FLE_ALPHA : FLE_BETA;
}
END
echo 'assert(f(1) == FLE_ALPHA);' | put tests/unit/a.c
echo '# FLE_BETA: the second thing' | put tests/e2e/b.sh
clean "each is raised and provoked"

# plant FILE SED-SCRIPT TEXT WHY
plant()
{
	cp "$1" good
	sed -i "$2" "$1"
	cmp -s good "$1" && { echo "nothing planted: $4"; exit 1; }
	sees "$3" "$4"
	mv good "$1"
}
plant src/a/a.c 's|FLE_BETA|0|' 'nothing in src/ raises FLE_BETA' "removed"
plant src/a/a.c 's|FLE_BETA|0; /* FLE_BETA */|' 'raises FLE_BETA' "a comment"
plant src/a/a.c 's|FLE_BETA|x == FLE_BETA|' 'raises FLE_BETA' "a comparison"
plant src/a/a.c 's|return|case FLE_BETA: return|; s|: FLE_BETA|: 0|' \
	'raises FLE_BETA' "a case label"
plant tests/unit/a.c 's|FLE_ALPHA|-5001|' 'no test names FLE_ALPHA' "untested"
plant include/flick/errors.def 's|5002|5001|' 'BETA: value -5001' "a value twice"
plant include/flick/errors.def 's|"the first.*"|""|' 'ALPHA: no sentence' "mute"
