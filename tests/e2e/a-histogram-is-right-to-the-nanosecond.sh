#!/bin/sh
# flick latency: calls that take a little longer than a power of two are not told as shorter: a
# clock has ticks, whose powers of two are others.
. "$(dirname "$0")/lib"
need "$CC"

cat >"$work/spins.c" <<'END_OF_C'
#include <time.h>
static unsigned long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (unsigned long)t.tv_sec * 1000000000ul + (unsigned long)t.tv_nsec;
}
__attribute__((noipa)) void spin(unsigned long ns)
{
	unsigned long from = now();

	while (now() - from < ns)
		;
}
int main(void)
{
	spin(1000);
	for (int i = 0; i < 30; i++)
		spin(1048576 + 1048576 / 1000 * (unsigned long)(i + 2));
	return 0;
}
END_OF_C
"$CC" -O1 -o "$work/spins" "$work/spins.c" || fail "cannot be compiled"
run "$FLICK" latency spin -- "$work/spins"
succeeded
grep -q 'count: 31$' "$out" || fail "there are other calls"
# Whatever else runs makes them longer.
awk '$2 == "->" && $1 >= 262144 && $1 < 1048576 { n += $5 } END { exit n != 0 }' "$out" ||
	fail "calls of more than 1048576 ns are told as shorter"
"$FLICK" record -a latency,spread --trace --all -P spin -o "$data" "$work/spins" >"$out" \
	2>"$err" || fail "record"
"$FLICK" report -a spread --format=csv -f function,from,below,calls "$data" >"$work/whole" \
	2>"$err" || fail "report"
"$FLICK" report -a spread --format=csv -f function,from,below,calls -r 0~ "$data" \
	>"$work/part" 2>"$err" || fail "report of a part"
tr -d '"\r' <"$work/whole" | awk -F, 'NR > 2 && $1 == last && $2 + 0 <= from { n++ }
	{ last = $1; from = $2 + 0 } END { exit n != 0 }' ||
	fail "spans are not from short to long: $(cat "$work/whole")"
cmp -s "$work/whole" "$work/part" ||
	fail "a trace tells others: $(diff "$work/whole" "$work/part")"
tr -d '"\r' <"$work/whole" | awk -F, 'NR > 1 && $2 >= 262144 && $2 < 1048576 { n += $4 }
	END { exit n != 0 }' || fail "a result has them: $(cat "$work/whole")"
exit 0
