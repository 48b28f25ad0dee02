/*
 * channel.c - words from one thread to another, with flick/channel.h.
 *
 *	cc -O2 -pthread channel.c $(pkg-config --cflags --libs flick) -o channel
 *	./channel
 *
 * Each mode once: a million words, whose sum is known.
 */
#include <flick/channel.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define WORDS 1000000u

static void *produce(void *arg)
{
	struct flick_channel *c = arg;
	struct flick_cursor at;

	if (flick_channel_produce(c))
		return NULL;

	/* One by one: the ring's pointer stays in memory. */
	for (uint64_t i = 0; i < WORDS / 2; i++)
		flick_channel_put64(c, i);

	/* In a loop: the cursor stays in registers. */
	at = flick_channel_begin(c);
	for (uint64_t i = WORDS / 2; i < WORDS; i++)
		flick_cursor_put64(c, &at, i);
	flick_channel_finish(c, &at);

	flick_channel_end(c);
	return arg;
}

/* The sum of the words that arrive, until the producer has ended. */
static uint64_t consume(struct flick_consumer *k)
{
	struct flick_batch b;
	uint64_t sum = 0;
	int got;

	while ((got = flick_channel_take(k, &b)) != FLICK_TAKE_END) {
		if (got < 0)
			exit(1);		/* damaged */
		if (got == FLICK_TAKE_NONE)
			flick_channel_wait(k, 10000);
		for (size_t i = 0; got == FLICK_TAKE_BATCH && i < b.n; i++)
			sum += ((const uint64_t *)b.words)[i];
	}
	return sum;
}

static void report(const char *mode, const struct flick_channel *c, uint64_t sum)
{
	struct flick_channel_stats s = { .size = sizeof s };
	uint64_t lost;

	if (flick_channel_stats(c, &s))
		exit(1);
	lost = s.lost_consumer + s.lost_full + s.lost_overwritten + s.lost_nested;
	printf("%s: %llu produced, %s\n", mode, (unsigned long long)s.produced,
	       s.produced == s.delivered + lost + s.filtered + s.held ?
	       "all accounted for" : "some missing");
	if (s.delivered == WORDS)
		printf("%s: the sum is %llu\n", mode, (unsigned long long)sum);
}

static void run(const char *mode, const struct flick_channel_opt *opt)
{
	size_t bytes = flick_channel_bytes(opt);
	void *memory = aligned_alloc(64, bytes);
	struct flick_consumer *k = malloc(sizeof *k);
	struct flick_channel *c;
	pthread_t producer;

	if (!memory || !k || flick_channel_init(memory, bytes, opt, &c) ||
	    flick_channel_consume(k, c) || pthread_create(&producer, NULL, produce, c)) {
		fprintf(stderr, "channel: cannot start\n");
		exit(1);
	}
	report(mode, c, consume(k));
	pthread_join(producer, NULL);
	flick_channel_leave(k);
	free(k);
	free(memory);
}

int main(void)
{
	struct flick_channel_opt opt = { .size = sizeof opt, .chunk_bytes = 16384 };

	run("exhaustive", &opt);
	opt.mode = FLICK_SAMPLING;
	run("sampling", &opt);
	opt.mode = FLICK_ADAPTIVE;
	run("adaptive", &opt);
	return 0;
}
