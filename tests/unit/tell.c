/*
 * tell.c - what a body tells of accesses changes nothing else: in Unicorn, from random
 * states, registers, flags, the red zone and the stack above are as they were, also where a
 * signal comes in its sequence; and the ring has each access's word, or record.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "arch/arch.h"
#include "arch/layout.h"
#include "channel/channel.h"
#include "emulated.h"

enum { CODE = 0x10000000, COLD = CODE + PAGE, DATA = 0x20000000, RING = 0x20010000,
       STACK = 0x40000000, THREAD = 0x50000000, THREAD_BYTES = 0x20000, ROUTINE = 0x60000000 };
enum { GATE = DATA, WORD_AT = DATA + 8, OWN = DATA + 16, SLOT = DATA + 64, CS = DATA + 2048,
       HLT = 0xf4, RED_ZONE = 128, FEW = 4, CASES = 60, LONG = 60,
       DOWN = 1 << 10, CX = 1, SI = 6, DI = 7 };

static uc_engine *uc;
static uint64_t seed = 88172645463325252u;

/* A group, and the state that it is run from. */
struct tried {
	struct fl_tellable of[FEW];
	struct fl_tell tell;
	struct state from;
	uint64_t memory;		/* the seed of what memory holds */
	uint64_t end;			/* of its code */
	bool strings;
};

static void write_word(uint64_t at, uint64_t word)
{
	NEED(uc_mem_write(uc, at, &word, sizeof word));
}

static uint64_t read_word(uint64_t at)
{
	uint64_t word;

	NEED(uc_mem_read(uc, at, &word, sizeof word));
	return word;
}

static void open_emulator(void)
{
	NEED(uc_open(UC_ARCH_X86, UC_MODE_64, &uc));
	NEED(uc_mem_map(uc, CODE, 2 * PAGE, UC_PROT_ALL));
	NEED(uc_mem_map(uc, DATA, PAGE, UC_PROT_ALL));
	NEED(uc_mem_map(uc, RING, PAGE, UC_PROT_ALL));
	NEED(uc_mem_map(uc, STACK, PAGE, UC_PROT_ALL));
	NEED(uc_mem_map(uc, THREAD, THREAD_BYTES, UC_PROT_ALL));
	NEED(uc_mem_map(uc, ROUTINE, PAGE, UC_PROT_ALL));
}

static uint64_t thread_pointer(void)
{
	return THREAD + THREAD_BYTES / 2;
}

static struct fl_operand any_operand(void)
{
	struct fl_operand o = {
		.base = next_random(&seed) % 5 ? next_random(&seed) % FL_ARCH_REGS : FL_NO_REG,
		.index = next_random(&seed) % 2 ? next_random(&seed) % FL_ARCH_REGS : FL_NO_REG,
		.shift = next_random(&seed) % 4, .is_fs = next_random(&seed) % 5 == 0,
		.target = (int32_t)next_random(&seed) >> next_random(&seed) % 32,
	};

	if (o.index == SP)
		o.index = FL_NO_REG;
	if (o.index == FL_NO_REG)
		o.shift = 0;
	return o;
}

static void choose_group(struct tried *t)
{
	bool by_word = next_random(&seed) % 3;

	t->tell = (struct fl_tell){
		.to = CODE, .cold = COLD, .cs = CS, .gate = GATE, .of = t->of,
		.n = 1 + next_random(&seed) % FEW, .keeps_flags = next_random(&seed) % 2,
		.by_word = by_word,
	};
	for (uint32_t k = 0; k < t->tell.n; k++) {
		t->of[k].operand = any_operand();
		t->of[k].operand.is_32 = !by_word && next_random(&seed) % 8 == 0 &&
			t->of[k].operand.base < FL_ARCH_REGS && t->of[k].operand.base != SP;
		t->of[k].below = next_random(&seed) % 16;
		t->of[k].is_with = k && next_random(&seed) % 3 == 0;
		t->of[k].word = by_word ? FL_ACCESS_WORD | next_random(&seed) % 60000
						 << FL_WORD_ADDRESS_BITS : next_random(&seed);
	}
}

/* In some groups, of one or two accesses, these repeat. */
static void choose_strings(struct tried *t)
{
	t->strings = t->tell.n <= 2 && next_random(&seed) % 2;
	if (!t->strings)
		return;
	t->tell.keeps_flags = true;
	t->tell.by_word = false;
	for (uint32_t k = 0; k < t->tell.n; k++) {
		t->of[k].operand = (struct fl_operand){
			.base = next_random(&seed) % 2 ? SI : DI, .index = FL_NO_REG,
			.size = 1u << next_random(&seed) % 4, .repeats = true,
			.what = next_random(&seed) % 2 ? FL_OPERAND_LOAD : FL_OPERAND_STORE,
		};
		t->of[k].word = fl_typed(FLICK_TYPE_STRING, next_random(&seed) % 100000);
	}
}

static void put_group(struct tried *t)
{
	unsigned char code[2 * PAGE];
	size_t n;

	memset(code, HLT, sizeof code);
	n = fl_arch_put_tell(code, &t->tell);
	assert_in_range(n, 1, FL_ARCH_TELL_MAX);
	t->end = CODE + n;
	assert_true(fl_arch_put_cold(code + PAGE, COLD, &t->tell, WORD_AT) > 0);
	NEED(uc_mem_write(uc, CODE, code, sizeof code));
	NEED(uc_ctl_remove_cache(uc, CODE, CODE + sizeof code));
	fill_state(&t->from, STACK + PAGE / 2 + next_random(&seed) % 64 * 8, &seed);
	t->memory = next_random(&seed);
	if (t->strings && next_random(&seed) % 2)
		t->from.flags |= DOWN;
}

static void set_memory(const struct tried *t, uint64_t room, bool is_on)
{
	uint64_t memory = t->memory, own = thread_pointer() + (uint64_t)fl_arch_tls_slot_at();

	fill_memory(uc, STACK, &memory);
	fill_memory(uc, RING, &memory);
	write_word(GATE, is_on);
	write_word(WORD_AT, ROUTINE);
	write_word(thread_pointer(), thread_pointer());
	write_word(own, OWN);
	write_word(OWN, SLOT);
	write_word(SLOT + FL_SLOT_PTR, RING);
	write_word(SLOT + FL_SLOT_LIMIT, RING + room - FL_RING_TAIL);
	load_state(uc, &t->from);
	own = thread_pointer();
	NEED(uc_reg_write(uc, UC_X86_REG_FS_BASE, &own));
}

/* Up to its end or the routine; a signal comes behind so many instructions, if it is still in
 * the sequence then. */
static void run_group(const struct tried *t, struct state *s, size_t signal_after)
{
	const struct fl_tell *tell = &t->tell;

	if (signal_after)
		NEED(uc_emu_start(uc, CODE, t->end, 0, signal_after));
	store_state(uc, s);
	if (!signal_after)
		s->pc = CODE;
	else if (s->pc - CODE >= tell->start && s->pc - CODE < tell->end)
		s->pc = COLD + tell->abort;
	if (s->pc != t->end)
		NEED(uc_emu_start(uc, s->pc, t->end, 0, MOST_STEPS));
	store_state(uc, s);
}

static uint64_t address_of(const struct fl_operand *o, const struct state *s)
{
	uint64_t at = (uint64_t)o->target;

	if (o->base != FL_NO_REG)
		at += s->reg[o->base];
	if (o->index != FL_NO_REG)
		at += s->reg[o->index] << o->shift;
	if (o->is_32)
		at = (uint32_t)at;
	return at + (o->is_fs ? thread_pointer() : 0);
}

static void stack_is_kept(const struct tried *t)
{
	uint64_t is[PAGE / 8], was[PAGE / 8], memory = t->memory;
	size_t from = (t->from.reg[SP] - RED_ZONE - STACK) / 8;

	for (size_t i = 0; i < PAGE / 8; i++)
		was[i] = next_random(&memory);
	NEED(uc_mem_read(uc, STACK, is, PAGE));
	assert_memory_equal(is + from, was + from, PAGE - from * 8);
}

static void state_is_kept(const struct tried *t, const struct state *s)
{
	assert_memory_equal(s->reg, t->from.reg, sizeof s->reg);
	assert_memory_equal(s->vector, t->from.vector, sizeof s->vector);
	if (t->tell.keeps_flags)
		assert_int_equal(s->flags & (STATUS | DOWN), t->from.flags & (STATUS | DOWN));
	stack_is_kept(t);
}

/* What event.h says, bit by bit. */
static void ring_has_string(const struct tried *t, uint32_t k, uint64_t at)
{
	const struct fl_operand *o = &t->of[k].operand;
	uint64_t address = t->from.reg[o->base] & FLICK_STRING_ADDRESS, n = t->from.reg[CX];

	address |= (n >> 32 & 1023) << FLICK_STRING_MORE;
	address |= (uint64_t)__builtin_ctz(o->size) << FLICK_STRING_SIZE;
	address |= (uint64_t)(o->what == FL_OPERAND_STORE) << FLICK_STRING_STORE;
	address |= (uint64_t)(k + 1 < t->tell.n) << FLICK_STRING_WITH_NEXT;
	address |= (uint64_t)!!(t->from.flags & DOWN) << FLICK_STRING_DOWN;
	assert_int_equal(read_word(at), address);
	assert_int_equal(read_word(at + 8), t->of[k].word | n << 32);
}

static void ring_has_all(const struct tried *t)
{
	uint64_t at = RING;

	for (uint32_t k = 0; k < t->tell.n; k++) {
		uint64_t address = address_of(&t->of[k].operand, &t->from);

		if (t->tell.by_word && t->of[k].is_with)
			continue;
		if (t->strings)
			ring_has_string(t, k, at);
		else if (t->tell.by_word)
			assert_int_equal(read_word(at),
					 t->of[k].word + address - t->of[k].below);
		else
			assert_int_equal(read_word(at), address);
		at += 8;
		if (t->tell.by_word)
			continue;
		if (!t->strings)
			assert_int_equal(read_word(at), t->of[k].word);
		at += 8;
	}
	assert_int_equal(read_word(SLOT + FL_SLOT_PTR), at);
}

static void run_through(const struct tried *t)
{
	struct state s = { .pc = 0 };

	for (int i = 0; i < 3; i++) {
		set_memory(t, PAGE, true);
		run_group(t, &s, i ? 1 + next_random(&seed) % LONG : 0);
		assert_int_equal(s.pc, t->end);
		state_is_kept(t, &s);
		ring_has_all(t);
	}
}

/* It is not told, and changes no flag that is live: not even the ring. */
static void run_switched_off(const struct tried *t)
{
	struct state s;

	set_memory(t, PAGE, false);
	run_group(t, &s, 0);
	assert_int_equal(s.pc, t->end);
	state_is_kept(t, &s);
	assert_int_equal(read_word(SLOT + FL_SLOT_PTR), RING);
}

/* Words or records. */
static uint32_t count_told(const struct tried *t)
{
	uint32_t n = 0;

	for (uint32_t k = 0; k < t->tell.n; k++)
		n += !t->tell.by_word || !t->of[k].is_with;
	return n;
}

/* Where one more would pass the chunk's end it asks for room, and has written nothing. */
static void run_without_room(const struct tried *t)
{
	uint64_t bytes = count_told(t) * (t->tell.by_word ? 8u : 16u), memory = t->memory;
	struct state s;

	set_memory(t, bytes + FL_RING_TAIL, true);
	run_group(t, &s, 0);
	assert_int_equal(s.pc, t->end);
	ring_has_all(t);
	set_memory(t, bytes, true);
	NEED(uc_emu_start(uc, CODE, ROUTINE, 0, MOST_STEPS));
	store_state(uc, &s);
	assert_int_equal(s.pc, ROUTINE);
	assert_int_equal(read_word(s.reg[SP] + 8), count_told(t));
	assert_int_equal(read_word(SLOT + FL_SLOT_PTR), RING);
	for (size_t i = 0; i < PAGE / 8; i++)
		next_random(&memory);
	for (size_t i = 0; i < PAGE / 8; i++)
		assert_int_equal(read_word(RING + i * 8), next_random(&memory));
	stack_is_kept(t);
}

static void what_is_told_changes_nothing_else(void **state)
{
	struct tried t;

	(void)state;
	fl_arch_rseq_open();
	if (!fl_arch_has_rseq())
		skip();
	open_emulator();
	for (int i = 0; i < CASES; i++) {
		choose_group(&t);
		choose_strings(&t);
		put_group(&t);
		run_through(&t);
		run_switched_off(&t);
		run_without_room(&t);
	}
	uc_close(uc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_told_changes_nothing_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
