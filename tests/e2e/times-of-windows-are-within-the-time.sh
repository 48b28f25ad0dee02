#!/bin/sh
# --rate: no total is more than the time there was, of a function that calls itself least of
# all. Of one whose calls a window often cuts off it is right; of one whose calls outlast
# windows there is none, and the report says so.
. "$(dirname "$0")/lib"
no_emulator windows
need sqlite3 "$CC"
cat >"$work/long.c" <<'END'
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#define BODY __attribute__((noipa))
#define QUIET BODY __attribute__((no_instrument_function))
static uint64_t all;
QUIET static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}
QUIET static void spin(uint64_t us)
{
	uint64_t x = us;

	for (uint64_t i = 0; i < us * 500; i++) {	/* a product takes three cycles or four */
		x *= 0x9e3779b97f4a7c15;
		__asm__ volatile("" : "+r"(x));
	}
}
BODY void leaf(void) { spin(1); }
BODY void cut(void) { for (int i = 0; i < 30; i++) leaf(); }
BODY void outlasts(void) { spin(20000); }	/* no window is as long, be it late */
BODY long fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
int main(int argc, char **argv)
{
	int fibs = argc > 1 ? atoi(argv[1]) : 0;

	for (int i = 0; i < 12000 && !fibs; i++) {
		uint64_t begin = now();

		cut();
		all += now() - begin;
		if (i % 200 == 0)
			outlasts();
	}
	for (int i = 0; i < fibs; i++)
		fib(28);
	printf("cut %llu\n", (unsigned long long)all);
	return 0;
}
END
compile "$work/long" "$work/long.c" -O2 $sites

beyond() {
	for table in latency graph tree; do
		bad=$(sql "select f.name, total_ns from $table join functions f on f.id = function
			where total_ns > (select value from session where key = 'duration_ns')")
		[ -z "$bad" ] || fail "$label $table: a total of $bad ns"
	done
}

label=fib:
record --rate=5% -a latency,graph,tree -- "$work/long" 20
succeeded
beyond

label=cut:
for try in 1 2 3 4 5 6 7 8; do
	record --rate=10% -a latency,graph,tree -- "$work/long"
	succeeded
	beyond
	(
		said=$(awk '$1 == "cut" { print $2 }' "$out")
		for table in latency graph; do
			got=$(sql "select sum(total_ns) from $(rows $table) where name = 'cut'")
			awk -v got="${got:-0}" -v said="$said" 'BEGIN {
				exit got < 0.7 * said || got > 1.4 * said }' ||
				fail "$label $table: $got ns of $said"
		done
	) && break
	[ $try -lt 8 ] || fail "$label in no recording of eight"
done
label=outlasts:
got=$(sql "select coalesce(total_ns, 'none') from $(rows latency) where name = 'outlasts'")
[ "$got" = none ] || fail "$label a total of $got ns"
run "$FLICK" report "$data"
grep -q '^  [0-9]* rows have no total: calls outlast a window' "$out" ||
	fail "$label nothing says so"
