#!/bin/sh
# With --perf-map perf shows what ran in a second body as its function, and what the program
# wrote into the same file stays there.
. "$(dirname "$0")/lib"
no_emulator samples
need perf
export FLICK_BODIES=1
cat >"$work/hot.c" <<'END_C'
#include <stdio.h>
#include <string.h>
#include <unistd.h>
__attribute__((noipa)) static long turn(long n)
{
	for (long i = 0; i < 40000; i++)
		__asm__ volatile("add $1, %0" : "+r"(n));
	return n;
}
int main(int argc, char **argv)
{
	long n = 0;

	for (int i = 0; i < 10000; i++)
		n = turn(n);
	if (argc > 1) {
		char path[64];
		FILE *f;

		snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
		f = argc > 2 ? NULL : fopen(path, "w");
		if (f) {
			fputs("10000 100 made_by_the_program\n", f);
			fclose(f);
		} else if (symlink(argv[1], path)) {
			return 1;
		}
	}
	printf("%d\n", getpid());
	return n == 0;
}
END_C
compile "$work/hot" "$work/hot.c" -O2

run_with() {	# OPTIONS... -- ARGUMENTS...
	rm -rf "$data"
	"$FLICK" record -o "$data" -a counts "$@" >"$out" 2>"$err" || fail "record: $?"
	map=/tmp/perf-$(cat "$out").map
}

run_with -- "$work/hot"
[ ! -e "$map" ] || fail "a map that nobody asked for"

perf record -o "$work/perf.data" -F 1000 -- "$FLICK" record --perf-map -o "$data" -a counts -- \
	"$work/hot" >"$out" 2>"$err" || skip "perf does not record here: $(tail -1 "$err")"
map=/tmp/perf-$(head -1 "$out").map
trap 'rm -rf "$work" "$map"' EXIT
[ -O "$map" ] || fail "no $map"
awk 'NF != 3 || $1 !~ /^[0-9a-f]+$/ || $2 !~ /^[0-9a-f]+$/ { exit 1 }' "$map" ||
	fail "a line is not: start, size, name: $(head -3 "$map")"
perf report -i "$work/perf.data" --stdio --comm hot --sort sym >"$work/report" 2>/dev/null
grep -q '[0-9]% .*turn$' "$work/report" || fail "perf does not name turn: $(head -20 "$work/report")"
rm -f "$map"

# The program's own lines stay; what is no file of ours is left alone.
run_with --perf-map -- "$work/hot" writes
trap 'rm -rf "$work" "$map"' EXIT
grep -qx '10000 100 made_by_the_program' "$map" || fail "the program's line is gone"
grep -q ' turn$' "$map" || fail "turn is not in the map"
rm -f "$map"

touch "$work/others"
run_with --perf-map -- "$work/hot" "$work/others" link
trap 'rm -rf "$work" "$map"' EXIT
[ ! -s "$work/others" ] || fail "a link was followed"
grep -q "cannot write $map" "$err" || fail "nobody says that it was not written"
rm -f "$map"

record --perf-map --follow -- "$work/hot"
[ "$status" = 2 ] || fail "--follow with --perf-map: $status"
