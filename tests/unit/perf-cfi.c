/*
 * unit/perf-cfi: tables for unwinding that lie: an entry that remembers states without end, or
 * has a register of a high number, tells nothing and takes no memory, others of its table are
 * read; a table that says it is longer than it is, is none; one entry that many functions have
 * takes no time for each; and all tables of a program have so much memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>
#include <dwarf.h>
#include <elf.h>

#include "base/base.h"
#include "perf/cfi.h"

enum { ROWS = 1 << 22, FUNCTION = 0x1000, GOOD = 0x2000 };

struct file {
	Elf64_Ehdr eh;
	Elf64_Phdr ph;
	uint8_t how[4];
	int32_t frames;
	uint32_t n;
	struct { int32_t at, fde; } of[2];
	uint32_t cie_bytes, cie_id;
	uint8_t cie[16];
	struct fde {
		uint32_t bytes, cie;
		int64_t at, size;
		uint8_t augmentation, rows[7];
	} good;
	struct fde bad;
	uint8_t more[ROWS];
};

#define FROM_TABLE(member) \
	((int32_t)(offsetof(struct file, member) - offsetof(struct file, how)))

static struct fl_cfi_memory memory;

static struct fde fde(size_t from, uint64_t at, uint32_t more)
{
	return (struct fde){
		.bytes = (uint32_t)sizeof(struct fde) - 4 + more,
		.cie = (uint32_t)(from + 4 - offsetof(struct file, cie_bytes)),
		.at = (int64_t)at, .size = 16,
	};
}

/* Addresses are absolute; the frame is 8 above the stack pointer (what CIEs begin with). */
static struct file *make(void)
{
	struct file *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	memcpy(f->eh.e_ident, ELFMAG "\2\1\1", 7);
	f->eh.e_type = ET_EXEC;
	f->eh.e_machine = FL_ARCH_ELF_MACHINE;
	f->eh.e_version = EV_CURRENT;
	f->eh.e_ehsize = f->eh.e_phoff = sizeof(f->eh);
	f->eh.e_phentsize = sizeof(f->ph);
	f->eh.e_phnum = 1;
	f->ph = (Elf64_Phdr){ .p_type = PT_GNU_EH_FRAME, .p_offset = offsetof(struct file, how),
			      .p_filesz = sizeof(*f) - offsetof(struct file, how) };
	memcpy(f->how, "\1\x1b\3\x3b", 4);
	f->frames = FROM_TABLE(cie_bytes) - FROM_TABLE(frames);
	f->n = 2;
	f->of[0].at = FUNCTION;
	f->of[0].fde = FROM_TABLE(bad);
	f->of[1].at = GOOD;
	f->of[1].fde = FROM_TABLE(good);
	f->cie_bytes = sizeof(f->cie_id) + sizeof(f->cie);
	memcpy(f->cie, (uint8_t[]){ 1, 'z', 'R', 0, 1, 0x78, FL_ARCH_DWARF_RETURN, 1, 0, 0x0c,
				    FL_ARCH_DWARF_SP, 8, 0x80 | FL_ARCH_DWARF_RETURN, 1 }, 14);
	f->good = fde(offsetof(struct file, good), GOOD, 0);
	f->bad = fde(offsetof(struct file, bad), FUNCTION, ROWS);
	return f;
}

static void is_read_in_little_memory(struct file *f, bool has_bad)
{
	struct rusage before, after;
	struct fl_cfi *c;

	getrusage(RUSAGE_SELF, &before);
	c = fl_cfi_open_bytes((char *)f, sizeof(*f), &memory);
	assert_non_null(c);
	assert_int_equal(fl_cfi_row(c, FUNCTION + 8)->kind,
			 has_bad ? FL_CFI_CALLED : FL_CFI_NONE);
	assert_int_equal(fl_cfi_row(c, GOOD + 8)->kind, FL_CFI_CALLED);
	fl_cfi_close(c);
	getrusage(RUSAGE_SELF, &after);
	assert_true(after.ru_maxrss - before.ru_maxrss < 65536);
}

static void what_asks_for_little_is_read(void **state)
{
	struct file *f = make();

	(void)state;
	f->bad = fde(offsetof(struct file, bad), FUNCTION, 0);
	is_read_in_little_memory(f, true);
}

static void states_that_are_remembered_without_end_are_not_read(void **state)
{
	struct file *f = make();

	(void)state;
	f->bad = fde(offsetof(struct file, bad), FUNCTION, 4096);
	memset(f->more, 0x0a, 4096);
	is_read_in_little_memory(f, false);
}

static void rows_without_end_are_not_read(void **state)
{
	(void)state;
	is_read_in_little_memory(make(), false);
}

static void a_register_of_a_high_number_is_not_read(void **state)
{
	struct file *f = make();

	(void)state;
	f->bad = fde(offsetof(struct file, bad), FUNCTION, 0);
	memcpy(f->bad.rows, "\x07\x80\x8e\xce\x1c", 5);
	is_read_in_little_memory(f, false);
}

static int kind_at(struct file *f, uint64_t entry, uint64_t at)
{
	struct file *copy = make();
	struct fl_cfi *c;
	int kind;

	memcpy(copy, f, sizeof(*f));
	copy->eh.e_entry = entry;
	c = fl_cfi_open_bytes((char *)copy, sizeof(*copy), &memory);
	assert_non_null(c);
	kind = fl_cfi_row(c, at)->kind;
	fl_cfi_close(c);
	return kind;
}

/* As a loader's own, which is assembly: up to the first function that has one. */
static void nobody_calls_the_entry_where_it_has_no_table(void **state)
{
	struct file *f = make();

	(void)state;
	f->bad = fde(offsetof(struct file, bad), FUNCTION, 0);
	assert_int_equal(kind_at(f, 0x1800, 0x1800), FL_CFI_FIRST);
	assert_int_equal(kind_at(f, 0x1800, 0x18ff), FL_CFI_FIRST);
	assert_int_equal(kind_at(f, 0x1800, 0x1900), FL_CFI_NONE);
	assert_int_equal(kind_at(f, 0x1800, 0x17ff), FL_CFI_NONE);
	assert_int_equal(kind_at(f, GOOD - 8, GOOD - 1), FL_CFI_FIRST);
	assert_int_equal(kind_at(f, GOOD - 8, GOOD), FL_CFI_CALLED);
	assert_int_equal(kind_at(f, GOOD - 8, GOOD + 16), FL_CFI_NONE);
	assert_int_equal(kind_at(f, FUNCTION + 8, FUNCTION + 16), FL_CFI_NONE);
	assert_int_equal(kind_at(f, 0, 8), FL_CFI_NONE);
	free(f);
}

/* A column of 128 and more is a byte of version 1, and a number of two to who reads on:
 * pointers have 2 bytes to one, 8 to the other, who takes what is remembered for data. */
static void an_entry_is_looked_at_as_it_is_read(void **state)
{
	enum { STATES = 1 << 20, FDE = 64, HEAD = 28 };
	static const uint8_t cie[] = { 20, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 0x90,
				       1, DW_EH_PE_udata2 };
	static const uint8_t to_data[] = { DW_CFA_GNU_args_size, 0x80, 0x80, 0xc0, 0 };
	const struct { uint32_t bytes, cie; uint16_t at, size; } head = {
		HEAD - 4 + STATES, FDE + 4, FUNCTION, 16
	};
	struct file *f = make();

	(void)state;
	f->of[0].fde = FROM_TABLE(more) + FDE;
	memcpy(f->more, cie, sizeof(cie));
	memcpy(f->more + FDE, &head, sizeof(head));
	memcpy(f->more + FDE + HEAD - 5, to_data, sizeof(to_data));
	memset(f->more + FDE + HEAD, DW_CFA_remember_state, STATES);
	is_read_in_little_memory(f, false);
}

static void a_table_is_no_longer_than_it_is(void **state)
{
	struct file *f = make();

	(void)state;
	f->n = UINT32_MAX;
	assert_null(fl_cfi_open_bytes((char *)f, sizeof(*f), &memory));
}

static double cpu_seconds(void)
{
	struct rusage used;

	getrusage(RUSAGE_SELF, &used);
	return (double)used.ru_utime.tv_sec + (double)used.ru_utime.tv_usec / 1e6;
}

/* A hundred thousand functions, of which each has the same 60,000 bytes of rows. */
static void one_entry_of_many_functions_is_not_read_as_often(void **state)
{
	enum { FUNCTIONS = 100000, BEHIND = FUNCTIONS * 8 };
	struct file *f = make();
	uint8_t *cie = f->more + BEHIND;
	struct fde bad = f->bad;
	double begin = cpu_seconds();
	struct fl_cfi *c;
	int32_t *of;

	(void)state;
	bad.bytes = (uint32_t)sizeof(bad) - 4 + 60000;
	bad.cie = 24 + 4;
	memcpy(cie, &f->cie_bytes, 24);
	memcpy(cie + 24, &bad, sizeof(bad));
	memset(cie + 24 + sizeof(bad), DW_CFA_restore, 60000);
	f->n = FUNCTIONS;
	f->frames = (int32_t)(cie - (uint8_t *)&f->frames);
	of = (int32_t *)((char *)f + offsetof(struct file, of));
	for (int i = 0; i < FUNCTIONS; i++) {
		of[2 * i] = FUNCTION + i;
		of[2 * i + 1] = (int32_t)(cie + 24 - f->how);
	}
	c = fl_cfi_open_bytes((char *)f, sizeof(*f), &memory);
	assert_non_null(c);
	fl_cfi_close(c);
	assert_true(cpu_seconds() - begin < 2);
}

/* Of a program; when they are closed others may have it. */
static void tables_have_so_much_memory_in_all(void **state)
{
	struct fl_cfi *c;

	(void)state;
	assert_int_equal(memory.taken, 0);
	memory.taken = FL_CFI_MOST_BYTES - sizeof(struct file) - 2048;
	c = fl_cfi_open_bytes((char *)make(), sizeof(struct file), &memory);
	assert_non_null(c);
	assert_null(fl_cfi_open_bytes((char *)make(), sizeof(struct file), &memory));
	assert_null(fl_cfi_open("/proc/self/exe", &memory));
	assert_int_equal(fl_cfi_row(c, GOOD + 8)->kind, FL_CFI_CALLED);
	for (uint64_t i = 0; i < 8; i++)
		fl_cfi_row(c, GOOD + i);
	assert_null(fl_cfi_row(c, GOOD + 9));
	fl_cfi_close(c);
	assert_int_equal(memory.taken, FL_CFI_MOST_BYTES - sizeof(struct file) - 2048);
	memory.taken = 0;
	c = fl_cfi_open("/proc/self/exe", &memory);
	assert_non_null(c);
	fl_cfi_close(c);
	assert_int_equal(memory.taken, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_asks_for_little_is_read),
		cmocka_unit_test(states_that_are_remembered_without_end_are_not_read),
		cmocka_unit_test(rows_without_end_are_not_read),
		cmocka_unit_test(a_register_of_a_high_number_is_not_read),
		cmocka_unit_test(nobody_calls_the_entry_where_it_has_no_table),
		cmocka_unit_test(an_entry_is_looked_at_as_it_is_read),
		cmocka_unit_test(a_table_is_no_longer_than_it_is),
		cmocka_unit_test(one_entry_of_many_functions_is_not_read_as_often),
		cmocka_unit_test(tables_have_so_much_memory_in_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
