#!/bin/sh
# dump --format=chrome: what will be large is said before, about right; --limit ends it
# there, and what is there is JSON with every call that began before.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
cat >"$work/calls.c" <<'END_C'
#include <stdlib.h>
__attribute__((noinline)) void leaf_with_a_name(void) { __asm__ volatile("" ::: "memory"); }
int main(int argc, char **argv)
{
	for (int n = atoi(argv[1]); n; n--)
		leaf_with_a_name();
	return argc > 2;
}
END_C
compile "$work/calls" "$work/calls.c" -O1 $sites
record --trace -- "$work/calls" 1250000
succeeded
run "$FLICK" dump --format=chrome -o "$work/json" "$data"
one_line_error 0 'the output will be about [0-9.]* MB'
said=$(sed -n 's/.* about \([0-9.]*\) MB.*/\1/p' "$err")
size=$(wc -c <"$work/json")
awk -v said="$said" -v size="$size" 'BEGIN { d = said * 1e6 / size; exit d < 0.9 || d > 1.1 }' ||
	fail "it says $said MB and is $size bytes"

run "$FLICK" dump --format=chrome --limit=1.5M -o "$work/json" "$data"
one_line_error 0 'the first part'
size=$(wc -c <"$work/json")
[ "$size" -ge 1400000 ] && [ "$size" -le 1600000 ] || fail "--limit: $size bytes"
sql "select json_extract(value, '\$.name'), count(*) from
	json_each(readfile('$work/json'), '\$.traceEvents') where
	json_extract(value, '\$.ph') = 'X' group by 1" >"$work/got"
grep -qx 'main 1' "$work/got" || fail "--limit: main is not there: $(cat "$work/got")"
grep -q 'leaf_with_a_name [0-9]\{5\}$' "$work/got" || fail "--limit: other calls: $(cat "$work/got")"
run "$FLICK" dump --format=chrome --limit=1G -o "$work/json" "$data"
succeeded
[ "$(n_errors)" -eq 0 ] || fail "what is whole is called a part"
record --trace -- "$work/calls" 1000
run "$FLICK" dump --format=chrome "$data"
[ "$(n_errors)" -eq 0 ] || fail "what is small is spoken of"
for size in 0 1x M -1; do
	run "$FLICK" dump --format=chrome --limit=$size "$data"
	one_line_error 2 'takes a size'
done
run "$FLICK" dump --limit=1M "$data"
one_line_error 2 'with --format=chrome only'
