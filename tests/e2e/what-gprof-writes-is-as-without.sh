#!/bin/sh
# A program that is compiled for gprof (-pg) writes the same calls into gmon.out as without flick:
# it tells callers by their place in its text, where no second body lies. It is left to samples, which
# is said.
. "$(dirname "$0")/lib"
need gprof
export FLICK_BODIES=1

calls() {	# of FUNCTION CALLER
	gprof -b "$work/profiled" "$work/gmon.out" 2>"$err" |
		awk '$1 ~ /^0\./ && $3 ~ /\// && $4 ~ /leaf|middle/ { print $3, $4 }'
}

cat >"$work/profiled.c" <<'END'
__attribute__((noinline)) static int leaf(int x)
{
	__asm__ volatile("");
	return x * 3;
}
__attribute__((noinline)) static int middle(int x)
{
	int sum = 0;

	for (int i = 0; i < 10; i++)
		sum += leaf(x + i);
	return sum;
}
int main(void)
{
	int sum = 0;

	for (int i = 0; i < 100; i++)
		sum += middle(i);
	return sum != 162000;
}
END
compile "$work/profiled" "$work/profiled.c" -O2 -pg
cd "$work" || fail "no directory"
./profiled || fail "without flick it ends by $?"
calls >alone
grep -q '1000/1000 *leaf' alone || skip "gprof tells no callers here"
rm gmon.out
record -- ./profiled
succeeded
calls >recorded
cmp alone recorded || fail "callers are $(cat recorded)"
"$FLICK" list ./profiled >list
grep -q 'no: compiled for gprof (-pg)' list || fail "list says $(cat list)"
run "$FLICK" record -a counts -o "$data" -- ./profiled	# FLICK_E_GPROF
[ "$status" -eq 1 ] || fail "-a counts ends by $status"
grep -q 'compiled for gprof' "$err" || fail "-a counts does not say why"
record -a counts --provider=body -- ./profiled		# asked for by name
succeeded
[ "$(sql "select calls from $(rows counts) where name = 'leaf'")" = 1000 ] || fail "no calls"
