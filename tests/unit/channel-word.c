/*
 * unit/channel-word.c - one word of flick/channel.h, interrupted at each instruction of
 * its short path: it arrives once, whole, and so do a handler's own words; a thread whose
 * handler has jumped away goes on.
 *
 * timeout: 60
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <ucontext.h>

#include <cmocka.h>

#include "arch/arch.h"
#include "channel-public-rig.h"
#include "channel/channel.h"
#include "channel/public.h"

#define KIB 1024u
#define NESTED 2u
#define NAMING 3u			/* instructions that name the sequence */

extern const ptrdiff_t __rseq_offset;
extern intptr_t fl_rseq_at;
extern void fl_arm_put64(void), fl_arm_put32(void);	/* of word.S, before the call's start */

static void (*const guarded)(void) = (void (*)(void))fl_public_put_guarded;
static struct pub g;
static unsigned char *trap_at, untrapped;
static unsigned met;
static uint64_t handled;
static bool jumps;
static sigjmp_buf back;

/* What was interrupted in the sequence goes on elsewhere: the kernel has seen to that. */
static void on_trap(int sig, siginfo_t *info, void *context)
{
	greg_t *pc = &((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];

	(void)sig, (void)info;
	*trap_at = untrapped;
	met++;
	if ((unsigned char *)*pc == trap_at + 1)
		*pc -= 1;
	for (unsigned i = 0; i < NESTED; i++)
		pub_put(&g, 1, handled++);
	if (jumps)
		siglongjmp(back, 1);
}

/* As after a signal: the thread's next word names the sequence anew. */
static void forget_sequence(void)
{
	char *self = __builtin_thread_pointer();

	__atomic_store_n((uint64_t *)(self + __rseq_offset + 8), 0, __ATOMIC_RELAXED);
}

/* Was word n of series 0 enqueued? Then the handler's are, too. */
static bool arrived(uint64_t n)
{
	flick_channel_flush(g.c);
	while (pub_take(&g) == FLICK_TAKE_BATCH)
		;
	assert_int_equal(g.next[1], handled);
	assert_int_equal(g.missing + g.repeated + g.torn + pub_unbalanced(&g), 0);
	return g.next[0] == n + 1;
}

static void put_with_trap_at(unsigned char *at, bool armed)
{
	uint64_t n = g.next[0];

	pub_put(&g, 0, n++);
	if (!armed)
		forget_sequence();
	trap_at = at;
	untrapped = *at;
	*at = FL_ARCH_TRAP;
	if (!sigsetjmp(back, 1)) {
		pub_put(&g, 0, n);
		*at = untrapped;		/* where it does not come to */
		assert_true(arrived(n));
		return;
	}
	flick_channel_recover(g.c);
	pub_put(&g, 2, g.next[2]);
	arrived(n);
}

/* All of the short path: where it names the sequence, and up to its end. */
static unsigned put_with_traps(unsigned char *at, bool armed)
{
	struct fl_insn i = { 0 };
	unsigned steps = 0;

	for (; i.cls != FL_INSN_RET; at += i.len, steps++) {
		fl_arch_decode(&i, at, 16, (uintptr_t)at);
		assert_true(i.len);
		put_with_trap_at(at, armed);
	}
	return steps;
}

static void interrupt(uint32_t word_bytes, void (*put)(void), bool armed, unsigned missed)
{
	struct sigaction act = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
	unsigned char *from = (unsigned char *)(uintptr_t)put;
	unsigned steps;

	pub_open(&g, FLICK_EXHAUSTIVE, word_bytes, 4 * KIB, 4);
	assert_int_equal(flick_channel_produce(g.c), 0);
	if (put == guarded)
		fl_rseq_at = 0;
	handled = met = 0;
	sigaction(SIGTRAP, &act, NULL);
	assert_int_equal(mprotect((void *)((uintptr_t)from & ~4095ul), 8192,
				  PROT_READ | PROT_WRITE | PROT_EXEC), 0);
	steps = put_with_traps(from, armed);
	assert_in_range(steps, 10, 60);
	assert_in_range(met, steps - missed, steps);
	signal(SIGTRAP, SIG_DFL);
	flick_channel_end(g.c);
	assert_int_equal(pub_drain(&g), FLICK_TAKE_END);
	pub_close(&g);
	fl_arch_rseq_open();
}

/* Of the C function not all is come to. */
static void interrupt_all(void)
{
	for (uint32_t word_bytes = 4; word_bytes <= 8; word_bytes += 4)
		interrupt(word_bytes, guarded, true, 20);
	if (!fl_arch_has_rseq())
		return;
	interrupt(8, fl_arm_put64, true, NAMING);
	interrupt(8, fl_arm_put64, false, 0);
	interrupt(4, fl_arm_put32, true, NAMING);
	interrupt(4, fl_arm_put32, false, 0);
}

static void a_handler_may_enqueue_at_each_instruction(void **state)
{
	(void)state;
	jumps = false;
	interrupt_all();
}

static void a_handler_may_jump_away_at_each_instruction(void **state)
{
	(void)state;
	jumps = true;
	interrupt_all();
}

/* With the sequence named, a word is in ptr when the call is over, and nothing else
 * has changed; a place that is no chunk's is not written to. */
static void a_word_goes_where_ptr_says_and_no_further(void **state)
{
	uint64_t *at;

	(void)state;
	pub_open(&g, FLICK_EXHAUSTIVE, 8, KIB, 2);
	assert_int_equal(flick_channel_produce(g.c), 0);
	for (uint64_t i = 0; i < KIB / 8; i++) {
		flick_channel_put64(g.c, ~i);
		at = (uint64_t *)(uintptr_t)g.c->ptr;
		assert_int_equal(at[-1], ~i);
		assert_ptr_equal(at, fl_public_of(g.c)->base + 8 * (i + 1));
	}
	assert_int_equal(*at, 0);
	assert_ptr_equal(g.c->ptr, g.c->limit);
	flick_channel_end(g.c);
	pub_close(&g);
}

static void without_restarts_words_arrive_as_well(void **state)
{
	(void)state;
	pub_open(&g, FLICK_EXHAUSTIVE, 8, 4 * KIB, 8);
	assert_int_equal(flick_channel_produce(g.c), 0);
	fl_rseq_at = 0;
	for (uint64_t i = 0; i < 3000; i++)
		pub_put(&g, 0, i);
	fl_arch_rseq_open();
	flick_channel_end(g.c);
	assert_int_equal(pub_drain(&g), FLICK_TAKE_END);
	assert_int_equal(g.delivered, 3000);
	assert_int_equal(g.missing + g.repeated + pub_unbalanced(&g), 0);
	pub_close(&g);
}

static int open_rseq(void **state)
{
	(void)state;
	fl_arch_rseq_open();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_handler_may_enqueue_at_each_instruction),
		cmocka_unit_test(a_handler_may_jump_away_at_each_instruction),
		cmocka_unit_test(a_word_goes_where_ptr_says_and_no_further),
		cmocka_unit_test(without_restarts_words_arrive_as_well),
	};

	return cmocka_run_group_tests(tests, open_rseq, NULL);
}
