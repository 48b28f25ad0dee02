/*
 * samples.h - what probes took inside a sampled call; private to this folder.
 *
 * Samples are single calls, but calls lie in one another, and those that are timed in a
 * timed call pay for it there. A thread's samples come as they end. So those inside of one
 * came before it, and began later: each is kept until one comes that began before it.
 */
#ifndef FL_SAMPLES_H
#define FL_SAMPLES_H

#include <stdint.h>
#include <string.h>

enum { FL_SAMPLES_KEPT = 64 };		/* the oldest is forgotten: its caller is long */

struct fl_samples {
	uint32_t n;
	struct fl_ended {
		uint64_t begin, probes;	/* what all took there, its own too */
	} of[FL_SAMPLES_KEPT];
};

/* A call that began at `begin` has ended, and took `pair` in all for being timed: the
 * ticks that those inside of it took. */
static inline uint64_t fl_samples_end(struct fl_samples *s, uint64_t begin, uint32_t pair)
{
	uint64_t probes = 0;

	while (s->n && s->of[s->n - 1].begin >= begin)
		probes += s->of[--s->n].probes;
	if (s->n == FL_SAMPLES_KEPT)
		memmove(&s->of[0], &s->of[1], --s->n * sizeof(s->of[0]));
	s->of[s->n++] = (struct fl_ended){ begin, probes + pair };
	return probes;
}

#endif
