/*
 * count.c - a glue of AArch64's that counts by itself, run in Unicorn: in how many
 * instructions, and what it keeps; with a mask, without a slot, with a full block;
 * interrupted before each instruction, in the way of the kernel's restartable sequences; and
 * where there are none, by one atomic instruction, in the way of the kernel without them.
 *
 *	a64: 288 glues, 11 instructions and a return, 13 where all is kept | wrong 0
 *	a64: 96 by an atomic, 8 instructions and a return, 10 where all is kept | wrong 0
 */
#include "a64.h"

#include <unicorn/unicorn.h>

#include "arch/aarch64/decode.h"
#include "arch/aarch64/emit.h"
#include "arch/arch.h"
#include "arch/layout.h"
#include "arch/aarch64/glue.h"

#define NEED(x) assert_int_equal(x, UC_ERR_OK)

enum { PAGE = 4096, N_REGS = 31, SLOT_BYTES = 1 << 20, RSEQ_BRK = (int)0xd428bc00 };
enum { CODE = 0x10000000, THREAD = 0x20000000, POINTEE = 0x20100000, SLOT = 0x20200000,
       STACK = 0x28000000, CALLER = 0x30000000, ROUTINE = 0x30001000, FULL = 0x30002000,
       PAST_PAD = CODE + 3 * 4096 };
enum { TP = THREAD + PAGE / 2, GO = 0, MASK = 8, FULL_WORD = 16 };
/* From TP: where a thread finds its slot, and where none. */
enum { COUNTS = 64, DOES_NOT = -40, NOTHING = POINTEE + 512 };

static uc_engine *uc;
static uint64_t seed = 88172645463325252u;

/* A glue of probe `id`, and what a run of it is to meet. */
static struct glue {
	struct fl_doing_glue in;
	struct a64_own own;
	unsigned char out[FL_ARCH_COUNTING_BYTES], rest[FL_ARCH_COUNTING_REST_BYTES];
	uint64_t start, length, abort;	/* what the kernel reads */
} glue;

struct state {
	uint64_t reg[N_REGS], sp, flags, pc;
};

static int reg_id(int i)
{
	return i < 29 ? UC_ARM64_REG_X0 + i : i == 29 ? UC_ARM64_REG_X29 : UC_ARM64_REG_X30;
}

static void put64(uint64_t at, uint64_t v)
{
	NEED(uc_mem_write(uc, at, &v, sizeof v));
}

static uint64_t get64(uint64_t at)
{
	uint64_t v;

	NEED(uc_mem_read(uc, at, &v, sizeof v));
	return v;
}

static void load_state(const struct state *s)
{
	for (int i = 0; i < N_REGS; i++)
		NEED(uc_reg_write(uc, reg_id(i), &s->reg[i]));
	NEED(uc_reg_write(uc, UC_ARM64_REG_SP, &s->sp));
	NEED(uc_reg_write(uc, UC_ARM64_REG_NZCV, &s->flags));
}

static void store_state(struct state *s)
{
	memset(s, 0, sizeof *s);
	for (int i = 0; i < N_REGS; i++)
		NEED(uc_reg_read(uc, reg_id(i), &s->reg[i]));
	NEED(uc_reg_read(uc, UC_ARM64_REG_SP, &s->sp));
	NEED(uc_reg_read(uc, UC_ARM64_REG_NZCV, &s->flags));
	NEED(uc_reg_read(uc, UC_ARM64_REG_PC, &s->pc));
}

/* ---- a glue ------------------------------------------------------------------------- */

static uint64_t counter_at(void)
{
	return SLOT + glue.in.counter;
}

/* How it is come to: by a call, in a body, by a pad's jump. */
enum way { BY_CALL, IN_BODY, BY_JUMP, N_WAYS };

static void make(uint32_t id, enum way way, uint64_t data, uint64_t rest, intptr_t rseq_at)
{
	uint32_t word;

	glue = (struct glue){
		.in = { .out = glue.out, .rest = glue.rest, .at = CODE + 256, .rest_at = rest,
			.id = id, .counter = 4096 + id * 8,
			.go = data + GO, .mask = data + MASK,
			.full = data + FULL_WORD, .keeps = way == IN_BODY,
			.back = way == BY_JUMP ? PAST_PAD : 0 },
		.own = { .rseq_at = rseq_at, .slot_at = COUNTS },
	};
	assert_true(a64_glue_counting(&glue.in, glue.own));
	NEED(uc_mem_write(uc, glue.in.at, glue.out, sizeof glue.out));
	NEED(uc_mem_write(uc, rest, glue.rest, sizeof glue.rest));
	NEED(uc_ctl_remove_cache(uc, CODE, CODE + PAGE));
	memcpy(&glue.start, glue.rest + 8, 8);
	memcpy(&glue.length, glue.rest + 16, 8);
	memcpy(&glue.abort, glue.rest + 24, 8);
	memcpy(&word, glue.out + (glue.abort - 4 - glue.in.at), 4);
	assert_int_equal(word, (uint32_t)RSEQ_BRK);
	put64(data + GO, ROUTINE);
	put64(data + FULL_WORD, FULL);
}

/* What a thread finds: a slot or none, a mask, so many counts. */
static void set(uint64_t slot, int64_t mask, uint64_t counter)
{
	put64(TP + COUNTS, POINTEE);
	put64(TP + (uint64_t)DOES_NOT, NOTHING);
	if (glue.own.rseq_at)
		put64(TP + (uint64_t)glue.own.rseq_at, 0);
	put64(POINTEE, slot);
	put64(POINTEE + FL_POINTEE_OWN, slot ? slot + FL_SLOT_COUNTERS : 0);
	put64(POINTEE + FL_POINTEE_OWN + 8, slot ? FL_COUNT_ONE >> 32 : 0);
	put64(glue.in.mask, (uint64_t)mask);
	put64(counter_at(), counter);
}

static void fill(struct state *s)
{
	uint64_t tp = TP;

	for (int i = 0; i < N_REGS; i++)
		s->reg[i] = next_random(&seed);
	s->flags = next_random(&seed) & 0xf0000000;
	s->sp = STACK + PAGE / 2;
	s->reg[A64_LINK] = CALLER;
	s->pc = glue.in.at;
	NEED(uc_reg_write(uc, UC_ARM64_REG_TPIDR_EL0, &tp));
}

static uint64_t pc_now(void)
{
	uint64_t pc;

	NEED(uc_reg_read(uc, UC_ARM64_REG_PC, &pc));
	return pc;
}

static bool has_left(uint64_t pc)
{
	return pc - glue.in.at >= sizeof glue.out;
}

/* The kernel, of a thread that it has interrupted; a handler has counted meanwhile. */
static uint64_t restart(uint64_t pc)
{
	uint64_t cs = glue.own.rseq_at ? get64(TP + (uint64_t)glue.own.rseq_at) : 0;

	put64(counter_at(), get64(counter_at()) + FL_COUNT_ONE);
	if (cs) {
		assert_int_equal(cs, glue.in.rest_at);
		put64(TP + (uint64_t)glue.own.rseq_at, 0);
	}
	return cs && pc - glue.start < glue.length ? glue.abort : pc;
}

/* Until it leaves; `interrupt`: before instruction so many. How many it was. */
static size_t run(struct state *s, const struct state *from, size_t interrupt)
{
	size_t n = 0;
	uint64_t pc = from->pc;

	load_state(from);
	for (; !has_left(pc); n++) {
		if (n == interrupt)
			pc = restart(pc);
		NEED(uc_emu_start(uc, pc, 0, 0, 1));
		pc = pc_now();
		assert_true(n < 64);
	}
	store_state(s);
	return n;
}

/* Where it goes on when all is done. */
static uint64_t end_of(void)
{
	return glue.in.back ? PAST_PAD : CALLER;
}

/* All but what may be lost. */
static void assert_kept(const struct state *now, const struct state *was)
{
	for (int i = 0; i < N_REGS; i++)
		if (glue.in.keeps || (i != 16 && i != 17))
			assert_int_equal(now->reg[i], was->reg[i]);
	assert_int_equal(now->sp, was->sp);
	assert_int_equal(now->flags, was->flags);
}

/* It is as behind a glue that does not count, and that comes back. */
static void assert_called(const struct state *now, const struct state *was, uint64_t to)
{
	struct state back = *now, end;

	assert_int_equal(now->pc, to);
	assert_int_equal((uint32_t)now->reg[16], glue.in.id);
	if (!glue.in.keeps && !glue.in.back) {
		assert_int_equal(now->reg[A64_LINK], CALLER);
		assert_int_equal(now->sp, was->sp);
		return;
	}
	assert_int_equal(now->sp, was->sp - 16);
	assert_int_equal(get64(now->sp), glue.in.back ? CALLER : was->reg[16]);
	if (glue.in.keeps)
		assert_int_equal(get64(now->sp + 8), was->reg[17]);
	back.pc = now->reg[A64_LINK];
	back.reg[16] = back.reg[17] = 0;
	run(&end, &back, SIZE_MAX);
	assert_int_equal(end.pc, end_of());
	assert_kept(&end, was);
}

/* ---- what is claimed ------------------------------------------------------------------ */

static size_t count_once(void)
{
	uint64_t n = 7 * FL_COUNT_ONE + 3;
	struct state was, now;
	size_t steps;

	set(SLOT, COUNTS, n);
	fill(&was);
	steps = run(&now, &was, SIZE_MAX);
	assert_int_equal(now.pc, end_of());
	assert_kept(&now, &was);
	assert_int_equal(get64(counter_at()), n + FL_COUNT_ONE);
	return steps - 1;			/* and a return */
}

static void go_elsewhere(uint64_t slot, int64_t mask)
{
	struct state was, now;

	set(slot, mask, 5 * FL_COUNT_ONE);
	fill(&was);
	run(&now, &was, SIZE_MAX);
	assert_int_equal(get64(counter_at()), 5 * FL_COUNT_ONE);
	assert_called(&now, &was, ROUTINE);
}

static void fill_block(void)
{
	struct state was, now;

	set(SLOT, COUNTS, FL_COUNT_FULL - FL_COUNT_ONE + 1);
	fill(&was);
	run(&now, &was, SIZE_MAX);
	assert_int_equal(get64(counter_at()), FL_COUNT_FULL + 1);
	assert_called(&now, &was, FULL);
}

/* The count that fills a block, which the next one finds. */
static void fill_block_by_atomic(void)
{
	uint64_t full = FL_COUNT_FULL - FL_COUNT_ONE + 1;
	struct state was, now;

	set(SLOT, COUNTS, full);
	fill(&was);
	run(&now, &was, SIZE_MAX);
	assert_int_equal(now.pc, end_of());
	assert_kept(&now, &was);
	run(&now, &was, SIZE_MAX);
	assert_int_equal(get64(counter_at()), full + 2 * FL_COUNT_ONE);
	assert_int_equal(fl_count_of(get64(counter_at())), fl_count_of(full) + 2);
	assert_called(&now, &was, FULL);
}

/* Before each of its instructions: how many times it is begun anew, by the routine. */
static size_t interrupt(size_t steps)
{
	size_t aborted = 0;

	for (size_t at = 0; at < steps; at++) {
		struct state was, now;

		set(SLOT, COUNTS, 5 * FL_COUNT_ONE);
		fill(&was);
		run(&now, &was, at);
		if (now.pc == end_of()) {
			assert_kept(&now, &was);
			assert_int_equal(get64(counter_at()), 7 * FL_COUNT_ONE);
		} else {
			aborted++;
			assert_called(&now, &was, ROUTINE);
			assert_int_equal(get64(counter_at()), 6 * FL_COUNT_ONE);
		}
	}
	return aborted;
}

static const uint32_t ids[] = { 0, 1, 511, 512, 1535, 2047, 2048, 66000 };

/* Words near or far, the descriptor near or far, each way. */
enum { VARIANTS = 4 * N_WAYS };

static void make_of(size_t k, uint32_t id, intptr_t rseq_at)
{
	make(id, k / 4 % N_WAYS, k & 1 ? CODE + 0x800000 : CODE + 2 * PAGE,
	     k & 2 ? CODE + 0x900000 : CODE + PAGE, rseq_at);
}

/* What words that are far cost, and registers that are kept. */
static size_t more_of(size_t k)
{
	return (k & 1) + (k / 4 % N_WAYS == IN_BODY ? 2 : 0);
}

static void a_glue_counts_in_a_line(void **state)
{
	static const intptr_t rseqs[] = { -24, 8, 1024 };
	size_t n = 0;

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(ids) * ARRAY_LEN(rseqs) * VARIANTS; k++) {
		uint32_t id = ids[k / VARIANTS % ARRAY_LEN(ids)];
		size_t steps, more = more_of(k) + !!(k & 2) + (id > 2047);

		make_of(k, id, rseqs[k / VARIANTS / ARRAY_LEN(ids)]);
		steps = count_once();
		assert_int_equal(steps, 11 + more);
		go_elsewhere(SLOT, DOES_NOT);
		go_elsewhere(0, COUNTS);
		fill_block();
		/* but before the first, which is armed, and behind the commit */
		assert_int_equal(interrupt(steps), glue.length / 4);
		n++;
	}
	printf("a64: %zu glues, 11 instructions and a return, 13 where all is kept | wrong 0\n",
	       n);
}

static void it_counts_by_an_atomic_where_nothing_is_armed(void **state)
{
	size_t n = 0;

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(ids) * VARIANTS; k++) {
		uint32_t id = ids[k / VARIANTS];
		size_t steps;

		make_of(k, id, 0);
		steps = count_once();
		assert_int_equal(steps, 8 + more_of(k) + (id > 511));
		go_elsewhere(SLOT, DOES_NOT);
		go_elsewhere(0, COUNTS);
		fill_block_by_atomic();
		assert_int_equal(interrupt(steps), 0);
		n++;
	}
	printf("a64: %zu by an atomic, 8 instructions and a return, 10 where all is kept | "
	       "wrong 0\n", n);
}

static void what_is_out_of_reach_is_said(void **state)
{
	(void)state;
	make(1, BY_CALL, CODE + 2 * PAGE, CODE + PAGE, 8);
	glue.in.go = CODE + (6ull << 30);
	assert_false(a64_glue_counting(&glue.in, glue.own));
	glue.in.go = CODE + 2 * PAGE;
	assert_true(a64_glue_counting(&glue.in, glue.own));
	glue.own.rseq_at = -1000;
	assert_false(a64_glue_counting(&glue.in, glue.own));
	glue.own.rseq_at = 40000;
	assert_false(a64_glue_counting(&glue.in, glue.own));
	glue.own.rseq_at = 1028;
	assert_false(a64_glue_counting(&glue.in, glue.own));
}

static int open_cpu(void **state)
{
	static const struct { uint64_t at, bytes; } maps[] = {
		{ CODE, 4 * PAGE }, { CODE + 0x800000, PAGE }, { CODE + 0x900000, PAGE },
		{ THREAD, 4 * PAGE }, { POINTEE, PAGE }, { SLOT, SLOT_BYTES },
		{ STACK, PAGE }, { CALLER, 3 * PAGE },
	};

	(void)state;
	NEED(uc_open(UC_ARCH_ARM64, UC_MODE_ARM, &uc));
	NEED(uc_ctl_set_cpu_model(uc, UC_CPU_ARM64_MAX));	/* it has atomics */
	for (size_t i = 0; i < ARRAY_LEN(maps); i++)
		NEED(uc_mem_map(uc, maps[i].at, maps[i].bytes, UC_PROT_ALL));
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_glue_counts_in_a_line),
		cmocka_unit_test(it_counts_by_an_atomic_where_nothing_is_armed),
		cmocka_unit_test(what_is_out_of_reach_is_said),
	};

	return cmocka_run_group_tests(tests, open_cpu, NULL);
}
