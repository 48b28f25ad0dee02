#!/bin/sh
# AArch64: --exclusive says what a body does with a load-exclusive and its store-exclusive. Threads that
# take turns at words by such pairs, of each shape, and signal handlers that come between, lose
# nothing in any way; no access of flick's stands between two exclusives, its own ones included. By
# `cas` a function has a body whose pair would have such an access; by `lse` pairs become atomics,
# where the processor has these, which is said where not.
# timeout: 400
. "$(dirname "$0")/lib"

make_judge
cat >"$TMP/atoms.c" <<'END'
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#define F(name, code) __asm__(".text\n.p2align 4\n.globl " #name "\n.type " #name ", %function\n" #name ":\n" \
	".cfi_startproc\n" code ".cfi_endproc\n.size " #name ", .-" #name "\n")
F(adds, "1: ldaxr w1, [x0]\nadd w1, w1, #1\nstlxr w2, w1, [x0]\ncbnz w2, 1b\nmov w0, w1\nret\n");
F(subtracts, "1: ldxr x1, [x0]\nsub x1, x1, #3\nstxr w2, x1, [x0]\ncbnz w2, 1b\nmov x0, x1\nret\n");
/* a literal of a vector inside, which a body loads by way of the stack */
F(mixes, "1: ldaxr w1, [x0]\nldr d1, 4f\nfmov w3, s1\nadd w1, w1, w3\nstlxr w2, w1, [x0]\ncbnz w2, 1b\nmov w0, w1\n"
	"ret\n.p2align 3\n4: .word 7, 0\n");
F(both, "1: ldaxp x1, x2, [x0]\nadd x1, x1, #1\nadd x2, x2, #2\nstlxp w3, x1, x2, [x0]\ncbnz w3, 1b\nret\n");
F(parts, "1: ldaxr w1, [x0]\ntbz w1, #0, 2f\nadd w1, w1, #1\nstlxr w2, w1, [x0]\ncbnz w2, 1b\nret\n"
	"2: add w1, w1, #3\nstlxr w2, w1, [x0]\ncbnz w2, 1b\nret\n");
F(compares, "1: ldaxr w3, [x0]\ncmp w3, w1\nb.ne 2f\nstlxr w4, w2, [x0]\ncbnz w4, 1b\n2: cset w0, eq\nret\n");
F(locks, "1: ldaxr w1, [x0]\ncbnz w1, 2f\nmov w1, #1\nstxr w2, w1, [x0]\ncbnz w2, 1b\nmov w0, #1\nret\n"
	"2: clrex\nmov w0, #0\nret\n");
/* halves of a pair: left */
F(opens, "nop\nldaxr w1, [x0]\nadd w1, w1, #1\nret\n");
F(shuts, "nop\nstlxr w2, w1, [x0]\nmov w0, w2\nret\n");

extern int adds(int *), mixes(int *), parts(int *), compares(int *, int, int), locks(int *);
extern long subtracts(long *);
extern void both(long *);
static int a, m, p, c, lock, locked, handled;
static long s, b[2] __attribute__((aligned(16)));
#define N 1500
__attribute__((noipa)) void halves(int *at)
{
	__asm__ volatile("1: mov x0, %0\n\tstr x30, [sp, #-16]!\n\tbl opens\n\tbl shuts\n\tldr x30, [sp], #16\n\tcbnz w0, 1b"
			 :: "r"(at) : "x0", "x1", "x2", "memory", "cc");
}
static void handle(int n)
{
	(void)n;
	adds(&a);
	both(b);
	mixes(&m);
	subtracts(&s);
	__atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED);
}
static void *work(void *other)
{
	for (int i = 0; i < N; i++) {
		int was;

		adds(&a);
		mixes(&m);
		parts(&p);
		subtracts(&s);
		both(b);
		do
			was = __atomic_load_n(&c, __ATOMIC_RELAXED);
		while (!compares(&c, was, was + 1));
		while (!locks(&lock))
			;
		locked++;
		__atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
		if (i % 10 == 0)
			pthread_kill(pthread_self(), SIGUSR1);
		if (i % 50 == 0)
			pthread_kill(*(pthread_t *)other, SIGUSR1);
	}
	return 0;
}
int main(void)
{
	pthread_t t[4], self = pthread_self();

	sigaction(SIGUSR1, &(struct sigaction){ .sa_handler = handle, .sa_flags = SA_RESTART }, 0);
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], 0, work, &self);
	work(&self);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], 0);
	for (int i = 0; i < 10; i++)
		halves(&a);
	printf("%d %d %d %d %ld %ld %ld %d\n", a - handled - 10, m - 7 * handled, p, c, s + 3l * handled,
	       b[0] - handled, b[1] - 2l * handled, locked);
	return 0;
}
END
target atoms "$TMP/atoms.c" -mno-outline-atomics -pthread
expected="7500 52500 15000 7500 -22500 7500 15000 7500"
alone=$($EMULATOR "$TMP/atoms")
[ "$alone" = "$expected" ] || fail "alone: $alone"

# Of the judged run so many pairs were met.
watch()			# HOW ANALYSIS
{
	rm -rf "$TMP/verdict" "$TMP/data"
	FLICK_EMULATOR="$EMULATOR -plugin $TMP/judge.so,out=$TMP/verdict,theirs=$theirs" $EMULATOR "$A64/flick" \
		record --text=kick $few -o "$TMP/data" --exclusive="$1" -a "$2" "$TMP/atoms" >"$TMP/out" 2>"$TMP/err" ||
		fail "$1 $2: not recorded: $(cat "$TMP/err")"
	[ "$(head -n 1 "$TMP/out")" = "$expected" ] || fail "$1 $2: printed $(cat "$TMP/out"), not $expected"
	grep -q ' | wrong 0$' "$TMP/verdict" || fail "$1 $2: $(cat "$TMP/verdict")"
	pairs=$(sed -n 's/^judge: .* \([0-9]*\) pairs, .*/\1/p' "$TMP/verdict" | sort -n | tail -n 1)
	echo "--exclusive=$1 -a $2: $pairs pairs"
}
called()		# FUNCTION TIMES
{
	n=$(sqlite3 "$TMP/data/results.db" "select calls from counts_named where function = '$1'")
	[ "$n" = "$2" ] || fail "--exclusive: $1 was called $2 times, not '$n'"
}
refused()		# TIMES
{
	n=$(sqlite3 "$TMP/data/results.db" "select count(*) from sites where refusal = -5063 and kind = 'entry'")
	[ "$n" = "$1" ] || fail "$1 functions are refused for their pairs, not $n"
}
watch leave counts
left=$pairs
called mixes ""
called locks "$(sqlite3 "$TMP/data/results.db" "select calls from counts_named where function = 'locks' and calls >= 7500")"
refused 3
watch cas counts
called mixes $((7500 + $(sqlite3 "$TMP/data/results.db" "select calls from counts_named where function = 'handle'")))
refused 2
[ "$pairs" -gt 50000 ] || fail "cas: $pairs pairs"
watch cas latency
watch lse counts
called mixes ""
refused 3
# adds, subtracts and compares are no pairs
[ "$pairs" -lt $((left - 20000)) ] || fail "lse: $pairs pairs, by leave $left"

old="qemu-aarch64 -cpu cortex-a53 -L $A64_ROOT"
FLICK_EMULATOR="$old" $old "$A64/flick" count --exclusive=lse --text=kick adds -- "$TMP/atoms" >"$TMP/out" 2>"$TMP/err" ||
	fail "without LSE: $(cat "$TMP/err")"
grep -q 'exclusive=lse: this processor has no such atomics' "$TMP/err" || fail "without LSE: $(cat "$TMP/err")"
grep -q "^$expected" "$TMP/out" || fail "without LSE: $(cat "$TMP/out")"
flick record --exclusive=never "$TMP/atoms" 2>"$TMP/err" && fail "taken: --exclusive=never"
grep -q 'exclusive is leave, cas or lse, not .never' "$TMP/err" || fail "$(cat "$TMP/err")"
