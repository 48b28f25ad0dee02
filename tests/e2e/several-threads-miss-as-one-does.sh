#!/bin/sh
# timeout: 120
# record -a cache --readers N: one program's accesses miss as one thread says, function by
# function, and there are N threads that simulate.
. "$(dirname "$0")/lib"
need sqlite3 setarch "$CC"
[ "$(uname -m)" = x86_64 ] || skip "accesses are told on x86-64"

# Some 2,000,000 accesses, to words and records: strings are records.
cat >"$work/walks.c" <<'END'
#include <stdio.h>
#include <string.h>
static unsigned long all[1 << 16];
static char text[1 << 15];
#define APART __attribute__((noinline))
APART unsigned long chase(unsigned long at, int n)
{
	while (n--)
		at = all[at] = (at * 0x9e3779b1 + 12345) & 0xffff;
	return at;
}
APART unsigned long sum(void)
{
	unsigned long s = 0;
	for (int i = 0; i < 1 << 16; i += 3)
		s += all[i] + (unsigned char)text[i & 0x7fff];
	return s;
}
APART void fill(int c)
{
	void *to = text;
	unsigned long n = sizeof(text) - 5;
	__asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(c) : "memory");
}
int main(int argc, char **argv)
{
	unsigned long s = 0;
	(void)argv;
	for (int i = 0; i < 20; i++) {
		s = chase((s + i) & 0xffff, 20000);
		s += sum();
		fill(i);
	}
	printf("%lu\n", s);
	fflush(stdout);
	if (argc > 1)
		getchar();
	return 0;
}
END
"$CC" -O1 -fno-tree-vectorize "$work/walks.c" -o "$work/walks" || fail "walks.c"
setarch -R true 2>/dev/null || skip "addresses cannot be fixed"

for n in 1 2 3; do
	label="$n threads:"
	rm -rf "$data"
	run setarch -R "$FLICK" record -a cache --readers=$n -o "$data" -P chase -P sum \
		-P fill -- "$work/walks"
	[ "$status" -eq 0 ] || fail "$label status $status: $(cat "$err")"
	sql "select f.name, c.accesses, c.stores, c.l1_misses, c.l2_misses from cache c
		join functions f on f.id = c.function order by 1" >"$work/of.$n"
	cmp -s "$work/of.1" "$work/of.$n" ||
		fail "$label other misses: $(diff "$work/of.1" "$work/of.$n")"
done
[ "$(wc -l <"$work/of.1")" -eq 3 ] || fail "not three functions: $(cat "$work/of.1")"
awk '{ a += $2; m += $4 } END { exit !(a > 1500000 && m > 300000) }' "$work/of.1" ||
	fail "too few to compare: $(cat "$work/of.1")"

# They are there while the program waits for its input.
mkfifo "$work/fifo"
for n in 1 3; do
	"$FLICK" record -a cache --readers=$n -o "$work/waits" -- "$work/walks" wait \
		<"$work/fifo" >"$work/said" 2>"$err" &
	reader=$!
	exec 5>"$work/fifo"
	for i in $(seq 200); do
		[ -s "$work/said" ] && break
		sleep 0.05
	done
	ls "/proc/$reader/task" | wc -l >"$work/threads.$n"
	exec 5>&-
	wait "$reader" || fail "--readers=$n fails: $(cat "$err")"
done
[ $(($(cat "$work/threads.3") - $(cat "$work/threads.1"))) -eq 2 ] ||
	fail "of 3 threads there are $(cat "$work/threads.3"), of one $(cat "$work/threads.1")"
