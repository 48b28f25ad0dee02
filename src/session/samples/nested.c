/*
 * nested.c - how many calls of one function, in one another, samples stood in.
 *
 * A sample is time of each call that it stood in. So all calls of a function that calls itself
 * took its total, times how many of its calls a sample has in its chain. Timed calls do not
 * tell that: the few of them lie in one another, the outermost first.
 *
 * Chains that are cut are deep ones, so the whole ones beside them tell of too few calls. But
 * one sample in so many has far more of the stack, whatever stood there: where the chains of
 * those samples are whole, they tell.
 */
#include <stdlib.h>

#include "session/samples/contexts.h"
#include "session/samples/nested.h"
#include "session/samples/profile.h"

enum { LEAST = 10 };			/* samples in calls of a function */
#define NEARLY_ALL 0.9

/* Samples in calls of a function. once: each once; whole: of these, in whole chains; each: of
 * those, as often as the sample has calls in one another. */
struct nested {
	double once, whole, each;
};

struct in_one_another {
	const struct fl_stood *stood;
	uint32_t *met, mark;		/* index: function; `mark`: the chain has it */
};

/* A step is one call, whatever was inlined there: the function's own code is noted last. */
static void count(struct in_one_another *in, uint32_t i, double weight, struct nested *of)
{
	const struct fl_chains *c = in->stood->chains;
	const struct fl_chain *chain = &c->of[i];

	in->mark++;
	for (uint32_t step = chain->first; step < chain->first + chain->n; step++) {
		uint32_t end = in->stood->first[c->steps[step] + 1], f;

		if (end == in->stood->first[c->steps[step]])
			continue;
		f = in->stood->of[end - 1].function;
		of[f].each += chain->end == FL_CHAIN_WHOLE ? weight : 0;
		if (in->met[f] == in->mark)
			continue;
		in->met[f] = in->mark;
		of[f].once += weight;
		of[f].whole += chain->end == FL_CHAIN_WHOLE ? weight : 0;
	}
}

static double calls_in(const struct nested *n)
{
	return n->once >= LEAST && n->whole >= NEARLY_ALL * n->once ? n->each / n->whole : 0;
}

int fl_nested_gather(struct fl_profile *p, const struct fl_stood *stood, const double *share,
		     const uint32_t *leaf)
{
	const struct fl_chains *c = stood->chains;
	uint32_t n = p->s->functions.n;
	struct in_one_another in = { stood, calloc(n + 1, sizeof(*in.met)), 0 };
	struct nested *near = calloc(n + 1, sizeof(*near)), *far = calloc(n + 1, sizeof(*far));

	p->nested = calloc(n + 1, sizeof(*p->nested));
	for (uint32_t i = 0; in.met && near && far && i < c->n; i++) {
		if (share[i] > 0)
			count(&in, i, share[i], near);
		if (c->of[i].far && leaf[c->steps[c->of[i].first]])
			count(&in, i, c->of[i].far, far);
	}
	for (; in.met && near && far && p->nested && p->n_nested < n; p->n_nested++) {
		double calls = calls_in(&near[p->n_nested]);

		p->nested[p->n_nested] = calls > 0 ? calls : calls_in(&far[p->n_nested]);
	}
	free(in.met);
	free(near);
	free(far);
	return p->n_nested == n ? 0 : -ENOMEM;
}

double fl_nested_calls(const struct fl_profile *p, uint64_t function)
{
	return function < p->n_nested ? p->nested[function] : 0;
}
