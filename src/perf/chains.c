/*
 * chains.c - calls in one another that samples stood in: each chain once, with how often.
 *
 * Hides that samples are many and chains few: a program is in the same calls again and again.
 * Which function a place is in is not known before the end (session/samples/profile.c); until
 * then it is not known either which function is in a chain twice.
 */
#include <stdlib.h>

#include "perf/chains.h"

/* A program that has no chain twice shall not fill the memory. Totals are told from the chains
 * that there are, so those of its first hours suffice. */
enum { MOST_STEPS = 1 << 24 };

/* 1 + its index; 0: no memory. */
static uint32_t place_index(struct fl_chains *c, const struct fl_pc *place)
{
	uint32_t hash = fl_hash_of((uintptr_t)place->path, place->at);

	for (uint32_t at = hash, i; (i = fl_hash_next(&c->by_place, hash, &at));) {
		const struct fl_pc *p = &c->places[i - 1];

		if (p->at == place->at && p->path == place->path && p->pid == place->pid)
			return i;
	}
	if (fl_array_room(&c->places, c->n_places, sizeof(*c->places)) ||
	    fl_hash_put(&c->by_place, hash, c->n_places + 1))
		return 0;
	c->places[c->n_places] = *place;
	return ++c->n_places;
}

/* The chain that has the steps which stand behind the last chain; NULL: there is none yet. */
static struct fl_chain *find_same(const struct fl_chains *c, const struct fl_chain *as,
				  uint32_t hash)
{
	const uint32_t *steps = &c->steps[c->n_steps];

	for (uint32_t at = hash, i; (i = fl_hash_next(&c->by_steps, hash, &at));) {
		struct fl_chain *chain = &c->of[i - 1];
		uint32_t same = 0;

		if (chain->n != as->n || chain->end != as->end ||
		    chain->program != as->program || chain->is_gone != as->is_gone)
			continue;
		while (same < as->n && c->steps[chain->first + same] == steps[same])
			same++;
		if (same == as->n)
			return chain;
	}
	return NULL;
}

void fl_chains_add(struct fl_chains *c, const struct fl_pc *places, const struct fl_chain *add)
{
	struct fl_chain *chain;
	uint32_t hash = fl_hash_of((uintptr_t)add->program, add->is_gone);

	if (!add->n || c->n_steps + add->n > MOST_STEPS)
		return;
	for (uint32_t i = 0; i < add->n; i++) {
		uint32_t place = place_index(c, &places[i]);

		if (!place || fl_array_room(&c->steps, c->n_steps + i, sizeof(*c->steps)))
			return;
		c->steps[c->n_steps + i] = place - 1;
		hash = fl_hash_of(hash, place);
	}
	chain = find_same(c, add, hash);
	if (chain) {
		chain->periods += add->periods;
		chain->samples += add->samples;
		chain->far += add->far;
		return;
	}
	if (fl_array_room(&c->of, c->n, sizeof(*c->of)) ||
	    fl_hash_put(&c->by_steps, hash, c->n + 1))
		return;
	c->of[c->n] = *add;
	c->of[c->n++].first = c->n_steps;
	c->n_steps += add->n;
}

void fl_chains_forget(struct fl_chains *c)
{
	fl_hash_free(&c->by_place);
	fl_hash_free(&c->by_steps);
	free(c->places);
	free(c->steps);
	free(c->of);
	*c = (struct fl_chains){ 0 };
}
