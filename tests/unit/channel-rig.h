/*
 * channel-rig.h - a reader and a real target process around one region.
 *
 * The test process is the reader; a target is a child that inherits the
 * mapping. Events carry their own check: tsc is a number that counts up within
 * a series, probe % 16 the series within its thread, sp a function of both. The
 * rig's sink judges every record as it arrives.
 */
#ifndef CHANNEL_RIG_H
#define CHANNEL_RIG_H

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "channel/channel.h"

#define RIG_THREADS 8192		/* index is the reader's */
#define RIG_SERIES 16			/* probe % 16: handlers number their own */
#define RIG_COUNTERS 1024
#define RIG_PAIR 16			/* bit of probe: an even number and the next one */

/* In a target: as if its status were assert()'s. */
#define NEED(x) do { \
	if (!(x)) { \
		fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x); \
		_exit(1); \
	} \
} while (0)

struct rig {
	struct fl_region *m;
	int fd;
	struct fl_reader *reader;
	uint64_t next[RIG_THREADS][RIG_SERIES];	/* number expected of each */
	struct flick_record last[RIG_THREADS];
	uint64_t delivered, misordered, torn, split, ended, alive, counter[RIG_COUNTERS];
	volatile uint64_t *shared;	/* a page target and test share */
};

static inline uint32_t rig_check(uint64_t tsc, uint32_t probe)
{
	return (uint32_t)((tsc + 1) * 0x9e3779b97f4a7c15ull >> 32) ^ probe * 0x85ebca6bu;
}

/* Is this the second of a pair, and something came between? */
static inline bool is_split(const struct flick_record *last,
			    const struct flick_record *r)
{
	return (r->probe & RIG_PAIR) && (r->tsc & 1) &&
	       (last->probe != r->probe || last->tsc + 1 != r->tsc);
}

static inline void rig_feed(void *arg, const struct fl_batch *b)
{
	struct rig *g = arg;

	for (size_t i = 0; i < b->n; i++) {
		const struct flick_record *r = &b->records[i];
		uint64_t *next = &g->next[b->thread % RIG_THREADS][r->probe % RIG_SERIES];

		if (r->sp != rig_check(r->tsc, r->probe))
			g->torn++;
		else if (r->tsc != *next)
			g->misordered++;
		*next = r->tsc + 1;
		g->split += is_split(&g->last[b->thread % RIG_THREADS], r);
		g->last[b->thread % RIG_THREADS] = *r;
	}
	g->delivered += b->n;
}

static inline void rig_count(void *arg, uint32_t thread, uint32_t probe, uint64_t n)
{
	struct rig *g = arg;

	(void)thread;
	if (probe < RIG_COUNTERS)
		g->counter[probe] += n;
}

static inline void rig_end(void *arg, uint32_t thread, uint64_t alive)
{
	struct rig *g = arg;

	(void)thread;
	g->ended++;
	g->alive = alive;
}

static inline void rig_die(const char *what)
{
	perror(what);
	exit(99);
}

/* ring_kib and n_slots: 0 = default. Never returns without a rig. */
static inline struct rig *rig_open(uint32_t n_slots, uint32_t ring_kib,
				   uint32_t action)
{
	struct fl_shm_options o = {
		.n_slots = n_slots, .n_counters = RIG_COUNTERS,
		.ring_kib = ring_kib, .action = action,
	};
	struct rig *g = calloc(1, sizeof(*g));
	struct fl_sink sink = { g, rig_feed, rig_count, rig_end };

	if (!g || fl_shm_create(&o, &g->m, &g->fd) ||
	    fl_reader_open(&g->reader, g->m, &sink, 0))
		rig_die("rig");
	g->shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (g->shared == MAP_FAILED)
		rig_die("mmap");
	return g;
}

static inline void rig_close(struct rig *g)
{
	fl_reader_close(g->reader);
	fl_shm_destroy(g->m, g->fd);
	munmap((void *)g->shared, 4096);
	free(g);
}

/* What a glue does where no handler can interrupt it. */
static inline void rig_put(uint32_t probe, uint64_t tsc)
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
	__atomic_store_n(&s->ring[0].ptr, p + 16, __ATOMIC_RELEASE);
}

static inline uint64_t rig_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* A target that runs `body` and exits 0. */
static inline pid_t rig_fork(struct rig *g, void (*body)(struct rig *))
{
	pid_t pid = fork();

	if (pid < 0)
		rig_die("fork");
	if (pid)
		return pid;
	fl_channel_open(g->m);
	body(g);
	_exit(0);
}

/* Read until the target has ended, then the rest. Its wait status. */
static inline int rig_drain(struct rig *g, pid_t pid)
{
	int status;

	for (;;) {
		pid_t gone = waitpid(pid, &status, WNOHANG);

		if (gone < 0)
			rig_die("waitpid");
		if (gone)
			break;
		if (!fl_reader_poll(g->reader, false))
			fl_reader_wait(g->reader, 1000);
	}
	fl_reader_poll(g->reader, true);
	return status;
}

/* Sums over all threads; the number whose equation does not hold. */
struct rig_sums {
	uint64_t produced, delivered, filtered, lost[FL_N_LOST], unbalanced, living;
};

static inline struct rig_sums rig_sum(const struct rig *g)
{
	struct rig_sums s = { 0 };
	size_t n;
	const struct fl_thread *t = fl_reader_threads(g->reader, &n);

	for (size_t i = 0; i < n; i++) {
		uint64_t parts = t[i].delivered + t[i].filtered;

		for (size_t k = 0; k < FL_N_LOST; k++) {
			parts += t[i].lost[k];
			s.lost[k] += t[i].lost[k];
		}
		s.unbalanced += parts != t[i].produced;
		s.living += !t[i].ended;
		s.produced += t[i].produced;
		s.delivered += t[i].delivered;
		s.filtered += t[i].filtered;
	}
	return s;
}

/* What a process has open as `fd`, mapped here; NULL when it cannot be. */
static inline struct fl_region *rig_map_of(pid_t pid, int fd)
{
	char path[64];
	int own;
	void *m;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
	own = open(path, O_RDWR);
	m = mmap(NULL, (size_t)lseek(own, 0, SEEK_END), PROT_READ | PROT_WRITE,
		 MAP_SHARED, own, 0);
	close(own);
	return m == MAP_FAILED ? NULL : m;
}

#endif
