/*
 * Events of threads that are there: a thread that is found, and had inherited its creator's
 * event before, is told once; one that comes later is told; so is one whose number was
 * another's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "perf/rings.h"
#include "stop-at.h"

#define PERIOD_NS 1000000
enum { SPIN_MS = 100 };

static struct fl_perf_rings rings;
static sem_t go;
static int tid_of_found, tid_of_late;
static unsigned n_found, n_late, n_first;

static long own_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* From now on: who waited for a thread to begin has spun before. A look at the clock is the
 * kernel's time, of which there are no samples. */
static void spin(void)
{
	long begin = own_ms();

	while (own_ms() - begin < SPIN_MS)
		for (volatile int i = 0; i < 100000; i++)
			;
}

static void *spin_when_told(void *tid)
{
	__atomic_store_n((int *)tid, (int)syscall(SYS_gettid), __ATOMIC_RELEASE);
	sem_wait(&go);
	spin();
	return NULL;
}

static pthread_t found, late;

static void begin_thread(pthread_t *t, int *tid)
{
	pthread_create(t, NULL, spin_when_told, tid);
	while (!__atomic_load_n(tid, __ATOMIC_ACQUIRE))
		;
}

static void create_meanwhile(void)
{
	begin_thread(&found, &tid_of_found);
}

struct sample {
	struct perf_event_header header;
	uint64_t ip;
	uint32_t pid, tid;
};

static void count(void *unused, const struct perf_event_header *h)
{
	uint32_t tid = ((const struct sample *)h)->tid;

	(void)unused;
	if (h->type != PERF_RECORD_SAMPLE)
		return;
	n_found += tid == (uint32_t)tid_of_found;
	n_late += tid == (uint32_t)tid_of_late;
	n_first += tid == (uint32_t)getpid();
}

static void each_thread_is_told_once(void **unused)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr), .type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK, .sample_period = PERIOD_NS,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			       PERF_SAMPLE_ID,
		.inherit = 1, .exclude_kernel = 1, .task = 1, .sample_id_all = 1,
		.use_clockid = 1, .clockid = CLOCK_MONOTONIC,
	};

	(void)unused;
	sem_init(&go, 0, 0);
	stop("perf.thread", create_meanwhile);
	if (fl_perf_rings_open_of(&rings, &attr, getpid()) == -EACCES)
		skip();
	assert_non_null(rings.of);
	assert_int_not_equal(tid_of_found, 0);
	begin_thread(&late, &tid_of_late);
	sem_post(&go);
	sem_post(&go);
	pthread_join(found, NULL);
	pthread_join(late, NULL);
	spin();
	fl_perf_rings_stop(&rings);
	fl_perf_rings_take(&rings, count, NULL);
	assert_in_range(n_found, SPIN_MS / 10, SPIN_MS * 8 / 5);
	assert_in_range(n_late, SPIN_MS / 10, SPIN_MS * 8 / 5);
	assert_in_range(n_first, SPIN_MS / 10, SPIN_MS * 8 / 5);
	fl_perf_rings_close(&rings);
}

struct record {
	struct perf_event_header header;
	uint32_t pid, parent, tid, parents_tid;
	uint64_t at;			/* the trailer */
	uint32_t by_pid, by_tid;
	uint64_t time, id;
};

/* Behind whose address more may stand, as a stack. */
struct taken {
	struct perf_event_header header;
	uint64_t at;
	uint32_t by_pid, by_tid;
	uint64_t time, id, more[8];
};

static bool is_twice(struct fl_perf_rings *r, uint32_t type, uint32_t tid, uint64_t id)
{
	struct record one = { .header = { .type = type, .size = sizeof(one) },
			      .tid = tid, .by_tid = tid, .id = id };
	struct taken sample = { .header = { .type = type, .size = sizeof(sample) },
				.by_tid = tid, .id = id };

	return fl_perf_rings_is_twice(r, type == PERF_RECORD_SAMPLE ? &sample.header :
					 &one.header);
}

static void a_number_may_be_anothers_later(void **unused)
{
	struct fl_perf_own own[] = { { 5, 1 }, { 5, 2 }, { 7, 3 }, { 7, 4 } };
	struct fl_perf_rings r = { .own = own, .n_own = 4 };

	(void)unused;
	assert_false(is_twice(&r, PERF_RECORD_SAMPLE, 5, 1));
	assert_false(is_twice(&r, PERF_RECORD_SAMPLE, 5, 2));
	assert_true(is_twice(&r, PERF_RECORD_SAMPLE, 7, 1));
	assert_false(is_twice(&r, PERF_RECORD_SAMPLE, 6, 1));
	assert_false(is_twice(&r, PERF_RECORD_SAMPLE, 9, 1));
	assert_false(is_twice(&r, PERF_RECORD_EXIT, 7, 3));
	assert_false(is_twice(&r, PERF_RECORD_SAMPLE, 7, 1));
	assert_true(is_twice(&r, PERF_RECORD_SAMPLE, 5, 3));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_thread_is_told_once),
		cmocka_unit_test(a_number_may_be_anothers_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
