/*
 * Samples become fewer, and say the same: the CPU time of a thread that was there, of one that
 * came later, and of code that is mapped after that, by as many periods; and fewer samples.
 * Those that are there for more of the stack are none of the CPU time.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <time.h>
#include <unistd.h>

#include "perf/sampler.h"
#include "os/os.h"

enum { SPIN_MS = 400, PERIODS = 8 };

static struct fl_sampler *sampler;
static sem_t there, go;

/* A file of its own, so what stands in it is told from the rest: a loop, and how often. */
static unsigned char page[4096];
static const unsigned char loop[] = {
#if defined __x86_64__
	0xff, 0xcf, 0x75, 0xfc, 0xc3,		/* 1: dec %edi; jnz 1b; ret */
#else
	0x00, 0x04, 0x00, 0x71, 0xe1, 0xff, 0xff, 0x54,	/* 1: subs w0, w0, 1; b.ne 1b */
	0xc0, 0x03, 0x5f, 0xd6,
#endif
};
static char path[] = "/tmp/flick-loop-XXXXXX";

static void (*map_loop(void))(unsigned)
{
	int fd = open(path, O_RDONLY);
	void *p = mmap(NULL, sizeof page, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

	close(fd);
	assert_ptr_not_equal(p, MAP_FAILED);
	return (void (*)(unsigned))p;
}

static long own_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void spin(void)
{
	void (*run)(unsigned) = map_loop();
	long begin = own_us();

	while (own_us() - begin < SPIN_MS * 1000)
		run(1000000);
}

static void *spin_when_told(void *unused)
{
	sem_post(&there);
	sem_wait(&go);
	spin();
	return unused;
}

static void begin_thread(pthread_t *t)
{
	assert_int_equal(pthread_create(t, NULL, spin_when_told, NULL), 0);
	sem_wait(&there);
}

/* What stood in the loop: periods and samples. */
static struct fl_pc sum_up(void)
{
	struct fl_pc sum = { .n = 0 };
	size_t n;
	const struct fl_pc *pc = fl_sampler_counts(sampler, &n);

	for (size_t i = 0; i < n; i++) {
		if (strcmp(pc[i].path, path))
			continue;
		sum.n += pc[i].n;
		sum.taken += pc[i].taken;
	}
	return sum;
}

/* The first thread has the name that it was given before any sample was looked at; threads that
 * had ended by then are named after it. */
static void assert_threads_are_named(void)
{
	size_t n;
	const struct fl_pc *pc = fl_sampler_counts(sampler, &n);
	const struct fl_sampled_thread *seen = NULL;
	int others = 0;

	for (size_t i = 0; i < n; i++) {
		assert_non_null(pc[i].thread);
		assert_string_equal(pc[i].thread->name, "sampled");
		if (pc[i].thread->tid != getpid() && pc[i].thread != seen)
			others++;
		seen = pc[i].thread;
	}
	assert_true(others >= 2);
}

static void fewer_samples_stand_for_the_same_time(void **unused)
{
	pthread_t earlier, later;
	struct fl_pc before, after;

	(void)unused;
	sem_init(&there, 0, 0);
	sem_init(&go, 0, 0);
	pthread_setname_np(pthread_self(), "sampled");
	if (fl_sampler_open_of(&sampler, getpid(), FL_SAMPLED_PLACES))
		skip();
	begin_thread(&earlier);
	spin();
	before = sum_up();
	assert_int_equal(fl_sampler_slow(sampler, getpid(), PERIODS), 0);
	begin_thread(&later);
	sem_post(&go);
	sem_post(&go);
	spin();
	pthread_join(earlier, NULL);
	pthread_join(later, NULL);
	fl_sampler_stop(sampler);
	after = sum_up();
	assert_threads_are_named();
	fl_sampler_close(sampler);

	assert_int_equal(before.n, before.taken);
	assert_in_range(before.n, SPIN_MS / 10, SPIN_MS * 8 / 5);
	after.n -= before.n;
	after.taken -= before.taken;
	assert_in_range(after.n, SPIN_MS, 3 * SPIN_MS * 5 / 4);
	assert_in_range(after.taken, 1, after.n / (PERIODS / 2));
}

static void *spin_as_flick(void *tid)
{
	*(int *)tid = gettid();
	pthread_setname_np(pthread_self(), FL_OS_OUTSIDE_NAME);
	spin();
	return NULL;
}

/* What flick has beside a program goes by its name. */
static void what_flick_has_beside_is_left_out(void **unused)
{
	pthread_t t;
	size_t n;
	const struct fl_pc *pc;
	int tid;

	(void)unused;
	if (fl_sampler_open_of(&sampler, getpid(), FL_SAMPLED_PLACES))
		skip();
	assert_int_equal(pthread_create(&t, NULL, spin_as_flick, &tid), 0);
	spin();
	pthread_join(t, NULL);
	fl_sampler_stop(sampler);
	pc = fl_sampler_counts(sampler, &n);
	assert_int_not_equal(n, 0);
	for (size_t i = 0; i < n; i++)
		assert_int_not_equal(pc[i].thread->tid, tid);
	fl_sampler_close(sampler);
}

static void what_tells_callers_is_no_time(void **unused)
{
	enum { TIMES = 150 };
	void (*run)(unsigned) = map_loop();
	struct fl_pc sum;
	long us = 0;

	(void)unused;
	assert_int_equal(fl_sampler_open(&sampler, FL_SAMPLED_CALLS), 0);
	if (fl_sampler_start(sampler, 0)) {
		fl_sampler_close(sampler);
		skip();
	}
	fl_sampler_go(sampler, getpid());
	for (int i = 0; i < TIMES; i++) {
		us -= own_us();
		run(20000000);
		us += own_us();
		fl_sampler_poll(sampler);
	}
	fl_sampler_stop(sampler);
	sum = sum_up();
	fl_sampler_close(sampler);
	print_message("%lu periods in %ld us\n", (unsigned long)sum.n, us);
	assert_in_range(sum.n, us / 2000, us / 1000 * 1013 / 1000);
}

static int make_file(void **unused)
{
	int fd = mkstemp(path);

	(void)unused;
	memcpy(page, loop, sizeof loop);
	return fd < 0 || write(fd, page, sizeof page) != sizeof page || close(fd);
}

static int remove_file(void **unused)
{
	(void)unused;
	return unlink(path);
}

/* Once more where the stack ends with the memory that a program may have. */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fewer_samples_stand_for_the_same_time),
		cmocka_unit_test(what_flick_has_beside_is_left_out),
		cmocka_unit_test(what_tells_callers_is_no_time),
	};

	int failed = cmocka_run_group_tests(tests, make_file, remove_file);

	if (failed || argc > 1)
		return failed;
	personality(ADDR_NO_RANDOMIZE);
	return execl("/proc/self/exe", argv[0], "again", NULL);
}
