/*
 * unit/perf-body-tables: by what a second body is unwound is read in its process, or in that
 * whose image it has; of who has ended it is known by a body of the same function elsewhere, if
 * that has as many bytes; else nobody says anything.
 *
 * The bodies here are this program's own functions, and its own table is the block's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <elf.h>
#include <link.h>
#include <sys/wait.h>
#include <unistd.h>

#include "channel-rig.h"
#include "channel/slot.h"
#include "perf/body-tables.h"
#include "os/os.h"

enum { ROWS = 40, BYTES = 64, FILE_LO = 0x400000, FILE_HI = 0x500000, FUNCTION = 0x401230,
       ELSEWHERE = 0x10000 };

static struct rig *rig;
static struct fl_originals *originals;
static struct fl_body_tables tables;
static struct fl_glue_range own;		/* all of this program */
static const char path[] = "/bin/program";
static bool is_in_file;
static int32_t of_parent;

__attribute__((noinline)) static int body(int n)
{
	char room[200];

	__asm__ volatile("" : : "r"(room) : "memory");
	return n + 1;
}

static int32_t parent_is(const void *arg, int32_t pid)
{
	(void)arg;
	return pid == fl_os_pid() ? 0 : of_parent;
}

static bool where_is(void *arg, uint64_t at, struct fl_stack_code *code)
{
	(void)arg;
	if (is_in_file && at >= FILE_LO && at < FILE_HI)
		*code = (struct fl_stack_code){ path, FILE_LO, 0, false };
	return is_in_file;
}

static int see_object(struct dl_phdr_info *o, size_t n, void *arg)
{
	(void)n;
	(void)arg;
	for (int i = 0; i < o->dlpi_phnum; i++) {
		const Elf64_Phdr *ph = &o->dlpi_phdr[i];
		uint64_t lo = o->dlpi_addr + ph->p_vaddr;

		if (ph->p_type == PT_LOAD && ph->p_flags & PF_X) {
			own.lo = lo;
			own.hi = lo + ph->p_memsz;
		} else if (ph->p_type == PT_GNU_EH_FRAME) {
			own.table = lo;
		}
	}
	for (int i = 0; i < o->dlpi_phnum; i++) {
		const Elf64_Phdr *ph = &o->dlpi_phdr[i];
		uint64_t lo = o->dlpi_addr + ph->p_vaddr;

		if (ph->p_type == PT_LOAD && own.table - lo < ph->p_filesz)
			own.table_bytes = lo + ph->p_filesz - own.table;
	}
	return 1;				/* the program is the first one */
}

static int32_t who_has_ended(void)
{
	int pid = fork();

	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	return pid;
}

static void tell_block(int32_t pid, uint64_t away)
{
	struct fl_glue_range r = own;

	r.pid = pid;
	r.lo += away;
	r.hi += away;
	fl_shm_glue(rig->m)[rig->m->n_glue++] = r;
}

static const struct fl_cfi_row *row_of(int32_t pid, uint64_t away, uint32_t bytes)
{
	static struct fl_told_body at;
	struct fl_body_place p = { .pid = pid, .at = (uintptr_t)body + away + 1, .body = &at,
				   .where = where_is };

	at = (struct fl_told_body){ .lo = (uintptr_t)body + away, .function = FUNCTION,
				    .bytes = bytes };
	return fl_body_tables_row(&tables, &p);
}

static int set_up(void **state)
{
	(void)state;
	rig = rig_open(2, ROWS, FL_ACT_TIME);
	rig->m->max_sites = ROWS;
	fl_region = rig->m;
	fl_first = (struct fl_channel){ .region = rig->m };
	if (fl_originals_open(&originals, rig->m))
		return -1;
	originals->parent = parent_is;
	tables = (struct fl_body_tables){ .originals = originals };
	is_in_file = true;
	of_parent = 0;
	dl_iterate_phdr(see_object, NULL);
	return !own.table_bytes || body(1) != 2;
}

static int tear_down(void **state)
{
	(void)state;
	fl_body_tables_close(&tables);
	fl_originals_close(originals);
	rig_close(rig);
	return 0;
}

static void who_has_ended_says_nothing(void **state)
{
	int32_t gone = who_has_ended();

	(void)state;
	tell_block(gone, 0);
	assert_null(row_of(gone, 0, BYTES));
	assert_null(row_of(fl_os_pid(), 0, BYTES));	/* its block is not there */
}

static void others_of_the_program_say_it(void **state)
{
	int32_t gone = who_has_ended();
	const struct fl_cfi_row *row;
	struct fl_cfi_row first;

	(void)state;
	tell_block(gone, ELSEWHERE);
	tell_block(fl_os_pid(), 0);
	row = row_of(fl_os_pid(), 0, BYTES);
	assert_non_null(row);
	assert_int_equal(row->kind, FL_CFI_CALLED);
	first = *row;
	row = row_of(gone, ELSEWHERE, BYTES);
	assert_non_null(row);
	assert_memory_equal(&row->frame, &first.frame, sizeof first.frame);
	assert_null(row_of(gone, ELSEWHERE, BYTES + 1));
}

/* What one block has is known of all its bodies when it is read. */
static void a_block_is_read_for_all_its_bodies(void **state)
{
	int32_t gone = who_has_ended();

	(void)state;
	tell_block(gone, ELSEWHERE);
	tell_block(fl_os_pid(), 0);
	fl_channel_tell_body(fl_os_pid(), FUNCTION, (uintptr_t)body, BYTES);
	fl_channel_tell_body(fl_os_pid(), FUNCTION + 1, own.hi, 2 * BYTES);	/* of another */
	fl_originals_look(originals);
	assert_non_null(row_of(fl_os_pid(), 0, 3 * BYTES));
	assert_non_null(row_of(gone, ELSEWHERE, BYTES));
	assert_int_equal(tables.n_bodies, 2);
	assert_int_equal(tables.n_tables, 1);
}

static void a_child_has_its_parents(void **state)
{
	int32_t gone = who_has_ended();

	(void)state;
	tell_block(fl_os_pid(), 0);
	assert_null(row_of(gone, 0, BYTES));
	of_parent = fl_os_pid();
	assert_non_null(row_of(gone, 0, BYTES));
}

static void what_no_file_has_is_one_processs(void **state)
{
	int32_t gone = who_has_ended();

	(void)state;
	is_in_file = false;
	tell_block(gone, ELSEWHERE);
	tell_block(fl_os_pid(), 0);
	assert_non_null(row_of(fl_os_pid(), 0, BYTES));
	assert_null(row_of(gone, ELSEWHERE, BYTES));
	assert_int_equal(tables.n_bodies, 0);
}

/* Whoever tells of a block says whose it is. */
static void a_block_is_its_processs(void **state)
{
	(void)state;
	fl_channel_tell_glue(own);
	assert_int_equal(fl_shm_glue(rig->m)[0].pid, fl_os_pid());
	assert_non_null(row_of(fl_os_pid(), 0, BYTES));
}

static void a_table_that_lies_is_none(void **state)
{
	static uint32_t table[64];

	(void)state;
	own.table = (uintptr_t)table;
	for (uint32_t i = 0; i < 4; i++) {
		own.table_bytes = i ? i == 1 ? 1u << 27 : sizeof table : 4;
		table[1] = i == 2 ? UINT32_MAX : 0;	/* where frames are; how many */
		table[2] = i == 3 ? UINT32_MAX : 0;
		tell_block(fl_os_pid(), 0);
		assert_null(row_of(fl_os_pid(), 0, BYTES));
	}
}

/* Who tells of ever new blocks is read so often and no more. */
static void who_reads_is_not_kept_busy(void **state)
{
	static uint32_t table[64];
	const uint64_t most = 1 << 28;

	(void)state;
	own.table = (uintptr_t)table;
	own.table_bytes = sizeof table;
	table[1] = 1 << 10;			/* not all of it can be read */
	for (uint64_t i = 0; i < most / sizeof table / 2 && tables.taken < most / 4; i++) {
		rig->m->n_glue = 0;
		own.table_bytes = 1 << 20;
		tell_block(fl_os_pid(), 0);
		assert_null(row_of(fl_os_pid(), 0, BYTES));
	}
	assert_true(tables.taken >= most / 4);
	tables.taken = most;
	dl_iterate_phdr(see_object, NULL);
	tell_block(fl_os_pid(), 0);
	assert_null(row_of(fl_os_pid(), 0, BYTES));
}

/* Files' tables and these have so much in all. */
static void tables_take_no_more_memory_than_there_is(void **state)
{
	(void)state;
	tell_block(fl_os_pid(), 0);
	tables.memory.taken = FL_CFI_MOST_BYTES - own.table_bytes / 2;
	assert_null(row_of(fl_os_pid(), 0, BYTES));
	tables.memory.taken = 0;
	assert_non_null(row_of(fl_os_pid(), 0, BYTES));
	assert_true(tables.memory.taken >= own.table_bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
		TEST(who_has_ended_says_nothing),
		TEST(others_of_the_program_say_it),
		TEST(a_block_is_read_for_all_its_bodies),
		TEST(a_child_has_its_parents),
		TEST(what_no_file_has_is_one_processs),
		TEST(a_block_is_its_processs),
		TEST(a_table_that_lies_is_none),
		TEST(who_reads_is_not_kept_busy),
		TEST(tables_take_no_more_memory_than_there_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
