/*
 * channel.c - what a word costs through a ring, from end to end.
 *
 *	channel.flick		ticks a word, the ring's pointer in a register
 *	channel.flick.tls	the same, in the thread's memory, put() not inlined
 *	channel.cab ...		the other rings, see their files
 *	channel.floor.tls	what no ring can do without, see floor.c
 *	channel.over.NAME	how many times flick's throughput is NAME's, per round
 *	channel.victim		what a thread that does work pays for a word of it each
 *	channel.size.N		channel.flick by size of ring, 16 chunks each
 *
 * 64-bit words, a ring of 2 MiB in chunks of 128 KiB. The producer is on the victim's
 * CPU, the consumer on the other. A run counts when every word has arrived, in order;
 * its time is from the first word put to the last one eaten. All rings take turns.
 */
#include "bench.h"
#include "contender.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RING	(2u << 20)
#define CHUNK	(128u << 10)
#define WORDS	(8u << 20)		/* a run */
#define RUNS	40
#define SIZE_RUNS 20

/* ---- one run ------------------------------------------------------------------ */

enum form { REGISTER, MEMORY, N_FORMS };

struct run {
	const struct contender *who;
	void *ring;
	uint64_t n, done;		/* done: ticks when the last word was eaten */
	struct eater eater;
	uint64_t ready;
};

static void *consume(void *arg)
{
	struct run *r = arg;

	bench_pin(BENCH_OTHER);
	store_release(&r->ready, 1);
	r->who->take(r->ring, &r->eater, r->n);
	r->done = bench_ticks();
	return NULL;
}

static bool is_right(const struct run *r)
{
	return r->eater.n == r->n && !r->eater.wrong &&
	       r->eater.sum == r->n * (r->n + 1) / 2;
}

/* Ticks a word; negative when the ring did not do its work. */
static double run_once(const struct contender *who, enum form form, size_t ring_bytes,
		       size_t chunk_bytes, uint64_t n)
{
	struct run r = { .who = who, .n = n, .ring = who->make(ring_bytes, chunk_bytes) };
	pthread_t t;
	uint64_t from;
	bool right;

	if (!r.ring || pthread_create(&t, NULL, consume, &r))
		return -1;
	while (!load_acquire(&r.ready))
		relax();
	who->enter(r.ring);
	from = bench_ticks();
	if (form == REGISTER)
		who->put_register(r.ring, n);
	else
		who->put_memory(n);
	who->leave(r.ring);
	pthread_join(t, NULL);
	right = is_right(&r);
	who->unmake(r.ring);
	return right ? (double)(r.done - from) / (double)n : -1;
}

/* ---- all rings, in turn --------------------------------------------------------- */

static const struct contender *const contenders[] = {
	&contender_flick, &contender_cab, &contender_nway, &contender_fastforward,
	&contender_spsc, &contender_ck_ring,
};
#define N_CONTENDERS (sizeof(contenders) / sizeof(contenders[0]))

static struct series ticks[N_CONTENDERS][N_FORMS], over[N_CONTENDERS][N_FORMS];
static struct series floor_ticks;
static bool failed[N_CONTENDERS];

/* Small rings and odd numbers first: the ends of chunks and rings. */
static void check(size_t i)
{
	static const uint64_t n[] = { 1, 7, 2047, 2048, 2049, 100000, 1000003 };

	for (size_t k = 0; k < sizeof(n) / sizeof(n[0]); k++)
		for (enum form f = REGISTER; f < N_FORMS; f++)
			if (run_once(contenders[i], f, 16384 * 4, 4096, n[k]) < 0)
				failed[i] = true;
}

static void run_round(bool counts)
{
	double mine[N_FORMS] = { 0 };

	for (size_t i = 0; i < N_CONTENDERS; i++)
		for (enum form f = REGISTER; f < N_FORMS && !failed[i]; f++) {
			double t = run_once(contenders[i], f, RING, CHUNK, WORDS);

			if (t < 0)
				failed[i] = true;
			if (!i)
				mine[f] = t;
			if (!counts || failed[i])
				continue;
			series_add(&ticks[i][f], t);
			series_add(&over[i][f], t / mine[f]);
		}
}

/* "channel.cab" of "channel.cab", "cab" of it for what flick is over. */
static void report_one(size_t i, enum form f)
{
	const char *form = f == MEMORY ? ".tls" : "";
	const char *last = strrchr(contenders[i]->name, '.') + 1;
	char name[64], ratio[64];

	snprintf(name, sizeof(name), "%s%s", contenders[i]->name, form);
	snprintf(ratio, sizeof(ratio), "channel.over.%s%s", last, form);
	if (failed[i]) {
		bench_skip(name, "words were lost or out of order, or there is no ring");
		if (i)
			bench_skip(ratio, "there is nothing to compare with");
		return;
	}
	bench_report(name, "ticks/word", &ticks[i][f]);
	if (i)
		bench_report(ratio, "x", &over[i][f]);
}

static void run_floor(bool counts)
{
	double t = floor_once(RING, WORDS);

	if (counts && t >= 0)
		series_add(&floor_ticks, t);
}

static void compare(void)
{
	for (size_t i = 0; i < N_CONTENDERS; i++)
		check(i);
	for (int run = -1; run < RUNS; run++) {
		run_round(run >= 0);
		run_floor(run >= 0);
	}
	bench_report("channel.floor.tls", "ticks/word", &floor_ticks);
	for (size_t i = 0; i < N_CONTENDERS; i++)
		for (enum form f = REGISTER; f < N_FORMS; f++)
			report_one(i, f);
}

/* ---- the victim -------------------------------------------------------------------- */

#define WORK_BYTES (256u << 10)		/* in the second-level cache */
#define WORK_STEPS 32			/* dependent loads for each word */
#define WORK_WORDS (256u << 10)

static uint32_t *work;

/* A cycle through all of the memory, in no order a prefetcher knows. */
static bool make_work(void)
{
	uint32_t n = WORK_BYTES / 4, seed = 12345;

	work = malloc(WORK_BYTES);
	for (uint32_t i = 0; work && i < n; i++)
		work[i] = i;
	for (uint32_t i = n - 1; work && i; i--) {
		uint32_t k = (seed = seed * 1664525 + 1013904223) % i, swap = work[i];

		work[i] = work[k];
		work[k] = swap;
	}
	return work;
}

/* Ticks of the work, with a word put after each step of it or without. */
static double work_ticks(void (*put_one)(uint64_t n))
{
	uint64_t from = bench_ticks();
	uint32_t at = 0;

	for (uint32_t i = 0; i < WORK_WORDS; i++) {
		for (int k = 0; k < WORK_STEPS; k++)
			at = work[at];
		__asm__ volatile("" : : "r"(at));
		if (put_one)
			put_one(1);
	}
	return (double)(bench_ticks() - from) / WORK_WORDS;
}

/* The consumer counts words, it cannot know their order: each is the first. */
static double victim_once(const struct contender *who)
{
	struct run r = { .who = who, .n = WORK_WORDS, .ring = who->make(RING, CHUNK) };
	pthread_t t;
	double with;

	if (!r.ring || pthread_create(&t, NULL, consume, &r))
		return -1;
	while (!load_acquire(&r.ready))
		relax();
	who->enter(r.ring);
	with = work_ticks(who->put_memory);
	who->leave(r.ring);
	pthread_join(t, NULL);
	who->unmake(r.ring);
	return r.eater.n == WORK_WORDS && r.eater.sum == WORK_WORDS ? with : -1;
}

static void measure_victim(const char *name, const struct contender *who)
{
	struct series s = { .n = 0 };

	for (int run = -1; run < RUNS; run++) {
		double without = work_ticks(NULL), with = victim_once(who);

		if (with < 0) {
			bench_skip(name, "words were lost");
			return;
		}
		if (run >= 0)
			series_add(&s, 100 * (with / without - 1));
	}
	bench_report(name, "%", &s);
}

static void measure_victims(void)
{
	if (!make_work()) {
		bench_skip("channel.victim", "no memory");
		return;
	}
	measure_victim("channel.victim", &contender_flick);
	measure_victim("channel.victim.cab", &contender_cab);
	free(work);
}

/* ---- sizes ---------------------------------------------------------------------------- */

static const struct size {
	const char *name;
	size_t bytes;
} sizes[] = {
	{ "channel.size.16k", 16u << 10 }, { "channel.size.32k", 32u << 10 },
	{ "channel.size.64k", 64u << 10 }, { "channel.size.128k", 128u << 10 },
	{ "channel.size.256k", 256u << 10 }, { "channel.size.512k", 512u << 10 },
	{ "channel.size.1m", 1u << 20 }, { "channel.size.2m", 2u << 20 },
	{ "channel.size.4m", 4u << 20 }, { "channel.size.8m", 8u << 20 },
	{ "channel.size.16m", 16u << 20 },
};
#define N_SIZES (sizeof(sizes) / sizeof(sizes[0]))
#define FLAT_FROM (256u << 10)

/* By how much the slowest of the large rings is behind the fastest: of medians. */
static void report_flatness(const struct series *s)
{
	double lo = 1e9, hi = 0;
	struct series flat = { .n = 0 };

	for (size_t i = 0; i < N_SIZES; i++) {
		double m = series_median(&s[i]);

		if (sizes[i].bytes < FLAT_FROM)
			continue;
		lo = m < lo ? m : lo;
		hi = m > hi ? m : hi;
	}
	series_add(&flat, 100 * (hi / lo - 1));
	bench_report("channel.size.flat", "%", &flat);
}

static void measure_sizes(void)
{
	static struct series s[N_SIZES];

	for (int run = -1; run < SIZE_RUNS; run++)
		for (size_t i = 0; i < N_SIZES; i++) {
			double t = run_once(&contender_flick, REGISTER, sizes[i].bytes,
					    sizes[i].bytes / 16, WORDS);

			if (run >= 0 && t >= 0)
				series_add(&s[i], t);
		}
	report_flatness(s);
	for (size_t i = 0; i < N_SIZES; i++)
		bench_report(sizes[i].name, "ticks/word", &s[i]);
}

int main(int argc, char **argv)
{
	bench_options(argc, argv);
	bench_pin(BENCH_VICTIM);
	compare();
	measure_victims();
	measure_sizes();
	return 0;
}
