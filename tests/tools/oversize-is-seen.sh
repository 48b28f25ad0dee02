#!/bin/sh
# Code that outgrew STYLE does not pass.
check="$ROOT/tools/check-sizes"
. "$ROOT/tests/tools/tree.inc"

# A function of $1 lines, statement $2.
function_of()
{
	printf 'static int long_one(int x)\n{\n'
	i=0
	while [ $i -lt "$1" ]; do
		i=$((i + 1))
		echo "	${2:-x++;}"
	done
	printf '}\n'
}

put src/patch/patch.h <<'END'
int fl_one(void);
END
put src/patch/deep.c <<'END'
int deep(int x)
{
	for (;;) {
		while (x) {
			if (x)
				some_function(x,
					      if_is_only_a_prefix);
			else if (x > 2)
				return 1;
		}
	}
}
END
function_of 80 | put src/patch/long.c
clean "what is at the limit"
grep -q '^2 functions in src/, median' said || { cat said; exit 1; }

function_of 81 | put src/patch/long.c
sees 'src/patch/long.c:2: long_one() has 81 lines; stop at 80' "81 lines"
function_of 81 | put src/arch/x86_64/decode.c
function_of 80 | put src/patch/long.c
clean "a decoder's tables are exempt"

put src/patch/deeper.c <<'END'
int deeper(int x)
{
	for (;;)
		while (x)
			if (x)
				if (x > 1)
					return 1;
}
END
sees 'src/patch/deeper.c:6: deeper() nests more than 3 deep' "four levels"
rm src/patch/deeper.c

printf '\t%088d\n\t/* %080dü */\n' 0 0 | put src/patch/wide.c
clean "96 columns, of letters and not of bytes"
printf '\t%089d\n' 0 | put src/patch/wide.c
sees 'src/patch/wide.c:1: 97 columns; stop at 96' "97 columns"
rm src/patch/wide.c

yes '/* */' | head -n 1001 | put src/patch/tall.c
sees 'src/patch/tall.c: 1001 lines; stop at 1000' "1,001 lines"
rm src/patch/tall.c
