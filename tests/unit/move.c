/*
 * move.c - an instruction that was moved does what it did: from random states in Unicorn
 * registers, flags and memory are those that the original leaves, and so is where it goes.
 *
 *	move: 1512 branches, each from a place of its own | wrong 0
 *	move: 769 forms of 4 files, 580 run | operand 0 effect 0
 *
 * Counts right of the bar must be zero.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <elf.h>

#include <cmocka.h>
#include <Zydis/Zydis.h>

#include "arch/arch.h"
#include "emulated.h"

enum { HLT = 0xf4, WANTED_FORMS = 300, STATES = 24, MAX_FORMS = 4096, SHOWN = 10 };

/* Where things are in the emulator; displacements from either place reach all. */
enum { ORIGINAL = 0x10000000, MOVED = 0x31230000, TARGET = 0x12345000, DATA = 0x20000000,
       STACK = 0x40000000 };

static const char *const files[] = {
	"/lib/x86_64-linux-gnu/libc.so.6",
	"/lib/x86_64-linux-gnu/libm.so.6",
	"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
	"/usr/bin/perl",
};

static uc_engine *uc;
static uint64_t seed = 88172645463325252u;

/* An instruction in two places. */
struct pair {
	unsigned char code[16], moved[FL_ARCH_MOVED_MAX];
	size_t len, n;
	uint64_t at, to;
	uint64_t target, there;		/* where the one goes, the other goes there; or 0 */
	uint64_t next;			/* what is behind the moved one */
};

static void put_at(uint64_t at, const unsigned char *code, size_t n)
{
	unsigned char page[PAGE];

	memset(page, HLT, sizeof page);
	memcpy(page + at % PAGE, code, n);
	NEED(uc_mem_write(uc, at / PAGE * PAGE, page, sizeof page));
	NEED(uc_ctl_remove_cache(uc, at / PAGE * PAGE, at / PAGE * PAGE + PAGE));
}

static uint64_t put_code(uint64_t area, const unsigned char *code, size_t n)
{
	uint64_t at = area + 64 + next_random(&seed) % (PAGE - 128);

	put_at(at, code, n);
	return at;
}

/* Run until it meets nothing: an address without memory, or a byte of HLT. False: the
 * emulator does not know it. */
static bool run_one(uint64_t at, struct state *s, const struct state *from, uint64_t memory)
{
	uc_err err;

	fill_memory(uc, DATA, &memory);
	fill_memory(uc, STACK, &memory);
	load_state(uc, from);
	err = uc_emu_start(uc, at, 0, 0, 0);
	store_state(uc, s);
	if (err == UC_ERR_OK)
		s->pc--;
	return err == UC_ERR_OK || (err == UC_ERR_FETCH_UNMAPPED && s->pc != at);
}

static void read_pages(unsigned char *pages)
{
	NEED(uc_mem_read(uc, DATA, pages, PAGE));
	NEED(uc_mem_read(uc, STACK, pages + PAGE, PAGE));
}

/* Behind either is the same place, and a call returns there. */
static void make_alike(const struct pair *p, struct state *s, unsigned char *pages)
{
	uint64_t sp = s->reg[SP], ret;

	if (s->pc == p->next)
		s->pc = p->at + p->len;
	else if (p->there && s->pc == p->there)
		s->pc = p->target;
	if (sp - STACK > PAGE - 8)
		return;
	memcpy(&ret, pages + PAGE + (sp - STACK), sizeof ret);
	if (ret == p->to + p->n) {
		ret = p->at + p->len;
		memcpy(pages + PAGE + (sp - STACK), &ret, sizeof ret);
	}
}

/* 1: not run, 0: the same, -1: not. */
static int compare_once(const struct pair *p)
{
	unsigned char pages[2][2 * PAGE];
	struct state from, s[2];
	uint64_t memory = next_random(&seed);

	fill_state(&from, STACK + PAGE / 2 + next_random(&seed) % 64 * 8, &seed);
	if (!run_one(p->at, &s[0], &from, memory))
		return 1;
	read_pages(pages[0]);
	if (!run_one(p->to, &s[1], &from, memory))
		return -1;
	read_pages(pages[1]);
	make_alike(p, &s[1], pages[1]);
	return memcmp(&s[0], &s[1], sizeof s[0]) || memcmp(pages[0], pages[1], 2 * PAGE) ?
		-1 : 0;
}

static int compare(const struct pair *p)
{
	int r = 0;

	for (int i = 0; i < STATES && !r; i++)
		r = compare_once(p);
	return r;
}

static void show(const struct pair *p, const char *what)
{
	static int shown;

	if (shown++ >= SHOWN)
		return;
	printf("%s:", what);
	for (size_t i = 0; i < p->len; i++)
		printf(" %02x", p->code[i]);
	printf(" ->");
	for (size_t i = 0; i < p->n; i++)
		printf(" %02x", p->moved[i]);
	printf("\n");
}

/* ---- branches -------------------------------------------------------------------- */

static const struct branch {
	unsigned char code[9];
	uint8_t len, rel;		/* bytes of displacement at its end; 0: not direct */
} branches[] = {
#define JCC(c) { { 0x70 + c, 0 }, 2, 1 }, { { 0x0f, 0x80 + c }, 6, 4 }
	JCC(0), JCC(1), JCC(2), JCC(3), JCC(4), JCC(5), JCC(6), JCC(7), JCC(8), JCC(9),
	JCC(10), JCC(11), JCC(12), JCC(13), JCC(14), JCC(15),
	{ { 0x2e, 0x74 }, 3, 1 }, { { 0x3e, 0x75 }, 3, 1 },	/* hints */
	{ { 0xf2, 0x74 }, 3, 1 }, { { 0xf2, 0x0f, 0x84 }, 7, 4 },	/* bnd */
	{ { 0xeb }, 2, 1 }, { { 0xe9 }, 5, 4 },
	{ { 0xf2, 0xeb }, 3, 1 }, { { 0xf2, 0xe9 }, 6, 4 }, { { 0x48, 0xe9 }, 6, 4 },
	{ { 0xe8 }, 5, 4 }, { { 0xf2, 0xe8 }, 6, 4 }, { { 0x67, 0xe8 }, 6, 4 },
	{ { 0x66, 0x48, 0xe8 }, 7, 4 },
	{ { 0xe0 }, 2, 1 }, { { 0xe1 }, 2, 1 }, { { 0xe2 }, 2, 1 }, { { 0xe3 }, 2, 1 },
	{ { 0x67, 0xe0 }, 3, 1 }, { { 0x67, 0xe1 }, 3, 1 }, { { 0x67, 0xe2 }, 3, 1 },
	{ { 0x67, 0xe3 }, 3, 1 },
	{ { 0xc3 }, 1, 0 }, { { 0xf3, 0xc3 }, 2, 0 }, { { 0xf2, 0xc3 }, 2, 0 },
	{ { 0xc2, 0x10, 0 }, 3, 0 },
	{ { 0xff, 0xe0 }, 2, 0 }, { { 0x3e, 0xff, 0xe0 }, 3, 0 },	/* notrack */
	{ { 0x41, 0xff, 0xd3 }, 3, 0 }, { { 0xff, 0x24, 0x24 }, 3, 0 },
	{ { 0xff, 0x14, 0x24 }, 3, 0 }, { { 0xff, 0x54, 0x24, 0x10 }, 4, 0 },
};

static uint64_t target_of(const struct pair *p, unsigned int rel)
{
	int32_t d = 0;

	memcpy(&d, p->code + p->len - rel, rel);
	return p->at + p->len + (uint64_t)(int64_t)(rel == 1 ? (int8_t)d : d);
}

/* As the processor would find it: a displacement, and a place from which it is moved. */
static void make_branch(struct pair *p, const struct branch *b)
{
	uint64_t d = next_random(&seed);

	*p = (struct pair){ .len = b->len };
	memcpy(p->code, b->code, b->len);
	if (b->rel == 1)
		p->code[b->len - 1] = (unsigned char)(d % 120 + 4);
	if (b->rel == 4) {
		d = TARGET - ORIGINAL + d % PAGE;
		memcpy(p->code + b->len - 4, &d, 4);
	}
}

/* What is known of an instruction when it is moved. */
static const struct fl_insn *decoded(const unsigned char *code, size_t len)
{
	static struct fl_insn i;
	unsigned char window[32] = { 0 };

	memcpy(window, code, len);
	fl_arch_decode_flow(&i, window, sizeof window, 0);
	assert_int_equal(i.len, len);
	return &i;
}

static void branches_go_where_they_went(void **state)
{
	size_t wrong = 0, n = 0;

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(branches) * STATES; k++) {
		const struct branch *b = &branches[k / STATES];
		struct pair p;

		make_branch(&p, b);
		p.at = put_code(ORIGINAL, p.code, p.len);
		p.to = MOVED + 64 + next_random(&seed) % (PAGE - 128);
		p.n = fl_arch_move(p.moved, p.to, p.code, decoded(p.code, p.len), p.at,
				   b->rel ? target_of(&p, b->rel) : 0);
		assert_int_equal(fl_arch_moved(p.code, decoded(p.code, p.len)).in_long, p.n);
		put_at(p.to, p.moved, p.n);
		p.next = p.to + p.n;
		n++;
		if (!p.n || compare_once(&p)) {
			show(&p, "branch");
			wrong++;
		}
	}
	printf("move: %zu branches, each from a place of its own | wrong %zu\n", n, wrong);
	assert_int_equal(wrong, 0);
}

/* The short form is taken as the original is; the opposite is taken if it is not. */
static void short_forms_and_opposites_agree(void **state)
{
	enum { DISTANCE = 77 };
	size_t wrong = 0, shorts = 0, opposites = 0;

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(branches) * STATES; k++) {
		const struct branch *b = &branches[k / STATES];
		struct pair p;

		make_branch(&p, b);
		p.at = put_code(ORIGINAL, p.code, p.len);
		p.target = b->rel ? target_of(&p, b->rel) : 0;
		p.to = MOVED + 256 + next_random(&seed) % (PAGE - 512);
		p.there = p.to - DISTANCE;
		p.n = fl_arch_move_short(p.moved, p.to, p.code,
					 decoded(p.code, p.len), p.there);
		assert_int_equal(fl_arch_moved(p.code, decoded(p.code, p.len)).in_short, p.n);
		p.next = p.to + p.n;
		put_at(p.to, p.moved, p.n);
		shorts += p.n != 0;
		wrong += p.n > p.len || (p.n && compare_once(&p) != 0);
		p.n = fl_arch_put_skip(p.moved, p.code, decoded(p.code, p.len), DISTANCE,
				       FL_PAST_SHORT);
		p.there = p.to + p.n;		/* what may be skipped */
		p.next = p.there + DISTANCE;
		put_at(p.to, p.moved, p.n);
		opposites += p.n != 0;
		wrong += p.n && compare_once(&p) != 0;
	}
	printf("move: %zu short, %zu opposite | wrong %zu\n", shorts, opposites, wrong);
	assert_int_equal(wrong, 0);
	assert_int_equal(shorts, (16 * 2 + 4 + 5 + 8) * STATES);
	assert_int_equal(opposites, (16 * 2 + 4 + 8) * STATES);
}

/* ---- operands relative to the instruction pointer -------------------------------------- */

static struct form {
	unsigned char code[16];
	uint8_t len, operand;
} forms[MAX_FORMS];
static size_t n_forms, n_files;
static ZydisDecoder zydis;

static void note_form(const unsigned char *p, size_t len, size_t operand)
{
	struct form f = { .len = (uint8_t)len, .operand = (uint8_t)operand };

	memcpy(f.code, p, len);
	memset(f.code + operand, 0, 4);
	for (size_t k = 0; k < n_forms; k++)
		if (!memcmp(&forms[k], &f, sizeof f))
			return;
	if (n_forms < MAX_FORMS)
		forms[n_forms++] = f;
}

static void gather_text(const unsigned char *p, size_t n)
{
	while (n) {
		ZydisDecodedInstruction z;
		size_t step = 1;

		if (ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&zydis, NULL, p, n, &z))) {
			step = z.length;
			if ((z.attributes & ZYDIS_ATTRIB_HAS_MODRM) && z.raw.modrm.mod == 0 &&
			    z.raw.modrm.rm == 5)
				note_form(p, z.length, z.raw.disp.offset);
		}
		p += step;
		n -= step;
	}
}

static void gather_file(const char *path)
{
	int fd = open(path, O_RDONLY);
	const Elf64_Phdr *ph;
	struct stat st;
	unsigned char *b;

	if (fd < 0 || fstat(fd, &st))
		return;
	b = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(b, MAP_FAILED);
	ph = (const void *)(b + ((const Elf64_Ehdr *)b)->e_phoff);
	for (int k = 0; k < ((const Elf64_Ehdr *)b)->e_phnum; k++)
		if (ph[k].p_type == PT_LOAD && (ph[k].p_flags & PF_X))
			gather_text(b + ph[k].p_offset, ph[k].p_filesz);
	n_files++;
	munmap(b, (size_t)st.st_size);
	close(fd);
}

/* At a place of its own, its operand in the middle of the data. */
static void make_form(struct pair *p, const struct form *f)
{
	int32_t d;

	*p = (struct pair){ .len = f->len };
	memcpy(p->code, f->code, f->len);
	p->at = ORIGINAL + 64 + next_random(&seed) % (PAGE - 128);
	d = (int32_t)((DATA + PAGE / 2 + next_random(&seed) % 16 * 64) - (p->at + f->len));
	memcpy(p->code + f->operand, &d, 4);
	put_at(p->at, p->code, p->len);
	p->to = MOVED + 64 + next_random(&seed) % (PAGE - 128);
	p->n = fl_arch_move(p->moved, p->to, p->code, decoded(p->code, p->len),
			    p->at, 0);
	put_at(p->to, p->moved, p->n);
	p->next = p->to + p->n;
}

/* Does Zydis find the operand where it was? */
static bool is_same_operand(const struct pair *p)
{
	ZydisDecodedInstruction z[2];
	ZydisDecodedOperand op[2][ZYDIS_MAX_OPERAND_COUNT];
	struct fl_insn ours;

	fl_arch_decode(&ours, p->code, p->len, p->at);
	if (p->n != p->len ||
	    !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&zydis, p->code, p->len, &z[0], op[0])) ||
	    !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&zydis, p->moved, p->n, &z[1], op[1])))
		return false;
	return z[0].mnemonic == z[1].mnemonic && z[0].raw.disp.offset == z[1].raw.disp.offset &&
	       p->at + (uint64_t)z[0].raw.disp.value == p->to + (uint64_t)z[1].raw.disp.value &&
	       ours.operand_at == z[0].raw.disp.offset;
}

static void operands_stay_where_they_were(void **state)
{
	size_t run = 0, operand = 0, effect = 0;

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(files); k++)
		gather_file(files[k]);
	for (size_t k = 0; k < n_forms; k++) {
		struct pair p;
		int r;

		make_form(&p, &forms[k]);
		if (!is_same_operand(&p)) {
			show(&p, "operand");
			operand++;
			continue;
		}
		r = compare(&p);
		if (r < 0)
			show(&p, "effect");
		run += r <= 0;
		effect += r < 0;
	}
	printf("move: %zu forms of %zu files, %zu run | operand %zu effect %zu\n", n_forms,
	       n_files, run, operand, effect);
	assert_true(run >= WANTED_FORMS);
	assert_int_equal(operand + effect, 0);
}

static void what_is_out_of_reach_is_refused(void **state)
{
	static const unsigned char jmp[] = { 0xeb, 0 }, lea[] = { 0x48, 0x8d, 5, 0, 0, 0, 0 };
	static const unsigned char add[] = { 1, 0xc8 };
	static const unsigned char long_jcc[] = {
		0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x74, 0
	};
	const unsigned char *jcc = long_jcc + 10;
	uintptr_t far = (uintptr_t)ORIGINAL + (1ull << 32);
	unsigned char out[FL_ARCH_MOVED_MAX];

	(void)state;
	assert_int_equal(fl_arch_move(out, far, jmp, decoded(jmp, 2), ORIGINAL, ORIGINAL), 0);
	assert_int_equal(fl_arch_move(out, far, lea, decoded(lea, 7), ORIGINAL, 0), 0);
	assert_int_equal(fl_arch_move(out, far, add, decoded(add, 2), ORIGINAL, 0), 2);
	assert_int_equal(fl_arch_move(out, MOVED, long_jcc, decoded(long_jcc, 12), ORIGINAL,
				      ORIGINAL), 0);
	assert_int_equal(fl_arch_moved(long_jcc, decoded(long_jcc, 12)).in_long, 0);
	assert_int_equal(fl_arch_move_short(out, MOVED, jmp, decoded(jmp, 2), MOVED + 130), 0);
	assert_int_equal(fl_arch_move_short(out, MOVED, jmp, decoded(jmp, 2), MOVED + 129), 2);
	assert_int_equal(fl_arch_move_short(out, MOVED, jmp, decoded(jmp, 2), MOVED - 127), 0);
	assert_int_equal(fl_arch_put_branch(out, FL_BRANCH_CALL, MOVED, far), 0);
	assert_int_equal(fl_arch_put_skip(out, jcc, decoded(jcc, 2), 128,
					  FL_PAST_SHORT), 0);
}

static int open_emulator(void **state)
{
	(void)state;
	ZydisDecoderInit(&zydis, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	NEED(uc_open(UC_ARCH_X86, UC_MODE_64, &uc));
	NEED(uc_mem_map(uc, ORIGINAL, PAGE, UC_PROT_ALL));
	NEED(uc_mem_map(uc, MOVED, PAGE, UC_PROT_ALL));
	NEED(uc_mem_map(uc, DATA, PAGE, UC_PROT_READ | UC_PROT_WRITE));
	NEED(uc_mem_map(uc, STACK, PAGE, UC_PROT_READ | UC_PROT_WRITE));
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(branches_go_where_they_went),
		cmocka_unit_test(short_forms_and_opposites_agree),
		cmocka_unit_test(operands_stay_where_they_were),
		cmocka_unit_test(what_is_out_of_reach_is_refused),
	};

	return cmocka_run_group_tests(tests, open_emulator, NULL);
}
