/*
 * told.c - what a body tells of its paths changes nothing else: in Unicorn, from random states,
 * registers that somebody needs, flags, the red zone and the stack above are as they were, also
 * where a signal comes in its sequence; frames and cells are as path.c has them; and where
 * something is not as it mostly is, all is left to the routine, which is called once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "arch/arch.h"
#include "arch/layout.h"
#include "emulated.h"

enum { CODE = 0x10000000, COLD = CODE + PAGE, DATA = 0x20000000, CELLS = 0x30000000,
       STACK = 0x40000000, THREAD = 0x50000000, THREAD_BYTES = 0x20000, ROUTINE = 0x60000000 };
enum { WORD_AT = DATA + 8, OWN = DATA + 16, CALLED = DATA + 48, SLOT = DATA + 64,
       PROBE_AT = DATA + 32, PROBE = 0x5000007,
       CS = DATA + 2048, TOP_AT = -0x800, FRAME = 0x400, FRAME_BYTES = 16, HLT = 0xf4,
       RED_ZONE = 128, CASES = 150, LONG = 60, N_CELLS = 200, BP = 5 };

static uc_engine *uc;
static uint64_t seed = 88172645463325252u;

/* What is put, and what it finds. */
struct tried {
	struct fl_path_code code;
	struct state from;
	uint64_t memory;		/* the seed of what the stack holds */
	uint64_t end;
	uint64_t top, owner, key;
	uint32_t sum;
	bool has_cells;
};

static uint64_t choose(uint64_t n)
{
	return next_random(&seed) % n;
}

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

/* movb $1,CALLED; ret */
static void open_emulator(void)
{
	static const unsigned char routine[] = { 0xc6, 0x04, 0x25, 48, 0, 0, 0x20, 1, 0xc3 };

	_Static_assert(CALLED == 0x20000030, "as `routine` has it");
	NEED(uc_open(UC_ARCH_X86, UC_MODE_64, &uc));
	NEED(uc_mem_map(uc, CODE, 2 * PAGE, UC_PROT_ALL));
	NEED(uc_mem_map(uc, DATA, PAGE, UC_PROT_ALL));
	NEED(uc_mem_map(uc, CELLS, PAGE, UC_PROT_ALL));
	NEED(uc_mem_map(uc, STACK, PAGE, UC_PROT_ALL));
	NEED(uc_mem_map(uc, THREAD, THREAD_BYTES, UC_PROT_ALL));
	NEED(uc_mem_map(uc, ROUTINE, PAGE, UC_PROT_ALL));
	NEED(uc_mem_write(uc, ROUTINE, routine, sizeof routine));
}

static uint64_t thread_pointer(void)
{
	return THREAD + THREAD_BYTES / 2;
}

static uint64_t frame_of(uint64_t top)
{
	return thread_pointer() + top;
}

static bool is_counted(const struct tried *t)
{
	return t->code.what == FL_PATH_CUT || t->code.what == FL_PATH_LEAVE ||
	       t->code.what == FL_PATH_ONLY;
}

/* Where the way back of the call is. */
static uint64_t owner_of(const struct tried *t)
{
	int32_t height = t->code.height;

	return height & 1 ? t->from.reg[BP] + (uint64_t)(int64_t)(height - 1) :
		t->from.reg[SP] + (uint64_t)(int64_t)height;
}

/* Of cells of its own a sum is one of bytes. */
static uint32_t unit_of(const struct tried *t)
{
	return t->code.probe ? 1 : FL_PATH_CELL_BYTES;
}

static bool is_at_home(const struct tried *t)
{
	return t->code.at_home && t->code.what != FL_PATH_ONLY;
}

/* A home, and up to 4 words besides, in the red zone or above. */
static void choose_words(struct tried *t)
{
	int32_t first = -RED_ZONE + 8 * (int32_t)choose(18);

	t->code.n_spare = (uint32_t)choose(FL_PATH_SPARE + 1);
	for (uint32_t k = 0; k < t->code.n_spare; k++)
		t->code.spare[k] = first + 8 * (int32_t)(k + 1);
	t->code.at_home = choose(2) && t->code.what != FL_PATH_DONE &&
			  t->code.what != FL_PATH_ONLY;
	if (t->code.at_home)
		t->code.height = first;
}

static void choose_code(struct tried *t)
{
	t->code = (struct fl_path_code){
		.what = (enum fl_path_what)choose(FL_PATH_HOME), .to = CODE, .cold = COLD,
		.cs = CS, .top_at = TOP_AT, .height = (int32_t)choose(3) * 40,
		.add = (uint32_t)choose(9) - 4, .set = (uint32_t)choose(90), .cell = 10,
		.n_paths = 100, .probe = choose(2) ? PROBE_AT : 0, .flags_dead = choose(2),
		.dead = choose(4) ? (fl_regs)next_random(&seed) : 0,
	};
	if (t->code.what == FL_PATH_ONLY) {
		t->code.probe = 0;
		t->code.add = (uint32_t)choose(90);
	}
	t->code.add *= t->code.what == FL_PATH_ONLY ? 1 : unit_of(t);
	t->code.set *= unit_of(t);
	t->code.n_paths *= unit_of(t);
	if (choose(4) == 0)
		t->code.height = 1 - (int32_t)choose(3) * 24;
	choose_words(t);
}

/* Mostly all is as the code wants it. */
static void choose_found(struct tried *t)
{
	uint64_t owner = owner_of(t);

	t->top = choose(20) ? FRAME : 0;
	t->owner = choose(8) ? owner : choose(2) ? 0 : owner + 8 * choose(5) - 16;
	if (t->code.what == FL_PATH_ENTER && choose(8))
		t->owner = owner + 8 + choose(100);
	t->sum = choose(10) ? 10 + (uint32_t)choose(80) : (uint32_t)next_random(&seed);
	t->key = choose(10) ? 1 + choose(100) : 0;
	t->sum *= unit_of(t);
	t->has_cells = choose(10);
}

static void put(struct tried *t)
{
	unsigned char code[2 * PAGE];
	size_t n;

	memset(code, HLT, sizeof code);
	n = fl_arch_put_path(code, &t->code);
	assert_in_range(n, 1, FL_ARCH_PATH_MAX);
	assert_true(t->code.n_depths <= FL_PATH_DEPTHS);
	t->end = CODE + n;
	n = fl_arch_put_path_cold(code + PAGE, COLD, &t->code, DATA, WORD_AT);
	assert_in_range(n, 1, FL_ARCH_PATH_MAX);
	assert_true(t->code.n_depths <= FL_PATH_DEPTHS);
	NEED(uc_mem_write(uc, CODE, code, sizeof code));
	NEED(uc_ctl_remove_cache(uc, CODE, CODE + sizeof code));
	fill_state(&t->from, STACK + PAGE / 2 + choose(64) * 8, &seed);
	t->from.reg[BP] = STACK + PAGE / 2 + choose(64) * 8;
	t->memory = next_random(&seed);
}

/* A count and a key. */
struct cell {
	uint64_t n, key;
};

/* Of cells that are shared each has a number's key, or all are others'. */
static void write_cells(const struct tried *t)
{
	struct cell cells[N_CELLS];

	for (uint64_t i = 0; i < N_CELLS; i++)
		cells[i] = (struct cell){ i, t->key };
	for (uint64_t i = 0; i < N_CELLS && t->code.probe && t->key; i++)
		cells[i].key = PROBE | (i - t->code.cell) << 32;
	for (uint64_t i = 0; i < N_CELLS && t->code.probe && !t->key; i++)
		cells[i].key = (PROBE ^ 1) | (i - t->code.cell) << 32;
	NEED(uc_mem_write(uc, CELLS, cells, sizeof cells));
}

static void set_memory(const struct tried *t)
{
	uint64_t memory = t->memory, own = thread_pointer() + (uint64_t)fl_arch_tls_slot_at();

	fill_memory(uc, STACK, &memory);
	write_word(WORD_AT, ROUTINE);
	write_word(CALLED, 0);
	write_word(own, OWN);
	write_word(OWN, t->has_cells ? SLOT : 0);
	write_word(OWN + FL_POINTEE_CELLS, t->has_cells ? CELLS : 0);
	write_cells(t);
	write_word(PROBE_AT, PROBE | next_random(&memory) << 32);
	write_word(thread_pointer() + (uint64_t)(int64_t)TOP_AT, t->top);
	write_word(frame_of(t->top) + FL_PATH_OWNER, t->owner);
	write_word(frame_of(t->top) + FL_PATH_SUM, t->sum);
	write_word(frame_of(t->top + FRAME_BYTES) + FL_PATH_OWNER, 0);
	write_word(frame_of(t->top + FRAME_BYTES) + FL_PATH_SUM, 0);
	if (is_at_home(t))
		NEED(uc_mem_write(uc, owner_of(t), &t->sum, sizeof t->sum));
	load_state(uc, &t->from);
	own = thread_pointer();
	NEED(uc_reg_write(uc, UC_X86_REG_FS_BASE, &own));
}

/* A signal comes behind so many instructions. True: it was in the sequence then. */
static bool run(const struct tried *t, struct state *s, size_t signal_after)
{
	bool is_interrupted = false;

	if (signal_after)
		NEED(uc_emu_start(uc, CODE, t->end, 0, signal_after));
	store_state(uc, s);
	if (!signal_after)
		s->pc = CODE;
	else
		is_interrupted = is_counted(t) && s->pc - CODE >= t->code.start &&
				 s->pc - CODE < t->code.end;
	if (is_interrupted)
		s->pc = COLD + t->code.abort;
	if (s->pc != t->end)
		NEED(uc_emu_start(uc, s->pc, t->end, 0, MOST_STEPS));
	store_state(uc, s);
	assert_int_equal(s->pc, t->end);
	return is_interrupted;
}

/* It is nobody's. */
static void forget_word(const struct tried *t, const uint64_t *is, uint64_t *was, int32_t at)
{
	size_t i = (t->from.reg[SP] + (uint64_t)(int64_t)at - STACK) / 8;

	was[i] = is[i];
}

static void state_is_kept(const struct tried *t, const struct state *s)
{
	uint64_t is[PAGE / 8], was[PAGE / 8], memory = t->memory;
	size_t from = (t->from.reg[SP] - RED_ZONE - STACK) / 8;

	for (int r = 0; r < N_REGS; r++)
		if (!(t->code.dead >> r & 1) || r == SP || r == BP)
			assert_int_equal(s->reg[r], t->from.reg[r]);
	assert_memory_equal(s->vector, t->from.vector, sizeof s->vector);
	if (!t->code.flags_dead)
		assert_int_equal(s->flags & STATUS, t->from.flags & STATUS);
	for (size_t i = 0; i < PAGE / 8; i++)
		was[i] = next_random(&memory);
	NEED(uc_mem_read(uc, STACK, is, PAGE));
	for (uint32_t k = 0; k < t->code.n_spare; k++)
		forget_word(t, is, was, t->code.spare[k]);
	if (is_at_home(t))
		forget_word(t, is, was, t->code.height);
	assert_memory_equal(is + from, was + from, PAGE - from * 8);
}

/* ---- what should be --------------------------------------------------------------------- */

static uint32_t number_of(const struct tried *t)
{
	return t->code.what == FL_PATH_ONLY ? t->code.add * unit_of(t) : t->sum + t->code.add;
}

static bool is_as_mostly(const struct tried *t)
{
	if (is_at_home(t) && !is_counted(t))
		return true;
	if (is_at_home(t))
		return t->has_cells && t->key && number_of(t) < t->code.n_paths;
	if (t->code.what == FL_PATH_ENTER)
		return t->top % FL_PATH_FRAMES && t->owner > owner_of(t);
	if (t->code.what != FL_PATH_ONLY && t->owner != owner_of(t))
		return false;
	return !is_counted(t) || (t->has_cells && t->key &&
				  number_of(t) < t->code.n_paths);
}

_Static_assert(sizeof(struct cell) == FL_PATH_CELL_BYTES &&
	       offsetof(struct cell, key) == FL_PATH_CELL_KEY, "layout.h");

static void cells_are(uint32_t counted)
{
	struct cell cells[N_CELLS];

	NEED(uc_mem_read(uc, CELLS, cells, sizeof cells));
	for (uint64_t i = 0; i < N_CELLS; i++)
		assert_int_equal(cells[i].n, i + (i == counted));
}

static void thread_is(uint64_t top, uint64_t owner, uint32_t sum)
{
	assert_int_equal(read_word(thread_pointer() + (uint64_t)(int64_t)TOP_AT), top);
	assert_int_equal(read_word(frame_of(top) + FL_PATH_OWNER), owner);
	assert_int_equal((uint32_t)read_word(frame_of(top) + FL_PATH_SUM), sum);
}

static void home_is(const struct tried *t)
{
	uint32_t sum = (uint32_t)read_word(owner_of(t));

	thread_is(t->top, t->owner, t->sum);
	if (t->code.what == FL_PATH_LEAVE)
		return;
	assert_int_equal(sum, t->code.what == FL_PATH_ADD ? t->sum + t->code.add : t->code.set);
}

static void all_is_done(const struct tried *t)
{
	cells_are(is_counted(t) ? t->code.cell + number_of(t) / unit_of(t) : UINT32_MAX);
	if (is_at_home(t)) {
		home_is(t);
		return;
	}
	switch (t->code.what) {
	case FL_PATH_ENTER:
		thread_is(t->top + FRAME_BYTES, owner_of(t), t->code.set);
		break;
	case FL_PATH_ADD:
		thread_is(t->top, t->owner, t->sum + t->code.add);
		break;
	case FL_PATH_CUT: case FL_PATH_AT:
		thread_is(t->top, t->owner, t->code.set);
		break;
	case FL_PATH_LEAVE: case FL_PATH_DONE:
		assert_int_equal(read_word(frame_of(t->top) + FL_PATH_OWNER), 0);
		assert_int_equal(read_word(thread_pointer() + (uint64_t)(int64_t)TOP_AT),
				 t->top - FRAME_BYTES);
		break;
	default:
		thread_is(t->top, t->owner, t->sum);
	}
}

static void try_once(const struct tried *t, size_t signal_after)
{
	struct state s = { .pc = 0 };
	bool is_cold;

	set_memory(t);
	is_cold = run(t, &s, signal_after) || !is_as_mostly(t);
	state_is_kept(t, &s);
	assert_int_equal(read_word(CALLED) & 0xff, is_cold);
	if (!is_cold) {
		all_is_done(t);
		return;
	}
	cells_are(UINT32_MAX);
	thread_is(t->top, t->owner, t->sum);
}

static void what_is_told_changes_nothing_else(void **state)
{
	unsigned int cold = 0;
	struct tried t;

	(void)state;
	fl_arch_rseq_open();
	if (!fl_arch_has_rseq())
		skip();
	open_emulator();
	for (int i = 0; i < CASES; i++) {
		choose_code(&t);
		put(&t);
		choose_found(&t);
		cold += !is_as_mostly(&t);
		try_once(&t, 0);
		try_once(&t, 1 + choose(LONG));
	}
	assert_in_range(cold, CASES / 20, CASES / 2);
	uc_close(uc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_told_changes_nothing_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
