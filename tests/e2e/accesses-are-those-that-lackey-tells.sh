#!/bin/sh
# timeout: 180
# Each access to memory of chosen functions, in order, with its size and what it does, is the
# one that valgrind's lackey tells of the same instructions.
. "$(dirname "$0")/lib"
x86_target told
need valgrind objdump "$CC"
library tells -I"$top/include"

# Addresses of eight digits or more: text can be compared.
lackeys() {	# LOW HIGH
	awk -v low="x$1" -v high="x$2" '
		function wide(a) { while (length(a) < 8) a = "0" a; return "x" a }
		{ split($2, p, ",") }
		/^I/ { is_in = wide(p[1]) >= low && wide(p[1]) < high }
		/^ [LSM]/ && is_in { print $1, substr(wide(p[1]), 2) "," p[2] }'
}

# Of a load whose result nobody uses lackey tells nothing: code that is not optimised has some.
for level in -O1 -O2 -O3; do
	label="$level:"
	target told $level -no-pie -fno-stack-protector -fcf-protection=none
	objdump -h "$work/told" | awk '$2 == "told" { print $4, $3 }' >"$work/range"
	read -r low bytes <"$work/range" || fail "$label no functions"
	high=$(printf %08x $((0x$low + 0x$bytes)))
	low=$(printf %08x $((0x$low)))
	run valgrind --tool=lackey --trace-mem=yes --log-file="$work/trace" "$work/told"
	[ "$status" -eq 0 ] || skip "valgrind cannot run it: $(tail -n 1 "$err")"
	cp "$out" "$work/said"
	lackeys "$low" "$high" <"$work/trace" >"$work/true"
	[ "$(wc -l <"$work/true")" -gt 5000 ] || fail "$label lackey tells too little"
	record -a "$work/tells.so:$work/told.trace" -P widths -P chase -P copy -P below \
		-P choose -P down -P sum -P swap -P compare -P repeat -P work -- "$work/told"
	succeeded
	cmp -s "$out" "$work/said" || fail "$label the program says something else"
	cut -d' ' -f2- "$work/told.trace" >"$work/got"
	diff "$work/true" "$work/got" >"$work/diff" ||
		fail "$label lackey <, flick >: $(head -n 8 "$work/diff")"
done
