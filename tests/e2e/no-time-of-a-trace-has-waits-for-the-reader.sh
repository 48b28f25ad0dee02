#!/bin/sh
# A thread that waits for room in its ring, which is full again and again beside a trace: that is
# no time of its calls, with a trace or without, in report, replay and dumps; --raw has it.
# timeout: 300
. "$(dirname "$0")/lib"
no_emulator times
need "$CC" sqlite3
[ -r /proc/thread-self/schedstat ] || skip "the kernel does not say how long threads wait to run"
cat >"$work/waits.c" <<'END_C'
#include <stdio.h>
#include <time.h>
#define PLAIN __attribute__((no_instrument_function, noinline))
enum { CALLS = 1500000, SPIN_NS = 80000000 };
struct spent { unsigned long long clock, cpu, delay; };
PLAIN static unsigned long long now(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}
PLAIN static struct spent look(void)
{
	struct spent s = { now(CLOCK_MONOTONIC), now(CLOCK_THREAD_CPUTIME_ID), 0 };
	FILE *f = fopen("/proc/thread-self/schedstat", "r");
	if (!f || fscanf(f, "%*u %llu", &s.delay) != 1)
		s.delay = 0;
	fclose(f);
	return s;
}
__attribute__((noinline)) void leaf(void) { __asm__ volatile("" ::: "memory"); }
__attribute__((noinline)) void burn(void)
{
	unsigned long long end = now(CLOCK_THREAD_CPUTIME_ID) + SPIN_NS;
	while (now(CLOCK_THREAD_CPUTIME_ID) < end)
		;
	for (int i = 0; i < CALLS; i++)
		leaf();
}
int main(void)
{
	struct spent before = look(), after;
	burn();
	after = look();
	printf("%llu %llu\n", after.clock - before.clock,
	       after.cpu - before.cpu + after.delay - before.delay);
	return 0;
}
END_C
compile "$work/waits" "$work/waits.c" -O1 -finstrument-functions

# What burn took by the clock, and in how much of that it ran, or could have run.
run_it() {	# OPTIONS
	rm -rf "$data"
	run "$FLICK" record -o "$data" --provider=cyg --buffer 64 "$@" "$work/waits"
	succeeded
	read -r passed ran <"$out"
}
# Its time, of nanoseconds. What is taken out for the probes of all calls is known to a third at
# worst beside other work, and that is half of what it spun.
is_without_waits() {	# TIME
	awk -v t="$1" -v ran="$ran" 'BEGIN { exit !(t >= 4e7 && t <= ran * 1.1) }' ||
		fail "$label burn took $1 ns; it spun for 80000000, and ran for $ran of $passed"
}
is_as_passed() {	# TIME
	awk -v t="$1" -v e="$passed" 'BEGIN { exit !(t >= e * 0.9 && t <= e) }' ||
		fail "$label burn took $1 ns as measured; $passed have passed"
}
# Printed times have four digits.
is_as_reported() {	# TIME
	awk -v t="$1" -v r="$reported" 'BEGIN { exit !(t >= r * 0.99 && t <= r * 1.01) }' ||
		fail "$label burn took $1 ns; report has $reported"
}
reported_time() {	# OPTIONS of report
	run "$FLICK" report --format=csv "$@" "$data"
	awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i ~ /^"?total_ns"?$/) t = i }
		/burn/ { print $t }' "$out"
}
replayed_time() {	# OPTIONS
	run "$FLICK" replay -F burn -D 1 "$@" "$data"
	awk '/burn\(\);/ { print $1 * ($2 == "us" ? 1e3 : $2 == "ms" ? 1e6 : 1e9) }' "$out"
}
# Slices nest, so their clock may not go back, as the report's does where it takes out more than
# has passed.
is_as_dumped() {	# TIME
	awk -v t="$1" -v r="$reported" 'BEGIN { exit !(t >= r * 0.99) }' ||
		fail "$label burn took $1 ns; report has $reported"
	is_without_waits "$1"
}
chrome_time() {		# OPTIONS
	run "$FLICK" dump --format=chrome "$@" "$data"
	sed -n '/"name":"burn"/s/.*"dur":\([0-9]*\)\.\([0-9]*\).*/\1\2/p' "$out"
}
folded_time() {		# OPTIONS
	run "$FLICK" dump --format=folded "$@" "$data"
	awk '/burn/ { n += $NF } END { printf "%.0f\n", n }' "$out"
}

label="no trace:"
run_it --all
is_without_waits "$(reported_time)"
label="a trace:"
run_it --all --trace
reported=$(reported_time)
is_without_waits "$reported"
is_as_passed "$(reported_time --raw)"
for how in reported_time replayed_time chrome_time folded_time; do
	is_told=is_as_reported
	[ $how != chrome_time ] || is_told=is_as_dumped
	label="a part, $how:"
	$is_told "$($how -r 0s~)"
	label="a trace, $how:"
	$is_told "$($how)"
	label="--raw, $how:"
	is_as_passed "$($how --raw)"
done
# Of what is forgotten meanwhile, too.
for last in 1ms 100s; do
	label="--trigger, --last $last:"
	run_it --trigger 'burn>1ms' --last $last
	reported=$(awk '/burn took/ { print $4 * ($5 ~ /^us/ ? 1e3 : $5 ~ /^ms/ ? 1e6 : 1e9) }' \
		"$err")
	is_without_waits "$reported"
	is_as_reported "$(replayed_time)"
	is_as_dumped "$(chrome_time)"
done
