/*
 * gone.c - what samples stand for whose callers cannot be known.
 *
 * In a process tree a process may have ended when its samples are looked at; where a sample
 * stood in a second body, nothing then tells who called (body-tables.c). Or the kernel may have
 * copied no stack. To leave such samples out would make callers' totals too small, and those of
 * short processes more than others. So they are taken to be like samples with known callers
 * that stood in the same function of the same program. Where there is none, the function alone
 * has them: no caller is invented.
 */
#include <stdlib.h>

#include "perf/perf.h"

struct alike {
	const char *program;
	uint32_t leaf;
	uint64_t known, gone;		/* periods */
};

struct sums {
	struct alike *of;
	uint32_t n;
	struct fl_hash by_leaf;
};

/* NULL: no memory. */
static struct alike *alike_of(struct sums *s, const char *program, uint32_t leaf)
{
	uint32_t hash = fl_hash_of((uintptr_t)program, leaf);

	for (uint32_t at = hash, i; (i = fl_hash_next(&s->by_leaf, hash, &at));)
		if (s->of[i - 1].leaf == leaf && s->of[i - 1].program == program)
			return &s->of[i - 1];
	if (fl_array_room(&s->of, s->n, sizeof(*s->of)) ||
	    fl_hash_put(&s->by_leaf, hash, s->n + 1))
		return NULL;
	s->of[s->n] = (struct alike){ .program = program, .leaf = leaf };
	return &s->of[s->n++];
}

static double share_of_chain(const struct fl_chain *chain, const struct alike *a)
{
	double periods = (double)chain->periods;

	if (chain->is_gone)
		return a->known ? 0 : periods;
	return a->known ? periods * (1 + (double)a->gone / (double)a->known) : 0;
}

double *fl_gone_share(const struct fl_chains *c, const uint32_t *leaf)
{
	double *share = calloc(c->n + 1, sizeof(*share));
	struct sums sums = { .n = 0 };
	struct alike *a = NULL;
	uint32_t i = 0;

	for (; share && i < c->n; i++) {
		a = alike_of(&sums, c->of[i].program, leaf[c->steps[c->of[i].first]]);
		if (!a)
			break;
		*(c->of[i].is_gone ? &a->gone : &a->known) += c->of[i].periods;
	}
	if (share && i < c->n) {
		free(share);
		share = NULL;
	}
	for (i = 0; share && i < c->n; i++) {
		a = alike_of(&sums, c->of[i].program, leaf[c->steps[c->of[i].first]]);
		share[i] = a->leaf ? share_of_chain(&c->of[i], a) : 0;
	}
	free(sums.of);
	fl_hash_free(&sums.by_leaf);
	return share;
}
