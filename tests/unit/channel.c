/*
 * unit/channel.c - events reach the reader whole, once, in order, or a counter
 * says why not.
 *
 * timeout: 120
 */
#include <linux/futex.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "channel-half.h"
#include "os/os.h"

/* ---- the region ------------------------------------------------------------ */

static void region_has_the_promised_defaults(void **state)
{
	struct fl_shm_options o = { .action = FL_ACT_TIME };
	const struct fl_shm_session *s;
	struct fl_region *m;
	int fd;

	(void)state;
	assert_int_equal(fl_shm_create(&o, &m, &fd), 0);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(m->magic, FL_SHM_MAGIC);
	assert_int_equal(m->n_slots, 2048);
	s = &m->session[0];
	assert_int_equal(s->chunk_bytes, 16 * 1024);
	assert_int_equal(s->ring_chunks, 32);
	assert_int_equal(m->slot_bytes, FL_SLOT_HEADER_BYTES + 2 * 16 * 1024);
	assert_int_equal(s->n_readers, 1);
	assert_int_equal(m->max_sites, 1 << 20);
	assert_int_equal(m->max_modules, 65535);
	assert_true(m->modules_at >= sizeof(*m));
	assert_true(m->glue_at >= m->modules_at + 65535ull * sizeof(struct fl_shm_module));
	assert_true(m->found_at >= m->glue_at + (uint64_t)m->max_glue *
				   sizeof(struct fl_glue_range));
	assert_true(m->sites_at >= m->found_at + (uint64_t)m->max_sites *
				   sizeof(struct fl_found_row));
	assert_true(m->slots_at >= m->sites_at + sizeof(struct fl_shm_site) * (1ull << 20));
	assert_int_equal(s->pool_at, m->slots_at + 2048ull * m->slot_bytes);
	assert_int_equal(s->pool_chunks * (uint64_t)s->chunk_bytes, 1ull << 30);
	assert_int_equal(m->bytes, s->pool_at + (1ull << 30));
	assert_int_equal(s->reader_pid, getpid());
	fl_shm_destroy(m, fd);
	fl_shm_destroy(NULL, -1);
}

/* A ring has no more chunks than there are places for, and the pool no more than all
 * rings can want. */
static void region_is_as_large_as_its_rings(void **state)
{
	struct fl_shm_options o = { .action = FL_ACT_TIME, .n_slots = 2, .max_sites = 16 };
	static const uint32_t kib[] = { 8, 64, 512, 8192, 1024 * 1024 };

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_LEN(kib); i++) {
		const struct fl_shm_session *s;
		struct fl_region *m;
		int fd;

		o.ring_kib = kib[i / 2];
		o.weaves = i % 2 ? FL_WEAVE_ACCESSES : 0;
		assert_int_equal(fl_shm_create(&o, &m, &fd), 0);
		s = &m->session[0];
		assert_in_range(s->ring_chunks, 2, FL_RING_CHUNKS);
		assert_true(s->ring_chunks * (uint64_t)s->chunk_bytes <= o.ring_kib * 1024ull);
		assert_true(s->pool_chunks * (uint64_t)s->chunk_bytes <=
			    2 * o.ring_kib * 1024ull);
		if (o.ring_kib == 512)		/* fewer, longer ones */
			assert_int_equal(s->ring_chunks, o.weaves ? 8 : 32);
		fl_shm_destroy(m, fd);
	}
}

static void region_refuses_options_out_of_range(void **state)
{
	const struct fl_shm_options bad[] = {
		{ .n_slots = FL_MAX_SLOTS + 1 },
		{ .ring_kib = 7 },
		{ .ring_kib = 1024 * 1024 + 1 },
		{ .max_sites = UINT32_MAX },
		{ .n_counters = FL_MAX_SITES + 1 },
		{ .n_readers = FL_MAX_READERS + 1 },
		{ .action = FL_N_ACTIONS },
		{ .rate = FL_RATE_ALL / 2, .n_readers = 2 },
	};
	struct fl_region *m = NULL;
	int fd = -7;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(fl_shm_create(&bad[i], &m, &fd), FLE_OPTION);
	assert_null(m);
	assert_int_equal(fd, -7);
}

/* Bytes of the file that there are pages for, from `at` on. */
static uint64_t pages_at(int fd, uint64_t at, uint64_t n)
{
	const uint64_t end = at + n;
	uint64_t sum = 0, to;

	for (to = end; fl_os_file_data(fd, &at, &to); at = to, to = end)
		sum += to - at;
	return sum;
}

/* What runs on in a program that was attached to reads heads and rows of sites. */
static void a_region_that_was_left_gives_back_what_nobody_reads(void **state)
{
	struct fl_shm_options o = { .action = FL_ACT_SAMPLE, .n_slots = 3, .max_sites = 5000 };

	(void)state;
	for (uint32_t left = 0; left < 2; left++) {
		struct fl_region *m, was;
		char *at;
		int fd, kept;

		assert_int_equal(fl_shm_create(&o, &m, &fd), 0);
		at = (char *)m;
		memset(at + m->processes_at, 1, m->bytes - m->processes_at);
		m->is_attached = 1;
		m->n_slots_used = 3;
		m->has_left = left;
		was = *m;
		kept = dup(fd);
		fl_shm_destroy(m, fd);
		assert_int_equal(pages_at(kept, 0, was.glue_at), was.glue_at);
		assert_int_equal(pages_at(kept, was.sites_at, was.staged_at - was.sites_at),
				 was.staged_at - was.sites_at);
		assert_int_equal(pages_at(kept, was.slots_at, was.bytes - was.slots_at),
				 left ? 3 * FL_SLOT_HEADER_BYTES : was.bytes - was.slots_at);
		assert_int_equal(pages_at(kept, was.slots_at + 2ull * was.slot_bytes, 4096),
				 4096);
		assert_int_equal(pages_at(kept, was.glue_at, was.sites_at - was.glue_at),
				 left ? 0 : was.sites_at - was.glue_at);
		close(kept);
	}
}

static void region_beyond_the_file_size_limit_is_an_error(void **state)
{
	struct fl_shm_options o = { 0 };
	struct rlimit old, small;
	struct fl_region *m;
	int fd, err;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small = (struct rlimit){ 1 << 20, old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	err = fl_shm_create(&o, &m, &fd);
	setrlimit(RLIMIT_FSIZE, &old);
	assert_int_equal(err, -EFBIG);
}

/* ---- one target --------------------------------------------------------------- */

#define MANY 100000u

static void put_many(struct rig *g)
{
	(void)g;
	for (uint64_t i = 0; i < MANY; i++)
		rig_put(1, i);
}

static void events_of_a_thread_arrive_in_order_and_once(void **state)
{
	struct rig *g = rig_open(4, 8, FL_ACT_TIME);
	pid_t pid = rig_fork(g, put_many);
	const struct fl_thread *t;
	size_t n;

	(void)state;
	assert_int_equal(rig_drain(g, pid), 0);
	assert_int_equal(g->delivered, MANY);
	assert_int_equal(g->misordered + g->torn, 0);
	t = fl_reader_threads(g->reader, &n);
	assert_int_equal(n, 1);
	assert_int_equal(t->tid, pid);
	assert_true(t->ended);
	assert_int_equal(t->produced, MANY);
	assert_int_equal(t->delivered, MANY);
	rig_close(g);
}

static void await(volatile uint64_t *word, uint64_t value)
{
	while (*word != value)
		usleep(100);		/* the other side decides when */
}

/* Ten, then when told the rest of two chunks and five more, then none. */
static void put_in_parts(struct rig *g)
{
	uint64_t i = 0, chunk = RECORDS(g->m->session[0].chunk_bytes);

	for (; i < 10; i++)
		rig_put(1, i);
	g->shared[0] = 1;
	await(&g->shared[1], 1);
	for (; i < 2 * chunk + 5; i++)
		rig_put(1, i);
	g->shared[0] = 2;
	await(&g->shared[1], 2);
}

/* Poll until `n` are delivered in all, or ten seconds have passed. */
static void poll_for(struct rig *g, uint64_t n)
{
	uint64_t end = rig_now_ms() + 10000;

	while (g->delivered < n && rig_now_ms() < end)
		if (!fl_reader_poll(g->reader, false))
			fl_reader_wait(g->reader, 1000);
}

static void idle_threads_half_chunk_is_read_and_continued(void **state)
{
	struct rig *g = rig_open(4, 512, FL_ACT_TIME);
	uint64_t all = 2 * RECORDS(g->m->session[0].chunk_bytes) + 5;
	pid_t pid = rig_fork(g, put_in_parts);

	(void)state;
	await(&g->shared[0], 1);
	assert_int_equal(fl_reader_poll(g->reader, false), 0);	/* not idle yet */
	poll_for(g, 10);
	assert_int_equal(g->delivered, 10);
	assert_int_equal(fl_shm_slot(g->m, 0)->ring[0].granted, 2);
	g->shared[1] = 1;
	poll_for(g, all);
	assert_int_equal(g->shared[0], 2);
	assert_int_equal(g->delivered, all);
	assert_true(fl_shm_slot(g->m, 0)->ring[0].granted >= 4);
	g->shared[1] = 2;
	assert_int_equal(rig_drain(g, pid), 0);
	assert_int_equal(g->delivered, all);
	assert_int_equal(g->misordered + g->torn, 0);
	rig_close(g);
}

static void put_ten_and_die(struct rig *g)
{
	(void)g;
	for (uint64_t i = 0; i < 10; i++)
		rig_put(1, i);
	kill(getpid(), SIGKILL);
}

static void killed_target_loses_nothing_it_enqueued(void **state)
{
	struct rig *g = rig_open(4, 512, FL_ACT_TIME);
	pid_t pid = rig_fork(g, put_ten_and_die);
	int status;

	(void)state;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WTERMSIG(status), SIGKILL);
	assert_int_equal(fl_reader_poll(g->reader, true), 10);
	assert_int_equal(g->misordered + g->torn, 0);
	assert_int_equal(g->ended, 1);
	rig_close(g);
}

/* ---- threads --------------------------------------------------------------------- */

/* It lives until its first chunk was taken. */
static void *name_and_put(void *arg)
{
	struct rig *g = arg;

	rig_put(1, 0);
	prctl(PR_SET_NAME, "late-name");
	for (uint64_t i = 1; i < 2 * RECORDS(g->m->session[0].chunk_bytes); i++)
		rig_put(1, i);
	while (load_relaxed(&(*fl_tls_slot)->ring[0].granted) < 3)
		usleep(100);
	return NULL;
}

static void run_named(struct rig *g)
{
	pthread_t t;

	prctl(PR_SET_NAME, "first");
	fl_channel_join(g->m);		/* whose thread it is */
	rig_put(2, 0);
	pthread_create(&t, NULL, name_and_put, g);
	pthread_join(t, NULL);
}

static void threads_come_with_the_name_they_chose_later(void **state)
{
	struct rig *g = rig_open(4, 64, FL_ACT_TIME);
	const struct fl_thread *t;
	size_t n;

	(void)state;
	assert_int_equal(rig_drain(g, rig_fork(g, run_named)), 0);
	t = fl_reader_threads(g->reader, &n);
	assert_int_equal(n, 2);
	assert_string_equal(t[0].name, "first");
	assert_string_equal(t[1].name, "late-name");
	assert_int_not_equal(t[0].tid, t[1].tid);
	rig_close(g);
}

static void *put_three(void *arg)
{
	(void)arg;
	for (uint64_t i = 0; i < 3; i++)
		rig_put(3, i);
	return NULL;
}

static void run_in_turn(struct rig *g)
{
	pthread_t t;

	(void)g;
	for (int i = 0; i < 200; i++) {
		pthread_create(&t, NULL, put_three, NULL);
		pthread_join(t, NULL);
	}
}

static void slots_of_ended_threads_serve_again(void **state)
{
	struct rig *g = rig_open(2, 8, FL_ACT_TIME);
	size_t n;

	(void)state;
	assert_int_equal(rig_drain(g, rig_fork(g, run_in_turn)), 0);
	fl_reader_threads(g->reader, &n);
	assert_int_equal(n, 200);
	assert_int_equal(g->delivered, 600);
	assert_int_equal(g->ended, 200);
	assert_int_equal(g->misordered + g->torn, 0);
	rig_close(g);
}

static void run_without_slot(struct rig *g)
{
	pthread_t t;

	(void)g;
	rig_put(1, 0);
	pthread_create(&t, NULL, put_three, NULL);
	pthread_join(t, NULL);
	rig_put(1, 1);
}

static void losses_of_threads_without_a_slot_are_one_thread(void **state)
{
	struct rig *g = rig_open(1, 8, FL_ACT_TIME);
	const struct fl_thread *t;
	size_t n;

	(void)state;
	assert_int_equal(rig_drain(g, rig_fork(g, run_without_slot)), 0);
	t = fl_reader_threads(g->reader, &n);
	assert_int_equal(n, 2);
	assert_int_equal(t[0].produced, 2);
	assert_int_equal(t[1].tid, 0);
	assert_string_equal(t[1].name, "(no slot)");
	assert_int_equal(t[1].lost[FL_LOST_SLOT], 3);
	assert_int_equal(t[1].produced, 3);
	assert_int_equal(rig_sum(g).unbalanced, 0);
	rig_close(g);
}

/* ---- counting ---------------------------------------------------------------------- */

static void *count_some(void *arg)
{
	(void)arg;
	for (int i = 0; i < 1000; i++)
		fl_channel_count((uint32_t)i % 10);
	fl_channel_count(RIG_COUNTERS);
	return NULL;
}

static void run_counting(struct rig *g)
{
	pthread_t t;

	count_some(g);
	fl_channel_put(5, 0, 0);	/* an event is an event */
	for (int i = 0; i < 3; i++) {
		pthread_create(&t, NULL, count_some, g);
		pthread_join(t, NULL);
	}
}

/* Three threads in turn share one slot: nothing of one is left to the next. */
static void counters_are_summed_at_a_threads_end(void **state)
{
	struct rig *g = rig_open(2, 8, FL_ACT_COUNT);
	struct rig_sums s;

	(void)state;
	assert_int_equal(rig_drain(g, rig_fork(g, run_counting)), 0);
	assert_int_equal(g->counter[0], 400);
	assert_int_equal(g->counter[5], 401);
	s = rig_sum(g);
	assert_int_equal(s.delivered, 4001);
	assert_int_equal(s.lost[FL_LOST_ROOM], 4);
	assert_int_equal(s.produced, 4005);
	assert_int_equal(s.unbalanced, 0);
	assert_int_equal(*(uint64_t *)((char *)fl_shm_slot(g->m, 0) +
				       FL_SLOT_HEADER_BYTES), 0);
	rig_close(g);
}

/* ---- fork and exec ------------------------------------------------------------------ */

static void run_forking(struct rig *g)
{
	pid_t pid;

	(void)g;
	rig_put(1, 0);
	pid = fork();
	if (!pid) {
		fl_channel_close();
		for (uint64_t i = 100; i < 5000; i++)
			rig_put(1, i);	/* more than the ring: must not block */
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	rig_put(1, 1);
}

static void forks_child_neither_enqueues_nor_ends_the_slot(void **state)
{
	struct rig *g = rig_open(4, 8, FL_ACT_TIME);

	(void)state;
	assert_int_equal(rig_drain(g, rig_fork(g, run_forking)), 0);
	assert_int_equal(g->delivered, 2);
	assert_int_equal(g->misordered + g->torn, 0);
	assert_int_equal(g->ended, 1);
	assert_int_equal(rig_sum(g).produced, 2);
	rig_close(g);
}

/* The image after exec: maps the region as an agent does, by path. */
static int second_image(const char *path)
{
	int fd = open(path, O_RDWR);
	struct fl_region *m;
	size_t bytes = (size_t)lseek(fd, 0, SEEK_END);

	m = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (m == MAP_FAILED)
		return 1;
	fl_channel_join(m);
	fl_channel_open(m);
	for (uint64_t i = 0; i < 7; i++)
		rig_put(2, i);
	return 0;
}

static char region_path[64];

static void *put_and_exec(void *arg)
{
	(void)arg;
	for (uint64_t i = 0; i < 5; i++)
		rig_put(1, i);
	execl("/proc/self/exe", "channel", "--image", region_path, NULL);
	return NULL;
}

static void run_exec(struct rig *g)
{
	fl_channel_join(g->m);
	fl_channel_open(g->m);
	put_and_exec(NULL);
}

/* Not the first thread: the kernel renames it and marks no mutex of its. */
static void run_exec_in_thread(struct rig *g)
{
	pthread_t t;

	fl_channel_join(g->m);
	fl_channel_open(g->m);
	rig_put(1, 0);
	pthread_create(&t, NULL, put_and_exec, NULL);
	pthread_join(t, NULL);
}

static void drain_exec(void (*body)(struct rig *), uint64_t events, size_t threads)
{
	struct rig *g = rig_open(4, 8, FL_ACT_TIME);
	const struct fl_thread *t;
	size_t n;

	snprintf(region_path, sizeof(region_path), "/proc/%d/fd/%d", getpid(), g->fd);
	assert_int_equal(rig_drain(g, rig_fork(g, body)), 0);
	assert_int_equal(g->delivered, events);
	assert_int_equal(g->misordered + g->torn, 0);
	t = fl_reader_threads(g->reader, &n);
	assert_int_equal(n, threads);
	for (size_t i = 0; i < n; i++)
		assert_true(t[i].ended);
	assert_int_equal(rig_sum(g).unbalanced, 0);
	rig_close(g);
}

static void exec_ends_the_old_images_threads(void **state)
{
	(void)state;
	drain_exec(run_exec, 12, 2);
	drain_exec(run_exec_in_thread, 13, 3);
}

/* The new image announced itself; the renamed thread's slot is unmarked. It lived when it was
 * looked at before. */
static void image_number_ends_a_thread_that_no_mark_ends(void **state)
{
	struct rig *g = rig_open(1, 8, FL_ACT_TIME);
	struct half h = { 2, 0, 0, 32, 32 };
	uint64_t lived, other;

	(void)state;
	fl_shm_processes(g->m)[3].image = 1;
	fl_shm_slot(g->m, 0)->image = 1;
	fl_shm_slot(g->m, 0)->process = 3;
	set_slot(g, &h);
	lived = fl_arch_ticks();
	assert_int_equal(fl_reader_poll(g->reader, false), 0);
	other = fl_arch_ticks();
	fl_shm_processes(g->m)[3].image = 2;
	assert_int_equal(fl_reader_poll(g->reader, false), 2);
	assert_int_equal(g->ended, 1);
	assert_in_range(g->alive, lived, other);
	rig_close(g);
}

/* ---- a process tree --------------------------------------------------------------------- */

enum { MEMBERS = 4, ADDITIONS = 20000 };

/* Each has the lock when it ends, in one way or the other. */
static void add_and_die(struct rig *g)
{
	fl_processes_lock(g->m);
	for (int i = 0; i < ADDITIONS; i++) {
		fl_processes_unlock(g->m);
		fl_processes_lock(g->m);
		*g->shared = *g->shared + 1;
	}
	if (getpid() % 2)
		raise(SIGKILL);
}

static void the_lock_of_a_process_tree_outlives_its_holders(void **state)
{
	struct rig *g = rig_open(4, 8, FL_ACT_TIME);
	int status;

	(void)state;
	g->m->follow = 1;
	for (int i = 0; i < MEMBERS; i++)
		rig_fork(g, add_and_die);
	for (int i = 0; i < MEMBERS; i++)
		assert_true(wait(&status) > 0);
	fl_processes_lock(g->m);
	assert_int_equal(*g->shared, MEMBERS * ADDITIONS);
	assert_int_equal(pthread_mutex_trylock(&g->m->joining), EBUSY);
	fl_processes_unlock(g->m);
	rig_close(g);
}

/* Of who had no row it is known what its parent executes. */
static int join_child_of_bare(struct rig *g)
{
	struct fl_process *p = fl_shm_processes(g->m);
	int status = 1;

	if (!fork())
		_exit(fl_channel_join(g->m) != -EDQUOT || p[1].pid != getpid() ||
		      !p[1].is_bare || p[1].was_bare != p[0].program);
	wait(&status);
	return status;
}

/* What executes the same file is one program; when that is dear, the next image that executes
 * it is told so, and counted; not fork's child, which has its parent's probes. */
static void join_dear(struct rig *g)
{
	const uint64_t took = 100 * FL_GRANTED_ONE_IN * FL_COUNT_BLOCK;
	struct fl_process *p = fl_shm_processes(g->m);
	struct fl_program *program;

	if (fl_channel_join(g->m) || !p[0].program || p[0].is_bare)
		_exit(1);
	program = &g->m->programs[p[0].program - 1];
	if (!program->key || strcmp(program->name, "channel"))
		_exit(2);
	fl_channel_armed(took);
	if (program->arming_ns != took || program->n_armed != 1 || program->n_bare ||
	    g->m->session[0].seldom.credit != 100)
		_exit(3);
	fl_channel_armed(took);		/* what it has loaded since */
	if (program->arming_ns != 2 * took || program->n_armed != 1)
		_exit(7);
	program->is_dear = 1;
	p[0].start++;			/* as exec draws anew */
	if (fl_channel_join(g->m) != -EDQUOT || !p[0].is_bare || program->n_bare != 1 ||
	    fl_shm_process(g->m, getpid()) != &p[0] || p[0].was_bare)
		_exit(4);
	if (join_child_of_bare(g) || program->n_bare != 2)
		_exit(7);
	p[0].start++;
	program->is_dear = 0;
	program->n_bare = 1;
	if (fl_channel_join(g->m) || p[0].is_bare || program->n_bare != 1 ||
	    program->n_armed != 2 || p[0].was_bare != p[0].program)
		_exit(5);
	program->is_dear = 1;
	if (fl_channel_fork() || p[0].is_bare || program->n_bare != 1)
		_exit(6);
	_exit(0);
}

static void dear_programs_begin_bare(void **state)
{
	struct rig *g = rig_open(4, 8, FL_ACT_TIME);
	int status;

	(void)state;
	g->m->follow = 1;
	waitpid(rig_fork(g, join_dear), &status, 0);
	assert_int_equal(status, 0);
	assert_null(fl_shm_process(g->m, 1));
	rig_close(g);
}

static void join_twice(struct rig *g)
{
	struct fl_process *p = fl_shm_processes(g->m);
	uint32_t image;

	if (fl_channel_join(g->m))
		_exit(1);
	fl_channel_heed(7);
	if (fl_channel_join(g->m) != -EALREADY || fl_channel_image() != 1)
		_exit(4);			/* another flick in this image */
	for (uint32_t i = 0; i < g->m->n_processes; i++)
		p[i].start++;			/* as exec draws anew */
	if (fl_channel_join(g->m))
		_exit(1);
	image = fl_channel_image();
	for (uint32_t i = 0; i < FL_MAX_PROCESSES; i++)
		if (p[i].pid == getpid())
			_exit(p[i].image == image && image == 2 && !p[i].heeded ? 0 : 2);
	_exit(3);
}

/* exec keeps a process's row; where all are taken nobody joins. */
static void a_process_has_one_row(void **state)
{
	struct rig *g = rig_open(4, 8, FL_ACT_TIME);
	int status;

	(void)state;
	waitpid(rig_fork(g, join_twice), &status, 0);
	assert_int_equal(status, 0);
	assert_int_equal(g->m->n_processes, 1);
	g->m->n_processes = FL_MAX_PROCESSES;
	waitpid(rig_fork(g, join_twice), &status, 0);
	assert_int_equal(WEXITSTATUS(status), 1);
	assert_int_equal(g->m->n_processes, FL_MAX_PROCESSES);
	assert_int_equal(g->m->outside[FL_OUT_TABLE], 1);
	rig_close(g);
}

/* Though the index has another one, or a killed one's, where its own is looked for. */
static void processes_of_one_hash_have_their_own_rows(void **state)
{
	struct rig *g = rig_open(4, 8, FL_ACT_TIME);
	uint32_t *index = fl_shm_process_index(g->m);
	int status;

	(void)state;
	for (uint32_t i = 0; i < FL_PROCESS_INDEX / 2; i++)
		index[2 * i] = 1 + i;
	for (int i = 0; i < 4; i++) {
		g->m->n_processes = 10;
		g->m->n_images = 0;
		waitpid(rig_fork(g, join_twice), &status, 0);
		assert_int_equal(status, 0);
		assert_int_equal(g->m->n_processes, 11);
	}
	rig_close(g);
}

/* A thread that is still there when the recording ends writes where nobody else
 * does: its slot and its chunks are not given to others. */
static void what_goes_on_after_the_end_keeps_its_slot(void **state)
{
	struct rig *g = rig_open(1, 8, FL_ACT_TIME);
	struct half h = { 2, 0, 0, 32, 32 };

	(void)state;
	set_slot(g, &h);
	assert_int_equal(fl_reader_poll(g->reader, true), 2);
	assert_int_equal(fl_shm_slot(g->m, 0)->state, FL_SLOT_LEFT);
	assert_int_equal(fl_reader_poll(g->reader, true), 0);
	assert_int_equal(g->ended, 1);
	rig_close(g);
}

/* ---- the reader's death -------------------------------------------------------------- */

/* A reader of its own process, which nobody drains for. */
static void sleep_as_reader(int to)
{
	struct rig *g = rig_open(4, 8, FL_ACT_TIME);

	if (write(to, &g->fd, sizeof(g->fd)) != sizeof(g->fd))
		_exit(1);
	for (;;)
		pause();
}

/* Fill the ring, then one more that blocks until the reader is dead. */
static void target_of(struct fl_region *m)
{
	uint64_t room = RECORDS(2 * m->session[0].chunk_bytes), i = 0;

	fl_channel_open(m);
	for (; i < room; i++)
		rig_put(1, i);
	rig_put(1, i);
	rig_put(1, i + 1);
	_exit(fl_channel_reader_lives() ? 1 : 0);
}

/* Of a target that waits for room: by what it goes on, and what its end says. */
static void let_go_of_one_that_waits(void (*by)(struct fl_region *, pid_t reader), int end)
{
	int ends[2], fd, status;
	struct fl_region *m;
	pid_t reader, target;

	assert_int_equal(pipe(ends), 0);
	reader = fork();
	if (!reader)
		sleep_as_reader(ends[1]);
	assert_int_equal(read(ends[0], &fd, sizeof(fd)), sizeof(fd));
	m = rig_map_of(reader, fd);
	assert_non_null(m);
	target = fork();
	if (!target)
		target_of(m);
	while (!__atomic_load_n(&fl_shm_slot(m, 0)->ring[0].waiting, __ATOMIC_ACQUIRE))
		usleep(100);
	assert_int_equal(waitpid(target, &status, WNOHANG), 0);
	by(m, reader);
	assert_int_equal(waitpid(target, &status, 0), target);
	assert_int_equal(status, end << 8);
	assert_int_equal(fl_shm_slot(m, 0)->ring[0].lost[FL_LOST_READER], 2);
	kill(reader, SIGKILL);
	waitpid(reader, &status, 0);
}

static void kill_reader(struct fl_region *m, pid_t reader)
{
	(void)m;
	assert_int_equal(kill(reader, SIGKILL), 0);
}

static void dead_reader_frees_a_blocked_target_which_counts(void **state)
{
	(void)state;
	let_go_of_one_that_waits(kill_reader, 0);
}

static void give_slot_up(struct fl_region *m, pid_t reader)
{
	(void)reader;
	__atomic_store_n(&fl_shm_slot(m, 0)->state, FL_SLOT_FREE, __ATOMIC_RELEASE);
}

/* It is the reader's mistake, and not the program's to hang for. */
static void who_has_no_slot_any_more_waits_for_no_room(void **state)
{
	(void)state;
	let_go_of_one_that_waits(give_slot_up, 1);
}

static void reader_that_takes_the_region_down_is_no_reader(void **state)
{
	struct fl_shm_options o = { .n_slots = 1, .ring_kib = 8 };
	struct fl_region *m, *kept;
	int fd, status, ends[2];
	char lives;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(fl_shm_create(&o, &m, &fd), 0);
	kept = rig_map_of(getpid(), fd);
	pid = fork();
	if (!pid) {
		fl_channel_open(kept);
		lives = fl_channel_reader_lives() ? 'y' : 'n';
		if (write(ends[1], &lives, 1) != 1)
			_exit(1);
		while (fl_channel_reader_lives())
			usleep(100);
		_exit(0);
	}
	assert_int_equal(read(ends[0], &lives, 1), 1);
	assert_int_equal(lives, 'y');
	fl_shm_destroy(m, fd);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* ---- wakes --------------------------------------------------------------------------- */

/* ---- signals ------------------------------------------------------------------------- */

static volatile int *handled;		/* the program's, and ours */

static void put_from_handler(int sig)
{
	static uint64_t n;

	(void)sig;
	*handled = 1;
	fl_channel_put(9, n, rig_check(n, 9));
	n++;
}

static void signal_while_full(struct rig *g)
{
	uint64_t room = RECORDS(2 * g->m->session[0].chunk_bytes);
	struct sigaction sa = { .sa_handler = put_from_handler };

	sigaction(SIGUSR1, &sa, NULL);
	for (uint64_t i = 0; i <= room; i++)
		fl_channel_put(1, i, rig_check(i, 1));
}

static void await_waiters(const struct fl_slot *s, uint32_t n)
{
	while (__atomic_load_n(&s->ring[0].waiting, __ATOMIC_ACQUIRE) != n)
		usleep(100);
}

static void handler_may_enqueue_while_its_thread_waits_for_room(void **state)
{
	struct rig *g = rig_open(1, 8, FL_ACT_TIME);
	struct fl_slot *s = fl_shm_slot(g->m, 0);
	uint64_t room = RECORDS(2 * g->m->session[0].chunk_bytes);
	pid_t pid;

	(void)state;
	handled = mmap(NULL, sizeof(*handled), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(handled, MAP_FAILED);
	pid = rig_fork(g, signal_while_full);
	await_waiters(s, 1);
	assert_int_equal(kill(pid, SIGUSR1), 0);
	while (!*handled)			/* it comes between two sleeps */
		usleep(100);
	await_waiters(s, 1);
	assert_int_equal(rig_drain(g, pid), 0);
	munmap((void *)handled, sizeof(*handled));
	assert_int_equal(s->ring[0].waiting, 0);
	assert_int_equal(g->delivered, room + 2);
	assert_int_equal(g->torn, 0);
	rig_close(g);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(region_has_the_promised_defaults),
		cmocka_unit_test(region_is_as_large_as_its_rings),
		cmocka_unit_test(region_refuses_options_out_of_range),
		cmocka_unit_test(a_region_that_was_left_gives_back_what_nobody_reads),
		cmocka_unit_test(region_beyond_the_file_size_limit_is_an_error),
		cmocka_unit_test(events_of_a_thread_arrive_in_order_and_once),
		cmocka_unit_test(idle_threads_half_chunk_is_read_and_continued),
		cmocka_unit_test(killed_target_loses_nothing_it_enqueued),
		cmocka_unit_test(threads_come_with_the_name_they_chose_later),
		cmocka_unit_test(slots_of_ended_threads_serve_again),
		cmocka_unit_test(losses_of_threads_without_a_slot_are_one_thread),
		cmocka_unit_test(counters_are_summed_at_a_threads_end),
		cmocka_unit_test(forks_child_neither_enqueues_nor_ends_the_slot),
		cmocka_unit_test(exec_ends_the_old_images_threads),
		cmocka_unit_test(the_lock_of_a_process_tree_outlives_its_holders),
		cmocka_unit_test(a_process_has_one_row),
		cmocka_unit_test(dear_programs_begin_bare),
		cmocka_unit_test(processes_of_one_hash_have_their_own_rows),
		cmocka_unit_test(what_goes_on_after_the_end_keeps_its_slot),
		cmocka_unit_test(image_number_ends_a_thread_that_no_mark_ends),
		cmocka_unit_test(dead_reader_frees_a_blocked_target_which_counts),
		cmocka_unit_test(who_has_no_slot_any_more_waits_for_no_room),
		cmocka_unit_test(reader_that_takes_the_region_down_is_no_reader),
		cmocka_unit_test(handler_may_enqueue_while_its_thread_waits_for_room),
	};

	if (argc == 3 && !strcmp(argv[1], "--image"))
		return second_image(argv[2]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
