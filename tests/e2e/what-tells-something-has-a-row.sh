#!/bin/sh
# Of a large program that calls few of its functions, functions that a result names have rows, and
# their sites, with those of what it loads later and unloads; so has what was refused. What was
# never called has none, but beside a trace. On a disk that is too small for them the program
# ends well, and one line says why there are no results.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"

# 1100 functions of two bodies each, 4400 sites, are called; 900 are not.
awk 'BEGIN {
	print "#include <dlfcn.h>\n#include <stdio.h>"
	print "static inline __attribute__((always_inline)) int inner(int x) { return x / 3 + 1; }"
	for (i = 0; i < 1100; i++)
		print "__attribute__((noinline)) int f" i "(int x) { return inner(x) * " i "; }"
	for (i = 0; i < 900; i++)
		print "__attribute__((noinline, used)) int never" i "(int x) { return x * " i "; }"
	print "int main(int argc, char **argv)\n{\n	int sum = 0;"
	print "	void *lib = dlopen(argv[1], RTLD_NOW);"
	print "	int (*late)(int) = lib ? (int (*)(int))dlsym(lib, \"late\") : 0;"
	print "	for (int i = 0; i < 3; i++) {"
	for (i = 0; i < 1100; i++)
		print "		sum += f" i "(i);"
	print "	}\n	if (late)\n		sum += late(1) - late(1);"
	print "	if (argc > 2 && lib)\n		dlclose(lib);"
	print "	printf(\"%d\\n\", sum);\n	return !late;\n}"
}' >"$work/many.c"
compile "$work/many" "$work/many.c" -O2 $sites
echo 'int late(int x) { return x + 1; }' >"$work/late.c"
compile "$work/late.so" "$work/late.c" -O2 $sites -shared -fPIC
run "$work/many" "$work/late.so"
cp "$out" "$work/plain"

whole() {	# LABEL STATE-OF-THE-LIBRARY OPTIONS... -- ARGUMENTS
	label=$1 state=$2
	shift 2
	record "$@"
	succeeded
	cmp -s "$out" "$work/plain" || fail "$label other output"
	[ "$(sql "pragma integrity_check")" = ok ] || fail "$label damaged"
	[ -z "$(sql "pragma foreign_key_check")" ] || fail "$label rows that lead nowhere"
	n=$(sql "select count(*) from sites s join functions f on f.id = s.function
		where f.name = 'inner' or f.name glob 'f[0-9]*' and s.state = 'ready'")
	[ "$n" -ge 4400 ] || fail "$label $n sites of 4400"
	n=$(sql "select count(*) from functions where name glob 'never[0-9]*'")
	[ "$n" = "${never:-0}" ] || fail "$label $n functions that were never called"
	n=$(sql "select count(*) from sites s left join functions f on f.id = s.function
		where f.name is null or f.name glob 'never[0-9]*'")
	[ "$n" = $((2 * ${never:-0})) ] || fail "$label $n sites that nobody came to"
	n=$(sql "select group_concat(distinct s.state) from sites s join functions f
		on f.id = s.function where f.name = 'late'")
	[ "$n" = "$state" ] || fail "$label the library's sites are $n"
	n=$(sql "select count(*) from $(rows latency) where name glob 'f[0-9]*' and calls = 3")
	[ "$n" = 1100 ] || fail "$label $n functions of 1100"
	[ "$(sql "select calls from $(rows latency) where name = 'inner'")" = 3300 ] ||
		fail "$label inner"
	[ "$(sql "select calls from $(rows latency) where name = 'late'")" = 2 ] ||
		fail "$label late"
	run "$FLICK" report -n 5 "$data"
	succeeded
}
whole "default:" ready -- "$work/many" "$work/late.so"
whole "unloaded:" gone --all -- "$work/many" "$work/late.so" x
never=900
whole "with a trace:" ready --all --trace -- "$work/many" "$work/late.so"
never=
whole "followed:" ready --follow -- "$work/many" "$work/late.so"

# Some of libc's are.
label="refused:"
record -a counts -P 'libc.so*!str*' -- "$work/many" "$work/late.so"
succeeded
n=$(sql "select count(*) from sites where refusal")
[ "$n" -gt 0 ] || fail "$label nothing is"
[ "$(sql "select count(*) from sites where refusal and function is null")" = 0 ] ||
	fail "$label it has no function"
grep -q "$n functions\? refused\|$n refused" "$err" || fail "$label $n rows"

mkdir "$work/small"
mount -t tmpfs -o size=64k flick-test "$work/small" 2>/dev/null || exit 0
trap 'umount "$work/small"; rm -rf "$work"' EXIT
label="a small disk:"
run "$FLICK" record -o "$work/small/data" -- "$work/many" "$work/late.so"
[ "$status" = 1 ] || fail "$label status $status"
cmp -s "$out" "$work/plain" || fail "$label other output"
grep -q '^flick: cannot write results:' "$err" || fail "$label it is not said"
[ ! -e "$work/small/data/results.db" ] || fail "$label results all the same"
