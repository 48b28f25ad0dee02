/*
 * What a scan has found is kept where the user alone writes, and believed for the files it
 * is of, alone, and whole.
 */
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "session/lines.h"

enum { SITES = 1 << 16, ROWS = 5000, NOBODY = 65534 };

static struct fl_region *m;
static int fd;
static char dir[] = "/tmp/flick-found.XXXXXX";

static const char *in_dir(const char *name)
{
	static char path[8][PATH_MAX];
	static unsigned at;
	char *p = path[at++ % 8];

	snprintf(p, PATH_MAX, "%s/%s", dir, name);
	return p;
}

static void shell(const char *format, const char *arg)
{
	char command[2 * PATH_MAX];

	snprintf(command, sizeof(command), format, arg);
	assert_int_equal(system(command), 0);
}

/* A program with a build id, and a library: copies of this one. */
static int set_up(void **state)
{
	struct fl_shm_options o = { .n_slots = 1, .max_sites = SITES, .ring_kib = 8 };

	(void)state;
	if (!mkdtemp(dir) || fl_shm_create(&o, &m, &fd))
		return -1;
	shell("cp /proc/$PPID/exe %s/program", dir);
	shell("cp /proc/$PPID/exe %s/library", dir);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	fl_shm_destroy(m, fd);
	shell("rm -rf %s", dir);
	return 0;
}

/* A fresh home in the test's directory. */
static int begin(void **state)
{
	(void)state;
	shell("rm -rf %s/home", dir);
	mkdir(in_dir("home"), 0755);
	setenv("HOME", in_dir("home"), 1);
	unsetenv("XDG_CACHE_HOME");
	return 0;
}

static void open_session(struct fl_session *s)
{
	*s = (struct fl_session){ .shm = m, .launch.calls_hooks = true,
				  .functions.max_sites = SITES };
	strcpy(s->launch.file, in_dir("program"));
	strcpy(s->launch.library, in_dir("library"));
	m->found.n = 0;
	m->found.state = FL_FOUND_NONE;
	memset(fl_shm_found(m), 0, ROWS * sizeof(struct fl_found_row));
	fl_found_open(s);
}

/* The target tells rows that are made of `seed`. False: nobody wishes for them. */
static bool keep_from(uint32_t seed)
{
	struct fl_session s;
	bool is_wished;

	open_session(&s);
	is_wished = m->found.state == FL_FOUND_WISHED;
	for (uint32_t i = 0; i < ROWS; i++)
		fl_shm_found(m)[i] = (struct fl_found_row){ i * 16, seed + i };
	m->found.n = ROWS;
	m->found.state = FL_FOUND_TOLD;
	fl_found_take(&s);
	fl_found_close(&s);
	return is_wished;
}

/* The seed of what is given; -1: nothing is. */
static int64_t given(void)
{
	const struct fl_found_row *rows = fl_shm_found(m);
	struct fl_session s;
	bool is_given;

	open_session(&s);
	is_given = m->found.state == FL_FOUND_GIVEN;
	fl_found_close(&s);
	if (!is_given)
		return -1;
	assert_int_equal(m->found.n, ROWS);
	for (uint32_t i = 0; i < ROWS; i++)
		assert_true(rows[i].at == i * 16 && rows[i].function == rows->function + i);
	return rows->function;
}

static const char *kept_file(void)
{
	static char path[PATH_MAX];
	FILE *f;

	shell("cd %s && ls home/.cache/flick/* | sed \"s|^|$PWD/|\" >list", dir);
	f = fopen(in_dir("list"), "r");
	assert_non_null(f);
	assert_non_null(fgets(path, sizeof(path), f));
	fclose(f);
	path[strcspn(path, "\n")] = '\0';
	return path;
}

/* Nothing but HOME itself is there. */
static void expect_nothing_in(const char *home)
{
	shell("[ -z \"$(find %s -mindepth 1)\" ]", home);
}

static mode_t mode_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_mode & 07777;
}

/* ---- where ----------------------------------------------------------------------- */

static void what_is_kept_is_given(void **state)
{
	(void)state;
	assert_int_equal(given(), -1);
	assert_true(keep_from(7));
	assert_int_equal(given(), 7);
	assert_int_equal(mode_of(kept_file()), 0600);
	assert_int_equal(mode_of(in_dir("home/.cache")), 0700);
	assert_int_equal(mode_of(in_dir("home/.cache/flick")), 0700);
	assert_false(keep_from(9));	/* not wished; told all the same, it is kept */
	assert_int_equal(given(), 9);
}

static void who_has_no_home_keeps_nothing(void **state)
{
	static const char *const homes[] = { NULL, "", "home", "./home", "/proc/none" };

	(void)state;
	assert_int_equal(chdir(dir), 0);
	for (size_t i = 0; i < ARRAY_LEN(homes); i++) {
		if (homes[i])
			setenv("HOME", homes[i], 1);
		else
			unsetenv("HOME");
		assert_false(keep_from(1));
		assert_int_equal(given(), -1);
	}
	expect_nothing_in(in_dir("home"));
}

static void another_place_is_an_absolute_one(void **state)
{
	static const char *const relative[] = { "", "home", "../x" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(relative); i++) {
		begin(NULL);
		setenv("XDG_CACHE_HOME", relative[i], 1);
		assert_true(keep_from(3));
		assert_int_equal(access(in_dir("home/.cache/flick"), F_OK), 0);
	}
	begin(NULL);
	unsetenv("HOME");
	setenv("XDG_CACHE_HOME", in_dir("home/cache//"), 1);
	assert_true(keep_from(4));
	assert_int_equal(given(), 4);
	assert_int_equal(access(in_dir("home/cache/flick"), F_OK), 0);
	setenv("XDG_CACHE_HOME", in_dir("home/none/cache"), 1);
	assert_false(keep_from(4));
	shell("rm -r %s/home/cache", dir);
	expect_nothing_in(in_dir("home"));
}

/* Of a directory that is somebody else's nothing is made, and nothing believed. */
static void nothing_is_left_in_anothers_home(void **state)
{
	static const char *const others[] = { "home", "home/.cache", "home/.cache/flick" };

	(void)state;
	if (geteuid())
		skip();
	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		begin(NULL);
		for (size_t k = 1; k <= i; k++)
			mkdir(in_dir(others[k]), 0755);
		assert_int_equal(chown(in_dir(others[i]), NOBODY, NOBODY), 0);
		assert_false(keep_from(5));
		expect_nothing_in(in_dir(others[i]));
		setenv("XDG_CACHE_HOME", in_dir("home/.cache"), 1);
		assert_false(keep_from(5));
		expect_nothing_in(in_dir(others[i]));
	}
	begin(NULL);			/* a user in root's */
	assert_int_equal(chmod(dir, 0755), 0);
	assert_int_equal(chmod(in_dir("home"), 0777), 0);
	assert_int_equal(seteuid(NOBODY), 0);
	assert_false(keep_from(5));
	assert_int_equal(seteuid(0), 0);
	expect_nothing_in(in_dir("home"));
}

static void what_others_may_replace_is_not_believed(void **state)
{
	(void)state;
	assert_true(keep_from(6));
	for (mode_t mode = 02; mode <= 020; mode *= 8) {
		assert_int_equal(chmod(in_dir("home/.cache/flick"), 0700 | mode), 0);
		assert_int_equal(given(), -1);
		assert_false(keep_from(8));
	}
	assert_int_equal(chmod(in_dir("home/.cache/flick"), 0700), 0);
	assert_int_equal(given(), 6);
	if (geteuid())
		return;
	assert_int_equal(chown(kept_file(), NOBODY, NOBODY), 0);
	assert_int_equal(given(), -1);
	assert_true(keep_from(10));
	assert_int_equal(given(), 10);
}

static void a_link_is_followed_to_the_cache_alone(void **state)
{
	(void)state;
	assert_true(keep_from(11));
	shell("cd %s/home && mv .cache else && ln -s else .cache", dir);
	assert_int_equal(given(), 11);	/* the user's, to a place of the user's */
	shell("cd %s/home/else && mv flick other && ln -s other flick", dir);
	assert_int_equal(given(), -1);
	assert_false(keep_from(12));
}

static void a_link_in_place_of_the_file_is_replaced(void **state)
{
	char link[PATH_MAX];

	(void)state;
	assert_true(keep_from(13));
	strcpy(link, kept_file());
	assert_int_equal(rename(link, in_dir("home/precious")), 0);
	assert_int_equal(symlink(in_dir("home/precious"), link), 0);
	assert_true(keep_from(14));
	assert_int_equal(given(), 14);
	assert_int_equal(rename(in_dir("home/precious"), link), 0);
	assert_int_equal(given(), 13);	/* what it led to is as it was */
}

static void where_nothing_may_be_written_nothing_is_kept(void **state)
{
	(void)state;
	assert_true(keep_from(15));
	shell("rm %s", kept_file());
	assert_int_equal(chmod(dir, 0755), 0);
	if (!geteuid())
		shell("chown -R 65534 %s/home", dir);
	assert_int_equal(chmod(in_dir("home/.cache/flick"), 0500), 0);
	assert_int_equal(seteuid(geteuid() ? geteuid() : NOBODY), 0);
	assert_true(keep_from(16));
	assert_int_equal(given(), -1);
	assert_int_equal(seteuid(getuid()), 0);
	expect_nothing_in(in_dir("home/.cache/flick"));
}

/* ---- what -------------------------------------------------------------------------- */

static void another_file_of_the_same_build_is_none(void **state)
{
	static const char *const names[] = { "program", "library" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		assert_true(keep_from(20));
		assert_int_equal(given(), 20);
		shell("cp -p %1$s %1$s.copy && mv %1$s.copy %1$s",
		      in_dir(names[i]));
		assert_int_equal(given(), -1);
		assert_true(keep_from(21));
		assert_int_equal(given(), 21);
		/* In place, with its old length and time. */
		shell("touch -r %1$s %1$s.time && printf x | dd of=%1$s bs=1 seek=100000 "
		      "conv=notrunc 2>/dev/null && touch -r %1$s.time %1$s",
		      in_dir(names[i]));
		assert_int_equal(given(), -1);
	}
}

/* As after a kill in the middle, or on a disk that is full. */
static void a_part_is_none(void **state)
{
	const size_t bytes = ROWS * sizeof(struct fl_found_row);

	(void)state;
	for (size_t cut = 1; cut < bytes * 2; cut = cut * 3 + 1) {
		struct stat st;

		begin(NULL);
		assert_true(keep_from(0xfff00000));
		assert_int_equal(stat(kept_file(), &st), 0);
		assert_int_equal(truncate(kept_file(), st.st_size > (off_t)cut ?
					  st.st_size - (off_t)cut : 0), 0);
		assert_int_equal(given(), -1);
		assert_int_equal(truncate(kept_file(), st.st_size), 0);
		assert_int_equal(given(), -1);	/* as long, and zeros */
		assert_true(keep_from(31));
		assert_int_equal(given(), 31);
	}
}

/* Its number of rows and its sum are at the end of the head. */
static void any_head_is_survived(void **state)
{
	static const uint64_t numbers[] = { 0, 1, ROWS - 1, ROWS + 1, SITES, SITES + 1,
					    UINT32_MAX, 1ull << 32 | ROWS, 1ull << 61,
					    (1ull << 61) + ROWS, INT64_MAX, UINT64_MAX };
	const off_t rows = ROWS * sizeof(struct fl_found_row);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		struct stat st;
		int file;

		begin(NULL);
		assert_true(keep_from(40));
		file = open(kept_file(), O_RDWR);
		assert_true(file >= 0 && !fstat(file, &st));
		assert_int_equal(pwrite(file, &numbers[i], 8, st.st_size - rows - 16), 8);
		assert_int_equal(given(), -1);
		if (numbers[i] < 2 * SITES)	/* the length fits */
			assert_int_equal(ftruncate(file, st.st_size - rows + (off_t)numbers[i] *
						   (off_t)sizeof(struct fl_found_row)), 0);
		close(file);
		assert_int_equal(given(), -1);
	}
}

/* What session/found.c says of as many rows of zeros. */
static uint64_t sum_of_zeros(uint64_t n)
{
	uint64_t sum = n;

	for (uint64_t i = 0; i < n; i++)
		sum *= 0x9e3779b97f4a7c15ull;
	return sum ^ sum >> 29;
}

/* With a sum that is right. */
static void what_is_empty_or_longer_is_none(void **state)
{
	const uint64_t more[2] = { SITES + 1, sum_of_zeros(SITES + 1) };
	static const uint64_t none[2];
	struct stat st;
	int file;

	(void)state;
	assert_true(keep_from(41));
	file = open(kept_file(), O_RDWR | O_APPEND);
	assert_true(file >= 0 && !fstat(file, &st));
	assert_int_equal(write(file, none, 1), 1);
	assert_int_equal(given(), -1);
	assert_int_equal(ftruncate(file, st.st_size), 0);
	assert_int_equal(given(), 41);
	st.st_size -= (off_t)(ROWS * sizeof(struct fl_found_row) + sizeof(none));
	assert_int_equal(ftruncate(file, st.st_size), 0);
	assert_int_equal(write(file, none, sizeof(none)), sizeof(none));
	assert_int_equal(given(), -1);
	assert_int_equal(ftruncate(file, st.st_size), 0);
	assert_int_equal(write(file, more, sizeof(more)), sizeof(more));
	assert_int_equal(ftruncate(file, st.st_size + (off_t)(sizeof(more) + (SITES + 1) *
				   sizeof(struct fl_found_row))), 0);
	close(file);
	assert_int_equal(given(), -1);
}

static void what_is_few_or_too_many_is_not_kept(void **state)
{
	static const uint32_t not_kept[] = { 0, 1, 4095, SITES + 1, UINT32_MAX };
	struct fl_session s;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(not_kept); i++) {
		open_session(&s);
		m->found.n = not_kept[i];
		m->found.state = FL_FOUND_TOLD;
		fl_found_take(&s);
		fl_found_close(&s);
		expect_nothing_in(in_dir("home/.cache/flick"));
	}
}

/* Each has a region of its own; what it is given is whole, of one or the other. */
static void recorders_at_the_same_time_keep_one(void **state)
{
	enum { TIMES = 300 };
	int status, kept = 0;
	pid_t child;

	(void)state;
	child = fork();
	if (!child)
		fl_shm_create(&(struct fl_shm_options){ .n_slots = 1, .max_sites = SITES,
							.ring_kib = 8 }, &m, &fd);
	for (int i = 0; i < TIMES; i++) {
		int64_t seed;

		keep_from(child ? 50 : 60);
		seed = given();
		kept += seed >= 0;
		assert_true(seed < 0 || seed == 50 || seed == 60);
	}
	if (!child)
		_exit(kept ? 0 : 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_true(kept);
	shell("[ \"$(ls %s/home/.cache/flick | wc -l)\" = 1 ]", dir);
}

static void a_killed_recorder_leaves_no_litter(void **state)
{
	enum { TIMES = 60 };

	(void)state;
	for (int i = 0; i < TIMES; i++) {
		pid_t child = fork();
		int status;

		while (!child)
			keep_from(70);
		usleep((useconds_t)(500 + 50 * i));
		kill(child, SIGKILL);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(given() == -1 || given() == 70);
	}
	shell("[ \"$(ls %s/home/.cache/flick | wc -l)\" -le 1 ]", dir);
}

#define TEST(f) cmocka_unit_test_setup(f, begin)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_kept_is_given),
		TEST(who_has_no_home_keeps_nothing),
		TEST(another_place_is_an_absolute_one),
		TEST(nothing_is_left_in_anothers_home),
		TEST(what_others_may_replace_is_not_believed),
		TEST(a_link_is_followed_to_the_cache_alone),
		TEST(a_link_in_place_of_the_file_is_replaced),
		TEST(where_nothing_may_be_written_nothing_is_kept),
		TEST(another_file_of_the_same_build_is_none),
		TEST(a_part_is_none),
		TEST(any_head_is_survived),
		TEST(what_is_empty_or_longer_is_none),
		TEST(what_is_few_or_too_many_is_not_kept),
		TEST(recorders_at_the_same_time_keep_one),
		TEST(a_killed_recorder_leaves_no_litter),
	};

	return cmocka_run_group_tests_name("session-found", tests, set_up, tear_down);
}
