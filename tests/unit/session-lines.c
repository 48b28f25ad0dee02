/*
 * Lines of a program's functions are kept for its next run, for the very file they are of,
 * and nothing in a file that was kept leads out of it.
 */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "session/kept.h"
#include "session/lines.h"

enum { N = 1200, FORGED = 77777 };

static char dir[] = "/tmp/flick-lines.XXXXXX";
static struct fl_function functions[N];
static uint32_t function_of[N];
static unsigned char selected[N];
static struct fl_shm_module module;

static const char *in_dir(const char *name)
{
	static char path[4][PATH_MAX];
	static unsigned at;
	char *p = path[at++ % 4];

	snprintf(p, PATH_MAX, "%s/%s", dir, name);
	return p;
}

static void shell(const char *format)
{
	char command[2 * PATH_MAX];

	snprintf(command, sizeof(command), "cd %s && { %s; }", dir, format);
	assert_int_equal(system(command), 0);
}

/* Where this file begins in memory: the linker says it. */
extern const char __executable_start[];

static int set_up(void **state)
{
	const uint64_t from = (uint64_t)((const char *)shell - __executable_start);

	(void)state;
	if (!mkdtemp(dir))
		return -1;
	shell("cp /proc/$PPID/exe program && cp program library && cp program original");
	strcpy(module.path, in_dir("program"));
	for (uint32_t i = 0; i < N; i++) {
		functions[i].at = from + 2 * i;	/* in the middle of one will do */
		function_of[i] = i;
		selected[i] = 1;
	}
	setenv("HOME", in_dir("home"), 1);
	unsetenv("XDG_CACHE_HOME");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	shell("rm -rf \"$PWD\"");
	return 0;
}

static int begin(void **state)
{
	(void)state;
	shell("rm -rf home program && mkdir home && cp original program");
	return 0;
}

static void open_run(struct fl_session *s, uint32_t n)
{
	*s = (struct fl_session){
		.chosen = { .n = n, .marks = selected },
		.functions = { .modules = &module, .n_modules = 1, .all = functions, .n = n,
			       .function_of = function_of },
	};
	strcpy(s->launch.file, in_dir("program"));
	strcpy(s->launch.library, in_dir("library"));
	assert_int_equal(fl_symbols_open(&s->functions.symbols), 0);
	fl_lines_open(s);
	assert_non_null(s->lines);
}

static void close_run(struct fl_session *s)
{
	fl_lines_close(s);
	fl_symbols_close(s->functions.symbols);
}

static const char *find(struct fl_session *s, uint32_t f, int *line)
{
	*line = 0;
	return fl_lines_find(s->lines, s->functions.symbols, module.path, functions[f].at,
			     line);
}

/* A run of which n functions were called; *forged: of how many a forged line was told, all
 * others were right. */
static void run(uint32_t n, uint32_t *forged)
{
	struct fl_symbols *truth;
	uint32_t lines = 0;
	struct fl_session s;

	open_run(&s, n);
	assert_int_equal(fl_symbols_open(&truth), 0);
	fl_lines_begin(&s);
	fl_lines_end(s.lines);
	*forged = 0;
	for (uint32_t f = 0; f < n; f++) {
		int line, right = 0;
		const char *file = find(&s, f, &line);
		const char *real = fl_symbols_line(truth, in_dir("original"), functions[f].at,
						   &right);

		lines += real != NULL;
		*forged += file && line == FORGED;
		if (file && line == FORGED)
			continue;
		assert_int_equal(!file, !real);
		if (real)
			assert_string_equal(file, real);
		assert_int_equal(line, right);
	}
	assert_true(lines > n / 2);
	fl_symbols_close(truth);
	close_run(&s);
}

static bool is_kept(void)
{
	char command[PATH_MAX];

	snprintf(command, sizeof(command), "ls %s/home/.cache/flick/lines.* >/dev/null 2>&1",
		 dir);
	return system(command) == 0;
}

static struct fl_kept_file *open_kept(void)
{
	struct fl_launch l = { .calls_hooks = false };

	strcpy(l.file, in_dir("program"));
	strcpy(l.library, in_dir("library"));
	return fl_kept_open(&l, "lines 1");
}

static uint64_t *read_kept(uint64_t *n)
{
	struct fl_kept_file *k = open_kept();
	uint64_t *words;

	assert_non_null(k);
	assert_true(fl_kept_find(k, n));
	words = malloc(*n * sizeof(*words));
	assert_true(words && fl_kept_read(k, words));
	fl_kept_close(k);
	return words;
}

/* By this user, for this program: it is believed. */
static void forge(const uint64_t *words, uint64_t n)
{
	struct fl_kept_file *k = open_kept();

	assert_non_null(k);
	fl_kept_write(k, words, n);
	fl_kept_close(k);
}

/* All rows have a line that is not true. */
static uint64_t *forge_lines(uint64_t *n)
{
	uint64_t *words;
	uint32_t forged;

	run(N, &forged);
	assert_int_equal(forged, 0);
	words = read_kept(n);
	assert_int_equal(words[0], N);
	for (uint64_t i = 0; i < words[0]; i++)
		words[2 + 2 * i] = (uint64_t)FORGED << 32 | 1;
	forge(words, *n);
	return words;
}

static void what_was_looked_up_is_not_again(void **state)
{
	uint32_t forged;
	uint64_t n;

	(void)state;
	free(forge_lines(&n));
	run(N, &forged);
	assert_int_equal(forged, N);
	run(3, &forged);		/* of which a few have probes */
	assert_int_equal(forged, 3);
}

static void another_program_has_its_own_lines(void **state)
{
	uint32_t forged;
	uint64_t n;

	(void)state;
	free(forge_lines(&n));
	shell("cp -p program copy && mv copy program");
	run(N, &forged);
	assert_int_equal(forged, 0);
	free(forge_lines(&n));
	shell("touch -r program time && printf x | dd of=program bs=1 seek=12 "
	      "conv=notrunc 2>/dev/null && chmod u+w program && touch -r time program");
	run(N, &forged);
	assert_int_equal(forged, 0);
}

/* What is met at the end had no probe when the program began. */
static void a_run_adds_what_it_met(void **state)
{
	struct fl_session s;
	uint32_t forged;
	uint64_t n, *words;
	int line;

	(void)state;
	run(N - 100, &forged);
	words = read_kept(&n);
	assert_int_equal(words[0], N - 100);
	free(words);
	open_run(&s, N - 100);		/* others are met when it has ended */
	fl_lines_begin(&s);
	fl_lines_end(s.lines);
	for (uint32_t f = N - 1; f >= N - 50; f--)
		find(&s, f, &line);
	close_run(&s);
	words = read_kept(&n);
	assert_int_equal(words[0], N - 50);
	for (uint64_t i = 1; i < words[0]; i++)
		assert_true(words[1 + 2 * i] > words[1 + 2 * (i - 1)]);
	free(words);
	run(N, &forged);
	words = read_kept(&n);
	assert_int_equal(words[0], N);
	free(words);
}

static void few_are_not_kept(void **state)
{
	uint32_t forged;

	(void)state;
	run(255, &forged);
	assert_false(is_kept());
}

/* Another file says it, now: it may come and go. */
static void lines_of_another_file_are_not_kept(void **state)
{
	static const char *const programs[] = {
		"strip -g program",
		"echo x >link && objcopy --add-section .gnu_debugaltlink=link program",
	};
	struct fl_session s;
	int line;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(programs); i++) {
		begin(NULL);
		shell(programs[i]);
		open_run(&s, N);
		fl_lines_begin(&s);
		fl_lines_end(s.lines);
		for (uint32_t f = 0; f < N; f++)
			find(&s, f, &line);
		close_run(&s);
		assert_false(is_kept());
	}
}

static void a_file_of_another_kind_is_none(void **state)
{
	uint64_t n, *words = NULL, *bad;
	uint32_t forged;

	(void)state;
	for (int which = 0; which < 8; which++) {
		begin(NULL);
		free(words);
		words = forge_lines(&n);
		bad = malloc(n * sizeof(*bad));
		assert_non_null(bad);
		memcpy(bad, words, n * sizeof(*bad));
		switch (which) {
		case 0: bad[0] = 0; break;
		case 1: bad[0] = n; break;
		case 2: bad[0] = (n - 1) / 2 + 1; break;
		case 3: bad[0] = UINT64_MAX / 2 + 1; break;
		case 4: bad[5] = bad[3]; break;			/* two at one place */
		case 5: bad[1 + 2 * (N - 1)] = 1; break;	/* not ascending */
		case 6:						/* a text behind the last */
			bad[2 * N] = (uint64_t)FORGED << 32 | ((n - 1 - 2 * N) * 8 + 1);
			break;
		case 7: bad[n - 1] |= 0x78ull << 56; break;	/* and one without an end */
		}
		forge(bad, n);
		free(bad);
		run(N, &forged);
		assert_int_equal(forged, 0);
	}
	free(words);
	begin(NULL);			/* half a row */
	forge((const uint64_t[]){ 1, functions[0].at }, 2);
	run(N, &forged);
	assert_int_equal(forged, 0);
}

static void lines_may_be_without_a_file(void **state)
{
	uint64_t n, *words;
	struct fl_session s;
	uint32_t forged;
	int line;

	(void)state;
	words = forge_lines(&n);
	words[2] = 0;
	forge(words, 1 + 2 * N);	/* no texts at all: then no row may name one */
	free(words);
	run(N, &forged);
	assert_int_equal(forged, 0);
	words = malloc((1 + 2 * N) * sizeof(*words));
	assert_non_null(words);
	words[0] = N;
	for (uint32_t i = 0; i < N; i++) {
		words[1 + 2 * i] = functions[i].at;
		words[2 + 2 * i] = 0;
	}
	forge(words, 1 + 2 * N);
	free(words);
	open_run(&s, N);
	fl_lines_begin(&s);
	fl_lines_end(s.lines);
	for (uint32_t f = 0; f < N; f++)
		assert_null(find(&s, f, &line));
	close_run(&s);
}

static void other_files_are_asked_themselves(void **state)
{
	struct fl_session s;
	int line = 0, right = 0;
	const char *file;
	uint64_t n;

	(void)state;
	free(forge_lines(&n));
	open_run(&s, N);
	fl_lines_begin(&s);
	fl_lines_end(s.lines);
	file = fl_lines_find(s.lines, s.functions.symbols, in_dir("original"),
			     functions[N / 2].at, &line);
	assert_ptr_equal(file, fl_symbols_line(s.functions.symbols, in_dir("original"),
					       functions[N / 2].at, &right));
	assert_true(line == right && line != FORGED);
	close_run(&s);
}

#define TEST(f) cmocka_unit_test_setup(f, begin)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_was_looked_up_is_not_again),
		TEST(another_program_has_its_own_lines),
		TEST(a_run_adds_what_it_met),
		TEST(few_are_not_kept),
		TEST(lines_of_another_file_are_not_kept),
		TEST(a_file_of_another_kind_is_none),
		TEST(lines_may_be_without_a_file),
		TEST(other_files_are_asked_themselves),
	};

	return cmocka_run_group_tests_name("session-lines", tests, set_up, tear_down);
}
