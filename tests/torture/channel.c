/*
 * torture/channel.c - real targets, killed and interrupted at any moment.
 *
 *	order    rounds 8  produced 6400000  lost 0 | missing 0 torn 0 ...
 *
 * Counts right of the bar must be zero; anything there is a bug in
 * src/channel/, never in this test. `missing` are events that neither arrived
 * nor were counted as lost, or arrived twice; `split` pairs with another event in
 * between; `stuck` targets that did not
 * return.
 *
 *	torture/channel [LINE]		FLICK_TORTURE in the environment: ten times
 *
 * Built with one of these, a wrong producer or reader stands in for the real
 * one, and the right side of some line must not be zero:
 *
 *	-DFL_PLANT_COMMIT_FIRST   ptr moves before the record is written
 *	-DFL_PLANT_SIGNAL_HOLE    signals are not blocked while state changes
 *	-DFL_PLANT_NO_DISTANCE    the producer does not look at granted
 *	-DFL_PLANT_MARK_LAST      the reader looks for the mark after draining
 *	-DFL_PLANT_SPLIT_PAIR     a pair is two commits
 *
 * timeout: 300
 */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/time.h>

#include "../unit/channel-rig.h"
#include "lines.h"
#include "arch/arch.h"
#include "channel/lease.h"
#include "channel/slot.h"
#include "os/os.h"

#define RECORDS(bytes) ((bytes) / sizeof(struct flick_record))

struct verdict {
	uint64_t rounds, produced, lost;
	uint64_t missing, torn, misordered, split, unbalanced, stuck;
};

static uint64_t seed = 88172645463325252ull;

static uint64_t any(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* ---- the producer, or a plant --------------------------------------------- */

#if defined(FL_PLANT_COMMIT_FIRST)
static void put(uint32_t probe, uint64_t tsc)
{
	struct fl_slot *s = *fl_tls_slot;
	uint64_t p = s ? s->ring[0].ptr : 0;

	if (!s || p >= s->ring[0].limit) {
		rig_put(probe, tsc);
		return;
	}
	__atomic_store_n(&s->ring[0].ptr, p + 16, __ATOMIC_RELEASE);
	for (volatile int i = 0; i < 20; i++)
		;
	*(struct flick_record *)p = (struct flick_record){
		.tsc = tsc, .probe = probe, .sp = rig_check(tsc, probe),
	};
}
#elif defined(FL_PLANT_NO_DISTANCE)
static void put(uint32_t probe, uint64_t tsc)
{
	if (*fl_tls_slot)
		(*fl_tls_slot)->granted = UINT64_MAX / 2;
	rig_put(probe, tsc);
}
#else
static void put(uint32_t probe, uint64_t tsc)
{
	rig_put(probe, tsc);
}
#endif

/* What a handler may interrupt. */
#ifdef FL_PLANT_SIGNAL_HOLE
static void put_interrupted(uint32_t probe, uint64_t tsc)
{
	struct fl_slot *s = *fl_tls_slot;
	uint64_t p = s ? s->ring[0].ptr : 0;

	if (!s || p >= s->ring[0].limit) {
		fl_channel_put(probe, tsc, rig_check(tsc, probe));
		return;
	}
	*(struct flick_record *)p = (struct flick_record){
		.tsc = tsc, .probe = probe, .sp = rig_check(tsc, probe),
	};
	for (volatile int i = 0; i < 20; i++)
		;
	__atomic_store_n(&s->ring[0].ptr, p + 16, __ATOMIC_RELEASE);
}
#else
static void put_interrupted(uint32_t probe, uint64_t tsc)
{
	fl_channel_put(probe, tsc, rig_check(tsc, probe));
}
#endif

/* ---- the reader, or a plant ----------------------------------------------- */

/* The plant drains, then lets time pass, then frees what is marked by now
 * without another look: as if the mark were read last. */
static uint64_t poll_once(struct rig *g)
{
#ifdef FL_PLANT_MARK_LAST
	for (uint32_t i = 0; i < g->m->n_slots; i++) {
		struct fl_slot *s = fl_shm_slot(g->m, i);

		if (s->state == FL_SLOT_LIVE) {
			uint64_t p = s->ring[0].ptr;

			usleep(20);
			if (*(uint32_t *)&s->owner & FUTEX_OWNER_DIED)
				s->ring[0].ptr = p;
		}
	}
#endif
	return fl_reader_poll(g->reader, false);
}

/* Until the target has ended; a target that makes no end is stuck. */
static int drain(struct rig *g, pid_t pid, struct verdict *v)
{
	uint64_t end = rig_now_ms() + 20000;
	int status = 0;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (rig_now_ms() > end) {
			v->stuck++;
			kill(pid, SIGKILL);
			end = UINT64_MAX;		/* counted once */
		}
		if (!poll_once(g))
			fl_reader_wait(g->reader, 500);
	}
	fl_reader_poll(g->reader, true);
	return status;
}

/* `events` were put by the target; take the verdict and close. */
static void judge(struct rig *g, uint64_t events, struct verdict *v)
{
	struct rig_sums s = rig_sum(g);
	uint64_t lost = s.produced - s.delivered;

	v->rounds++;
	v->produced += s.produced;
	v->lost += lost;
	v->missing += events > s.produced ? events - s.produced : s.produced - events;
	v->torn += g->torn;
	v->misordered += g->misordered;
	v->split += g->split;
	v->unbalanced += s.unbalanced + s.living + (s.delivered != g->delivered);
	rig_close(g);
}

static int print(const char *name, const struct verdict *v)
{
	uint64_t bad = v->missing + v->torn + v->misordered + v->split +
		       v->unbalanced + v->stuck;

	printf("%-9s rounds %4lu  produced %9lu  lost %6lu | missing %lu  torn %lu"
	       "  misordered %lu  split %lu  unbalanced %lu  stuck %lu\n", name,
	       v->rounds, v->produced, v->lost, v->missing, v->torn, v->misordered,
	       v->split, v->unbalanced, v->stuck);
	fflush(stdout);
	return bad ? 1 : 0;
}

/* ---- order: 1 to 8 producers, the smallest ring or one that grows --------- */

#define ORDER_EVENTS 200000u

static void *put_in_order(void *arg)
{
	for (uint64_t i = 0; i < ORDER_EVENTS; i++)
		put((uint32_t)(uintptr_t)arg, i);
	return NULL;
}

static void run_producers(struct rig *g)
{
	pthread_t t[8];
	uint64_t n = g->shared[0];

	for (uint64_t i = 0; i < n; i++)
		pthread_create(&t[i], NULL, put_in_order, (void *)(uintptr_t)(i + 1));
	for (uint64_t i = 0; i < n; i++)
		pthread_join(t[i], NULL);
}

static int torture_order(uint64_t factor)
{
	struct verdict v = { 0 };

	for (uint64_t round = 0; round < 8 * factor; round++) {
		struct rig *g = rig_open(16, round % 2 ? 8 : 256, FL_ACT_TIME);
		uint64_t n = round % 8 + 1;

		g->shared[0] = n;
		drain(g, rig_fork(g, run_producers), &v);
		judge(g, n * ORDER_EVENTS, &v);
	}
	return print("order", &v);
}

/* ---- kill: SIGKILL at any moment ------------------------------------------ */

/* The number is published after each commit: what is delivered is that or one
 * more. */
static void put_and_publish(struct rig *g)
{
	for (uint64_t i = 0;; i++) {
		put(1, i);
		g->shared[0] = i + 1;
	}
}

/* Let it run for a random while, reading now and then, and kill it. */
static void kill_one(struct rig *g, struct verdict *v)
{
	pid_t pid = rig_fork(g, put_and_publish);
	uint64_t turns = any() % 10, published;
	int status;

	while (!g->shared[0])
		usleep(50);
	for (uint64_t i = 0; i < turns; i++) {
		if (any() % 4)
			poll_once(g);
		else
			usleep((useconds_t)(any() % 300));
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	fl_reader_poll(g->reader, true);
	published = g->shared[0];
	judge(g, g->delivered == published + 1 ? published + 1 : published, v);
}

/* In a small ring death finds the target waiting, in a large one running. */
static int torture_kill(uint64_t factor)
{
	static const uint32_t ring_kib[] = { 8, 64, 32768 };
	struct verdict v = { 0 };

	for (uint64_t i = 0; i < 300 * factor; i++)
		kill_one(rig_open(2, ring_kib[any() % 3], FL_ACT_TIME), &v);
	return print("kill", &v);
}

/* ---- reader: killed while the target is blocked, or anywhere else --------- */

static void be_reader(int to, uint64_t polls)
{
	struct rig *g = rig_open(4, 8, FL_ACT_TIME);

	if (write(to, &g->fd, sizeof(g->fd)) != sizeof(g->fd))
		_exit(1);
	for (uint64_t i = 0; i < polls; i++)
		if (!fl_reader_poll(g->reader, false))
			fl_reader_wait(g->reader, 100);
	for (;;)
		pause();
}

#define ORPHAN_EVENTS 20000u

static void be_orphan(struct fl_region *m)
{
	fl_channel_open(m);
	for (uint64_t i = 0; i < ORPHAN_EVENTS; i++)
		rig_put(1, i);
	_exit(0);
}

/* What the dead reader took, what lies in the ring, what was counted:
 * together all of it. Every second one is killed while the target waits. */
static void orphan_one(uint64_t round, struct verdict *v)
{
	int ends[2], fd, status;
	pid_t reader, target;
	struct fl_region *m;
	const struct fl_ring *r;
	struct fl_slot *s;
	uint64_t in_ring, lost, end = rig_now_ms() + 20000;

	if (pipe(ends) || (reader = fork()) < 0)
		rig_die("orphan");
	if (!reader)
		be_reader(ends[1], any() % 20);
	if (read(ends[0], &fd, sizeof(fd)) != sizeof(fd))
		rig_die("read");
	m = rig_map_of(reader, fd);
	if (!m)
		rig_die("map");
	s = fl_shm_slot(m, 0);
	target = fork();
	if (!target)
		be_orphan(m);
	while (round % 2 && !__atomic_load_n(&s->ring[0].waiting, __ATOMIC_ACQUIRE))
		usleep(20);
	kill(reader, SIGKILL);
	waitpid(reader, &status, 0);
	while (waitpid(target, &status, WNOHANG) == 0 && rig_now_ms() < end)
		usleep(200);
	if (kill(target, SIGKILL) == 0) {
		v->stuck++;
		waitpid(target, &status, 0);
	}
	r = &s->ring[0];
	in_ring = r->filled * RECORDS(m->session[0].chunk_bytes);
	if (r->claimed > r->filled)
		in_ring += RECORDS(m->session[0].chunk_bytes - (r->limit - r->ptr));
	lost = r->lost[FL_LOST_READER];
	v->rounds++;
	v->produced += in_ring + lost;
	v->lost += lost;
	v->missing += in_ring + lost > ORPHAN_EVENTS ? in_ring + lost - ORPHAN_EVENTS :
		      ORPHAN_EVENTS - in_ring - lost;
	munmap(m, m->bytes);
	close(ends[0]);
	close(ends[1]);
}

static int torture_reader(uint64_t factor)
{
	struct verdict v = { 0 };

	for (uint64_t i = 0; i < 40 * factor; i++) {
		any();
		orphan_one(i, &v);
	}
	return print("reader", &v);
}

/* ---- threads: 2,000 short ones through 64 slots --------------------------- */

#define SHORT_THREADS 2000
#define AT_ONCE 16
#define SHORT_EVENTS 700u		/* more than a chunk of 4 KiB */

static void *live_shortly(void *arg)
{
	(void)arg;
	for (uint64_t i = 0; i < SHORT_EVENTS; i++)
		put(1, i);
	return NULL;
}

static void run_short_threads(struct rig *g)
{
	pthread_t t[AT_ONCE];

	(void)g;
	for (int i = 0; i < SHORT_THREADS; i += AT_ONCE) {
		for (int k = 0; k < AT_ONCE; k++)
			pthread_create(&t[k], NULL, live_shortly, NULL);
		for (int k = 0; k < AT_ONCE; k++)
			pthread_join(t[k], NULL);
	}
}

static int torture_threads(uint64_t factor)
{
	struct verdict v = { 0 };

	for (uint64_t i = 0; i < 3 * factor; i++) {
		struct rig *g = rig_open(64, 16, FL_ACT_TIME);

		drain(g, rig_fork(g, run_short_threads), &v);
		judge(g, (uint64_t)SHORT_THREADS * SHORT_EVENTS, &v);
	}
	return print("threads", &v);
}

/* ---- signals: handlers enqueue inside fl_channel_put ---------------------- */

static volatile uint64_t handled[3];
static volatile int storm_over;

/* SIGALRM and SIGUSR1 may interrupt each other, but not themselves, so each
 * numbers its own events. */
static void put_from_handler(int sig)
{
	uint32_t probe = sig == SIGALRM ? 1 : 2;
	uint64_t n = handled[probe];

	handled[probe] = n + 1;
	put_interrupted(probe, n);
}

/* The next one when the last was handled: a flood would only starve the thread. */
static void *send_signals(void *arg)
{
	while (!storm_over) {
		uint64_t before = handled[2];

		pthread_kill(*(pthread_t *)arg, SIGUSR1);
		while (handled[2] == before && !storm_over)
			sched_yield();
	}
	return NULL;
}

#define STORM_EVENTS 100000u

/* The sender inherits a mask that leaves both signals to this thread. */
static void raise_storm(struct rig *g, void (*handler)(int), uint64_t (*body)(void))
{
	struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_RESTART };
	struct itimerval on = { { 0, 100 }, { 0, 100 } }, off = { 0 };
	pthread_t self = pthread_self(), sender;
	uint64_t n;
	sigset_t both, old;

	sigemptyset(&both);
	sigaddset(&both, SIGALRM);
	sigaddset(&both, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &both, &old);
	sigaction(SIGALRM, &sa, NULL);
	sigaction(SIGUSR1, &sa, NULL);
	setitimer(ITIMER_REAL, &on, NULL);
	pthread_create(&sender, NULL, send_signals, &self);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	n = body();
	storm_over = 1;
	pthread_join(sender, NULL);
	setitimer(ITIMER_REAL, &off, NULL);
	pthread_sigmask(SIG_BLOCK, &both, NULL);
	g->shared[0] = n + handled[1] + handled[2];
	g->shared[1] = handled[1] && handled[2];
}

static uint64_t put_singles(void)
{
	for (uint64_t i = 0; i < STORM_EVENTS; i++)
		put_interrupted(0, i);
	return STORM_EVENTS;
}

static void run_storm(struct rig *g)
{
	raise_storm(g, put_from_handler, put_singles);
}

/* A storm in which no handler ran proves nothing: stuck. */
static void storm(void (*body)(struct rig *), uint32_t ring_kib, struct verdict *v)
{
	struct rig *g = rig_open(2, ring_kib, FL_ACT_TIME);

	drain(g, rig_fork(g, body), v);
	v->stuck += !g->shared[1];
	judge(g, g->shared[0], v);
}

static int torture_signals(uint64_t factor)
{
	struct verdict v = { 0 };

	for (uint64_t i = 0; i < 10 * factor; i++)
		storm(run_storm, i % 2 ? 8 : 64, &v);
	return print("signals", &v);
}

/* ---- pairs: the same with two records at a time, by the restartable path ---- */

#define PAIR_EVENTS 1000000u

static void put_pair(uint32_t probe, uint64_t n)
{
	const struct flick_record pair[2] = {
		{ .tsc = n, .probe = probe, .sp = rig_check(n, probe) },
		{ .tsc = n + 1, .probe = probe, .sp = rig_check(n + 1, probe) },
	};

#ifdef FL_PLANT_SPLIT_PAIR
	fl_channel_put(pair[0].probe, pair[0].tsc, pair[0].sp);
	fl_channel_put(pair[1].probe, pair[1].tsc, pair[1].sp);
#else
	fl_channel_put_pair(pair);
#endif
}

/* Pairs by one signal; single ones by the other make a chunk's room odd. */
static void put_pair_from_handler(int sig)
{
	uint32_t probe = sig == SIGALRM ? 1 : 2;
	uint64_t n = handled[probe];

	handled[probe] = n + probe;
	if (probe == 2)
		put_pair(RIG_PAIR | probe, n);
	else
		fl_channel_put(probe, n, rig_check(n, probe));
}

static uint64_t put_pairs(void)
{
	for (uint64_t i = 0; i < PAIR_EVENTS; i += 2)
		put_pair(RIG_PAIR, i);
	return PAIR_EVENTS;
}

static void run_pairs(struct rig *g)
{
	fl_arch_rseq_open();
	raise_storm(g, put_pair_from_handler, put_pairs);
}

static int torture_pairs(uint64_t factor)
{
	struct verdict v = { 0 };

	for (uint64_t i = 0; i < 10 * factor; i++)
		storm(run_pairs, i % 2 ? 8 : 64, &v);
	return print("pairs", &v);
}

/* ---- halves: threads that stop in the middle of a chunk ------------------ */

#define BURSTS 8

static void *put_bursts(void *arg)
{
	uint64_t n = 0, own = (uintptr_t)arg * 7919;

	for (int i = 0; i < BURSTS; i++) {
		for (uint64_t end = n + 100 + own % 500; n < end; n++)
			put(1, n);
		usleep((useconds_t)(own % 230 * 1000));	/* idle, or nearly */
		own = own * 6364136223846793005ull + 1442695040888963407ull;
		own ^= own >> 33;
	}
	return (void *)(uintptr_t)n;
}

static void run_bursts(struct rig *g)
{
	pthread_t t[8];

	for (uintptr_t i = 0; i < 8; i++)
		pthread_create(&t[i], NULL, put_bursts, (void *)(i + g->shared[1]));
	for (int i = 0; i < 8; i++) {
		void *n;

		pthread_join(t[i], &n);
		g->shared[0] += (uintptr_t)n;
	}
}

static int torture_halves(uint64_t factor)
{
	struct verdict v = { 0 };

	for (uint64_t i = 0; i < 3 * factor; i++) {
		struct rig *g = rig_open(16, 16, FL_ACT_TIME);

		g->shared[1] = any() % 1000 + 1;
		drain(g, rig_fork(g, run_bursts), &v);
		judge(g, g->shared[0], &v);
	}
	return print("halves", &v);
}

/* ---- leases: rings that grow and shrink at every turn --------------------- */

#define LEASE_EVENTS 1000000u

static void put_leased(struct rig *g)
{
	for (uint64_t i = 0; i < LEASE_EVENTS; i++) {
		put(1, i);
		g->shared[0] = i + 1;
	}
}

static void read_chunk(struct rig *g, const struct fl_lease *l, uint64_t bytes)
{
	uint64_t page = l->page[l->consumed % FL_RING_CHUNKS];
	struct fl_batch b = {
		.records = (void *)((char *)g->m + page * FL_PAGE),
		.n = RECORDS(bytes),
	};

	rig_feed(g, &b);
}

static void read_full(struct rig *g, struct fl_lease *l, struct fl_pool *p)
{
	uint64_t filled = load_acquire(&l->ring->filled);	/* ordering: as in drain.c */

	fl_lease_grow(l, p, filled);
	for (; l->consumed != filled; fl_lease_next(l, p))
		read_chunk(g, l, g->m->session[0].chunk_bytes);
}

/* The reader's part, with a tick as often as any other step: what was just
 * granted is taken back while the thread is about to claim it. */
static int read_leased(struct rig *g, pid_t pid, struct fl_lease *l, struct fl_pool *p)
{
	int status, taken_back = 0;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		uint64_t granted;

		if (any() % 2)
			read_full(g, l, p);
		if (any() % 2)
			fl_lease_grow(l, p, l->granted);	/* as if it were full */
		granted = l->granted;
		l->want = FL_HOME_CHUNKS;
		fl_lease_tick(l, p);
		taken_back += l->granted < granted;
		if (any() % 8 == 0)
			fl_pool_tick(p);
	}
	return taken_back;
}

static void lease_one(struct verdict *v)
{
	struct rig *g = rig_open(1, 128, FL_ACT_TIME);
	struct fl_slot *s = fl_shm_slot(g->m, 0);
	struct fl_lease l;
	struct fl_pool p;
	pid_t pid;

	if (fl_pool_open(&p, g->m, 0, 1))
		rig_die("pool");
	fl_lease_begin(&l, s, &p);
	pid = rig_fork(g, put_leased);
	v->stuck += !read_leased(g, pid, &l, &p);
	read_full(g, &l, &p);
	read_chunk(g, &l, g->m->session[0].chunk_bytes - (s->ring[0].limit - s->ring[0].ptr));
	fl_lease_end(&l, &p);
	v->rounds++;
	v->produced += LEASE_EVENTS;
	v->missing += LEASE_EVENTS - g->delivered;
	v->torn += g->torn;
	v->misordered += g->misordered;
	v->unbalanced += p.n != g->m->session[0].pool_chunks || l.n_spare != FL_HOME_CHUNKS;
	fl_pool_close(&p);
	rig_close(g);
}

/* A round in which nothing was taken back proves nothing: stuck. */
static int torture_leases(uint64_t factor)
{
	struct verdict v = { 0 };

	for (uint64_t i = 0; i < 10 * factor; i++)
		lease_one(&v);
	return print("leases", &v);
}

static const struct line lines[] = {
	{ "order", torture_order },
	{ "kill", torture_kill },
	{ "reader", torture_reader },
	{ "threads", torture_threads },
	{ "signals", torture_signals },
	{ "pairs", torture_pairs },
	{ "halves", torture_halves },
	{ "leases", torture_leases },
};

int main(int argc, char **argv)
{
	return run_lines(lines, ARRAY_LEN(lines), argc, argv);
}
