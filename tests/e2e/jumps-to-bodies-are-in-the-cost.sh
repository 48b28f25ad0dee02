#!/bin/sh
# The entry of a function that has a second body leads there, on or off: each call takes that
# jump, which no sample shows. It is in what a recording says that it cost, by how many calls
# took it; where functions have sites of the compiler's there is none.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
cat >"$work/calls.c" <<'END'
static volatile long sink;
__attribute__((noipa)) static void tiny(void) { sink++; }
int main(void)
{
	for (int i = 0; i < 150000000; i++)
		tiny();
	return 0;
}
END
compile "$work/plain" "$work/calls.c" -O2
compile "$work/sites" "$work/calls.c" -O2 $sites

# A jump takes from a part of a cycle to some cycles, and no more than an eighth of the program's
# time is told, which is what stands where windows leave it little.
said_for() {	# CALLS
	jumps=$(sed -n 's/^cost: .*, jumps to bodies \([0-9.]*\), .*/\1/p' "$err")
	seconds=$(sql "select value * 997e-6 from session where key = 'pc_samples'")
	echo "${jumps:-0} $seconds $1" | awk '{ percent = $1; ns = $1 / 100 * $2 * 1e9 / $3 }
		END { exit !((ns > 0.05 || percent > 10) && ns < 4) }' ||
		fail "$label ${jumps:-no} percent of $seconds s for $1 calls: $(grep cost "$err")"
}

label="default:"
record -- "$work/plain"
succeeded
grep -q '^cost: unknown' "$err" && skip "the system gives no samples"
said_for 150000000
label="counts:"
record -a counts -- "$work/plain"
succeeded
said_for 150000000
cost_is_the_sum
grep -q 'give or take a factor of three' "$err" || fail "$label nothing says that calls are short"
for analysis in graph tree; do
	label="windows of $analysis:"
	record --rate=1% -a "$analysis" -- "$work/plain"
	succeeded
	said_for 150000000
done
label="sites:"
record -- "$work/sites"
succeeded
grep -q '^cost: [0-9]' "$err" || fail "$label no cost"
! grep -q 'jumps to bodies' "$err" || fail "$label $(grep cost "$err")"
exit 0
