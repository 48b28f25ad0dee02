/*
 * A trace comes back as it was written; cut short or damaged anywhere, it says
 * so and gives what was before.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <zstd.h>

#include "report/report.h"

#define BATCHES 40
#define BATCH 97

static char dir[64], file[96], why[FL_WHY];

/* What was fed, as one number a record; an order of its own for thread ends. */
static uint64_t *got;
static size_t n_got, n_ended;
static uint64_t pauses;			/* of all batches, each times its thread and 1 */

static void feed(void *arg, const struct fl_batch *b)
{
	(void)arg;
	pauses += b->paused * (b->thread + 1);
	for (size_t i = 0; i < b->n && n_got < BATCHES * BATCH; i++)
		got[n_got++] = b->records[i].tsc * 1000 + b->thread;
}

static void thread_end(void *arg, uint32_t thread, uint64_t alive)
{
	(void)arg;
	(void)alive;
	(void)thread;
	n_ended++;
}

static const struct fl_sink sink = { .feed = feed, .thread_end = thread_end };

static uint64_t record_number(size_t i)
{
	return (i * 7919 + 13) * 1000 + i / BATCH % 3;
}

static void write_trace(void)
{
	struct flick_record r[BATCH];
	struct fl_trace *t;

	assert_int_equal(fl_trace_create(&t, dir, why), 0);
	for (size_t b = 0; b < BATCHES; b++) {
		for (size_t i = 0; i < BATCH; i++)
			r[i] = (struct flick_record){ (b * BATCH + i) * 7919 + 13,
						      (uint32_t)i, (uint32_t)b };
		fl_trace_put(t, &(struct fl_batch){ .thread = (uint32_t)(b % 3),
						    .records = r, .n = BATCH,
						    .paused = b % 2 ? b << 40 : 0 });
	}
	for (uint32_t i = 0; i < 3; i++)
		fl_trace_thread_end(t, i);
	assert_int_equal(fl_trace_save(t, why), 0);
	fl_trace_close(t);
}

static int read_trace(void)
{
	n_got = n_ended = pauses = 0;
	why[0] = '\0';
	return fl_trace_read(dir, &sink, why);
}

static bool is_prefix(void)
{
	for (size_t i = 0; i < n_got; i++)
		if (got[i] != record_number(i))
			return false;
	return true;
}

static uint64_t pauses_written(void)
{
	uint64_t sum = 0;

	for (uint64_t b = 1; b < BATCHES; b += 2)
		sum += (b << 40) * (b % 3 + 1);
	return sum;
}

static int set_up(void **unused)
{
	(void)unused;
	strcpy(dir, "/tmp/flick-trace-XXXXXX");
	got = malloc(BATCHES * BATCH * sizeof(*got));
	if (!got || !mkdtemp(dir))
		return -1;
	snprintf(file, sizeof(file), "%s/trace.zst", dir);
	return 0;
}

static int tear_down(void **unused)
{
	(void)unused;
	unlink(file);
	rmdir(dir);
	free(got);
	return 0;
}

static off_t size_of_file(void)
{
	struct stat st;

	assert_int_equal(stat(file, &st), 0);
	return st.st_size;
}

static void what_is_written_is_read(void **unused)
{
	(void)unused;
	write_trace();
	assert_int_equal(read_trace(), 0);
	assert_int_equal(n_got, BATCHES * BATCH);
	assert_int_equal(n_ended, 3);
	assert_int_equal(pauses, pauses_written());
	assert_true(is_prefix());
	assert_string_equal(why, "");
}

static void a_file_cut_anywhere_is_read_up_to_there(void **unused)
{
	off_t whole;

	(void)unused;
	write_trace();
	whole = size_of_file();
	for (off_t n = whole - 1; n >= 16; n -= 1 + whole / 300) {
		assert_int_equal(truncate(file, n), 0);
		assert_int_equal(read_trace(), 1);
		assert_non_null(strstr(why, "cut short"));
		assert_null(strchr(why, '\n'));
		assert_true(is_prefix());
	}
	assert_int_equal(truncate(file, 9), 0);
	assert_int_equal(read_trace(), -1);
	assert_non_null(strstr(why, "not a trace"));
}

/* What of the middle is not told by zstd may be other numbers, but never more
 * of them, and the reader lives. */
static void damage_is_told(void **unused)
{
	off_t whole;
	unsigned told = 0, tried = 0;

	(void)unused;
	write_trace();
	whole = size_of_file();
	for (off_t at = 16; at < whole; at += 1 + whole / 200, tried++) {
		int fd = open(file, O_RDWR);
		unsigned char byte;

		assert_int_equal(pread(fd, &byte, 1, at), 1);
		byte ^= 0x55;
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
		told += read_trace() != 0;
		byte ^= 0x55;
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
		close(fd);
	}
	assert_int_equal(told, tried);		/* zstd's checksum sees the rest */
	assert_int_equal(read_trace(), 0);
}

static void other_files_are_refused(void **unused)
{
	FILE *f = fopen(file, "w");

	(void)unused;
	for (int i = 0; i < 1000; i++)
		fputs("not a trace", f);
	fclose(f);
	assert_int_equal(read_trace(), -1);
	assert_non_null(strstr(why, "not a trace"));
	unlink(file);
	assert_int_equal(read_trace(), -1);
	assert_non_null(strstr(why, "--trace"));
}

/* ---- files that somebody else wrote ------------------------------------------------ */

struct block {
	uint32_t type, thread;
	uint64_t n;
};
enum { RECORDS = 1, THREAD_END, END, PAUSE };

static uint64_t version = FL_TRACE_VERSION;

/* What stands behind a right header; sound for zstd. */
static void write_blocks(const void *blocks, size_t n)
{
	const uint64_t header[] = { 0x3165636172746b66, version |
				    (uint64_t)sizeof(struct flick_record) << 32 };
	char packed[512];
	size_t bytes = ZSTD_compress(packed, sizeof(packed), blocks, n, 1);
	FILE *f = fopen(file, "w");

	assert_false(ZSTD_isError(bytes));
	fwrite(header, sizeof(header), 1, f);
	fwrite(packed, bytes, 1, f);
	fclose(f);
}

/* One record, and what its block and the end say of it. */
static int read_one(uint32_t type, uint32_t thread, uint64_t n, uint64_t at_end)
{
	const struct {
		struct block first;
		struct flick_record record;
		struct block end;
	} all = { { type, thread, n }, { 13, 0, 0 }, { END, 0, at_end } };

	write_blocks(&all, sizeof(all));
	return read_trace();
}

static void numbers_are_checked(void **unused)
{
	(void)unused;
	assert_int_equal(read_one(RECORDS, 0, 1, 1), 0);
	assert_int_equal(n_got, 1);
	assert_int_equal(read_one(RECORDS, 0, 1, 2), 1);
	assert_int_equal(n_got, 1);
	assert_non_null(strstr(why, "the first 1 events are shown"));
	assert_int_equal(read_one(RECORDS, 0, 1, 0), 1);
	assert_int_equal(read_one(RECORDS, 0, UINT64_MAX, 1), 1);
	assert_int_equal(read_one(RECORDS, FL_TRACE_THREADS, 1, 1), 1);
	assert_int_equal(n_got, 0);
	assert_non_null(strstr(why, "damaged"));
	assert_int_equal(read_one(THREAD_END, UINT32_MAX, 0, 0), 1);
	assert_int_equal(n_ended, 0);
	assert_int_equal(read_one(9, 0, 1, 1), 1);
	assert_int_equal(read_one(END, 0, 0, 0), 1);	/* and something behind it */
}

static void an_older_trace_is_read_and_a_newer_one_is_not(void **unused)
{
	(void)unused;
	version = 1;
	assert_int_equal(read_one(RECORDS, 0, 1, 1), 0);
	assert_int_equal(n_got, 1);
	for (uint64_t other = 0; other <= FL_TRACE_VERSION + 1; other += FL_TRACE_VERSION + 1) {
		version = other;
		assert_int_equal(read_one(RECORDS, 0, 1, 1), -1);
		assert_non_null(strstr(why, "another version"));
	}
	version = FL_TRACE_VERSION;
}

/* Records of thread 5, behind a pause of `thread` and `between`. One is not known: they come
 * in two batches. */
static uint64_t pause_read(uint32_t thread, struct block between)
{
	const struct {
		struct block pause, between, records;
		struct flick_record record[3];
		struct block end;
	} all = { { PAUSE, thread, 1000 }, between, { RECORDS, 5, 3 },
		  { { 13, 0, 0 }, { 14, fl_typed(FLICK_N_TYPES, 0), 0 }, { 15, 0, 0 } },
		  { END, 0, 3 } };

	write_blocks(&all, sizeof(all));
	assert_int_equal(read_trace(), 0);
	assert_int_equal(n_got, 2);
	return pauses / 6;
}

static void a_pause_is_of_the_block_behind_it(void **unused)
{
	(void)unused;
	assert_int_equal(pause_read(5, (struct block){ PAUSE, 5, 7 }), 7);
	assert_int_equal(pause_read(5, (struct block){ PAUSE, 4, 7 }), 0);
	assert_int_equal(pause_read(5, (struct block){ RECORDS, 5, 0 }), 0);
	assert_int_equal(pause_read(5, (struct block){ THREAD_END, 5, 0 }), 0);
	assert_int_equal(pause_read(UINT32_MAX, (struct block){ PAUSE, 5, 7 }), 7);
}

static void a_pipe_is_not_waited_for(void **unused)
{
	(void)unused;
	assert_int_equal(mkfifo(file, 0666), 0);
	assert_int_equal(read_trace(), -1);
	assert_non_null(strstr(why, "no regular file"));
}

/* Whoever may write into the directory has put a link where the trace will be. */
static void a_link_is_not_written_through(void **unused)
{
	char tmp[128], other[128];
	struct fl_trace *t;

	(void)unused;
	snprintf(tmp, sizeof(tmp), "%s.tmp", file);
	snprintf(other, sizeof(other), "%s.other", file);
	assert_int_equal(symlink(other, tmp), 0);
	assert_int_equal(fl_trace_create(&t, dir, why), 0);
	assert_int_not_equal(access(other, F_OK), 0);
	fl_trace_close(t);
}

static void what_is_not_saved_leaves_nothing(void **unused)
{
	struct fl_trace *t;
	char tmp[128];

	(void)unused;
	assert_int_equal(fl_trace_create(&t, dir, why), 0);
	fl_trace_close(t);
	snprintf(tmp, sizeof(tmp), "%s.tmp", file);
	assert_int_not_equal(access(tmp, F_OK), 0);
	assert_int_not_equal(access(file, F_OK), 0);
	assert_int_equal(fl_trace_create(&t, "/proc/nothing/here", why), -1);
	assert_non_null(strstr(why, "/proc/nothing/here"));
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(what_is_written_is_read),
		T(a_file_cut_anywhere_is_read_up_to_there),
		T(damage_is_told),
		T(other_files_are_refused),
		T(numbers_are_checked),
		T(an_older_trace_is_read_and_a_newer_one_is_not),
		T(a_pause_is_of_the_block_behind_it),
		T(a_pipe_is_not_waited_for),
		T(a_link_is_not_written_through),
		T(what_is_not_saved_leaves_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
