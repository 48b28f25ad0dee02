#!/bin/sh
# Guest C never touches a vector or x87 register: they hold arguments of the
# function whose entry is probed. Only the routines that call a function of the
# program's own move them, and those save them.
set -u
lib=$BUILD/libflick.so

vectors()		# FILE: functions that name a vector register
{
	objdump -d --no-show-raw-insn "$1" |
		awk '/^[0-9a-f]+ </ { f = $2 } /%[xyz]mm|%st|%mm[0-7]/ { print f }' | sort -u
}

vectors "$lib" | grep -vE '^<fl_(bare|body)_call_(sse|avx|avx512|avx512bw)>:$' && exit 1
echo 'double f(double a) { return a * 2; }' >"$TMP/planted.c"
$CC -O2 -c "$TMP/planted.c" -o "$TMP/planted.o"
[ -n "$(vectors "$TMP/planted.o")" ] || { echo "the planted one was not seen"; exit 1; }
vectors "$lib" | grep -q fl_bare_call_sse || { echo "the routines were not seen"; exit 1; }
