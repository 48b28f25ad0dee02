#!/bin/sh
# -a paths of functions that can have a body, but whose paths cannot be told: each has its own
# reason, and calls of both are counted. Where an exception lands a branch leads, too (FLE_PAD);
# the frame is told by an expression (FLE_HEIGHT).
. "$(dirname "$0")/lib"
x86_target untold-paths
need g++
cat >"$work/main.cc" <<'END'
extern "C" int by_expression(int);
extern "C" int lands(int);
extern "C" __attribute__((noipa)) void throws()
{
	volatile int none = 0;

	if (none)
		throw none;
}
int main()
{
	int sum = 0;

	for (int i = 0; i < 10; i++)
		sum += by_expression(i) + lands(i);
	return sum == 1;
}
END
g++ -O1 -o "$work/untold" "$work/main.cc" "$targets/untold-paths.S" || fail "g++"
record -a paths --why -- "$work/untold"
[ "$status" -eq 0 ] || fail "status $status: $(cat "$err")"
grep -q 'an exception lands where its branches lead, too: .* (lands)$' "$err" ||
	fail "no reason of lands: $(cat "$err")"
grep -q 'told by an expression, .* (by_expression)$' "$err" ||
	fail "no reason of by_expression: $(cat "$err")"
! grep -q damaged "$err" || fail "nothing is damaged: $(cat "$err")"
record -a counts -- "$work/untold"
"$FLICK" report "$data" >"$work/table"
[ "$(grep -c '^ *10  *\(lands\|by_expression\)$' "$work/table")" -eq 2 ] ||
	fail "their calls are not counted: $(cat "$work/table")"
