#!/bin/sh
# AArch64: what an emulator lets pass and a processor need not is seen by a plugin of qemu's
# (judge.c): an access to memory between exclusives, a store to text under threads that is not of
# an exchangeable pair, caches that are not maintained behind it, in order. Programs that are
# recorded, with probes that come and go under threads, have none of it. Planted, and seen: an
# access inside a pair, an addition that becomes a branch, maintenance in another order, without
# its last step, without a barrier.
# timeout: 300
. "$(dirname "$0")/lib"

make_judge

cat >"$TMP/plant.c" <<'END'
/* One thread more lives; a word of code changes; a pair is run. PLANT: what is wrong. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static uint32_t *page;
static int pipes[2], word, other;
static void *wait(void *p) { char c; read(pipes[0], &c, 1); return p; }
__attribute__((noipa)) static int take(void)
{
	int old, new, failed;
	do
		__asm__ volatile("ldaxr %w0, [%3]\n"
#if PLANT == 1
				 "str wzr, [%4]\n"
#endif
				 "add %w1, %w0, #1\nstlxr %w2, %w1, [%3]"
				 : "=&r"(old), "=&r"(new), "=&r"(failed) : "r"(&word), "r"(&other) : "memory");
	while (failed);
	return old;
}
#define DC __asm__ volatile("dc cvau, %0" :: "r"(page) : "memory")
#define IC __asm__ volatile("ic ivau, %0" :: "r"(page) : "memory")
#define DSB __asm__ volatile("dsb ish" ::: "memory")
#define ISB __asm__ volatile("isb" ::: "memory")
int main(void)
{
	int (*f)(int), s = 0;
	pthread_t t;
	pipe(pipes);
	page = mmap(0, 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	page[0] = PLANT == 2 ? 0x11000400 : 0xd503201f;	/* add w0, w0, #1; nop */
	page[1] = 0xd65f03c0;
	DC; DSB; IC; DSB; ISB;
	f = (void *)page;
	if (PLANT != 3)
		pthread_create(&t, 0, wait, 0);
	s = f(1);
	/* b .+4; of 3, which is alone: armed */
	__atomic_store_n(page, PLANT == 3 ? 0x11000800 : 0x14000001, __ATOMIC_RELEASE);
#if PLANT == 4
	IC; DSB; DC; DSB; ISB;
#elif PLANT == 5
	DC; DSB; IC; DSB;
#elif PLANT == 6
	DC; IC; DSB; ISB;
#else
	DC; DSB; IC; DSB; ISB;
#endif
	for (int i = 0; i < 10; i++)
		s += take();
	printf("%d\n", s);
	write(pipes[1], "", 1);
	if (PLANT != 3)
		pthread_join(t, 0);
	return 0;
}
END
seen()			# PLANT WHAT: the judge says so
{
	target plant "$TMP/plant.c" -mno-outline-atomics -pthread -DPLANT="$1"
	rm -f "$TMP/verdict"
	$EMULATOR -plugin "$TMP/judge.so,out=$TMP/verdict" "$TMP/plant" >/dev/null ||
		fail "plant $1: exit status $?"
	case $2 in
	nothing) grep -q '1 stores to text, 1 sequences | wrong 0$' "$TMP/verdict" ;;
	*) grep -q "^wrong $2: " "$TMP/verdict" && grep -qv "^wrong [^$2]" "$TMP/verdict" ;;
	esac || fail "plant $1 is not seen as $2: $(cat "$TMP/verdict")"
}
seen 0 nothing
seen 1 access
seen 2 pair
seen 3 nothing
seen 4 order
seen 5 order
seen 6 order

cat >"$TMP/pairs.c" <<'END'
#include <pthread.h>
#include <stdio.h>
#define N __attribute__((noipa))
static int shared, lock;
#define F(name, code) __asm__(".text\n.p2align 4\n.globl " #name "\n.type " #name ", %function\n" #name ":\n" \
	".cfi_startproc\n" code ".cfi_endproc\n.size " #name ", .-" #name "\n")
F(mixes, "1: ldaxr w1, [x0]\nldr d1, 4f\nfmov w3, s1\nadd w1, w1, w3\nstlxr w2, w1, [x0]\ncbnz w2, 1b\nmov w0, w1\n"
	"ret\n.p2align 3\n4: .word 1, 0\n");
extern int mixes(int *);
/* With sites of a compiler's this calls a profiling function between the two. */
static inline __attribute__((always_inline)) int same(int x) { return x; }
N void between(int *p)
{
	int v, failed;

	do {
		__asm__ volatile("ldaxr %w0, [%1]" : "=r"(v) : "r"(p) : "memory");
		v = same(v);
		__asm__ volatile("stlxr %w0, %w1, [%2]" : "=&r"(failed) : "r"(v), "r"(p) : "memory");
	} while (failed);
}
N int leaf(int x) { return x * 3 + 1; }
N int add(int by) { return __atomic_fetch_add(&shared, by, __ATOMIC_ACQ_REL); }
N int take(void)
{
	int none = 0;

	return __atomic_compare_exchange_n(&lock, &none, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}
N void give(void) { __atomic_store_n(&lock, 0, __ATOMIC_RELEASE); }
N int round_of(int i)
{
	while (!take())
		;
	i = leaf(i) + add(1);
	give();
	return i;
}
N void *work(void *p)
{
	for (int i = 0; i < 3000; i++)
		round_of(i);
	return p;
}
int main(void)
{
	pthread_t t[2];

	for (int i = 0; i < 10; i++)
		mixes(&shared), between(&shared);
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, work, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	printf("%d\n", shared);
	return 0;
}
END
watch()			# FLAGS OPTIONS: recorded under the judge
{
	# shellcheck disable=SC2086
	target pairs "$TMP/pairs.c" -mno-outline-atomics -pthread $1
	rm -rf "$TMP/verdict" "$TMP/data"
	# shellcheck disable=SC2086
	FLICK_EMULATOR="$EMULATOR -plugin $TMP/judge.so,out=$TMP/verdict,theirs=$theirs" $EMULATOR "$A64/flick" \
		record --text=kick $few -o "$TMP/data" $2 "$TMP/pairs" >"$TMP/out" 2>"$TMP/err" ||
		fail "$1 $2: not recorded: $(cat "$TMP/err")"
	[ "$(head -n 1 "$TMP/out")" = 6010 ] || fail "$1 $2: printed $(cat "$TMP/out")"
	grep '^judge: ' "$TMP/verdict"
	grep -q ' [0-9][0-9][0-9][0-9]* pairs, [1-9][0-9]* stores to text, [1-9][0-9]* sequences | wrong 0$' "$TMP/verdict" ||
		fail "$1 $2: $(cat "$TMP/verdict" "$TMP/err")"
}
watch "" "-a counts"
watch "" "--all -a latency"
watch "" ""
watch -finstrument-functions "--all -a latency"
watch -finstrument-functions "-a counts"
watch "-fpatchable-function-entry=2 -mbranch-protection=standard" "-a counts"
