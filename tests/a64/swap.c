/*
 * swap.c - pairs of exclusives that are rewritten do what they did: in Unicorn, from random
 * states, with the same registers, flags and memory behind them, as compare-and-swap and as
 * LSE's atomics; functions written for each shape, and every helper of libgcc's. A signal
 * handler, or another thread, comes between any two of their instructions, and unwinders are
 * told where the frame is.
 *
 *	a64: 125 helpers, 110 become atomics, 17034 runs | wrong 0
 *	a64: interrupted at each of 820 instructions | wrong 0
 */
#include "libgcc.h"

#include "arch/aarch64/decode.h"
#include "arch/aarch64/emit.h"
#include "arch/aarch64/excl.h"
#include "arch/arch.h"
#include "emulator.h"
#include "site/site.h"

enum { WORDS = 64, CODE = WORDS * FL_ARCH_PAIR_MAX, OWN = 0x30000000, OWN_AT = 0x7030,
       KEY_AT = 0, FAILED_AT = 32, LEFT = 64, RUNS = 100 };

/* A function, and what is made of it. */
struct pairs {
	uint32_t word[WORDS];
	size_t n, bytes;
	unsigned int part[WORDS];
	uint32_t at[WORDS + 1];		/* where each word's code begins */
	unsigned char code[CODE];
	struct fl_exclusive_code put[WORDS];
	uint32_t held_left;
};

/* ---- as build.c does it ------------------------------------------------------------- */

static void choose(struct pairs *p, enum fl_exclusive how)
{
	struct fl_held_part part = { ORIGINAL, (unsigned char *)p->word, 4 * p->n };
	size_t bytes = fl_arch_held_bytes(&part, 1);
	void *held = calloc(1, bytes + 1);

	memset(p->part, 0, sizeof p->part);
	p->held_left = 0;
	if (bytes && fl_arch_held(&part, 1, held)) {
		p->held_left = fl_arch_rewrite_exclusives(held, how);
		for (size_t k = 0; k < p->n; k++)
			p->part[k] = fl_arch_exclusive_part(held, ORIGINAL + 4 * k);
	}
	free(held);
}

static size_t put_word(struct pairs *p, size_t k, unsigned char *out)
{
	unsigned char *code = (unsigned char *)&p->word[k];
	uintptr_t at = ORIGINAL + 4 * k, target;
	struct fl_insn i;

	p->put[k] = (struct fl_exclusive_code){ .part = p->part[k], .code = code,
						.own_at = OWN_AT };
	if (p->part[k])
		return fl_arch_put_exclusive(out, &p->put[k]);
	fl_arch_decode_flow(&i, code, 4, at);
	target = i.target;
	if (target - ORIGINAL < 4 * p->n)
		target = MOVED + p->at[(target - ORIGINAL) / 4];
	return fl_arch_move(out, MOVED + p->at[k], code, &i, at, target);
}

/* The first time for where all is. */
static void rewrite(struct pairs *p, enum fl_exclusive how)
{
	choose(p, how);
	memset(p->at, 0, sizeof p->at);
	for (int twice = 0; twice < 2; twice++)
		for (size_t k = 0; k < p->n; k++) {
			size_t n = put_word(p, k, p->code + p->at[k]);

			assert_true(n && n <= FL_ARCH_PAIR_MAX);
			p->at[k + 1] = p->at[k] + (uint32_t)n;
		}
	p->bytes = p->at[p->n];
	put_code(ORIGINAL, p->word, 4 * p->n);
	put_code(MOVED, p->code, p->bytes);
}

static void read_pairs(struct pairs *p, const char *text)
{
	p->n = assemble(text, p->word, WORDS);
	assert_true(p->n < WORDS);
}

static uint64_t own(size_t at)
{
	uint64_t v;

	NEED(uc_mem_read(uc, OWN + OWN_AT + at, &v, sizeof v));
	return v;
}

static void set_own(size_t at, uint64_t v)
{
	NEED(uc_mem_write(uc, OWN + OWN_AT + at, &v, sizeof v));
}

/* ---- the same ----------------------------------------------------------------------- */

/* To x30, which is nowhere. False: it met what cannot be run, or has no end. */
static bool run_function(uint64_t at, struct state *s, const struct state *from)
{
	uc_err err;

	forget_memory();
	load_state(from);
	uc_reg_write(uc, UC_ARM64_REG_TPIDR_EL0, &(uint64_t){ OWN });
	err = uc_emu_start(uc, at, from->reg[A64_LINK], 0, MOST_STEPS);
	store_state(s);
	return err == UC_ERR_OK && s->pc == from->reg[A64_LINK];
}

/* x0 to x6 lead to a few words, so some are the same; x1 may be what is there. */
static void fill(struct state *s)
{
	uint64_t there;

	fill_state(s);
	for (int i = 0; i < 7; i++)
		if (next_random(&seed) & 1 || !i)
			s->reg[i] = DATA + next_random(&seed) % 4 * 16;
	s->reg[A64_LINK] = ORIGINAL + 2 * PAGE - 4;
	memory.seed = next_random(&seed);
	forget_memory();
	give_page(uc, UC_MEM_READ, s->reg[0], 8, 0, NULL);
	NEED(uc_mem_read(uc, s->reg[0], &there, sizeof there));
	if (next_random(&seed) & 1)
		s->reg[1] = next_random(&seed) & 1 ? there : there & UINT32_MAX;
	set_own(FAILED_AT, next_random(&seed) % 4 * 40);
}

/* 1: not run, 0: the same, -1: not. */
static int compare_once(void)
{
	struct state from, s[2];
	uint64_t sum;

	fill(&from);
	if (!run_function(ORIGINAL, &s[0], &from))
		return 1;
	sum = sum_memory(s[0].sp);
	if (!run_function(MOVED, &s[1], &from))
		return -1;
	return memcmp(&s[0], &s[1], sizeof s[0]) || sum != sum_memory(s[1].sp) ? -1 : 0;
}

static size_t compare(size_t runs, size_t *ran)
{
	size_t wrong = 0;

	for (size_t k = 0; k < runs; k++) {
		int r = compare_once();

		*ran += r <= 0;
		wrong += r < 0;
	}
	return wrong;
}

/* Which instructions become something else, by either: `l`, `s`, `c` of a compare-and-swap, `a`
 * and `0` of an atomic; how often the moment before one stays held. */
static const struct shape {
	const char *name, *text, *cas, *lse;
	uint32_t held;			/* with --exclusive=lse */
} shapes[] = {
	{ "an addition",
	  "1: ldaxr w1, [x0]\nadd w2, w1, #5\nstlxr w3, w2, [x0]\ncbnz w3, 1b\n"
	  "ret",
	  "l.s..", "a.0..", 0 },
	{ "... of what was loaded, shifted",
	  "1: ldxr x1, [x0]\nadd x1, x1, #5, lsl #12\nstxr w3, x1, [x0]\n"
	  "cbnz w3, 1b\nret",
	  "l.s..", "a.0..", 0 },
	{ "a subtraction",
	  "1: ldaxr w1, [x0]\nsub w1, w1, w4\nstxr w3, w1, [x0]\ncbnz w3, 1b\nret",
	  "l.s..", "a.0..", 0 },
	{ "... the other way round",
	  "1: ldaxr w1, [x0]\nsub w1, w4, w1\nstxr w3, w1, [x0]\ncbnz w3, 1b\nret",
	  "l.s..", ".....", 2 },
	{ "... by a constant, of 8 bytes",
	  "1: ldxr x1, [x0]\nsubs x2, x1, #77\nstlxr w3, x2, [x0]\ncbnz w3, 1b\n"
	  "ret",
	  "l.s..", "a.0..", 0 },
	{ "... which is shorter",
	  "1: ldxr x1, [x0]\nadd w2, w1, #77\nstlxr w3, x2, [x0]\ncbnz w3, 1b\n"
	  "ret",
	  "l.s..", ".....", 2 },
	{ "bits: and",
	  "1: ldaxr x1, [x0]\nand x2, x1, x4\nstlxr w3, x2, [x0]\ncbnz w3, 1b\n"
	  "ret",
	  "l.s..", "a.0..", 0 },
	{ "bits: and with some",
	  "1: ldaxr w1, [x0]\nands w2, w1, #0xff00ff00\nstlxr w3, w2, [x0]\n"
	  "cbnz w3, 1b\nret",
	  "l.s..", "a.0..", 0 },
	{ "bits: or, of a byte",
	  "1: ldxrb w1, [x0]\norr w2, w4, w1\nstlxrb w3, w2, [x0]\ncbnz w3, 1b\n"
	  "ret",
	  "l.s..", "a.0..", 0 },
	{ "bits: or with some",
	  "1: ldxrh w1, [x0]\norr w2, w1, #0xf0\nstxrh w3, w2, [x0]\n"
	  "cbnz w3, 1b\nret",
	  "l.s..", "a.0..", 0 },
	{ "bits: exclusive or",
	  "1: ldaxr w1, [x0]\neor w1, w1, w4\nstxr w3, w1, [x0]\ncbnz w3, 1b\nret",
	  "l.s..", "a.0..", 0 },
	{ "bits: clear",
	  "1: ldaxr w1, [x0]\nbic w1, w1, w4\nstxr w3, w1, [x0]\ncbnz w3, 1b\nret",
	  "l.s..", "a.0..", 0 },
	{ "bits: clear of others",
	  "1: ldaxr w1, [x0]\nbic w1, w4, w1\nstxr w3, w1, [x0]\ncbnz w3, 1b\nret",
	  "l.s..", ".....", 2 },
	{ "bits: or not",
	  "1: ldaxr x1, [x0]\norn x1, x1, x4\nstxr w3, x1, [x0]\ncbnz w3, 1b\nret",
	  "l.s..", "a.0..", 0 },
	{ "bits: not exclusive or",
	  "1: ldaxr x1, [x0]\neon x2, x1, x4\nstxr w3, x2, [x0]\ncbnz w3, 1b\nret",
	  "l.s..", "a.0..", 0 },
	{ "an exchange",
	  "1: ldaxr w1, [x0]\nstlxr w3, w4, [x0]\ncbnz w3, 1b\nret",
	  "ls..", "a0..", 0 },
	{ "an exchange for 0, once",
	  "ldxr x1, [x0]\nstlxr w3, xzr, [x0]\nret",
	  "ls.", "a0.", 0 },
	{ "the status is where the value was",
	  "1: ldaxr w1, [x0]\nadd w2, w1, #1\nstlxr w1, w2, [x0]\ncbnz w1, 1b\n"
	  "ret",
	  "l.s..", "a.0..", 0 },
	{ "what is added is what becomes of it",
	  "1: ldaxr w1, [x0]\nadd w2, w1, w2\nstlxr w3, w2, [x0]\nret",
	  "l.s.", "a.0.", 0 },
	{ "what is added is the status of the time before",
	  "1: ldaxr w1, [x0]\nadd w2, w1, w3\nstlxr w3, w2, [x0]\nret",
	  "l.s.", "....", 2 },
	{ "doubled",
	  "1: ldaxr w1, [x0]\nadd w2, w1, w1\nstlxr w3, w2, [x0]\nret",
	  "l.s.", "....", 2 },
	{ "compare and exchange",
	  "1: ldaxr w2, [x0]\ncmp w2, w1\nb.ne 2f\nstlxr w3, w4, [x0]\n"
	  "cbnz w3, 1b\n2: mov w0, w2\nret",
	  "l..s...", "a..0...", 0 },
	{ "... of 8 bytes, with clrex",
	  "1: ldxr x2, [x0]\ncmp x2, x1\nb.ne 2f\nstxr w3, x4, [x0]\n"
	  "cbnz w3, 1b\nret\n2: clrex\nret",
	  "l..s..c.", "a..0....", 0 },
	{ "... with a constant",
	  "1: ldaxrb w2, [x0]\ncmp w2, #7\nb.ne 2f\nstlxrb w3, w4, [x0]\n"
	  "cbnz w3, 1b\n2: ret",
	  "l..s..", "a..0..", 0 },
	{ "... with 0",
	  "1: ldaxr w2, [x0]\ncbnz w2, 2f\nstxr w3, w4, [x0]\ncbnz w3, 1b\n2: ret",
	  "l.s..", "a.0..", 0 },
	{ "... of a byte that is compared whole",
	  "1: ldaxrb w2, [x0]\ncmp w2, w1\nb.ne 2f\nstlxrb w3, w4, [x0]\n2: ret",
	  "l..s.", ".....", 3 },
	{ "... whose way out has a store, too",
	  "1: ldaxr w2, [x0]\ncmp w2, w1\nb.ne 2f\nstlxr w3, w4, [x0]\nret\n"
	  "2: stlxr w3, w5, [x0]\nret",
	  "l..s.s.", ".......", 4 },
	{ "somebody comes to the middle",
	  "cbz w5, 2f\n1: ldaxr w1, [x0]\n2: add w2, w1, #5\nstlxr w3, w2, [x0]\n"
	  "ret",
	  ".....", ".....", 3 },
	{ "of several blocks, with two stores",
	  "1: ldxr x2, [x0]\ntbz x2, #3, 2f\nadd x2, x2, #1\nstxr w3, x2, [x0]\n"
	  "cbnz w3, 1b\nret\n2: sub x2, x2, #1\nnop\nstlxr w3, x2, [x0]\n"
	  "cbnz w3, 1b\nret",
	  "l..s....s..", "...........", 6 },
	{ "two ways in",
	  "cbz x5, 1f\nldxr x2, [x0]\nb 2f\n1: ldaxr x2, [x0]\n"
	  "2: add x2, x2, #1\nstxr w3, x2, [x0]\nret",
	  ".l.l.s.", ".......", 3 },
	{ "... of two sizes",
	  "cbz x5, 1f\nldxr x2, [x0]\nb 2f\n1: ldaxr w2, [x0]\n"
	  "2: add x2, x2, #1\nstxr w3, x2, [x0]\nret",
	  ".......", ".......", 3 },
	{ "two registers",
	  "1: ldaxp x1, x2, [x0]\nadd x1, x1, #1\neor x2, x2, x1\n"
	  "stlxp w3, x1, x2, [x0]\ncbnz w3, 1b\nret",
	  "l..s..", "......", 3 },
	{ "two short ones, in each other's places",
	  "1: ldxp w1, w2, [x0]\nstxp w3, w2, w1, [x0]\ncbnz w3, 1b\nret",
	  "ls..", "....", 1 },
	{ "two into one",
	  "ldxp w1, w2, [x0]\nstxr w3, x1, [x0]\nret",
	  "...", "...", 1 },
	{ "the address is loaded over",
	  "ldxr x0, [x0]\nmov x5, x0\nret",
	  "...", "...", 2 },
	{ "... and kept",
	  "mov x6, x0\n1: ldxr x0, [x0]\nadd x1, x0, #1\nstxr w3, x1, [x6]\n"
	  "mov x0, x6\ncbnz w3, 1b\nret",
	  ".l.s...", ".......", 2 },
	{ "through the stack pointer",
	  "sub sp, sp, #32\nstr x1, [sp]\n1: ldaxr x1, [sp]\nadd x2, x1, #1\n"
	  "stlxr w3, x2, [sp]\ncbnz w3, 1b\nldr x0, [sp]\nadd sp, sp, #32\nret",
	  "..l.s....", "..a.0....", 0 },
	{ "... two registers",
	  "sub sp, sp, #32\nstp x1, x2, [sp]\n1: ldaxp x1, x2, [sp]\n"
	  "stlxp w3, x2, x1, [sp]\ncbnz w3, 1b\nldp x0, x4, [sp]\n"
	  "add sp, sp, #32\nret",
	  "..ls....", "........", 1 },
	{ "nobody sees the value",
	  "1: ldaxr wzr, [x0]\nstlxr w3, w4, [x0]\ncbnz w3, 1b\nret",
	  "ls..", "....", 1 },
	{ "... of a pair's half",
	  "1: ldaxp xzr, x2, [x0]\nstlxp w3, x2, xzr, [x0]\ncbnz w3, 1b\nret",
	  "ls..", "....", 1 },
	{ "nobody sees the status",
	  "ldaxr w1, [x0]\nadd w2, w1, #1\nstlxr wzr, w2, [x0]\nret",
	  "b.s.", "....", 2 },
	{ "at another address",
	  "ldxr w1, [x0]\nadd w1, w1, #1\nstxr w3, w1, [x4]\nret",
	  "l.s.", "....", 2 },
	{ "twice",
	  "ldxr w1, [x0]\nstxr w3, w4, [x0]\nstxr w5, w4, [x0]\nret",
	  "lss.", "a0..", 0 },
	{ "twice, the first time with what is there",
	  "ldxr w1, [x0]\nstxr w3, w1, [x0]\nstxr w5, w4, [x0]\nret",
	  "lss.", "....", 1 },
	{ "cleared",
	  "ldxr w1, [x0]\nclrex\nstxr w3, w4, [x0]\nret",
	  "....", "....", 1 },
	{ "maybe cleared",
	  "ldxr w1, [x0]\ncbz w5, 1f\nclrex\n1: stxr w3, w4, [x0]\nret",
	  "l.cs.", ".....", 2 },
	{ "a store alone",
	  "nop\nstxr w3, w4, [x0]\nret",
	  "...", "...", 2 },
	{ "a load alone",
	  "ldxr w3, [x0]\nnop\nret",
	  "...", "...", 2 },
	{ "a system call within",
	  "ldxr w1, [x0]\ncbz w5, 1f\nsvc #0\n1: stxr w3, w1, [x0]\nret",
	  ".....", ".....", 2 },
	{ "a store names a register twice",
	  "ldxr w1, [x0]\n.inst 0x88017c01\nret",
	  "...", "...", 1 },
};

static void expect_parts(const struct shape *s, const struct pairs *p, const char *says)
{
	static const char parts[A64_N_PARTS] = { '.', 'l', 'b', 's', 'c', 'a', '0' };
	char is[WORDS + 1] = "";

	for (size_t k = 0; k < p->n; k++)
		is[k] = parts[p->part[k]];
	if (strcmp(is, says))
		print_error("%s: %s, not %s\n", s->name, is, says);
	assert_string_equal(is, says);
}

static void each_shape_does_what_it_did(void **state)
{
	size_t ran = 0, n = 0;

	(void)state;
	if (!has_tools())
		skip();
	for (size_t k = 0; k < ARRAY_LEN(shapes); k++) {
		const struct shape *s = &shapes[k];
		struct pairs p;

		read_pairs(&p, s->text);
		for (enum fl_exclusive how = 0; how < FL_N_EXCLUSIVES; how++) {
			size_t wrong, before = ran;

			rewrite(&p, how);
			expect_parts(s, &p, how == FL_EXCLUSIVE_CAS ? s->cas :
				     how == FL_EXCLUSIVE_LSE ? s->lse :
				     "................" + 16 - p.n);
			if (how == FL_EXCLUSIVE_LSE && p.held_left != s->held)
				print_error("%s: %u held\n", s->name, p.held_left);
			assert_true(how != FL_EXCLUSIVE_LSE || p.held_left == s->held);
			assert_true(how != FL_EXCLUSIVE_CAS || !strpbrk(s->cas, "ls") ||
				    !p.held_left);
			wrong = compare(RUNS, &ran);
			if (wrong)
				print_error("%s, %d: %zu runs of %zu are wrong\n", s->name, how,
					    wrong, ran - before);
			assert_int_equal(wrong, 0);
			n += RUNS;
		}
	}
	printf("a64: %zu runs of %zu shapes\n", ran, ARRAY_LEN(shapes));
	assert_true(ran > n * 9 / 10);
}

/* ---- word by word --------------------------------------------------------------------- */

#define KEEPS "stp x17, x16, [sp, #-48]!\nstp x15, x14, [sp, #16]\nstp x13, x12, [sp, #32]\n" \
	"mrs x17, tpidr_el0\nadd x17, x17, #0x30\nadd x17, x17, #7, lsl #12\n"
#define RESTORES "ldp x13, x12, [sp, #32]\nldp x15, x14, [sp, #16]\nldp x17, x16, [sp], #48\n"

/* Orders, which no emulator shows: a compare-and-swap's own load acquires always. */
static const struct golden {
	enum fl_exclusive how;
	const char *text, *is;		/* is: of its instruction `k` */
	size_t k;
} goldens[] = {
	{ FL_EXCLUSIVE_CAS, "ldaxrh w1, [x0]\nstxrh w3, w2, [x0]\nret",
	  KEEPS "ldr x16, [x17, #32]\ntbz x16, #6, 1f\nstr xzr, [x17]\n" RESTORES
	  "ldaxrh w1, [x0]\nb 2f\n1: mov x15, x0\nldarh w1, [x15]\nclrex\n"
	  "add x16, sp, #48 + 9\nstr x16, [x17]\nstr x15, [x17, #8]\nstr x1, [x17, #16]\n"
	  RESTORES "2:", 0 },
	{ FL_EXCLUSIVE_CAS, "ldxr x1, [x0]\nstlxr wzr, x2, [x0]\nret",
	  KEEPS "mov x15, x0\nldr x1, [x15]\nclrex\nadd x16, sp, #48 + 11\nstr x16, [x17]\n"
	  "str x15, [x17, #8]\nstr x1, [x17, #16]\n" RESTORES, 0 },
	{ FL_EXCLUSIVE_CAS, "ldxr w1, [x0]\nstlxr w3, w2, [x0]\nret",
	  "stlxr w3, w2, [x0]\ncbz w3, 5f\n" KEEPS "mov x12, x0\nldr x16, [x17, #8]\n"
	  "sub x16, x16, x12\nldr x15, [x17, #16]\nldr x14, [x17]\nstr xzr, [x17]\n"
	  "cbnz x16, 1f\nsub x14, x14, #48 + 10\nsub x14, sp, x14\ncbnz x14, 1f\n"
	  "ldaxr w16, [x12]\neor x16, x16, x15\ncbnz x16, 3f\nstlxr w3, w2, [x12]\n"
	  "cbnz w3, 1f\nstr xzr, [x17, #32]\nb 4f\n3: clrex\n1: ldr x16, [x17, #32]\n"
	  "add x16, x16, #1\nstr x16, [x17, #32]\n4: " RESTORES "5:", 1 },
	{ FL_EXCLUSIVE_LSE, "ldxr w1, [x0]\nadd w2, w1, w4\nstxr w3, w2, [x0]\nret",
	  "ldadd w4, w1, [x0]", 0 },
	{ FL_EXCLUSIVE_LSE, "ldaxrb w1, [x0]\norr w2, w1, w4\nstxrb w3, w2, [x0]\nret",
	  "ldsetab w4, w1, [x0]", 0 },
	{ FL_EXCLUSIVE_LSE, "ldxr x1, [x0]\neor x2, x4, x1\nstlxr w3, x2, [x0]\nret",
	  "ldeorl x4, x1, [x0]", 0 },
	{ FL_EXCLUSIVE_LSE, "ldaxrh w1, [x0]\nbic w2, w1, w4\nstlxrh w3, w2, [x0]\nret",
	  "ldclralh w4, w1, [x0]", 0 },
	{ FL_EXCLUSIVE_LSE, "ldaxr w1, [x0]\nsub w2, w1, #70, lsl #12\nstxr w3, w2, [x0]\nret",
	  "mov x3, #0x6000\nmovk x3, #4, lsl #16\nneg x3, x3\nldadda w3, w1, [x0]", 0 },
	{ FL_EXCLUSIVE_LSE, "ldaxr w1, [x0]\nand w2, w1, #0xff\nstxr w3, w2, [x0]\nret",
	  "orr w3, wzr, #0xff\nmvn x3, x3\nldclra w3, w1, [x0]", 0 },
	{ FL_EXCLUSIVE_LSE, "ldxr x1, [x0]\nstlxr w3, x2, [x0]\nret", "swpl x2, x1, [x0]", 0 },
	{ FL_EXCLUSIVE_LSE, "ldaxr w1, [x0]\ncmp w1, w4\nb.ne 1f\nstlxr w3, w2, [x0]\n1: ret",
	  "mov x1, x4\ncasal w1, w2, [x0]", 0 },
	{ FL_EXCLUSIVE_LSE, "ldxr x1, [x0]\ncbnz x1, 1f\nstxr w3, x2, [x0]\n1: ret",
	  "mov x1, xzr\ncas x1, x2, [x0]", 0 },
};

static void each_word_is_the_one_that_is_meant(void **state)
{
	(void)state;
	if (!has_tools())
		skip();
	for (size_t g = 0; g < ARRAY_LEN(goldens); g++) {
		uint32_t is[WORDS];
		size_t n = assemble(goldens[g].is, is, WORDS), k = goldens[g].k;
		struct pairs p;

		read_pairs(&p, goldens[g].text);
		rewrite(&p, goldens[g].how);
		for (size_t i = 0; i < n; i++)
			if (is[i] != a64_word(p.code + p.at[k] + 4 * i))
				fail_msg("%s: word %zu is %08x, not %08x", goldens[g].text, i,
					 a64_word(p.code + p.at[k] + 4 * i), is[i]);
		assert_int_equal(p.at[k + 1] - p.at[k], 4 * n);
	}
}

/* ---- somebody comes between ------------------------------------------------------------ */

/* Memory is there from the start, and stays. */
static void begin(struct state *s, uint64_t value)
{
	uint64_t words[2] = { value, value };

	fill_state(s);
	forget_memory();
	memory.seed = 1;
	s->reg[0] = DATA;
	s->reg[A64_LINK] = ORIGINAL + 2 * PAGE - 4;
	give_page(uc, UC_MEM_READ, DATA, 8, 0, NULL);
	NEED(uc_mem_write(uc, DATA, words, sizeof words));
	memset(words, 0, sizeof words);
	for (size_t k = 0; k < FL_ARCH_PAIR_OWN; k += 8)
		set_own(k, 0);
	load_state(s);
	uc_reg_write(uc, UC_ARM64_REG_TPIDR_EL0, &(uint64_t){ OWN });
}

static uint64_t word_there(uint64_t at)
{
	uint64_t v;

	NEED(uc_mem_read(uc, DATA + at, &v, sizeof v));
	return v;
}

static uint64_t where(void)
{
	uint64_t pc;

	NEED(uc_reg_read(uc, UC_ARM64_REG_PC, &pc));
	return pc;
}

/* One instruction. */
static void step(void)
{
	uint64_t pc = where();

	if (uc_emu_start(uc, pc, 0, 0, 1) != UC_ERR_OK)
		fail_msg("stopped at %#lx", (unsigned long)where());
}

/* On from here, to its end, where no instruction is. */
static void finish(void)
{
	uint64_t link = ORIGINAL + 2 * PAGE - 4;
	uc_err err = uc_emu_start(uc, where(), link, 0, 100 * MOST_STEPS);

	assert_true(err == UC_ERR_OK || err == UC_ERR_EXCEPTION);
	assert_int_equal(where(), link);
}

/* What a kernel does: the handler runs below, and on the way back the monitor is lost. */
static void handle(uint64_t at, uint64_t sp)
{
	struct state was, in;

	store_state(&was);
	in = was;
	in.sp = sp ? sp : was.sp - 512;
	in.reg[0] = DATA;
	in.reg[A64_LINK] = ORIGINAL + 2 * PAGE - 4;
	load_state(&in);
	NEED(uc_emu_start(uc, at, in.reg[A64_LINK], 0, 100 * MOST_STEPS));
	NEED(uc_emu_start(uc, ORIGINAL + PAGE, 0, 0, 1));	/* clrex */
	load_state(&was);
	NEED(uc_reg_write(uc, UC_ARM64_REG_PC, &was.pc));
}

/* What unwinders are told lies below the function's stack pointer does. */
static void expect_depth(const struct pairs *p, uint64_t sp)
{
	uint64_t at = where() - MOVED, is, depth = 0;
	size_t k = 0;

	while (p->at[k + 1] <= at)
		k++;
	for (uint32_t i = 0; i < p->put[k].n_depths; i++)
		if (p->at[k] + p->put[k].depths[i].offset <= at)
			depth = p->put[k].depths[i].depth;
	NEED(uc_reg_read(uc, UC_ARM64_REG_SP, &is));
	assert_int_equal(sp - is, depth);
}

static const struct interrupted {
	const char *text;
	uint64_t adds;			/* a call of it */
} interrupted[] = {
	{ "1: ldaxr x1, [x0]\nadd x2, x1, #5\nstlxr w3, x2, [x0]\ncbnz w3, 1b\nret", 5 },
	{ "1: ldxr x1, [x0]\nadd x1, x1, #3\nb 2f\n2: stxr w3, x1, [x0]\ncbnz w3, 1b\nret", 3 },
	{ "1: ldaxp x1, x2, [x0]\nadd x1, x1, #1\nadd x2, x2, #1\nstlxp w3, x1, x2, [x0]\n"
	  "cbnz w3, 1b\nret", 1 },
	{ "1: ldaxr x1, [x0]\ntbz x1, #0, 2f\nadd x1, x1, #2\nstlxr w2, x1, [x0]\n"
	  "cbnz w2, 1b\nret\n"
	  "2: add x1, x1, #2\nnop\nstlxr w2, x1, [x0]\ncbnz w2, 1b\nret", 2 },
};

/* What a handler does that comes there: it adds as well; it loads, and goes; it clears; it
 * adds, loads what there is then, and goes. */
static const char handlers[] =
	"1: ldaxr x1, [x0]\nadd x2, x1, #100\nstlxr w3, x2, [x0]\ncbnz w3, 1b\nret\n"
	"2: ldaxr x1, [x0]\ncbnz x1, 3f\nstlxr w3, x1, [x0]\n3: ret\n"
	"4: ldaxr x1, [x0]\ncbnz x1, 5f\nstlxr w3, x1, [x0]\nret\n5: clrex\nret\n"
	"6: ldaxr x1, [x0]\nadd x2, x1, #100\nstlxr w3, x2, [x0]\ncbnz w3, 6b\n"
	"ldaxr x1, [x0]\ncbnz x1, 7f\nstlxr w3, x1, [x0]\n7: ret";

/* Is each call's addition there, whoever comes at whatever moment? How many moments. */
static size_t interrupt(const struct pairs *p, const struct pairs *h, size_t entry, uint64_t sp,
			const struct interrupted *of, uint64_t handler_adds)
{
	size_t n = 0;

	for (;; n++) {
		struct state s;
		uint64_t link = ORIGINAL + 2 * PAGE - 4;

		begin(&s, 1000);
		NEED(uc_reg_write(uc, UC_ARM64_REG_PC, &(uint64_t){ MOVED }));
		put_code(MOVED, p->code, p->bytes);
		NEED(uc_mem_write(uc, MOVED + PAGE, h->code, h->bytes));
		for (size_t k = 0; k < n && where() != link; k++)
			step();
		if (where() == link)
			return n;
		expect_depth(p, s.sp);
		handle(MOVED + PAGE + h->at[entry], sp);
		finish();
		if (word_there(0) != 1000 + of->adds + handler_adds)
			fail_msg("%s: interrupted at %zu: %lu", of->text, n,
				 (unsigned long)word_there(0));
	}
}

static void no_handler_is_taken_for_the_function(void **state)
{
	static const struct { size_t entry; uint64_t sp, adds; } comes[] = {
		{ 0, 0, 100 }, { 5, 0, 0 }, { 9, 0, 0 }, { 15, 0, 100 },
		{ 15, STACK + 64, 100 },
	};
	struct pairs h;
	size_t n = 0;

	(void)state;
	if (!has_tools())
		skip();
	read_pairs(&h, handlers);
	rewrite(&h, FL_EXCLUSIVE_CAS);
	for (size_t k = 0; k < ARRAY_LEN(interrupted); k++)
		for (size_t c = 0; c < ARRAY_LEN(comes); c++) {
			struct pairs p;

			read_pairs(&p, interrupted[k].text);
			rewrite(&p, FL_EXCLUSIVE_CAS);
			NEED(uc_mem_write(uc, ORIGINAL + PAGE, &(uint32_t){ A64_W_CLREX }, 4));
			n += interrupt(&p, &h, comes[c].entry, comes[c].sp, &interrupted[k],
				       comes[c].adds);
		}
	printf("a64: interrupted at each of %zu instructions | wrong 0\n", n);
	assert_true(n > 200);
}

/* Another thread's store, at whatever moment, to one of both words. How many moments. */
static size_t store_between(const struct interrupted *of, const struct pairs *p,
			    uint64_t word)
{
	enum { STORED = 11 };
	uint64_t link = ORIGINAL + 2 * PAGE - 4, value = 0;
	bool is_its = !word || strstr(of->text, "xp ");
	size_t n = 0;

	for (; value != link; n++) {
		struct state s;

		begin(&s, 1000);
		put_code(MOVED, p->code, p->bytes);
		NEED(uc_reg_write(uc, UC_ARM64_REG_PC, &(uint64_t){ MOVED }));
		for (size_t i = 0; i < n && where() != link; i++)
			step();
		value = word_there(word) + STORED;
		NEED(uc_mem_write(uc, DATA + word, &value, sizeof value));
		value = where();
		if (value != link)
			finish();
		assert_int_equal(word_there(word), 1000 + STORED + (is_its ? of->adds : 0));
	}
	return n;
}

static void no_store_of_another_thread_is_lost(void **state)
{
	size_t n = 0;

	(void)state;
	if (!has_tools())
		skip();
	for (size_t k = 0; k < ARRAY_LEN(interrupted) * 2; k++) {
		const struct interrupted *of = &interrupted[k / 2];
		struct pairs p;

		read_pairs(&p, of->text);
		rewrite(&p, k % 2 ? FL_EXCLUSIVE_CAS : FL_EXCLUSIVE_LSE);
		n += store_between(of, &p, 0) + store_between(of, &p, 8);
	}
	printf("a64: another thread at each of %zu moments | wrong 0\n", n);
	assert_true(n > 100);
}

static void call(const struct pairs *p, uint64_t failed)
{
	struct state s;

	put_code(MOVED, p->code, p->bytes);
	begin(&s, 1000);
	set_own(FAILED_AT, failed);
	NEED(uc_reg_write(uc, UC_ARM64_REG_X4, &(uint64_t){ DATA + 64 }));
	NEED(uc_reg_write(uc, UC_ARM64_REG_X1, &(uint64_t){ 7 }));
	NEED(uc_reg_write(uc, UC_ARM64_REG_PC, &(uint64_t){ MOVED }));
	finish();
}

/* A thread that fails over and over does it the other way: what a load keeps says which. */
static void who_makes_no_progress_goes_the_other_way(void **state)
{
	struct pairs fails, adds, leaves;

	(void)state;
	if (!has_tools())
		skip();
	read_pairs(&fails, "ldxr w1, [x0]\nadd w1, w1, #1\nstxr w3, w1, [x4]\nret");
	rewrite(&fails, FL_EXCLUSIVE_CAS);
	call(&fails, 5);
	assert_int_equal(own(FAILED_AT), 6);
	assert_int_equal(own(KEY_AT), 0);
	call(&fails, LEFT);
	assert_int_equal(own(FAILED_AT), LEFT + 1);
	read_pairs(&adds, interrupted[0].text);
	rewrite(&adds, FL_EXCLUSIVE_CAS);
	call(&adds, 5);
	assert_int_equal(own(FAILED_AT), 0);
	assert_int_equal(own(KEY_AT), 0);
	call(&adds, LEFT + 3);		/* as it was: nothing is counted */
	assert_int_equal(own(FAILED_AT), LEFT + 3);
	assert_int_equal(word_there(0), 1005);
	read_pairs(&leaves, "1: ldxr x2, [x0]\ncmp x2, x1\nb.ne 2f\nstxr w3, x4, [x0]\n2: ret");
	rewrite(&leaves, FL_EXCLUSIVE_CAS);
	call(&leaves, LEFT - 1);
	assert_true(own(KEY_AT) & 8);
	call(&leaves, LEFT);
	assert_int_equal(own(KEY_AT), 0);
	call(&leaves, 2 * LEFT);
	assert_true(own(KEY_AT) & 8);
}

/* ---- what compilers and libraries have --------------------------------------------------- */

struct helped {
	const struct fl_module *m;
	size_t helpers, runs, wrong, joined;
};

static bool is_any(const struct pairs *p, unsigned int part)
{
	for (size_t k = 0; k < p->n; k++)
		if (p->part[k] == part)
			return true;
	return false;
}

/* As it is where the processor has LSE, and where not: a byte that memory gives at random. */
static int take_helper(void *arg, const char *name, uint64_t value, uint64_t size)
{
	struct helped *h = arg;
	struct pairs p = { .n = size / 4 };

	if (strncmp(name, "__aarch64_", 10) || p.n >= WORDS)
		return 0;
	memcpy(p.word, (const void *)(h->m->bias + value), size);
	rewrite(&p, FL_EXCLUSIVE_CAS);
	if (!is_any(&p, A64_PART_STORE))
		return 0;
	h->helpers++;
	h->wrong += compare(RUNS, &h->runs);
	rewrite(&p, FL_EXCLUSIVE_LSE);
	h->joined += is_any(&p, A64_PART_DONE);
	h->wrong += compare(RUNS, &h->runs);
	return 0;
}

static void outlined_helpers_do_what_they_did(void **state)
{
	struct helped h = { 0 };

	(void)state;
	each_of_libgcc(take_helper, &h, &h.m);
	printf("a64: %zu helpers, %zu become atomics, %zu runs | wrong %zu\n", h.helpers,
	       h.joined, h.runs, h.wrong);
	assert_true(h.helpers > 100 && h.runs > h.helpers * RUNS);
	assert_int_equal(h.wrong, 0);
}

static int open_all(void **state)
{
	open_emulator(state);
	NEED(uc_mem_map(uc, OWN, 16 * PAGE, UC_PROT_READ | UC_PROT_WRITE));
	return 0;
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_shape_does_what_it_did),
		cmocka_unit_test(each_word_is_the_one_that_is_meant),
		cmocka_unit_test(no_handler_is_taken_for_the_function),
		cmocka_unit_test(no_store_of_another_thread_is_lost),
		cmocka_unit_test(who_makes_no_progress_goes_the_other_way),
		cmocka_unit_test(outlined_helpers_do_what_they_did),
	};

	return cmocka_run_group_tests(tests, open_all, NULL);
}
