/*
 * torture/channel-public.c - rings of flick/channel.h, killed, interrupted, overrun.
 *
 *	order    rounds 12  produced 2400000  lost 0 | missing 0 repeated 0 ...
 *
 * Counts right of the bar must be zero; anything there is a bug in src/channel/ or in
 * the header, never in this test. `missing` are words that neither arrived nor were
 * counted; `torn` words that nobody put, or a burst of two laps; `stuck` children that
 * did not return.
 *
 *	torture/channel-public [LINE]	FLICK_TORTURE in the environment: ten times
 *
 * Built with one of these, a wrong producer or consumer stands in for the real one, and
 * the right side of some line must not be zero:
 *
 *	-DFL_PLANT_COMMIT_FIRST   ptr moves before the word is written
 *	-DFL_PLANT_NO_GUARD       the guard is not raised
 *	-DFL_PLANT_NO_DISTANCE    the producer takes every chunk for free
 *	-DFL_PLANT_NO_COPY        bursts are judged in the ring, not in the copy
 *
 * timeout: 300
 */
#include <sched.h>
#include <sys/time.h>

#include "../unit/channel-public-rig.h"
#include "lines.h"
#include "channel/channel.h"
#include "channel/public.h"

struct verdict {
	uint64_t rounds, produced, lost;
	uint64_t missing, repeated, torn, unbalanced, stuck;
};

static uint64_t seed = 88172645463325252ull;

static uint64_t any(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* ---- the producer, or a plant -------------------------------------------- */

#if defined(FL_PLANT_COMMIT_FIRST) || defined(FL_PLANT_NO_GUARD)
static void dally(void)
{
	for (volatile int i = 0; i < 20; i++)
		;
}

static void put(const struct pub *g, uint64_t series, uint64_t n)
{
	char *at = g->c->ptr;

	if (at >= g->c->limit || g->word_bytes != 8) {
		pub_put(g, series, n);
		return;
	}
#ifdef FL_PLANT_COMMIT_FIRST
	__atomic_store_n(&g->c->ptr, at + 8, __ATOMIC_RELEASE);
	dally();
	*(flick_word64 *)at = pub_word(g, series, n);
#else
	*(flick_word64 *)at = pub_word(g, series, n);
	dally();
	__atomic_store_n(&g->c->ptr, at + 8, __ATOMIC_RELEASE);
#endif
}
#elif defined(FL_PLANT_NO_DISTANCE)
static void put(const struct pub *g, uint64_t series, uint64_t n)
{
	struct fl_public *r = fl_public_of(g->c);

	__atomic_store_n(&r->consumed, (r->filled + 1) * (r->chunk_bytes / r->word_bytes),
			 __ATOMIC_RELEASE);
	pub_put(g, series, n);
}
#else
static void put(const struct pub *g, uint64_t series, uint64_t n)
{
	pub_put(g, series, n);
}
#endif

/* ---- verdicts ------------------------------------------------------------ */

static uint64_t lost_of(const struct flick_channel_stats *s)
{
	return s->lost_consumer + s->lost_full + s->lost_overwritten + s->lost_nested;
}

/* `words` were put; take the verdict and close. What was left out or lost on the way
 * makes numbers jump, and is no miss. */
static void judge(struct pub *g, uint64_t words, struct verdict *v)
{
	struct flick_channel_stats s = pub_stats(g);
	uint64_t out = lost_of(&s) + s.filtered;

	v->rounds++;
	v->produced += s.produced;
	v->lost += lost_of(&s);
	v->missing += words > s.produced ? words - s.produced : s.produced - words;
	if (!out)
		v->missing += g->missing;
	v->repeated += g->repeated;
	v->torn += g->torn;
	v->unbalanced += pub_unbalanced(g) + s.held + (s.delivered != g->delivered);
	pub_close(g);
}

static int print(const char *name, const struct verdict *v)
{
	printf("%-9s rounds %4lu  produced %9lu  lost %8lu | missing %lu  repeated %lu"
	       "  torn %lu  unbalanced %lu  stuck %lu\n", name, v->rounds, v->produced,
	       v->lost, v->missing, v->repeated, v->torn, v->unbalanced, v->stuck);
	fflush(stdout);
	return v->missing || v->repeated || v->torn || v->unbalanced || v->stuck;
}

/* Wait until the producer has come: before that there is nothing to drain. */
static void await_producer(const struct pub *g)
{
	while (!__atomic_load_n(&fl_public_of(g->c)->state, __ATOMIC_ACQUIRE))
		sched_yield();
}

static void drain_all(struct pub *g, pid_t pid, struct verdict *v)
{
	await_producer(g);
	v->torn += pub_drain(g) != FLICK_TAKE_END;
	v->stuck += pub_wait(pid) != 0;
}

/* ---- order: every shape of ring, words of both sizes --------------------- */

#define ORDER_WORDS 200000u

static void put_in_order(struct pub *g)
{
	flick_channel_produce(g->c);
	for (uint64_t i = 0; i < ORDER_WORDS; i++)
		put(g, 0, i);
	flick_channel_end(g->c);
}

/* Now and then a flush, a commit, or another cursor. */
static void put_by_cursor(struct pub *g)
{
	struct flick_cursor at;

	flick_channel_produce(g->c);
	at = flick_channel_begin(g->c);
	for (uint64_t i = 0; i < ORDER_WORDS; i++) {
		uint64_t chance = any() % 4096;

		if (g->word_bytes == 8)
			flick_cursor_put64(g->c, &at, pub_word(g, 0, i));
		else
			flick_cursor_put32(g->c, &at, (uint32_t)pub_word(g, 0, i));
		if (chance > 8)
			continue;
		flick_channel_finish(g->c, &at);
		if (chance > 4)
			flick_channel_flush(g->c);
		at = flick_channel_begin(g->c);
	}
	flick_channel_finish(g->c, &at);
	flick_channel_end(g->c);
}

static int torture_order(uint64_t factor)
{
	struct verdict v = { 0 };
	struct pub g;

	for (uint64_t i = 0; i < 12 * factor; i++) {
		pub_open(&g, FLICK_EXHAUSTIVE, i % 2 ? 4 : 8,
			 1024 * (uint32_t)(1 + any() % 8), (uint32_t)(2 + any() % 8));
		drain_all(&g, pub_fork(&g, i % 3 ? put_in_order : put_by_cursor), &v);
		judge(&g, ORDER_WORDS, &v);
	}
	return print("order", &v);
}

/* ---- kill: SIGKILL of the producer at any moment ------------------------- */

/* The number is published after each commit: what arrives is that, or one more. */
static void put_and_publish(struct pub *g)
{
	flick_channel_produce(g->c);
	for (uint64_t i = 0;; i++) {
		put(g, 0, i);
		g->ledger[0] = i + 1;
		if (i % 1000 == 999)
			flick_channel_flush(g->c);
	}
}

static void kill_one(struct pub *g, struct verdict *v)
{
	pid_t pid = pub_fork(g, put_and_publish);
	uint64_t turns = any() % 40, published, put;

	while (!g->ledger[0])
		sched_yield();
	for (uint64_t i = 0; i < turns; i++) {
		if (any() % 4)
			pub_take(g);
		else
			usleep((useconds_t)(any() % 200));
	}
	kill(pid, SIGKILL);
	pub_wait(pid);
	v->torn += pub_drain(g) != FLICK_TAKE_END;
	published = g->ledger[0];
	put = pub_stats(g).produced;
	judge(g, put == published + 1 ? put : published, v);
}

static int torture_kill(uint64_t factor)
{
	struct verdict v = { 0 };
	struct pub g;

	for (uint64_t i = 0; i < 200 * factor; i++) {
		uint32_t mode = i % 4 == 3 ? FLICK_ADAPTIVE : FLICK_EXHAUSTIVE;

		pub_open(&g, mode, 8, 1024, (uint32_t)(2 + any() % 30));
		kill_one(&g, &v);
	}
	return print("kill", &v);
}

/* ---- consumer: killed at any moment, another one takes over -------------- */

#define RELAY_WORDS 100000u

/* Says what it has been given before it gives it back. */
static void consume_and_publish(struct pub *g)
{
	struct flick_batch b;

	if (flick_channel_consume(&g->k, g->c))
		_exit(1);
	for (;;) {
		int got = flick_channel_take(&g->k, &b);

		if (got == FLICK_TAKE_NONE)
			flick_channel_wait(&g->k, 100);
		g->ledger[1]++;
	}
}

static void put_relay(struct pub *g)
{
	flick_channel_produce(g->c);
	for (uint64_t i = 0; i < RELAY_WORDS; i++)
		put(g, 0, i);
	flick_channel_end(g->c);
}

/* What the dead one gave back is delivered; the rest comes, or was counted. */
static void relay_one(struct pub *g, struct verdict *v)
{
	uint64_t turns = any() % 50;
	pid_t producer, consumer;

	flick_channel_leave(&g->k);
	consumer = pub_fork(g, consume_and_publish);
	producer = pub_fork(g, put_relay);
	while (g->ledger[1] < turns)
		sched_yield();
	kill(consumer, SIGKILL);
	pub_wait(consumer);
	if (flick_channel_consume(&g->k, g->c))
		v->stuck++;
	await_producer(g);
	g->delivered = pub_stats(g).delivered;
	g->next[0] = g->delivered;
	if (pub_stats(g).lost_consumer)
		g->next[0] = 0;			/* there may be a hole in front */
	drain_all(g, producer, v);
	judge(g, RELAY_WORDS, v);
}

static int torture_consumer(uint64_t factor)
{
	struct verdict v = { 0 };
	struct pub g;

	for (uint64_t i = 0; i < 40 * factor; i++) {
		pub_open(&g, FLICK_EXHAUSTIVE, 8, 1024, 4);
		relay_one(&g, &v);
	}
	return print("consumer", &v);
}

/* ---- signals: handlers enqueue inside ------------------------------------ */

#define STORM_WORDS 100000u

static struct pub *stormed;
static volatile uint64_t handled[3];
static volatile int storm_over;

/* SIGALRM and SIGUSR1 interrupt each other, but not themselves. */
static void put_from_handler(int sig)
{
	uint64_t series = sig == SIGALRM ? 1 : 2, n = handled[series];

	handled[series] = n + 2;
	put(stormed, series, n);
	put(stormed, series, n + 1);
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

static bool is_stormy_enough(void)
{
	return handled[1] > 40 && handled[2] > 40;
}

/* The main series by single words, then by cursor, until both handlers have run; how
 * many words. */
static uint64_t put_stormed(struct pub *g)
{
	struct flick_cursor at;
	uint64_t i = 0;

	for (; i < STORM_WORDS / 2; i++)
		put(g, 0, i);
	while (i < STORM_WORDS || (i < 1000 * STORM_WORDS && !is_stormy_enough())) {
		at = flick_channel_begin(g->c);
		for (int k = 0; k < 10; k++)
			flick_cursor_put64(g->c, &at, pub_word(g, 0, i++));
		flick_channel_finish(g->c, &at);
		put(g, 0, i++);
	}
	return i;
}

/* The sender inherits a mask that leaves both signals to this thread. */
static void run_storm(struct pub *g)
{
	struct sigaction sa = { .sa_handler = put_from_handler, .sa_flags = SA_RESTART };
	struct itimerval on = { { 0, 100 }, { 0, 100 } }, off = { 0 };
	pthread_t self = pthread_self(), sender;
	sigset_t both, old;
	uint64_t n;

	stormed = g;
	flick_channel_produce(g->c);
	sigemptyset(&both);
	sigaddset(&both, SIGALRM);
	sigaddset(&both, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &both, &old);
	sigaction(SIGALRM, &sa, NULL);
	sigaction(SIGUSR1, &sa, NULL);
	setitimer(ITIMER_REAL, &on, NULL);
	pthread_create(&sender, NULL, send_signals, &self);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	n = put_stormed(g);
	storm_over = 1;
	pthread_join(sender, NULL);
	setitimer(ITIMER_REAL, &off, NULL);
	pthread_sigmask(SIG_BLOCK, &both, NULL);
	g->ledger[0] = n + handled[1] + handled[2];
	g->ledger[1] = is_stormy_enough();
	flick_channel_end(g->c);
}

/* A storm in which no handler ran proves nothing: stuck. */
static int torture_signals(uint64_t factor)
{
	struct verdict v = { 0 };
	struct pub g;

	for (uint64_t i = 0; i < 10 * factor; i++) {
		pub_open(&g, FLICK_EXHAUSTIVE, 8, 1024, i % 2 ? 2 : 64);
		drain_all(&g, pub_fork(&g, run_storm), &v);
		v.stuck += !g.ledger[1];
		judge(&g, g.ledger[0], &v);
	}
	return print("signals", &v);
}

/* ---- bursts: a ring that overwrites -------------------------------------- */

/* A burst of one lap is words in a row. */
static int take_burst(struct pub *g)
{
	struct flick_batch b;
	int got = flick_channel_take(&g->k, &b);
	const uint64_t *words = b.words;

	if (got != FLICK_TAKE_BATCH)
		return got;
#ifdef FL_PLANT_NO_COPY
	words = (const uint64_t *)(fl_public_of(g->c)->base +
				   g->k.consumed / g->k.chunk_words % g->k.chunks * 1024);
#endif
	for (size_t i = 0; i < b.n; i++) {
		g->torn += words[i] != words[0] + i;
		if (words[i] < g->next[0])
			g->repeated++;
		g->next[0] = words[i] + 1;
	}
	g->delivered += b.n;
	return got;
}

static int torture_bursts(uint64_t factor)
{
	struct verdict v = { 0 };
	struct pub g;

	for (uint64_t i = 0; i < 20 * factor; i++) {
		int got;
		pid_t pid;

		pub_open(&g, FLICK_SAMPLING, 8, 1024, (uint32_t)(2 + any() % 3));
		pid = pub_fork(&g, put_in_order);
		await_producer(&g);
		while ((got = take_burst(&g)) != FLICK_TAKE_END && got >= 0)
			;
		v.torn += got < 0;
		v.stuck += pub_wait(pid) != 0;
		judge(&g, ORDER_WORDS, &v);
	}
	return print("bursts", &v);
}

/* ---- rates: an adaptive ring whose consumer comes and goes --------------- */

static int torture_rates(uint64_t factor)
{
	struct verdict v = { 0 };
	struct pub g;

	for (uint64_t i = 0; i < 20 * factor; i++) {
		int got;
		pid_t pid;

		pub_open(&g, FLICK_ADAPTIVE, i % 2 ? 4 : 8, 1024, (uint32_t)(4 + any() % 12));
		pid = pub_fork(&g, put_in_order);
		await_producer(&g);
		while ((got = pub_take(&g)) != FLICK_TAKE_END && got >= 0)
			if (any() % 16 == 0)
				usleep((useconds_t)(any() % 100));
		v.torn += got < 0;
		v.stuck += pub_wait(pid) != 0;
		judge(&g, ORDER_WORDS, &v);
	}
	return print("rates", &v);
}

static const struct line lines[] = {
	{ "order", torture_order },
	{ "kill", torture_kill },
	{ "consumer", torture_consumer },
	{ "signals", torture_signals },
	{ "bursts", torture_bursts },
	{ "rates", torture_rates },
};

int main(int argc, char **argv)
{
	return run_lines(lines, ARRAY_LEN(lines), argc, argv);
}
