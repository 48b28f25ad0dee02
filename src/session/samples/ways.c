/*
 * ways.c - the function that all ways to a function lead through.
 *
 * Functions that call one another round about have several callers each, and yet all ways to
 * them may lead through one function alone: those of an interpreter through the one that runs
 * it. That one is the function's dominator in the graph of who called whom, as found by
 * K. Cooper, T. Harvey and K. Kennedy (A Simple, Fast Dominance Algorithm, 2001): callers that
 * are known already meet at the nearest function above all of them, until nothing changes.
 */
#include <errno.h>
#include <stdlib.h>

#include "session/samples/ways.h"

enum { NOBODY = 0 };			/* ways begin here */

int fl_ways_open(struct fl_ways *w, uint32_t n)
{
	*w = (struct fl_ways){
		.n = n, .callees = calloc(n + 1ul, sizeof(*w->callees)),
		.callers = calloc(n + 1ul, sizeof(*w->callers)),
		.number = calloc(n + 1ul, sizeof(*w->number)),
		.above = calloc(n + 1ul, sizeof(*w->above)),
	};
	return w->callees && w->callers && w->number && w->above ? 0 : -ENOMEM;
}

void fl_ways_close(struct fl_ways *w)
{
	fl_hash_free(&w->by_pair);
	free(w->of);
	free(w->callees);
	free(w->callers);
	free(w->number);
	free(w->above);
	*w = (struct fl_ways){ 0 };
}

static int note_pair(struct fl_ways *w, uint32_t caller, uint32_t callee)
{
	uint32_t hash = fl_hash_of(fl_hash_of(0, caller), callee);

	for (uint32_t at = hash, i; (i = fl_hash_next(&w->by_pair, hash, &at));)
		if (w->of[i - 1].caller == caller && w->of[i - 1].callee == callee)
			return 0;
	if (fl_array_room(&w->of, w->n_of, sizeof(*w->of)) ||
	    fl_hash_put(&w->by_pair, hash, w->n_of + 1))
		return -ENOMEM;
	w->of[w->n_of++] = (struct fl_way){ caller, callee, w->callees[caller],
					    w->callers[callee] };
	w->callees[caller] = w->callers[callee] = w->n_of;
	return 0;
}

int fl_ways_begin(struct fl_ways *w, uint32_t function)
{
	return note_pair(w, NOBODY, function + 1);
}

int fl_ways_note(struct fl_ways *w, uint32_t function, uint32_t caller)
{
	return note_pair(w, caller + 1, function + 1);
}

/* ---- finding --------------------------------------------------------------------------- */

/* A function is numbered after all functions that it leads to; `order` gets them by number.
 * Returns how many there are. `next` of a function: which of its ways is gone next. */
static uint32_t number_all(struct fl_ways *w, uint32_t *order, uint32_t *next, uint32_t *way)
{
	uint32_t depth = 0, n = 0;

	for (uint32_t i = 0; i <= w->n; i++)
		next[i] = w->callees[i];
	w->number[NOBODY] = UINT32_MAX;		/* it is under way */
	way[depth++] = NOBODY;
	while (depth) {
		uint32_t at = way[depth - 1], to;

		if (!next[at]) {
			order[n++] = at;
			w->number[at] = n;
			depth--;
			continue;
		}
		to = w->of[next[at] - 1].callee;
		next[at] = w->of[next[at] - 1].of_caller;
		if (w->number[to])
			continue;
		w->number[to] = UINT32_MAX;
		way[depth++] = to;
	}
	return n;
}

/* The function that is above both. */
static uint32_t meet(const struct fl_ways *w, uint32_t a, uint32_t b)
{
	while (a != b) {
		if (w->number[a] < w->number[b])
			a = w->above[a];
		else
			b = w->above[b];
	}
	return a;
}

/* Find the function above `at` anew: has that changed? NOBODY has the highest number, and is
 * above itself. A caller that no known way leads to has ways that are not known, so no function
 * is in all ways through it. */
static bool settle_one(struct fl_ways *w, uint32_t at, unsigned char *is_known)
{
	uint32_t above = NOBODY, was = w->above[at];
	bool any = false, knew = is_known[at];

	for (uint32_t i = w->callers[at]; i; i = w->of[i - 1].of_callee) {
		uint32_t caller = w->of[i - 1].caller;

		caller = w->number[caller] ? caller : NOBODY;
		if (!is_known[caller])
			continue;
		above = any ? meet(w, above, caller) : caller;
		any = true;
	}
	w->above[at] = above;
	is_known[at] = any;
	return above != was || knew != any;
}

int fl_ways_find(struct fl_ways *w)
{
	uint32_t *order = calloc(w->n + 1ul, sizeof(*order));
	uint32_t *next = calloc(w->n + 1ul, sizeof(*next));
	uint32_t *way = calloc(w->n + 1ul, sizeof(*way));
	unsigned char *is_known = calloc(w->n + 1ul, 1);
	int err = order && next && way && is_known ? 0 : -ENOMEM;
	uint32_t n = err ? 0 : number_all(w, order, next, way);
	bool is_changed = !err;

	if (!err)
		is_known[NOBODY] = true;
	while (is_changed) {
		is_changed = false;
		for (uint32_t i = n - 1; i-- > 0;)
			is_changed |= settle_one(w, order[i], is_known);
	}
	free(order);
	free(next);
	free(way);
	free(is_known);
	return err;
}

uint32_t fl_ways_through(const struct fl_ways *w, uint32_t function)
{
	return w->above[function + 1] ? w->above[function + 1] - 1 : UINT32_MAX;
}

static bool leads_through(const struct fl_ways *w, uint32_t at, uint32_t through)
{
	while (at != through && at != NOBODY)
		at = w->above[at];
	return at == through;
}

bool fl_ways_is_call(const struct fl_ways *w, uint32_t function)
{
	uint32_t at = function + 1;
	bool is_call = false;

	for (uint32_t i = w->callers[at]; i; i = w->of[i - 1].of_callee) {
		uint32_t caller = w->of[i - 1].caller;

		if (caller == w->above[at])
			is_call = true;
		else if (!w->number[caller] || !leads_through(w, caller, at))
			return false;
	}
	return is_call;
}
