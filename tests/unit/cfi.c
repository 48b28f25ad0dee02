/*
 * unit/cfi: tables for unwinding that are cut, or lie: what of an entry is understood, and
 * what is not; each instruction's operands; pointers in each encoding. Nothing behind the end
 * is read: there is no memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "obj/obj.h"

enum { PAGE = 4096 };

static unsigned char *end;		/* of memory */
static Elf64_Phdr all = { .p_type = PT_LOAD, .p_flags = PF_R };
static struct fl_module m = { .ph = &all, .n_ph = 1, .path = "" };

/* Memory that ends where `n` bytes end, of which the module is. */
static unsigned char *put(const void *bytes, size_t n)
{
	m.bias = m.lo = (uintptr_t)end - n;
	m.hi = (uintptr_t)end;
	all.p_memsz = n;
	return memcpy(end - n, bytes, n);
}

static int make_memory(void **state)
{
	unsigned char *p = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_true(p != MAP_FAILED);
	assert_int_equal(mprotect(p + PAGE, PAGE, PROT_NONE), 0);
	end = p + PAGE;
	return 0;
}

/* ---- entries ----------------------------------------------------------------------- */

/* A CIE, whose augmentation and data are given, and an FDE with 8 bytes of data. */
struct made {
	unsigned char bytes[256];
	size_t n, fde;
};

static void add(struct made *e, const void *bytes, size_t n)
{
	memcpy(e->bytes + e->n, bytes, n);
	e->n += n;
}

static void add32(struct made *e, uint32_t v)
{
	add(e, &v, sizeof(v));
}

static void set_length(struct made *e, size_t at)
{
	uint32_t n = (uint32_t)(e->n - at - 4);

	memcpy(e->bytes + at, &n, sizeof(n));
}

#define VERSION 8			/* where these stand in what is made */
#define LETTERS 9

/* Code is counted in 2, data in -8; the return address is in register 16. */
static struct made make(const char *letters, const void *data, size_t n)
{
	static const unsigned char def_cfa[] = { 0x0c, 7, 8 };
	struct made e = { 0 };

	add32(&e, 0);
	add32(&e, 0);
	add(&e, "\1", 1);
	add(&e, letters, strlen(letters) + 1);
	add(&e, "\2\x78\x10", 3);
	if (*letters == 'z') {
		add(&e, &(uint8_t){ (uint8_t)n }, 1);
		add(&e, data, n);
	}
	add(&e, def_cfa, sizeof(def_cfa));
	set_length(&e, 0);
	e.fde = e.n;
	add32(&e, 0);
	add32(&e, (uint32_t)e.fde + 4);
	return e;
}

/* The usual one: pointers are distances of 4 bytes, and there is a table of exceptions. */
static struct made make_usual(void)
{
	struct made e = make("zPLR", "\x9b\x40\0\0\0\x1b\x1b", 7);

	add32(&e, 0x1000);
	add32(&e, 0x20);
	add(&e, "\4\0\2\0\0" "\x0e\x10", 7);
	set_length(&e, e.fde);
	return e;
}

static bool is_read(struct fl_fde *f, const struct made *e)
{
	unsigned char *p = put(e->bytes, e->n);

	return fl_fde_read(f, &m, (uintptr_t)p + e->fde);
}

static bool is_understood(const struct made *e)
{
	return is_read(&(struct fl_fde){ 0 }, e);
}

static void an_entry_is_told(void **state)
{
	struct made e = make_usual();
	struct fl_fde f = { 0 };
	uintptr_t start;

	(void)state;
	assert_true(is_read(&f, &e));
	start = m.lo + e.fde + 8;
	assert_int_equal(f.start, start + 0x1000);
	assert_int_equal(f.end - f.start, 0x20);
	assert_int_equal(f.lsda, start + 9 + 0x200);
	assert_int_equal(f.program.end - f.program.p, 2);
	assert_int_equal(f.cie.at, m.lo);
	assert_int_equal(f.cie.code_align, 2);
	assert_int_equal(f.cie.data_align, -8);
	assert_int_equal(f.cie.column, 16);
	assert_int_equal(f.cie.personality, m.lo + LETTERS + 5 + 3 + 1 + 1 + 0x40);
	assert_int_equal(f.cie.personality_how, FL_PE_INDIRECT);
	assert_int_equal(f.cie.program.end - f.cie.program.p, 3);
	assert_false(f.cie.is_signal || f.cie.has_other_key);
}

/* By memory, or by its own length: but for the program, which is any bytes. */
static void an_entry_that_is_cut_is_not_read(void **state)
{
	struct made e = make_usual(), cut;

	(void)state;
	for (size_t n = e.fde; n < e.n; n++) {
		cut = e;
		cut.n = n;
		assert_false(is_understood(&cut));
		if (n >= e.fde + 4)
			set_length(&cut, e.fde);
		assert_int_equal(is_understood(&cut), n >= e.n - 2);
	}
	assert_true(is_understood(&e));
}

static void a_length_beyond_the_end_is_not_read(void **state)
{
	static const size_t bytes[] = { 3, LETTERS + 5 + 3 };	/* of a CIE, of its data */
	struct made e = make_usual();

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bytes); i++) {
		struct made lie = e;

		lie.bytes[bytes[i]] = 0x7f;
		assert_false(is_understood(&lie));
	}
	e.bytes[e.fde + 16] = 0x7f;		/* of the FDE's data */
	assert_false(is_understood(&e));
}

/* There is as much memory as such a length would be. */
static void a_length_of_64_bits_is_not_read(void **state)
{
	static const uint32_t longs[] = { 0xffffffff, 0xfffffff0 };
	struct made e = make_usual();
	struct fl_fde f = { 0 };
	unsigned char *p;

	(void)state;
	all.p_memsz = 5ull << 30;
	p = mmap(NULL, all.p_memsz, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		skip();
	m.bias = m.lo = (uintptr_t)p;
	m.hi = m.lo + all.p_memsz;
	memcpy(p, e.bytes, e.n);
	assert_true(fl_fde_read(&f, &m, m.lo + e.fde));
	for (size_t i = 0; i < ARRAY_LEN(longs); i++) {
		memcpy(p + e.fde, &longs[i], 4);
		assert_false(fl_fde_read(&f, &m, m.lo + e.fde));
	}
	munmap(p, all.p_memsz);
}

static void an_end_is_no_entry(void **state)
{
	struct made e = make_usual(), cut = e;

	(void)state;
	memset(cut.bytes + e.fde, 0, 4);
	assert_false(is_understood(&cut));
	cut = e;
	memset(cut.bytes, 0, 4);
	assert_false(is_understood(&cut));
	cut = e;
	memset(cut.bytes + e.fde + 4, 0, 4);	/* it is a CIE */
	assert_false(is_understood(&cut));
	cut = e;
	cut.bytes[4] = 1;			/* what it leads to is none */
	assert_false(is_understood(&cut));
}

/* libdw knows version 4, whose numbers stand behind two more bytes. */
static void other_versions_are_not_read(void **state)
{
	struct made e = make_usual();

	(void)state;
	for (int version = 0; version < 256; version++) {
		e.bytes[VERSION] = (unsigned char)version;
		assert_int_equal(is_understood(&e), version == 1 || version == 3);
	}
}

/* Of version 3 a number, which goes on behind it. */
static void the_column_of_version_1_is_a_byte(void **state)
{
	struct made e = make_usual();
	struct fl_fde f = { 0 };

	(void)state;
	e.bytes[LETTERS + 5 + 2] = 0x90;
	assert_true(is_read(&f, &e));
	assert_int_equal(f.cie.column, 0x90);
	e.bytes[VERSION] = 3;
	assert_false(is_understood(&e));
}

static bool are_letters_read(const char *letters, struct fl_fde *f)
{
	struct made e = make(letters, "\x1b\x1b\x1b\x1b\x1b\x1b\x1b\x1b\x1b\x1b", 10);

	add32(&e, 0x1000);
	add32(&e, 0x20);
	add32(&e, 0);
	set_length(&e, e.fde);
	*f = (struct fl_fde){ 0 };
	return is_read(f, &e);
}

static void letters_that_nobody_knows_are_not_read(void **state)
{
	struct fl_fde f;

	(void)state;
	for (int c = 1; c < 128; c++)
		assert_int_equal(are_letters_read((char[]){ 'z', 'R', (char)c, 0 }, &f),
				 !!strchr("RLPSB", c));
	assert_false(are_letters_read("eh", &f));
	assert_false(are_letters_read("R", &f));
	assert_true(are_letters_read("zRSSSSSS", &f));
	assert_true(f.cie.is_signal && !f.cie.has_other_key);
	assert_false(are_letters_read("zRSSSSSSS", &f));
	assert_true(are_letters_read("zRB", &f));
	assert_true(f.cie.has_other_key && !f.cie.is_signal);
}

/* Without letters there is no data, and an address is one. */
static void an_entry_without_letters_is_read(void **state)
{
	struct made e = make("", NULL, 0);
	struct fl_fde f = { 0 };

	(void)state;
	add(&e, &(uint64_t){ 0x401000 }, 8);
	add(&e, &(uint64_t){ 0x10 }, 8);
	add(&e, "\x0e\x10", 2);
	set_length(&e, e.fde);
	assert_true(is_read(&f, &e));
	assert_int_equal(f.start, 0x401000);
	assert_int_equal(f.end, 0x401010);
	assert_int_equal(f.lsda, 0);
	assert_int_equal(f.program.end - f.program.p, 2);
}

static void a_table_of_exceptions_may_be_unknown(void **state)
{
	struct made e = make_usual(), odd = e;
	struct fl_fde f = { 0 };

	(void)state;
	odd.bytes[LETTERS + 5 + 3 + 1 + 5] = 0x9b;	/* there its address stands */
	assert_true(is_read(&f, &odd));
	assert_int_equal(f.lsda, FL_OBJ_UNKNOWN);
	e.bytes[e.fde + 16] = 2;			/* half of it */
	f = (struct fl_fde){ 0 };
	assert_true(is_read(&f, &e));
	assert_int_equal(f.lsda, FL_OBJ_UNKNOWN);
}

/* Two entries by turns: what one has of its CIE the other has not. */
static void a_cie_is_that_of_its_entry(void **state)
{
	struct made e = make_usual(), other = make("zRS", "\x1b", 1);
	size_t first = e.fde, cie = e.n, second;
	struct fl_fde f = { 0 };
	uintptr_t at;

	(void)state;
	add(&e, other.bytes, other.n);
	second = cie + other.fde;
	add32(&e, 0x3000);
	add32(&e, 0x40);
	add(&e, "\0", 1);
	set_length(&e, second);
	at = (uintptr_t)put(e.bytes, e.n);
	for (int i = 0; i < 4; i++) {
		assert_true(fl_fde_read(&f, &m, at + (i % 2 ? second : first)));
		assert_int_equal(f.cie.at, at + (i % 2 ? cie : 0));
		assert_int_equal(f.cie.is_signal, i % 2);
		assert_int_equal(!f.lsda, i % 2);
	}
	memset((void *)(at + VERSION), 9, 1);
	assert_false(fl_fde_read(&f, &m, at + first));
	assert_false(fl_fde_read(&f, &m, at + first));
	assert_true(fl_fde_read(&f, &m, at + second));
}

/* There is none at 0, though nothing was read before. */
static void a_cie_stands_somewhere(void **state)
{
	struct made e = make_usual();
	struct fl_fde f = { 0 };
	uint32_t distance;
	unsigned char *p = mmap((void *)(uintptr_t)(16 * PAGE), PAGE, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	(void)state;
	if (p == MAP_FAILED)
		skip();
	add(&e, "\0\0\0\0\0\0\0", 8);		/* so that there are two addresses */
	set_length(&e, e.fde);
	memcpy(p, e.bytes, e.n);
	distance = (uint32_t)((uintptr_t)p + e.fde + 4);
	memcpy(p + e.fde + 4, &distance, 4);
	m.bias = m.lo = (uintptr_t)p;
	m.hi = m.lo + PAGE;
	all.p_memsz = PAGE;
	assert_false(fl_fde_read(&f, &m, m.lo + e.fde));
	munmap(p, PAGE);
}

/* ---- pointers ---------------------------------------------------------------------- */

/* As in the file is where the loader would have moved it from. */
static void pointers_are_read_in_each_encoding(void **state)
{
	static const unsigned int bytes[16] = { 8, 1, 2, 4, 8, 0, 0, 0, 0, 1, 2, 4, 8 };
	unsigned char *p = put("\x20\0\0\0\0\0\0\0", 8);

	(void)state;
	m.laid_out = true;
	for (unsigned int how = 0; how < 256; how++) {
		struct fl_in in = fl_in_from(&m, (uintptr_t)p);
		uintptr_t is = fl_in_pointer(&in, &m, (uint8_t)how);
		unsigned int n = bytes[how & 15], base = how & 0xf0;

		assert_int_equal(in.is_bad, !n || (base && base != FL_PE_PCREL));
		assert_int_equal(is, in.is_bad ? 0 : m.lo + 0x20);
		if (n)
			assert_ptr_equal(in.p, p + n);
	}
	m.laid_out = false;
}

static void values_have_their_signs(void **state)
{
	static const struct { uint8_t how; uint64_t is; } of[] = {
		{ 0x02, 0xfffe }, { 0x0a, -2ull }, { 0x03, 0xfffffffe }, { 0x0b, -2ull },
		{ 0x01, 0x7f }, { 0x09, -1ull },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(of); i++) {
		unsigned char *p = put(of[i].how & 2 ? "\xfe\xff" : "\xff\0", 2);
		struct fl_in in;

		if (of[i].how & 1 && of[i].how & 2)
			p = put("\xfe\xff\xff\xff", 4);
		else if (of[i].how & 1)
			p = put("\x7f", 1);
		in = fl_in_from(&m, (uintptr_t)p);
		assert_int_equal(fl_in_value(&in, of[i].how), of[i].is);
		assert_false(in.is_bad);
	}
}

static void numbers_end_with_memory_and_with_ten_bytes(void **state)
{
	unsigned char ten[11];
	struct fl_in in;

	(void)state;
	memset(ten, 0xff, sizeof(ten));
	for (size_t n = 0; n <= sizeof(ten); n++) {
		in = fl_in_from(&m, (uintptr_t)put(ten, n));
		fl_in_uleb(&in);
		assert_true(in.is_bad);
	}
	ten[10] = 1;
	in = fl_in_from(&m, (uintptr_t)put(ten, 11));
	fl_in_uleb(&in);
	assert_true(in.is_bad);
	ten[9] = 1;
	in = fl_in_from(&m, (uintptr_t)put(ten, 10));
	assert_true(fl_in_uleb(&in) == UINT64_MAX);
	assert_false(in.is_bad);
}

/* ---- instructions ------------------------------------------------------------------- */

/* Of an entry whose code is counted in 2, data in -8. */
static struct fl_fde counted(void)
{
	return (struct fl_fde){ .m = &m, .cie = { .code_align = 2, .data_align = -8,
						  .pointers = FL_PE_PCREL | FL_PE_SDATA4 } };
}

static struct fl_in program(const void *bytes, size_t n)
{
	return fl_in_from(&m, (uintptr_t)put(bytes, n));
}

/* Operands are 0x11 and 0x12, of which blocks have 2 bytes. */
static const struct { unsigned char n, bytes[9], op, reg; uint64_t value; } known[] = {
	{ 1, { 0x43 }, FL_CFA_ADVANCE, 0, 6 },
	{ 2, { 0x83, 0x12 }, FL_CFA_OFFSET, 3, 0x12 },
	{ 1, { 0xc3 }, FL_CFA_RESTORE, 3, 0 },
	{ 2, { 0x02, 0x11 }, FL_CFA_ADVANCE, 0, 0x22 },
	{ 3, { 0x03, 0x11, 0x12 }, FL_CFA_ADVANCE, 0, 0x2422 },
	{ 5, { 0x04, 0x11, 0x12, 0, 1 }, FL_CFA_ADVANCE, 0, 0x2002422 },
	{ 3, { 0x05, 0x11, 0x12 }, FL_CFA_OFFSET, 0x11, 0x12 },
	{ 2, { 0x06, 0x11 }, FL_CFA_RESTORE, 0x11, 0 },
	{ 2, { 0x07, 0x11 }, FL_CFA_UNDEFINED, 0x11, 0 },
	{ 2, { 0x08, 0x11 }, FL_CFA_OTHER, 0x11, 0 },
	{ 3, { 0x09, 0x11, 0x12 }, FL_CFA_OTHER, 0x11, 0x12 },
	{ 1, { 0x0a }, FL_CFA_REMEMBER, 0, 0 },
	{ 1, { 0x0b }, FL_CFA_RESTORE_STATE, 0, 0 },
	{ 3, { 0x0c, 0x11, 0x12 }, FL_CFA_DEF, 0x11, 0x12 },
	{ 2, { 0x0d, 0x11 }, FL_CFA_DEF_REGISTER, 0x11, 0 },
	{ 2, { 0x0e, 0x12 }, FL_CFA_DEF_OFFSET, 0, 0x12 },
	{ 4, { 0x0f, 2, 1, 1 }, FL_CFA_DEF_EXPRESSION, 0, 0 },
	{ 5, { 0x10, 0x11, 2, 1, 1 }, FL_CFA_OTHER, 0x11, 0 },
	{ 3, { 0x11, 0x11, 0x7e }, FL_CFA_OFFSET, 0x11, 16 },
	{ 3, { 0x12, 0x11, 0x7e }, FL_CFA_DEF, 0x11, 16 },
	{ 2, { 0x13, 0x7e }, FL_CFA_DEF_OFFSET, 0, 16 },
	{ 3, { 0x14, 0x11, 0x12 }, FL_CFA_OTHER, 0x11, 0x12 },
	{ 3, { 0x15, 0x11, 0x7e }, FL_CFA_OTHER, 0x11, 16 },
	{ 5, { 0x16, 0x11, 2, 1, 1 }, FL_CFA_OTHER, 0x11, 0 },
	{ 1, { 0x2d }, FL_CFA_OTHER, 0, 0 },
	{ 2, { 0x2e, 0x12 }, FL_CFA_ARGS_SIZE, 0, 0x12 },
	{ 3, { 0x2f, 0x11, 0x12 }, FL_CFA_OTHER, 0x11, 0x12 },
};

static void each_instruction_has_its_operands(void **state)
{
	struct fl_fde f = counted();
	struct fl_cfi_insn i;

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(known); k++) {
		struct fl_in in = program(known[k].bytes, known[k].n);
		const unsigned char *from = in.p;

		assert_true(fl_cfi_next(&in, &f, &i));
		assert_int_equal(i.op, known[k].op);
		assert_int_equal(i.reg, known[k].reg);
		assert_int_equal(i.value, known[k].value);
		assert_ptr_equal(i.bytes, from);
		assert_ptr_equal(in.p, end);
		assert_false(fl_cfi_next(&in, &f, &i));
		assert_false(in.is_bad);
	}
}

static void an_instruction_that_is_cut_is_bad(void **state)
{
	struct fl_fde f = counted();
	struct fl_cfi_insn i;

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(known); k++)
		for (size_t n = 1; n < known[k].n; n++) {
			struct fl_in in = program(known[k].bytes, n);

			assert_false(fl_cfi_next(&in, &f, &i));
			assert_true(in.is_bad);
		}
}

static void an_instruction_that_nobody_knows_is_bad(void **state)
{
	struct fl_fde f = counted();
	struct fl_cfi_insn i;

	(void)state;
	for (int op = 2; op < 0x40; op++) {
		struct fl_in in = program((unsigned char[]){ (unsigned char)op, 0, 0, 0, 0,
							     0, 0, 0, 0, 0 }, 10);
		bool is_known = false;

		for (size_t k = 0; k < ARRAY_LEN(known); k++)
			is_known |= known[k].bytes[0] == op;
		assert_int_equal(fl_cfi_next(&in, &f, &i), is_known);
		assert_int_equal(in.is_bad, !is_known);
	}
}

static void a_place_is_told_as_entries_tell_it(void **state)
{
	struct fl_in in = program("\1\x10\0\0\0", 5);
	struct fl_fde f = counted();
	struct fl_cfi_insn i;

	(void)state;
	assert_true(fl_cfi_next(&in, &f, &i));
	assert_int_equal(i.op, FL_CFA_SET_LOC);
	assert_int_equal(i.value, (uintptr_t)end - 4 + 0x10);
}

static void what_does_nothing_is_skipped(void **state)
{
	struct fl_in in = program("\0\0\x0a\0\0\x0b\0", 7);
	struct fl_fde f = counted();
	struct fl_cfi_insn i;

	(void)state;
	assert_true(fl_cfi_next(&in, &f, &i));
	assert_int_equal(i.op, FL_CFA_REMEMBER);
	assert_ptr_equal(i.bytes + 1, in.p);
	assert_true(fl_cfi_next(&in, &f, &i));
	assert_int_equal(i.op, FL_CFA_RESTORE_STATE);
	assert_ptr_equal(i.bytes + 1, in.p);
	assert_false(fl_cfi_next(&in, &f, &i));
	assert_false(in.is_bad);
}

static void a_way_beyond_all_addresses_is_bad(void **state)
{
	struct fl_in in = program("\x42", 1);
	struct fl_fde f = counted();
	struct fl_cfi_insn i;

	(void)state;
	f.cie.code_align = UINT64_MAX;
	assert_false(fl_cfi_next(&in, &f, &i));
	assert_true(in.is_bad);
}

/* ---- where exceptions land ------------------------------------------------------------- */

/* Sites of a function of 0x40 bytes at 0x1000. False: they are not understood to the end. */
static bool read_sites(const void *bytes, size_t n, struct fl_lsda *l, struct fl_call_site *s,
		       int *found)
{
	unsigned char *p = put(bytes, n);

	*found = 0;
	if (!fl_lsda_open(l, &m, (uintptr_t)p, 0x1000, 0x1040))
		return false;
	while (fl_lsda_next(l, s))
		++*found;
	return !l->sites.is_bad;
}

static void call_sites_are_told(void **state)
{
	static const unsigned char usual[] = { 0xff, 0x9b, 0x20, 1, 8,
					       0, 8, 0, 0,  0x10, 0x30, 0x38, 3, 1, 2 };
	struct fl_call_site s;
	struct fl_lsda l;
	int n;

	(void)state;
	assert_true(read_sites(usual, sizeof(usual), &l, &s, &n));
	assert_int_equal(n, 2);
	assert_int_equal(s.from, 0x1010);
	assert_int_equal(s.to, 0x1040);
	assert_int_equal(s.pad, 0x1038);
	assert_int_equal(s.action, 3);
	assert_int_equal(l.type_how, 0x9b);
	assert_int_equal(l.types, m.lo + 3 + 0x20);
	assert_int_equal(l.actions.end - l.actions.p, 2);
	for (size_t cut = 0; cut < sizeof(usual) - 2; cut++)
		assert_false(read_sites(usual, cut, &l, &s, &n));
}

static void call_sites_that_lie_are_bad(void **state)
{
	static const struct { unsigned char bytes[8]; } of[] = {
		{ { 0xff, 0xff, 1, 4, 0x10, 0x31, 0, 0 } },	/* behind the function */
		{ { 0xff, 0xff, 1, 4, 0, 0x41, 0, 0 } },
		{ { 0xff, 0xff, 1, 3, 0, 1, 0, 0 } },		/* without an action */
		{ { 0xff, 0xff, 0x11, 4, 0, 1, 0, 0 } },	/* from where it stands */
		{ { 0xff, 0xff, 0x81, 4, 0, 1, 0, 0 } },
		{ { 0x90, 0xff, 1, 4, 0, 1, 0, 0 } },		/* where the base is told */
	};
	struct fl_call_site s;
	struct fl_lsda l;
	int n;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(of); i++)
		assert_false(read_sites(of[i].bytes, 8, &l, &s, &n));
}

/* 0 is none, whatever pads are counted from. */
static void pads_have_a_base(void **state)
{
	static const unsigned char told[] = { 0x03, 0, 0x20, 0, 0, 0xff, 1, 4, 0, 1, 8, 0 },
				   none[] = { 0x03, 0, 0x20, 0, 0, 0xff, 1, 4, 0, 1, 0, 0 };
	struct fl_call_site s;
	struct fl_lsda l;
	int n;

	(void)state;
	assert_true(read_sites(told, sizeof(told), &l, &s, &n));
	assert_int_equal(s.pad, 0x2008);
	assert_true(read_sites(none, sizeof(none), &l, &s, &n));
	assert_int_equal(s.pad, 0);
}

/* ---- the table ----------------------------------------------------------------------- */

static int count(void *n, const struct fl_obj_frame *f)
{
	assert_true(f->start < f->end);
	++*(int *)n;
	return 0;
}

/* Of three functions the first's entry is an end, and the last one's begins elsewhere. */
static void a_function_is_where_table_and_entry_say(void **state)
{
	struct made e = make_usual();
	Elf64_Phdr ph[2] = { all, { .p_type = PT_GNU_EH_FRAME } };
	struct fl_module with = m;
	int n = 0;

	(void)state;
	add32(&e, 0);
	while (e.n % 4)
		add(&e, "", 1);
	ph[1].p_vaddr = e.n;
	add(&e, "\1\xff\3\x3b\3\0\0\0", 8);
	for (uint32_t i = 0; i < 3; i++) {
		add32(&e, (uint32_t)(e.fde + 8 + 0xf00 + i * 0x100 - ph[1].p_vaddr));
		add32(&e, (uint32_t)(e.fde + (i == 0 ? 33 : 0) - ph[1].p_vaddr));
	}
	ph[1].p_memsz = e.n - ph[1].p_vaddr;
	put(e.bytes, e.n);
	ph[0].p_memsz = e.n;
	with = m;
	with.ph = ph;
	with.n_ph = 2;
	assert_int_equal(fl_obj_frames(&with, count, &n), 2);
	assert_int_equal(n, 1);
	ph[1].p_memsz--;		/* the last pair is cut */
	assert_int_equal(fl_obj_frames(&with, count, &n), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_entry_is_told),
		cmocka_unit_test(an_entry_that_is_cut_is_not_read),
		cmocka_unit_test(a_length_beyond_the_end_is_not_read),
		cmocka_unit_test(a_length_of_64_bits_is_not_read),
		cmocka_unit_test(an_end_is_no_entry),
		cmocka_unit_test(other_versions_are_not_read),
		cmocka_unit_test(the_column_of_version_1_is_a_byte),
		cmocka_unit_test(letters_that_nobody_knows_are_not_read),
		cmocka_unit_test(an_entry_without_letters_is_read),
		cmocka_unit_test(a_table_of_exceptions_may_be_unknown),
		cmocka_unit_test(a_cie_is_that_of_its_entry),
		cmocka_unit_test(a_cie_stands_somewhere),
		cmocka_unit_test(pointers_are_read_in_each_encoding),
		cmocka_unit_test(values_have_their_signs),
		cmocka_unit_test(numbers_end_with_memory_and_with_ten_bytes),
		cmocka_unit_test(each_instruction_has_its_operands),
		cmocka_unit_test(an_instruction_that_is_cut_is_bad),
		cmocka_unit_test(an_instruction_that_nobody_knows_is_bad),
		cmocka_unit_test(a_place_is_told_as_entries_tell_it),
		cmocka_unit_test(what_does_nothing_is_skipped),
		cmocka_unit_test(a_way_beyond_all_addresses_is_bad),
		cmocka_unit_test(call_sites_are_told),
		cmocka_unit_test(call_sites_that_lie_are_bad),
		cmocka_unit_test(pads_have_a_base),
		cmocka_unit_test(a_function_is_where_table_and_entry_say),
	};

	return cmocka_run_group_tests(tests, make_memory, NULL);
}
