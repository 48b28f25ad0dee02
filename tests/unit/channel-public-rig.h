/*
 * channel-public-rig.h - a ring of flick/channel.h and who judges its words.
 *
 * A word is a series (its upper half, 0 to 7) and a number that counts up in it, or
 * with 32 bits 3 and 29 of them. Memory is shared with children; a ledger beside the
 * ring takes what a child has to say.
 */
#ifndef CHANNEL_PUBLIC_RIG_H
#define CHANNEL_PUBLIC_RIG_H

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <flick/channel.h>

#define PUB_SERIES 8

struct pub {
	struct flick_channel *c;
	void *memory;
	size_t bytes;
	uint32_t word_bytes;
	struct flick_consumer k;
	uint64_t next[PUB_SERIES];	/* number expected of each */
	uint64_t delivered, missing, repeated, torn;
	volatile uint64_t *ledger;	/* a page that children share */
};

static inline void pub_die(const char *what)
{
	perror(what);
	exit(99);
}

static inline void *pub_map(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);

	if (p == MAP_FAILED)
		pub_die("mmap");
	return p;
}

static inline void pub_open(struct pub *g, uint32_t mode, uint32_t word_bytes,
			    uint32_t chunk_bytes, uint32_t chunks)
{
	struct flick_channel_opt o = {
		.size = sizeof(o), .mode = mode, .word_bytes = word_bytes,
		.chunk_bytes = chunk_bytes, .chunks = chunks,
	};

	memset(g, 0, sizeof(*g));
	g->bytes = flick_channel_bytes(&o);
	g->word_bytes = word_bytes;
	g->memory = pub_map(g->bytes);
	g->ledger = pub_map(4096);
	if (flick_channel_init(g->memory, g->bytes, &o, &g->c) ||
	    flick_channel_consume(&g->k, g->c))
		pub_die("channel");
}

static inline void pub_close(struct pub *g)
{
	flick_channel_leave(&g->k);
	munmap(g->memory, g->bytes);
	munmap((void *)g->ledger, 4096);
}

static inline uint64_t pub_word(const struct pub *g, uint64_t series, uint64_t n)
{
	return g->word_bytes == 8 ? series << 32 | n : (series << 29 | n);
}

static inline void pub_put(const struct pub *g, uint64_t series, uint64_t n)
{
	if (g->word_bytes == 8)
		flick_channel_put64(g->c, pub_word(g, series, n));
	else
		flick_channel_put32(g->c, (uint32_t)pub_word(g, series, n));
}

/* What a handler puts between these two finds its thread interrupted inside. */
static inline void pub_enter(const struct pub *g)
{
	flick_channel_enter(g->c);
}

static inline void pub_leave(const struct pub *g)
{
	flick_channel_publish(g->c, g->c->ptr);
}

static inline void pub_judge(struct pub *g, uint64_t word)
{
	uint64_t shift = g->word_bytes == 8 ? 32 : 29;
	uint64_t series = word >> shift, n = word & ((1ull << shift) - 1);

	g->delivered++;
	if (series >= PUB_SERIES) {
		g->torn++;
		return;
	}
	if (n < g->next[series])
		g->repeated++;
	else
		g->missing += n - g->next[series];
	g->next[series] = n + 1;
}

/* Take one batch; what flick_channel_take() said. */
static inline int pub_take(struct pub *g)
{
	struct flick_batch b;
	int got = flick_channel_take(&g->k, &b);

	for (size_t i = 0; got == FLICK_TAKE_BATCH && i < b.n; i++)
		pub_judge(g, g->word_bytes == 8 ? ((const uint64_t *)b.words)[i] :
			     ((const uint32_t *)b.words)[i]);
	return got;
}

/* Until the producer has gone and all is here, or the ring is damaged. */
static inline int pub_drain(struct pub *g)
{
	int got;

	while ((got = pub_take(g)) != FLICK_TAKE_END && got >= 0)
		if (got == FLICK_TAKE_NONE)
			flick_channel_wait(&g->k, 1000);
	return got;
}

static inline struct flick_channel_stats pub_stats(const struct pub *g)
{
	struct flick_channel_stats s = { .size = sizeof(s) };

	if (flick_channel_stats(g->c, &s))
		pub_die("stats");
	return s;
}

/* By how much the equation does not hold. */
static inline uint64_t pub_unbalanced(const struct pub *g)
{
	struct flick_channel_stats s = pub_stats(g);

	return s.produced - (s.delivered + s.filtered + s.lost_consumer + s.lost_full +
			     s.lost_overwritten + s.lost_nested + s.held);
}

/* A child that runs `body` and exits 0. */
static inline pid_t pub_fork(struct pub *g, void (*body)(struct pub *))
{
	pid_t pid = fork();

	if (pid < 0)
		pub_die("fork");
	if (pid)
		return pid;
	body(g);
	_exit(0);
}

static inline int pub_wait(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid)
		pub_die("waitpid");
	return status;
}

#endif
