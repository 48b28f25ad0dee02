#!/bin/sh
# A function with an instruction whose operands are not known is refused with that reason
# (FLICK_E_OPERAND), and all of them where there are no restartable sequences
# (FLICK_E_SEQUENCE); the program runs as it does alone.
. "$(dirname "$0")/lib"
x86_target odd
need "$CC"
library tells -I"$top/include"
cat >"$work/odd.c" <<'C'
#include <stdio.h>
static unsigned long bits[4];
__attribute__((noinline)) int test(long n)
{
	char is = 0;
	__asm__ volatile("bt %1,%2\n\tsetc %0" : "=r"(is) : "r"(n), "m"(bits[0]));
	return is;
}
__attribute__((noinline)) long add(long n) { return bits[n & 3] += n; }
int main(void) { printf("%d %ld\n", test(3), add(2)); return 0; }
C
compile "$work/odd" "$work/odd.c" -O2
record --why -a "$work/tells.so:-" -P test -P add -- "$work/odd"
succeeded
grep -q '^0 2$' "$out" || fail "the program says something else"
grep -q 'which memory an instruction here reads or writes is not known.*test' "$err" ||
	fail "the reason is not said"
grep -q 'bodies: 1 functions, 1 refused' "$err" || fail "not one is refused"

GLIBC_TUNABLES=glibc.pthread.rseq=0
export GLIBC_TUNABLES
record --why -a "$work/tells.so:-" -P add -- "$work/odd"
grep -q '^0 2$' "$out" || fail "without sequences: the program says something else"
grep -q 'restartable sequences' "$err" || fail "without sequences: the reason is not said"
unset GLIBC_TUNABLES

# What has sites of the compiler's tells as well: its functions are taken as they are.
for how in -finstrument-functions -fpatchable-function-entry=16; do
	compile "$work/sites" "$work/odd.c" -O2 $how
	record -a "$work/tells.so:-" -P add -- "$work/sites"
	succeeded
	grep -q 'bodies: 1 functions' "$err" || fail "$how: $(tail -1 "$err")"
	! grep -q ' 0 produced' "$err" || fail "$how: nothing is told"
done

# Not with what nobody would have records for.
refused() {	# REASON OPTIONS...
	reason=$1
	shift
	"$FLICK" record -o "$work/none" "$@" -- "$work/odd" >"$out" 2>"$err" && fail "$*: taken"
	grep -q "$reason" "$err" || fail "$*: $(cat "$err")"
}
refused 'cannot be used with others' -a cache -a latency
refused 'cannot be used with others' -a counts,cache
refused 'rate cannot be used' -a cache --rate=5%
refused 'provider=body' -a cache --provider=cyg
exit 0
