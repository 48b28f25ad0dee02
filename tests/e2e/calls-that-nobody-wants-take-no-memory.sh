#!/bin/sh
# Profiling calls of functions that nobody wants are off, each by one byte of its opcode,
# and have no glue; however many there are. Those that are wanted have glue and are on.
. "$(dirname "$0")/lib"
[ "$(uname -m)" = x86_64 ] || skip "the opcodes looked at are of x86-64"
need sqlite3 "$CC"
{
	cat <<'END_C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char __executable_start;

/* Bytes of executable memory of no file that lie near the program. */
__attribute__((no_instrument_function)) static unsigned long glue(void)
{
	unsigned long lo, hi, n = 0, here = (unsigned long)&__executable_start;
	FILE *f = fopen("/proc/self/maps", "r");
	char line[512], prot[8], name[256];

	while (fgets(line, sizeof line, f)) {
		name[0] = 0;
		if (sscanf(line, "%lx-%lx %7s %*s %*s %*s %255s", &lo, &hi, prot, name) >= 3 &&
		    prot[2] == 'x' && !name[0] && (hi > here ? hi - here : here - hi) < 1ul << 31)
			n += hi - lo;
	}
	fclose(f);
	return n;
}
END_C
	awk 'BEGIN {
		for (i = 0; i < 3000; i++)
			print "__attribute__((noinline)) int f" i "(int x) { return x * " i "; }"
		print "static int (*const all[])(int) = {"
		for (i = 0; i < 3000; i++)
			print "	f" i ","
		print "};"
		print "__attribute__((no_instrument_function)) int main(int n, char **site)\n{"
		print "	unsigned long sum = 0;\n	for (int i = 0; i < 100 * 3000; i++)"
		print "		sum += all[i % 3000](i / 3000);"
		print "	for (int i = 1; i < n; i++)"
		print "		printf(\"%x \", ((unsigned char *)&__executable_start)" \
		      "[strtoul(site[i], 0, 0)]);"
		print "	printf(\"%lu %lu\\n\", glue(), sum);\n	return 0;\n}"
	}'
} >"$work/many.c"
compile "$work/many" "$work/many.c" -O0 $sites -fcf-protection=none -fno-plt -pie -fPIE
compile "$work/stubs" "$work/many.c" -O0 $sites -fcf-protection=none -pie -fPIE

sum=$("$work/stubs" | awk '{ print $2 }')

bytes_of() {	# PROGRAM PATTERN...: the opcodes at its sites, and bytes of glue
	program=$1
	shift
	at=$("$FLICK" list "$work/$program" f7 2>/dev/null |
		awk '$NF == "f7" { print $1 }')
	record -a counts "$@" -- "$work/$program" $at
	succeeded
	[ "$(awk '{ print $NF }' "$out")" = "$sum" ] || fail "$program $*: another result"
	sed 's/ [0-9]*$//' "$out"
}

# Entries and exits, one on and one off, with -a counts.
label="a call through a stub:"
[ "$(bytes_of stubs -P f8)" = "a9 a9 4096" ] || fail "$label f7 unwanted: $(cat "$out")"
[ "$(bytes_of stubs -P f7)" = "e8 a9 4096" ] || fail "$label f7 wanted: $(cat "$out")"
[ "$(sql "select calls from $(rows counts) where name = 'f7'")" = 100 ] || fail "$label calls"
all=$(bytes_of stubs)
[ "${all#e8 a9 }" -ge 48000 ] || fail "$label all: $all"

# One that is wanted has 67 first, the others are `lea`.
label="a call through a slot:"
[ "$(bytes_of many -P f8)" = "8d 8d 4096" ] || fail "$label f7 unwanted: $(cat "$out")"
[ "$(bytes_of many -P f7)" = "67 8d 4096" ] || fail "$label f7 wanted: $(cat "$out")"
[ "$(sql "select calls from $(rows counts) where name = 'f7'")" = 100 ] || fail "$label calls"
