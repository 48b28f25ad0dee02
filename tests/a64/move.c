/*
 * move.c - what was moved does what it did: from random states in Unicorn, with the same
 * registers, flags, vector registers and memory behind it. Instructions that know where they
 * stand, each form by itself; and windows of a C library's code as it is.
 *
 *	a64: 1664 forms moved, 1600 run | wrong 0
 *	a64: 6000 windows of 27311 instructions, 5712 run | refused 0 wrong 0
 *
 * FLICK_TORTURE=long takes twenty times as many.
 * timeout: 900
 */
#include "a64.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "arch/aarch64/decode.h"
#include "arch/aarch64/emit.h"
#include "arch/arch.h"
#include "emulator.h"

enum { SHOWN = 10, WINDOW = 8,
       NEAR = 100 << 18,		/* words that a branch can be moved */
       ADRP = (int)0x90000000 };

static const char libc[] = "/usr/aarch64-linux-gnu/lib/libc.so.6";

static size_t shown;

/* ---- a window in two places ------------------------------------------------------- */

struct pair {
	uint32_t code[WINDOW];
	unsigned char moved[WINDOW * FL_ARCH_MOVED_MAX];
	size_t n;			/* words of the one, ... */
	size_t bytes;			/* ... bytes of the other */
	uint64_t at, to;
};

/* Move each of the window. False: one cannot be. */
static bool move(struct pair *p)
{
	p->bytes = 0;
	for (size_t k = 0; k < p->n; k++) {
		const unsigned char *code = (const unsigned char *)&p->code[k];
		uintptr_t at = p->at + 4 * k;
		struct fl_insn i;
		size_t n;

		fl_arch_decode_flow(&i, code, 4, at);
		n = fl_arch_move(p->moved + p->bytes, p->to + p->bytes, code, &i, at, i.target);
		if (!n)
			return false;
		p->bytes += n;
	}
	put_code(p->at, p->code, 4 * p->n);
	put_code(p->to, p->moved, p->bytes);
	return true;
}

static void make_alike(const struct pair *p, struct state *s)
{
	if (s->pc == p->to + p->bytes)
		s->pc = p->at + 4 * p->n;
	if (s->reg[A64_LINK] == p->to + p->bytes)	/* a call at its end */
		s->reg[A64_LINK] = p->at + 4 * p->n;
}

/* 1: not run, 0: the same, -1: not. */
static int compare_once(const struct pair *p)
{
	struct state from, s[2];
	uint64_t sum[2];

	fill_state(&from);
	memory.seed = next_random(&seed);
	if (!run(p->at, p->at + 4 * p->n, &s[0], &from))
		return 1;
	sum[0] = sum_memory(s[0].sp);
	if (!run(p->to, p->to + p->bytes, &s[1], &from))
		return -1;
	make_alike(p, &s[1]);
	sum[1] = sum_memory(s[1].sp);
	return memcmp(&s[0], &s[1], sizeof s[0]) || sum[0] != sum[1] ? -1 : 0;
}

static void show(const struct pair *p, const char *what)
{
	if (shown++ >= SHOWN)
		return;
	printf("%s at %#lx to %#lx:", what, (unsigned long)p->at, (unsigned long)p->to);
	for (size_t k = 0; k < p->n; k++)
		printf(" %08x", p->code[k]);
	printf(" ->");
	for (size_t k = 0; k < p->bytes; k += 4)
		printf(" %08x", a64_word(p->moved + k));
	printf("\n");
}

/* ---- each form ---------------------------------------------------------------------- */

/* Bits that may be any; the distance is a field of its own. */
static const struct { uint32_t word, any; uint8_t bits, at; } forms[] = {
	{ 0x14000000, 0, 26, 0 }, { 0x94000000, 0, 26, 0 },
	{ 0x54000000, 0x0000000f, 19, 5 },			/* b.cond */
	{ 0x34000000, 0x8100001f, 19, 5 },			/* cbz */
	{ 0x36000000, 0x81f8001f, 14, 5 },			/* tbz */
	{ 0x10000000, 0x6000001f, 19, 5 },			/* adr */
	{ ADRP, 0x6000001f, 19, 5 },			/* adrp */
	{ 0x18000000, 0x4000000f, 19, 5 },			/* ldr w, x */
	{ 0x98000000, 0x0000000f, 19, 5 },			/* ldrsw */
	{ 0xd8000000, 0x0000001f, 19, 5 },			/* prfm */
	{ 0x1c000000, 0x4000001f, 19, 5 },			/* ldr s, d */
	{ 0x9c000000, 0x0000001f, 19, 5 },			/* ldr q */
	{ 0x91000000, 0x003fffe0, 0, 0 },			/* add */
};

static uint64_t place(uint64_t area)
{
	return area + 64 + next_random(&seed) % (PAGE - 64) / 4 * 4;
}

/* A distance that leaves the pages of code, and is what the field can hold. */
static void make_form(struct pair *p, size_t k)
{
	uint32_t field = (uint32_t)(next_random(&seed) >> 20);

	if (forms[k].bits) {
		field &= (1u << forms[k].bits) - 1;
		if (((field + 2048) & ((1u << forms[k].bits) - 1)) < 4096)
			field ^= 1u << (forms[k].bits - 2);
		if (forms[k].bits == 26)	/* as far as it can still be moved */
			field = (field & ~(7u << 23)) | (field >> 25) * (7u << 23);
		if (forms[k].word == (uint32_t)ADRP)
			field = (field & ~(3u << 17)) | (field >> 18) * (3u << 17);
	}
	p->n = 1;
	p->at = place(ORIGINAL);
	p->to = place(MOVED);
	p->code[0] = forms[k].word | ((uint32_t)next_random(&seed) & forms[k].any) |
		     (forms[k].bits ? field << forms[k].at : 0);
}

static void each_form_does_what_it_did(void **state)
{
	size_t n = 0, ran = 0, wrong = 0, each = is_torture() ? 2560 : 128;

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(forms) * each; k++) {
		struct pair p;
		int r;

		make_form(&p, k / each);
		n++;
		if (!move(&p)) {
			show(&p, "refused");
			wrong++;
			continue;
		}
		r = compare_once(&p);
		ran += r <= 0;
		wrong += r < 0;
		if (r < 0)
			show(&p, "wrong");
	}
	printf("a64: %zu forms moved, %zu run | wrong %zu\n", n, ran, wrong);
	assert_true(ran > n * 9 / 10);
	assert_int_equal(wrong, 0);
}

/* The short form goes where the branch went if it went; the opposite if it did not. */
static void short_forms_and_opposites_agree(void **state)
{
	enum { DISTANCE = 68, FIRST = 2, LAST = 4, EACH = 200 };
	size_t wrong = 0;

	(void)state;
	for (size_t k = FIRST * EACH; k < (LAST + 1) * EACH; k++) {
		struct state from, s[3];
		struct fl_insn i;
		struct pair p, q;
		bool taken;

		make_form(&p, k / EACH);
		assert_true(move(&p));
		fl_arch_decode_flow(&i, (const unsigned char *)p.code, 4, p.at);
		fill_state(&from);
		assert_true(run(p.at, p.at + 4, &s[0], &from));
		taken = s[0].pc == i.target;
		q = p;
		q.bytes = fl_arch_move_short(q.moved, q.to, (const unsigned char *)p.code, &i,
					     q.to + 2 * PAGE);
		put_code(q.to, q.moved, 4);
		assert_true(run(q.to, q.to + 4, &s[1], &from));
		q.bytes += fl_arch_put_skip(q.moved, (const unsigned char *)p.code, &i,
					    DISTANCE, FL_PAST_SHORT);
		put_code(q.to, q.moved, 4);
		uc_emu_start(uc, q.to, 0, 0, 1);
		store_state(&s[2]);
		wrong += q.bytes != 8 || s[1].pc != (taken ? q.to + 2 * PAGE : q.to + 4) ||
			 s[2].pc != (taken ? q.to + 4 : q.to + 4 + DISTANCE);
	}
	assert_int_equal(wrong, 0);
}

/* ---- windows of a library ---------------------------------------------------------- */

/* Straight on: nothing leads into the window's middle, and nothing but its last leaves. */
static bool is_window(const uint32_t *code, size_t n)
{
	for (size_t k = 0; k < n; k++) {
		int64_t words;
		struct a64 a;

		a64_read(&a, code[k]);
		words = a64_distance(code[k], a.kind) / 4;
		if (a.kind == A64_NONE || a.kind == A64_SVC || a.kind == A64_STOP ||
		    a.kind == A64_STX)	/* the emulator remembers who loaded last */
			return false;
		if (k + 1 < n && (a.kind == A64_BL || a.kind == A64_BLR))
			return false;
		if ((a.kind == A64_B || a.kind == A64_BL) && (words < -NEAR || words > NEAR))
			return false;
		if (a.kind == A64_ADRP && words >> 28 != words >> 31)
			return false;
		if (a.kind == A64_LITERAL && a64_rd(code[k]) == A64_ZERO)
			return false;
		if (a.kind >= A64_B && a.kind <= A64_TBZ && words + (int64_t)k >= -1024 &&
		    words + (int64_t)k < 1024)
			return false;	/* of the pages of either */
	}
	return true;
}

static void windows_do_what_they_did(void **state)
{
	size_t wanted = is_torture() ? 120000 : 6000, n = 0, ran = 0, refused = 0, wrong = 0;
	size_t insns = 0;
	int fd = open(libc, O_RDONLY);
	const unsigned char *b;
	const Elf64_Phdr *ph;
	struct stat st;

	(void)state;
	if (fd < 0)
		skip();
	assert_int_equal(fstat(fd, &st), 0);
	b = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(b, MAP_FAILED);
	ph = (const void *)(b + ((const Elf64_Ehdr *)b)->e_phoff);
	while (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X))
		ph++;
	for (shown = 0; n < wanted; n++) {
		size_t at = next_random(&seed) % (ph->p_filesz / 4 - WINDOW);
		const uint32_t *code = (const void *)(b + ph->p_offset + 4 * at);
		struct pair p = { .n = 1 + next_random(&seed) % WINDOW };
		int r;

		if (!is_window(code, p.n)) {
			n--;
			continue;
		}
		memcpy(p.code, code, 4 * p.n);
		p.at = place(ORIGINAL);
		p.to = place(MOVED);
		insns += p.n;
		if (!move(&p)) {
			show(&p, "refused");
			refused++;
			continue;
		}
		r = compare_once(&p);
		ran += r <= 0;
		wrong += r < 0;
		if (r < 0)
			show(&p, "wrong");
	}
	printf("a64: %zu windows of %zu instructions, %zu run | refused %zu wrong %zu\n", n,
	       insns, ran, refused, wrong);
	assert_true(ran > n * 8 / 10);
	assert_int_equal(refused + wrong, 0);
	munmap((void *)b, (size_t)st.st_size);
	close(fd);
}

/* ---- indirect jumps ---------------------------------------------------------------- */

enum { TABLES = 0x30000000, PARTS = 3, PART_BYTES = 256 };

static uintptr_t start_of(size_t part)
{
	return 0x555500000000 + 0x10000 * part;
}

/* Through `reg`, into the instruction at `into` of a part, which lands at MOVED + PAGE; or
 * elsewhere, then behind the look-up. Everything else is as it was. */
static bool looks_up(unsigned int reg, uintptr_t into, const struct fl_lookup *l, size_t n,
		     bool is_inside)
{
	struct state from, s;
	uint64_t sum;

	fill_state(&from);
	memory.seed = next_random(&seed);
	from.reg[reg] = into;
	forget_memory();
	load_state(&from);
	uc_emu_start(uc, l->to, l->to + n, 0, MOST_STEPS);
	store_state(&s);
	sum = sum_memory(s.sp);
	if (s.pc != (is_inside ? MOVED + 2 * PAGE + 64 : l->to + n))
		return false;
	from.pc = s.pc;
	return !memcmp(&from, &s, sizeof s) && !sum;
}

static size_t make_lookup(struct fl_lookup *l, unsigned int reg, unsigned char *out)
{
	static uint32_t jump;

	jump = a64_br(reg);
	*l = (struct fl_lookup){ .to = MOVED + 64, .code = (unsigned char *)&jump, .len = 4,
				 .n_parts = PARTS };
	for (size_t k = 0; k < PARTS; k++)
		l->part[k] = (struct fl_looked){ start_of(k), TABLES + PAGE * k, PART_BYTES };
	return fl_arch_put_lookup(out, l);
}

static void indirect_jumps_are_looked_up(void **state)
{
	unsigned char out[FL_ARCH_LOOKUP_MAX + FL_ARCH_LANDED_BYTES + 4];
	size_t wrong = 0, land = MOVED + PAGE;

	(void)state;
	NEED(uc_mem_map(uc, TABLES, PARTS * PAGE, UC_PROT_READ));
	for (unsigned int k = 0; k < 31 * PARTS * 4; k++) {
		unsigned int reg = k / 4 % 31, part = k / 4 / 31;
		int32_t entry = (int32_t)(land - (TABLES + PAGE * part));
		struct fl_lookup l;
		size_t n = make_lookup(&l, reg, out);
		static const int at[] = { 0, PART_BYTES - 4, PART_BYTES, -4 };
		bool is_inside = k % 4 < 2;

		assert_true(n && n <= FL_ARCH_LOOKUP_MAX);
		put_code(l.to, out, n);
		assert_int_equal(fl_arch_put_landing(out, land, MOVED + 2 * PAGE + 64),
				 FL_ARCH_LANDED_BYTES);
		NEED(uc_mem_write(uc, land, out, FL_ARCH_LANDED_BYTES));
		NEED(uc_mem_write(uc, TABLES + PAGE * part + (uint64_t)(4 * at[k % 2]),
				  &entry, 4));
		wrong += !looks_up(reg, start_of(part) + (uintptr_t)at[k % 4], &l, n,
				   is_inside);
		/* where no instruction begins */
		wrong += !looks_up(reg, start_of(part) + 8, &l, n, false);
	}
	assert_int_equal(wrong, 0);
	assert_int_equal(make_lookup(&(struct fl_lookup){ 0 }, 31, out), 0);
	NEED(uc_mem_unmap(uc, TABLES, PARTS * PAGE));
}

/* ---- refusals ----------------------------------------------------------------------- */

static size_t moved_to(uint32_t word, uintptr_t to)
{
	unsigned char out[FL_ARCH_MOVED_MAX];
	struct fl_insn i;

	fl_arch_decode_flow(&i, (const unsigned char *)&word, 4, ORIGINAL);
	return fl_arch_move(out, to, (const unsigned char *)&word, &i, ORIGINAL, i.target);
}

static void what_cannot_be_moved_is_refused(void **state)
{
	uintptr_t far = (uintptr_t)ORIGINAL + (1ull << 27), beyond = far + (1ull << 33);

	(void)state;
	assert_int_equal(moved_to(0x14000000, far), 4);
	assert_int_equal(moved_to(0x14000000, far + 4), 0);
	assert_int_equal(moved_to(0x94000000, ORIGINAL - (1ull << 27)), 0);
	assert_int_equal(moved_to(0x54000000, far + 8), 0);
	assert_int_equal(moved_to(0x54000000, far - 4), 8);
	assert_int_equal(moved_to(0x10000000, beyond), 0);	/* adr */
	assert_int_equal(moved_to(0x90000000, beyond), 0);	/* adrp */
	assert_int_equal(moved_to(0x58000000, beyond), 0);	/* ldr literal */
	assert_int_equal(moved_to(0x5800001f, MOVED), 0);	/* ... into xzr */
	assert_int_equal(moved_to(0xd8000000, beyond), 4);	/* prfm */
	assert_int_equal(moved_to(0x8b000000, beyond), 4);
	assert_int_equal(moved_to(0xf380001f, MOVED), 0);	/* autiasppc */
	assert_int_equal(moved_to(0xdac1a3fe, MOVED), 0);	/* paciasppc */
	assert_int_equal(moved_to(0x03000000, MOVED), 0);	/* no instruction */
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_cannot_be_moved_is_refused),
		cmocka_unit_test(each_form_does_what_it_did),
		cmocka_unit_test(short_forms_and_opposites_agree),
		cmocka_unit_test(indirect_jumps_are_looked_up),
		cmocka_unit_test(windows_do_what_they_did),
	};

	return cmocka_run_group_tests(tests, open_emulator, NULL);
}
