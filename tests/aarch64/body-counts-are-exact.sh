#!/bin/sh
# An AArch64 program as compilers make it, with no site for tools, is recorded by second bodies: each function is
# called as often as the program itself says, and each call has its end. Tail calls, switches, recursion,
# results in memory and in vectors, arguments on the stack, longjmp(), signals, threads, loops of exclusives,
# landing pads. A planted program that calls once more is told apart.
# timeout: 300
. "$(dirname "$0")/lib"

cat >"$TMP/plain.c" <<'END'
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define N __attribute__((noinline, noclone, noipa))
static long calls[16];
#define COUNT(k) __atomic_fetch_add(&calls[k], 1, __ATOMIC_RELAXED)
struct big { long a[6]; };
struct vec { double x, y, z; };
static jmp_buf back;
static volatile int sink;
static int shared;

N int leaf(int x) { COUNT(0); return x * 3 + 1; }
N int tail(int x) { COUNT(1); return leaf(x + 1); }
N int maybe(int x) { COUNT(2); if (x & 1) return tail(x); return leaf(x); }
N int choose(int k, int x)
{
	COUNT(3);
	switch (k) {
	case 0: return x + 1;
	case 1: return leaf(x);
	case 2: sink = x; return x * 7;
	case 3: return tail(x) + 1;
	case 4: return x ^ 0x55;
	case 5: return maybe(x);
	case 6: return x / 3;
	case 7: sink += 2; return sink;
	default: return -1;
	}
}
N long fib(int n) { COUNT(4); return n < 2 ? n : (fib(n - 1) * 3) ^ fib(n - 2); }
N struct big make(long x) { COUNT(5); return (struct big){ { x, x + 1, x + 2, x + 3, x + 4, x + 5 } }; }
N struct vec turn(struct vec v, double by) { COUNT(6); return (struct vec){ v.y * by, v.z + by, v.x - 0.3 }; }
N long many(int a, int b, int c, int d, int e, int f, int g, int h, int i, long j)
{ COUNT(7); return a + b * 2 + c * 3 + d * 4 + e * 5 + f * 6 + g * 7 + h * 8 + i * 9 + j * 10; }
N double sum(int n, ...)
{
	va_list v; double s = 0;
	COUNT(8);
	va_start(v, n);
	for (int i = 0; i < n; i++) s += va_arg(v, double);
	va_end(v);
	return s;
}
N void leap(int x) { COUNT(9); if (x % 3 == 0) longjmp(back, x + 1); }
N void handle(int s) { COUNT(10); (void)s; sink++; }
N int add_slowly(int *p, int by)
{
	int old, failed;
	COUNT(11);
	do
		__asm__ volatile("ldaxr %w0, [%3]\n\tadd %w1, %w0, %w4\n\tstlxr %w2, %w1, [%3]\n\tmov %w1, %w2"
				 : "=&r"(old), "=&r"(failed), "=&r"(sink) : "r"(p), "r"(by) : "memory");
	while (failed);
	return old;
}
N void *work(void *arg)
{
	COUNT(12);
	for (int i = 0; i < 500; i++) { add_slowly(&shared, 1); leaf(i); }
	return arg;
}
typedef int fn(int);
N int by_pointer(fn *f, int x) { COUNT(13); return f(x); }

int main(void)
{
	static const char *const names[] = { "leaf", "tail", "maybe", "choose", "fib", "make", "turn",
		"many", "sum", "leap", "handle", "add_slowly", "work", "by_pointer" };
	struct vec v = { 1, 2, 3 };
	pthread_t t[3];
	double d = 0;
	long s = 0;

	for (int i = 0; i < 200; i++) {
		s += choose(i % 10, i) + by_pointer(i & 1 ? leaf : maybe, i);
		s += make(i).a[i % 6] + many(i, 1, 2, 3, 4, 5, 6, 7, 8, 1000 + i);
		v = turn(v, 1.0 / (i + 1));
		d += sum(3, 1.5, i * 0.5, v.x);
	}
	s += fib(12);
	for (volatile int i = 0; i < 30; i++)
		if (!setjmp(back))
			leap(i);
	signal(SIGUSR1, handle);
	for (int i = 0; i < 20; i++)
		raise(SIGUSR1);
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, work, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < EXTRA; i++)
		leaf(i);
	fprintf(stderr, "own: result %ld %.9g %.9g %d\n", s, d, v.x + v.y + v.z, shared);
	for (int i = 0; i < 14; i++)
		printf("%s %ld\n", names[i], calls[i]);
	return 0;
}
END

same()				# TABLE: each function's calls are the program's own
{
	n=0
	while read -r f own; do
		told=$(sqlite3 "$TMP/data/results.db" "select calls from $1_named where function = '$f'")
		[ "$told" = "$own" ] || { echo "$label: $f was called $own times, not '$told'"; return 1; }
		n=$((n + 1))
	done <"$TMP/${2:-out}"
	[ "$n" = 14 ] || { cat "$TMP/err"; fail "$label: the program told of $n functions"; }
}

result()
{
	grep '^own: ' "$1" | sed 's/^.*own: //'
}

for flags in -O2 "-O0 -mno-outline-atomics -no-pie" \
	"-O3 -fPIC -pie -mbranch-protection=standard"
do
	label=$flags
	# shellcheck disable=SC2086
	target plain "$TMP/plain.c" -DEXTRA=0 -pthread $flags
	$EMULATOR "$TMP/plain" 2>"$TMP/alone" >/dev/null || fail "$label: does not run"
	for how in "-a counts" "--all -a latency"; do
		# shellcheck disable=SC2086
		record plain $how
		same "${how##* }" || fail "$label $how"
		[ "$(result "$TMP/alone")" = "$(result "$TMP/err")" ] ||
			fail "$label: the result is another one: $(result "$TMP/err")"
		grep -q ' 0 lost' "$TMP/events" || fail "$label: $(cat "$TMP/events")"
		grep -qE 'bodies: [0-9]+ functions, [12] refused' "$TMP/events" ||
			fail "$label: $(cat "$TMP/events")"
	done
done
label="one more"
cp "$TMP/out" "$TMP/fewer"
target plain "$TMP/plain.c" -DEXTRA=1 -pthread -O2
record plain -a counts
(same counts fewer) >/dev/null && fail "a call more is not told"
same counts || fail "$label"
