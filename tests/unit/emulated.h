/*
 * emulated.h - a processor in Unicorn, for tests that run code which they do not want to
 * run themselves: from states that a seed says, with all registers and memory in view.
 */
#include <unicorn/unicorn.h>

#include <string.h>

#define NEED(x) assert_int_equal(x, UC_ERR_OK)

/* MOST_STEPS is for code that ends by itself. Unicorn counts instructions, or does not, for all
 * runs alike: between a run with a limit and one without it forgets what it has translated, and
 * fills the gigabyte that it has for that with zeros. So each has one. */
enum { PAGE = 4096, N_REGS = 16, N_VECTORS = 16, SP = 4, STATUS = 0x8d5, MOST_STEPS = 100000 };

/* What an instruction may change, but memory and where it goes on. */
struct state {
	uint64_t reg[N_REGS], flags, pc;
	uint64_t vector[N_VECTORS][4];
};

static const int reg_ids[N_REGS] = {
	UC_X86_REG_RAX, UC_X86_REG_RCX, UC_X86_REG_RDX, UC_X86_REG_RBX, UC_X86_REG_RSP,
	UC_X86_REG_RBP, UC_X86_REG_RSI, UC_X86_REG_RDI, UC_X86_REG_R8, UC_X86_REG_R9,
	UC_X86_REG_R10, UC_X86_REG_R11, UC_X86_REG_R12, UC_X86_REG_R13, UC_X86_REG_R14,
	UC_X86_REG_R15,
};

static inline uint64_t next_random(uint64_t *s)
{
	return *s = fl_random_next(*s);
}

/* `sp` is where the stack pointer will be. */
static inline void fill_state(struct state *s, uint64_t sp, uint64_t *seed)
{
	for (int i = 0; i < N_REGS; i++)
		s->reg[i] = next_random(seed) >> (next_random(seed) & 1 ?
						  next_random(seed) % 64 : 0);
	for (int i = 0; i < N_VECTORS * 4; i++)
		s->vector[i / 4][i % 4] = next_random(seed);
	s->flags = 2 | (next_random(seed) & STATUS);
	s->reg[SP] = sp;
}

static inline void fill_memory(uc_engine *uc, uint64_t at, uint64_t *seed)
{
	uint64_t page[PAGE / 8];

	for (size_t i = 0; i < PAGE / 8; i++)
		page[i] = next_random(seed);
	NEED(uc_mem_write(uc, at, page, PAGE));
}

static inline void load_state(uc_engine *uc, const struct state *s)
{
	for (int i = 0; i < N_REGS; i++)
		NEED(uc_reg_write(uc, reg_ids[i], &s->reg[i]));
	for (int i = 0; i < N_VECTORS; i++)
		NEED(uc_reg_write(uc, UC_X86_REG_YMM0 + i, s->vector[i]));
	NEED(uc_reg_write(uc, UC_X86_REG_EFLAGS, &s->flags));
}

static inline void store_state(uc_engine *uc, struct state *s)
{
	memset(s, 0, sizeof *s);
	for (int i = 0; i < N_REGS; i++)
		NEED(uc_reg_read(uc, reg_ids[i], &s->reg[i]));
	for (int i = 0; i < N_VECTORS; i++)
		NEED(uc_reg_read(uc, UC_X86_REG_YMM0 + i, s->vector[i]));
	NEED(uc_reg_read(uc, UC_X86_REG_EFLAGS, &s->flags));
	NEED(uc_reg_read(uc, UC_X86_REG_RIP, &s->pc));
}
