#!/bin/sh
# Where all is taken around a program's code, as far as branches reach, but for one page, sites
# of compilers lead there, and from there to their glue. Second bodies stand in what holes
# there are, far from one another. Where nothing is free profiling calls reach their functions,
# and what has no other way is refused by name.
. "$(dirname "$0")/lib"
need sqlite3

around() {	# HOLES PAGES
	say "-include $targets/taken-around.h -DTAKEN_HOLES=$1 -DTAKEN_PAGES=$2"
}

unreached() {
	record -a counts -- "$1"
	one_line_error 1 'none of the [0-9]+ probes can be used: ([0-9]+: )*no free memory within branch range'
}

compilers() {	# WHAT FLAGS...
	label="$1, a page:"
	shift
	target recursion -O2 "$@" $(around 1 3)
	record -a counts -- "$work/recursion"
	succeeded
	exact
	grep -q ' 0 refused$' "$err" || fail "$label some are refused"
	grep -qx 'holes 1' "$out" || fail "$label no code where there is room"
	label="${label%,*}, nothing:"
	target recursion -O2 "$@" $(around 0 0)
}

compilers "profiling calls" $sites
record -a counts -- "$work/recursion"
succeeded
exact
compilers pads -fpatchable-function-entry=5
unreached "$work/recursion"
if command -v clang >/dev/null && ! emulated xray; then
	CC=clang
	compilers sleds -fxray-instrument -fxray-instruction-threshold=1
	unreached "$work/recursion"
	CC=gcc
fi

# What is larger than branches reach on some CPU: its code is not.
label="a large module:"
say 'static char large[300 << 20] __attribute__((used));' >"$work/large.h"
target recursion -O2 -fpatchable-function-entry=5 -include "$work/large.h"
record -a counts -- "$work/recursion"
succeeded
exact
grep -q ' 0 refused$' "$err" || fail "$label some are refused"

# Functions as they are: more than have glue in one hole.
case $(uname -m) in
x86_64) n=700 ;;
*) n=300 ;;
esac
awk -v n=$n 'BEGIN {
	print "#include <stdio.h>"
	for (i = 0; i < n; i++)
		printf "__attribute__((noipa)) int f%d(int x) { return (x ^ %d) * 7 + (x >> 3); }\n", i, i + 999
	print "int main(void) {\n\tint x = 1;"
	for (i = 0; i < n; i++)
		printf "\tfor (int i = 0; i < %d; i++) x = f%d(x);\n", i % 5, i
	for (i = 0; i < n; i++)
		printf "\tputs(\"count f%d %d\");\n", i, i % 5
	print "\treturn 0;\n}" }' >"$work/many.c"
label="functions as they are, holes:"
compile "$work/many" "$work/many.c" -O1 $(around 60 6)
record -a counts -- "$work/many"
succeeded
exact
grep -Eq '^holes ([4-9]|[1-5][0-9])$' "$out" || fail "$label $(grep '^holes' "$out")"
label="functions as they are, nothing:"
compile "$work/many" "$work/many.c" -O1 $(around 0 0)
unreached "$work/many"
