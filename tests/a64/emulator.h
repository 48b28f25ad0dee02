/*
 * emulator.h - for tests of the AArch64 port: code that runs in Unicorn, from random states,
 * with memory that is there when it is asked for. Code stands at ORIGINAL and at MOVED.
 */
#include <unicorn/unicorn.h>

#define NEED(x) assert_int_equal(x, UC_ERR_OK)

enum { PAGE = 4096, N_REGS = 31, N_VECTORS = 32, MOST_PAGES = 96, MOST_STEPS = 400 };

/* Where things are; what a state points to is around DATA. */
enum { ORIGINAL = 0x10000000, MOVED = 0x11230000, DATA = 0x20000000, STACK = 0x28000000 };

static uc_engine *uc;
static uint64_t seed = 88172645463325252u;

struct state {
	uint64_t reg[N_REGS], sp, flags, pc;
	uint64_t vector[N_VECTORS][2];
};

/* Memory is there when it is asked for, and says the same to either. */
static struct memory {
	uint64_t seed;
	size_t n;
	uint64_t at[MOST_PAGES];
} memory;

static inline bool give_page(uc_engine *u, uc_mem_type type, uint64_t at, int size,
			     int64_t value, void *arg)
{
	uint64_t page = at / PAGE * PAGE, words[PAGE / 8], s = memory.seed ^ page;

	(void)type;
	(void)value;
	(void)arg;
	for (uint64_t p = page; p <= (at + (uint64_t)size - 1) / PAGE * PAGE; p += PAGE) {
		if (memory.n == MOST_PAGES)
			return false;
		s = memory.seed ^ p;
		for (size_t i = 0; i < PAGE / 8; i++)
			words[i] = next_random(&s);
		if (uc_mem_map(u, p, PAGE, UC_PROT_READ | UC_PROT_WRITE) != UC_ERR_OK)
			continue;		/* the other half is there */
		uc_mem_write(u, p, words, PAGE);
		memory.at[memory.n++] = p;
	}
	return true;
}

static inline uint64_t sum_page(uint64_t at)
{
	uint64_t words[PAGE / 8], sum = at;

	NEED(uc_mem_read(uc, at, words, PAGE));
	for (size_t i = 0; i < PAGE / 8; i++)
		sum = (sum ^ words[i]) * 0x9e3779b97f4a7c15u;
	return sum;
}

/* What is in all pages, but those that hold nothing but what was given. The stack below
 * its pointer is nobody's. */
static inline uint64_t sum_memory(uint64_t sp)
{
	unsigned char zero[PAGE] = { 0 };
	uint64_t sum = 0, below = sp & (PAGE - 1);

	for (size_t i = 0; i < memory.n; i++) {
		uint64_t words[PAGE / 8], s = memory.seed ^ memory.at[i], given = memory.at[i];

		if (sp / PAGE * PAGE == memory.at[i] && below)
			NEED(uc_mem_write(uc, memory.at[i], zero, below));
		for (size_t k = 0; k < PAGE / 8; k++)
			words[k] = next_random(&s);
		if (sp / PAGE * PAGE == memory.at[i])
			memset(words, 0, below);
		for (size_t k = 0; k < PAGE / 8; k++)
			given = (given ^ words[k]) * 0x9e3779b97f4a7c15u;
		if (sum_page(memory.at[i]) != given && memory.at[i] + PAGE != sp / PAGE * PAGE)
			sum += sum_page(memory.at[i]);
	}
	return sum;
}

static inline void forget_memory(void)
{
	for (size_t i = 0; i < memory.n; i++)
		NEED(uc_mem_unmap(uc, memory.at[i], PAGE));
	memory.n = 0;
}

static inline void fill_state(struct state *s)
{
	for (int i = 0; i < N_REGS; i++)
		s->reg[i] = next_random(&seed) & 1 ?
			DATA + next_random(&seed) % 0x100000 / 16 * 16 :
			next_random(&seed) >> next_random(&seed) % 64;
	for (int i = 0; i < N_VECTORS * 2; i++)
		s->vector[i / 2][i % 2] = next_random(&seed);
	s->flags = next_random(&seed) & 0xf0000000;
	s->sp = STACK + PAGE / 2 + next_random(&seed) % 64 * 16;
}

static inline int reg_id(int i)
{
	return i < 29 ? UC_ARM64_REG_X0 + i : i == 29 ? UC_ARM64_REG_X29 : UC_ARM64_REG_X30;
}

static inline void load_state(const struct state *s)
{
	for (int i = 0; i < N_REGS; i++)
		NEED(uc_reg_write(uc, reg_id(i), &s->reg[i]));
	for (int i = 0; i < N_VECTORS; i++)
		NEED(uc_reg_write(uc, UC_ARM64_REG_Q0 + i, s->vector[i]));
	NEED(uc_reg_write(uc, UC_ARM64_REG_SP, &s->sp));
	NEED(uc_reg_write(uc, UC_ARM64_REG_NZCV, &s->flags));
}

static inline void store_state(struct state *s)
{
	memset(s, 0, sizeof *s);
	for (int i = 0; i < N_REGS; i++)
		NEED(uc_reg_read(uc, reg_id(i), &s->reg[i]));
	for (int i = 0; i < N_VECTORS; i++)
		NEED(uc_reg_read(uc, UC_ARM64_REG_Q0 + i, s->vector[i]));
	NEED(uc_reg_read(uc, UC_ARM64_REG_SP, &s->sp));
	NEED(uc_reg_read(uc, UC_ARM64_REG_NZCV, &s->flags));
	NEED(uc_reg_read(uc, UC_ARM64_REG_PC, &s->pc));
}

static inline void put_code(uint64_t at, const void *code, size_t n)
{
	unsigned char page[2 * PAGE];
	uint64_t area = at / PAGE * PAGE;

	for (size_t k = 0; k < sizeof page; k += 4)
		memcpy(page + k, &(uint32_t){ 0 }, 4);
	memcpy(page + (at - area), code, n);
	NEED(uc_mem_write(uc, area, page, sizeof page));
	NEED(uc_ctl_remove_cache(uc, area, area + sizeof page));
}

/* Until it leaves, at its end or elsewhere. False: it met what cannot be run. */
static inline bool run(uint64_t at, uint64_t end, struct state *s, const struct state *from)
{
	uc_err err;

	forget_memory();
	load_state(from);
	err = uc_emu_start(uc, at, end, 0, MOST_STEPS);
	store_state(s);
	return err == UC_ERR_OK ? s->pc == end : err == UC_ERR_FETCH_UNMAPPED;
}

static inline int open_emulator(void **state)
{
	uint64_t on = 3 << 20;
	uc_hook hook;

	(void)state;
	NEED(uc_open(UC_ARCH_ARM64, UC_MODE_ARM, &uc));
	NEED(uc_ctl_set_cpu_model(uc, UC_CPU_ARM64_MAX));
	NEED(uc_reg_write(uc, UC_ARM64_REG_CPACR_EL1, &on));
	NEED(uc_mem_map(uc, ORIGINAL, 2 * PAGE, UC_PROT_ALL));
	NEED(uc_mem_map(uc, MOVED, 2 * PAGE, UC_PROT_ALL));
	NEED(uc_hook_add(uc, &hook, UC_HOOK_MEM_READ_UNMAPPED | UC_HOOK_MEM_WRITE_UNMAPPED,
			 (void *)give_page, NULL, 1, 0));
	return 0;
}

