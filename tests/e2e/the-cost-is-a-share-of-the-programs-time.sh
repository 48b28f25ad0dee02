#!/bin/sh
# What recording costs is a share of the program's time. What the agent does when large
# modules come is no such share: it is said apart.
. "$(dirname "$0")/lib"

awk 'BEGIN { for (i = 0; i < 8000; i++) print "int f" i "(int x) { return x + " i "; }" }' \
	>"$work/large.c"
compile "$work/large1.so" "$work/large.c" -O0 -g0 $sites -shared -fPIC
for i in 2 3 4 5 6 7 8; do
	cp "$work/large1.so" "$work/large$i.so"
done
cat >"$work/load.c" <<'END'
#include <dlfcn.h>
#include <stdio.h>
#include <time.h>

__attribute__((noipa)) int step(int x) { return x * 3 + 1; }

int main(int argc, char **argv)
{
	struct timespec t;
	volatile int x = 1;
	int i;

	for (i = 1; i < argc; i++)
		if (!dlopen(argv[i], RTLD_NOW))
			return 1;
	do {
		for (i = 0; i < 1000000; i++)
			x = x * 3 + 1;
		x = step(x);
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	} while (t.tv_sec == 0 && t.tv_nsec < 600000000);
	return 0;
}
END
compile "$work/load" "$work/load.c" -O2 $sites

# What copies bytes for the agent is the agent's work by where it stands (`src/session/samples/own.c`).
need nm readelf
library=$(readlink -f "$(dirname "$FLICK")/libflick.so.0")
section=$(readelf -SW "$library" | sed -n 's/.* fl_start_work  *PROGBITS  *\([0-9a-f]*\) [0-9a-f]* \([0-9a-f]*\) .*/0x\1 0x\2/p')
for f in memcpy memcmp fl_arch_plan fl_table_put; do
	at=0x$(nm "$library" | sed -n "s/ [tT] $f\$//p" | head -n 1)
	[ $((at)) -ge $((${section% *})) ] && [ $((at)) -lt $((${section% *} + ${section#* })) ] ||
		fail "$f at $at is not in the agent's work, $section"
done

record -a latency -- "$work/load" "$work"/large?.so
succeeded
grep -q '^cost: unknown (the system' "$err" && skip "the system gives no samples"
cost=$(sed -n 's/^cost: \([0-9.]*\) % of CPU time.*/\1/p' "$err")
agent=$(sed -n 's/^cost: .*, agent \([0-9]*\) ms at start and dlopen$/\1/p' "$err")
samples=$(sed -n 's/^cost: .*samples \([0-9.]*\),.*/\1/p' "$err")
# What arms and what switches share a few functions, whose samples count as probes'. With all of
# the agent's work it would be more than half.
awk -v c="${cost:-99}" -v samples="${samples:-0}" 'BEGIN { exit c - samples > 20 }' ||
	fail "a program without calls costs $cost %"
[ "${agent:-0}" -gt 10 ] || fail "the agent took $agent ms for 64,000 functions"
