/* unit/text: the ways to write text, chosen, denied, and what they leave. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "flick/patch.h"
#include "os/os.h"
#include "patch/patch.h"
#include "filter-call.h"

#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#endif
enum { PAGES = 4, BYTES = PAGES * 4096, REFUSE_EXEC_GAIN = 1 };

static unsigned char *code;		/* a file's pages, R-X */
static char path[] = "/tmp/flick-text-XXXXXX";
static int file;

static int deny(int call)
{
	return filter_call(call, SECCOMP_RET_ERRNO | EACCES);
}

/* Run `test` in a child; its status, 77 for what cannot be had here. */
static void in_child(int (*test)(void))
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0)
		_exit(test());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

static int both_denied(void)
{
	if (deny(SYS_memfd_create))
		return 77;
	if (fl_text_probe("alias") != FLE_NOALIAS || fl_text_choose("alias") != FLE_NOALIAS)
		return 1;
	if (prctl(PR_SET_MDWE, REFUSE_EXEC_GAIN, 0, 0, 0))
		return 77;
	if (fl_text_choose("mprotect") != FLE_NOWRITE || fl_text_choose(NULL) != FLE_NOWRITE)
		return 2;
	return 0;
}

static void what_is_denied_is_refused(void **state)
{
	(void)state;
	in_child(both_denied);
}

static int writing_denied(void)
{
	if (prctl(PR_SET_MDWE, REFUSE_EXEC_GAIN, 0, 0, 0))
		return 77;
	return fl_text_choose(NULL) || !fl_text_is_aliased();
}

static void alias_is_taken_where_writing_is_denied(void **state)
{
	(void)state;
	in_child(writing_denied);
}

static void a_second_choice_is_the_first_or_refused(void **state)
{
	(void)state;
	assert_int_equal(fl_text_probe("nonsense"), FLE_OPTION);
	assert_int_equal(fl_text_choose("nonsense"), FLE_OPTION);
	assert_int_equal(fl_text_choose("alias"), 0);
	assert_int_equal(fl_text_choose(NULL), 0);
	assert_int_equal(fl_text_choose("alias"), 0);
	assert_int_equal(fl_text_choose("mprotect"), FLE_OPTION);
	assert_true(fl_text_is_aliased());
}

/* ---- pages ------------------------------------------------------------------------ */

static int count(void *arg, const struct fl_mapping *m)
{
	int *n = arg;

	if (m->lo < (uintptr_t)code + BYTES && m->hi > (uintptr_t)code)
		++*n;
	return 0;
}

struct look { uintptr_t at; struct fl_mapping found; };

static int look_at(void *arg, const struct fl_mapping *m)
{
	struct look *l = arg;

	if (l->at < m->lo || l->at >= m->hi)
		return 0;
	l->found = *m;
	return 1;
}

static struct fl_mapping mapping_at(size_t at)
{
	struct look l = { .at = (uintptr_t)code + at };

	fl_os_mappings(look_at, &l);
	return l.found;
}

/* Of its file, and where it is in there. */
static int inode_at(size_t at)
{
	return (int)mapping_at(at).inode;
}

static int offset_at(size_t at)
{
	struct fl_mapping m = mapping_at(at);

	return (int)(m.offset + (uintptr_t)code + at - m.lo);
}

/* How many mappings the code is in. */
static int pieces(void)
{
	int n = 0;

	fl_os_mappings(count, &n);
	return n;
}

static int open_pages(int first, int n, int holder)
{
	uintptr_t lo = (uintptr_t)code + first * 4096u;

	return fl_text_open(lo + 1, lo + n * 4096u - 1, holder);
}

static int close_pages(int first, int n, int holder)
{
	uintptr_t lo = (uintptr_t)code + first * 4096u;

	return fl_text_close(lo + 1, lo + n * 4096u - 1, holder);
}

static unsigned char *place(size_t at)
{
	return code + at + fl_text_shift((uintptr_t)code + at);
}

static void a_store_through_the_view_is_seen(void **state)
{
	(void)state;
	assert_int_equal(open_pages(1, 2, FL_TEXT_PROBES), 0);
	assert_int_equal(fl_text_prot((uintptr_t)code + 4096), PROT_READ | PROT_EXEC);
	assert_int_equal(fl_text_prot((uintptr_t)place(4096)), PROT_READ | PROT_WRITE);
	assert_int_equal(fl_text_prot((uintptr_t)place(0)), 0);	/* not opened */
	*place(4096) = 1;
	*place(4096 * 3 - 1) = 2;
	assert_int_equal(code[4096], 1);
	assert_int_equal(code[4096 * 3 - 1], 2);
	/* Opened again, the bytes and their place stay. */
	assert_int_equal(open_pages(0, 2, FL_TEXT_PROBES), 0);
	assert_int_equal(code[4096], 1);
	*place(4096) = 3;
	assert_int_equal(code[4096], 3);
}

static void bytes_that_differ_stay_others_come_back(void **state)
{
	const uintptr_t view = (uintptr_t)place(4096);

	(void)state;
	assert_int_equal(close_pages(0, PAGES, FL_TEXT_PROBES), 0);
	assert_int_equal(fl_text_prot(view), 0);
	assert_int_equal(code[4096], 3);
	assert_int_equal(fl_text_prot((uintptr_t)code + 4096), PROT_READ | PROT_EXEC);
	assert_true(pieces() > 1);
	assert_int_equal(open_pages(1, 2, FL_TEXT_LOADER), 0);
	*place(4096) = 0xc3;
	*place(4096 * 3 - 1) = 0xc3;
	assert_int_equal(close_pages(1, 2, FL_TEXT_LOADER), 0);
	assert_int_equal(code[4096], 0xc3);
	assert_int_equal(pieces(), 1);
	assert_int_equal(fl_text_shift((uintptr_t)code), 0);
	assert_int_equal(fl_text_prot(view), -EFAULT);
}

/* Those that a caller holds are the same pages still: it may be storing to them. */
static void what_is_opened_again_is_made_anew_but_a_callers(void **state)
{
	int was, is;

	(void)state;
	for (int holder = FL_TEXT_PROBES; holder <= FL_TEXT_CALLER; holder *= 4) {
		assert_int_equal(open_pages(1, 1, holder), 0);
		was = inode_at(4096);
		assert_int_equal(open_pages(1, 1, FL_TEXT_LOADER), 0);
		is = inode_at(4096);
		assert_int_equal(was == is, holder == FL_TEXT_CALLER);
		assert_int_equal(open_pages(1, 1, FL_TEXT_CALLER), 0);
		assert_int_equal(inode_at(4096), is);
		assert_int_equal(close_pages(0, PAGES, FL_TEXT_LOADER), 0);
		assert_int_equal(close_pages(0, PAGES, FL_TEXT_CALLER), 0);
		assert_int_equal(close_pages(0, PAGES, holder), 0);
	}
	assert_int_equal(pieces(), 1);
}

/* Each page of the program's own range is where it was in its file. */
static void what_comes_back_in_part_is_that_part(void **state)
{
	(void)state;
	assert_int_equal(open_pages(0, PAGES, FL_TEXT_PROBES), 0);
	assert_int_equal(fl_text_close((uintptr_t)code + 8192, (uintptr_t)code + 12287,
				       FL_TEXT_PROBES), 0);
	assert_int_equal(offset_at(8192), 8192);
	assert_int_equal(fl_text_prot((uintptr_t)place(8192)), 0);
	assert_int_equal(fl_text_prot((uintptr_t)place(4096)), PROT_READ | PROT_WRITE);
	assert_int_equal(close_pages(0, PAGES, FL_TEXT_PROBES), 0);
	assert_int_equal(pieces(), 1);
}

static void what_was_unmapped_is_forgotten_alone(void **state)
{
	unsigned char *other = mmap(NULL, BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
	const uintptr_t low = (uintptr_t)(other < code ? other : code);
	const uintptr_t high = (uintptr_t)(other < code ? code : other);

	(void)state;
	assert_ptr_not_equal(other, MAP_FAILED);
	assert_int_equal(fl_text_open(low, low + 4096, FL_TEXT_PROBES), 0);
	assert_int_equal(fl_text_open(high, high + 4096, FL_TEXT_PROBES), 0);
	fl_text_forget(high + BYTES, high + 2 * BYTES);
	assert_true(fl_text_shift(low) && fl_text_shift(high));
	fl_text_forget((uintptr_t)other, (uintptr_t)other + BYTES);
	assert_false(fl_text_shift((uintptr_t)other));
	assert_true(fl_text_shift((uintptr_t)code));
	munmap(other, BYTES);
	assert_int_equal(close_pages(0, PAGES, FL_TEXT_PROBES), 0);
	assert_int_equal(pieces(), 1);
}

/* Is what was told of a mapping believed? The kernel would tell of all its pages. */
static bool is_believed(uintptr_t at)
{
	bool is_all;

	assert_int_equal(fl_text_open(at, at + 1, FL_TEXT_PROBES), 0);
	assert_true(fl_text_shift(at));
	is_all = fl_text_shift(at + BYTES - 1);
	fl_text_forget(at, at + BYTES);
	return !is_all;
}

/* A mapping of two pages, as it may be told, of four. */
static struct fl_mapping map_told(void)
{
	void *p = mmap(NULL, BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
	struct stat st;

	assert_ptr_not_equal(p, MAP_FAILED);
	assert_int_equal(fstat(file, &st), 0);
	return (struct fl_mapping){
		.lo = (uintptr_t)p, .hi = (uintptr_t)p + 2 * 4096, .path = path,
		.prot = PROT_READ | PROT_EXEC, .inode = st.st_ino,
	};
}

static void what_was_told_of_is_not_looked_for(void **state)
{
	const struct fl_mapping m[] = { map_told(), map_told(), map_told(), map_told() };

	(void)state;
	assert_false(is_believed(m[0].lo));
	fl_text_told(&m[1]);
	fl_text_told(&m[2]);
	fl_text_told(&m[3]);
	assert_true(is_believed(m[1].lo));
	fl_text_forget(m[2].lo, m[2].lo + 4096);
	assert_false(is_believed(m[2].lo));
	fl_text_told(NULL);
	assert_false(is_believed(m[3].lo));
	for (size_t i = 0; i < ARRAY_LEN(m); i++)
		munmap((void *)m[i].lo, BYTES);
}

/* The same bytes, by now: what will be in it is not the program's. */
static void another_file_of_that_name_does_not_come_back(void **state)
{
	static unsigned char bytes[BYTES];
	char other[] = "/tmp/flick-text-XXXXXX", kept[sizeof path + 1];
	int fd = mkstemp(other);

	(void)state;
	memset(bytes, 0xc3, sizeof bytes);
	snprintf(kept, sizeof kept, "%s~", path);
	assert_int_equal(write(fd, bytes, sizeof bytes), sizeof bytes);
	assert_int_equal(open_pages(0, 1, FL_TEXT_PROBES), 0);
	assert_int_equal(rename(path, kept) || rename(other, path), 0);
	assert_int_equal(close_pages(0, 1, FL_TEXT_PROBES), 0);
	assert_int_equal(pwrite(fd, "\xcc", 1, 8), 1);
	assert_int_equal(code[8], 0xc3);
	assert_int_equal(rename(kept, path), 0);
	close(fd);
	assert_int_equal(open_pages(0, 1, FL_TEXT_PROBES), 0);
	assert_int_equal(close_pages(0, 1, FL_TEXT_PROBES), 0);
	assert_int_equal(pieces(), 1);
}

static void the_last_holder_closes(void **state)
{
	(void)state;
	assert_int_equal(open_pages(0, 2, FL_TEXT_PROBES), 0);
	assert_int_equal(open_pages(1, 2, FL_TEXT_CALLER), 0);
	*place(4096) = 9;
	assert_int_equal(close_pages(0, PAGES, FL_TEXT_CALLER), 0);
	*place(4096) = 0xc3;		/* still there for the probes */
	assert_int_equal(close_pages(0, PAGES, FL_TEXT_PROBES), 0);
	assert_int_equal(pieces(), 1);
}

static void a_changed_file_does_not_come_back(void **state)
{
	(void)state;
	assert_int_equal(open_pages(0, 1, FL_TEXT_PROBES), 0);
	assert_int_equal(pwrite(file, "\xcc", 1, 8), 1);
	assert_int_equal(close_pages(0, 1, FL_TEXT_PROBES), 0);
	assert_int_equal(code[8], 0xc3);
	assert_int_equal(ftruncate(file, 4096), 0);
	assert_int_equal(open_pages(0, 1, FL_TEXT_PROBES), 0);
	assert_int_equal(close_pages(0, 1, FL_TEXT_PROBES), 0);
	assert_int_equal(code[8], 0xc3);
	assert_int_equal(open_pages(0, 1, FL_TEXT_PROBES), 0);
	assert_int_equal(ftruncate(file, 0), 0);
	assert_int_equal(close_pages(0, 1, FL_TEXT_PROBES), 0);
	assert_int_equal(code[8], 0xc3);
}

static void what_is_not_mapped_cannot_be_opened(void **state)
{
	(void)state;
	assert_int_equal(fl_text_open(16, 32, FL_TEXT_PROBES), -EFAULT);
}

/* ---- glue ------------------------------------------------------------------------- */

static void glue_is_written_through_a_view_that_goes(void **state)
{
	struct fl_near near;
	uintptr_t at, view;

	(void)state;
	assert_int_equal(fl_near_alloc(&near, FL_NEAR_TO((uintptr_t)code,
							 (uintptr_t)code + BYTES), 1, 1), 0);
	at = (uintptr_t)near.code;
	view = (uintptr_t)near.write;
	near.write[1] = 0xc3;
	assert_int_equal(fl_text_prot(view), PROT_READ | PROT_WRITE);
	assert_int_equal(fl_text_prot(at), PROT_READ | PROT_EXEC);
	assert_int_equal(fl_near_seal(&near), 0);
	assert_int_equal(fl_text_prot(view), -EFAULT);
	assert_int_equal(fl_text_prot(at), PROT_READ | PROT_EXEC);
	assert_int_equal(near.code[1], 0xc3);
	fl_near_free(&near);
	assert_int_equal(fl_text_prot(at), -EFAULT);
	assert_int_equal(fl_near_alloc(&near, FL_NEAR_TO((uintptr_t)code,
							 (uintptr_t)code + BYTES), 1, 1), 0);
	view = (uintptr_t)near.write;
	fl_near_free(&near);			/* it was not wanted after all */
	assert_int_equal(fl_text_prot(view), -EFAULT);
}

/* What is sealed can be opened where nobody says what is mapped, as long as it is there. */
static int sealed_without_maps(void)
{
	struct fl_near near, more;
	uintptr_t at;
	int was_there, is_gone;

	if (fl_text_choose(NULL) || fl_near_alloc(&near, FL_NEAR_TO(0, 0), 1, 1))
		return 1;
	at = (uintptr_t)near.code;
	if (fl_near_seal(&near))
		return 2;
	for (int i = 0; i < 1000; i++)		/* a large program has as many */
		if (fl_near_alloc(&more, FL_NEAR_TO(0, 0), 1, 1) || fl_near_seal(&more))
			return 2;
	if (deny(SYS_openat))
		return 77;
	was_there = fl_text_open(at, at + 1, FL_TEXT_PROBES);
	if (!was_there)
		*(unsigned char *)(at + (uintptr_t)fl_text_shift(at)) = 0xc3;
	if (was_there || *(unsigned char *)at != 0xc3)
		return 3;
	fl_text_forget(at, at + near.code_bytes);
	fl_near_free(&near);
	is_gone = fl_text_open(at, at + 1, FL_TEXT_PROBES);
	return is_gone == -EACCES ? 0 : 4;
}

static void what_is_sealed_is_known_until_it_is_freed(void **state)
{
	(void)state;
	in_child(sealed_without_maps);
}

/* ---- fork ------------------------------------------------------------------------- */

static struct flick_patch moved;

static int moves(void)
{
	return flick_patch_switch(&moved, FLICK_OFF) ? 0 : 1;
}

/* No memory file is to be had: the child's text is its parent's. */
static int fork_without_files(void)
{
	unsigned char *at = code + 16;

	if (flick_patch_open(NULL) || flick_text_writable(at, 1) ||
	    flick_patch_init(&moved, at, "\x90", 1) || flick_patch_switch(&moved, FLICK_ON))
		return 1;
	if (deny(SYS_memfd_create))
		return 77;
	in_child(moves);
	return *at != 0x90 || flick_patch_switch(&moved, FLICK_OFF) || *at != 0xc3;
}

static void a_child_that_shares_its_parents_text_moves_nothing(void **state)
{
	(void)state;
	in_child(fork_without_files);
}

static int make_code(void)
{
	static unsigned char bytes[BYTES];

	memset(bytes, 0xc3, sizeof bytes);
	file = mkstemp(path);
	if (file < 0 || write(file, bytes, sizeof bytes) != sizeof bytes)
		return -1;
	code = mmap(NULL, BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
	return code == MAP_FAILED ? -1 : 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_denied_is_refused),
		cmocka_unit_test(alias_is_taken_where_writing_is_denied),
		cmocka_unit_test(a_second_choice_is_the_first_or_refused),
		cmocka_unit_test(a_store_through_the_view_is_seen),
		cmocka_unit_test(bytes_that_differ_stay_others_come_back),
		cmocka_unit_test(what_is_opened_again_is_made_anew_but_a_callers),
		cmocka_unit_test(what_comes_back_in_part_is_that_part),
		cmocka_unit_test(what_was_unmapped_is_forgotten_alone),
		cmocka_unit_test(what_was_told_of_is_not_looked_for),
		cmocka_unit_test(another_file_of_that_name_does_not_come_back),
		cmocka_unit_test(the_last_holder_closes),
		cmocka_unit_test(a_changed_file_does_not_come_back),
		cmocka_unit_test(what_is_not_mapped_cannot_be_opened),
		cmocka_unit_test(glue_is_written_through_a_view_that_goes),
		cmocka_unit_test(what_is_sealed_is_known_until_it_is_freed),
		cmocka_unit_test(a_child_that_shares_its_parents_text_moves_nothing),
	};
	int failed;

	if (make_code())
		return 77;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	return failed;
}
