#!/bin/sh
# A program at a low address has little free memory below. Glue of few functions has that, and
# bodies stand above the program, as far up as a branch of its reaches: farther than one of
# theirs reaches to the glue. Glue of many is above, and small bodies find room below. Several
# threads build, so blocks are many and small.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"

for functions in 3000 8000; do
	awk -v n=$functions 'BEGIN {
		for (i = 0; i < n; i++)
			print "__attribute__((noinline)) int f" i "(int x)",
			      "{ volatile int a[4] = { x }; for (int k = 1; k < 4; k++)",
			      "a[k] = a[k - 1] * " i " + a[0]; return a[3] ^ a[2]; }"
		print "int main(void) { int s = 0;"
		for (i = 0; i < n; i++)
			print "s += f" i "(s);"
		print "return s & 0; }"
	}' >"$work/low.c"
	"$CC" -O0 -no-pie -Wl,-Ttext-segment=0x100000 -o "$work/low" "$work/low.c" ||
		skip "no program at a low address here"
	for how in "" "-a counts" "-a counts,latency --all"; do
		label="record $how, $functions functions:"
		record $how -- "$work/low"
		succeeded
		lossless
		table=counts
		[ "$how" ] || table=latency
		[ "$(sql "select sum(calls) from ${table}_named
			where function glob 'f[0-9]*'")" -eq $functions ] ||
			fail "$label its calls are not all there"
		[ "$(sql "select count(*) from sites where refusal = -5002")" -eq 0 ] ||
			fail "$label some sites have no glue"
	done
done
