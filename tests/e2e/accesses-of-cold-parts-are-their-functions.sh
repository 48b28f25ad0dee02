#!/bin/sh
# record -a cache: accesses of instructions that a compiler has moved away from their function, to
# a cold part with a name of its own, are that function's, as its calls are.
. "$(dirname "$0")/lib"
need nm "$CC"
[ "$(uname -m)" = x86_64 ] || skip "accesses are told on x86-64"

cat >"$work/split.c" <<'END_OF_C'
volatile long sink;
__attribute__((noipa, cold)) void rare(void) { }
__attribute__((noipa)) long often(long x)
{
	if (x % 10 == 0) {
		rare();
		sink = x;
		rare();
		sink = 1;
	}
	return sink;
}
int main(void)
{
	long sum = 0;

	for (long i = 0; i < 1000; i++)
		sum += often(i);
	return sum == 1;
}
END_OF_C
"$CC" -O2 -o "$work/split" "$work/split.c" || fail "cannot be compiled"
nm "$work/split" | grep -q ' often\.cold' || skip "the compiler leaves often() in one piece"

for option in '' --lines; do
	# shellcheck disable=SC2086
	record -a cache $option -P often -- "$work/split"
	succeeded
	"$FLICK" report --format=csv -f function,accesses,stores "$data" >"$work/csv" 2>"$err" ||
		fail "$option report"
	tr -d '"\r' <"$work/csv" | awk -F, '
		NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
		{
			name = $column["function"]
			all[name == "" ? "-" : name] += $column["accesses"]
			stores[name == "" ? "-" : name] += $column["stores"]
		}
		END { for (f in all) print f, all[f] - stores[f], stores[f] }' >"$work/got"
	# 1000 loads of sink and of ways back, 200 stores to it, and 200 calls.
	grep -q '^often [0-9]* [0-9]*$' "$work/got" && [ "$(wc -l <"$work/got")" -eq 1 ] ||
		fail "$option there are accesses of others: $(cat "$work/got")"
	read -r _ loads stores <"$work/got"
	[ "$loads" -ge 2000 ] && [ "$stores" -ge 400 ] ||
		fail "$option accesses of often() are missing: $(cat "$work/got")"
done
exit 0
