/*
 * totals.c - total times of short calls, from samples that stood in them.
 *
 * To look at the clock twice takes longer than a short call, and what a core does beside one
 * else it does behind it. So a timed call of some nanoseconds is several times as long as
 * others, and no constant takes that out. A sample of the program counter changes no call: in
 * whose calls it stood its thread's stack tells (stacks.c). Of all the program's samples the
 * part that has a function in its chain, once, however often, is the part of CPU time that the
 * function and what it called had.
 *
 * Bodies that were inlined are in no stack: one is in a chain if an instruction stands in it,
 * or calls from there (inner.c).
 */
#include <math.h>
#include <stdlib.h>

#include "cli/chains.h"
#include "cli/contexts.h"
#include "cli/profile.h"

/* ---- who is in a chain ------------------------------------------------------------- */

struct in_chains {
	struct fl_profile *p;
	struct fl_stand *of;		/* by place, the innermost of each first */
	uint32_t n;
	uint32_t *first;		/* index: place; where its rows begin */
	uint32_t *met;			/* index: function; 1 + the last chain that has it */
	uint64_t periods;		/* of all chains that have functions */
	bool failed;
};

static void note_stands(void *arg, const struct fl_place *place, uint32_t function)
{
	struct in_chains *in = arg;

	if (fl_array_room(&in->of, in->n, sizeof(*in->of)))
		in->failed = true;
	else
		in->of[in->n] = (struct fl_stand){ place->pc, in->n, function };
	in->n += !in->failed;
}

/* As they were noted, what is further out comes later. */
static int by_place(const void *x, const void *y)
{
	const struct fl_stand *a = x, *b = y;

	if (a->place != b->place)
		return a->place < b->place ? -1 : 1;
	return a->noted < b->noted ? -1 : a->noted > b->noted;
}

static void name_places(struct in_chains *in, const struct fl_chains *c)
{
	struct fl_functions *functions = &in->p->s->functions;
	size_t n = 0;
	struct fl_place *places = fl_profile_places(in->p, c->places, c->n_places, &n);
	uint32_t f;

	in->failed |= !places || fl_inner_fill(functions, places, n, note_stands, in);
	for (size_t i = 0; !in->failed && i < n; i++) {
		in->failed |= fl_functions_find(functions, places[i].path, places[i].at, &f);
		if (!in->failed)
			note_stands(in, &places[i], f);
	}
	free(places);
}

static void index_places(struct in_chains *in, const struct fl_chains *c)
{
	uint32_t i = 0;

	if (in->n)
		qsort(in->of, in->n, sizeof(*in->of), by_place);
	in->first = calloc(c->n_places + 1, sizeof(*in->first));
	in->met = calloc(in->p->s->functions.n + 1, sizeof(*in->met));
	in->failed |= !in->first || !in->met;
	for (uint32_t place = 0; !in->failed && place <= c->n_places; place++) {
		while (i < in->n && in->of[i].place < place)
			i++;
		in->first[place] = i;
	}
}

/* What calls itself is there once. */
static void count_chain(struct in_chains *in, const struct fl_chains *c, uint32_t i)
{
	const struct fl_chain *chain = &c->of[i];
	bool is_the_programs = false;

	for (uint32_t step = chain->first; step < chain->first + chain->n; step++) {
		uint32_t place = c->steps[step];

		for (uint32_t k = in->first[place]; k < in->first[place + 1]; k++) {
			uint32_t f = in->of[k].function;

			is_the_programs = true;
			if (in->met[f] == i + 1)
				continue;
			in->met[f] = i + 1;
			in->failed |= fl_profile_add(in->p, &in->p->calls, f,
						     chain->periods) != 0;
		}
	}
	in->periods += is_the_programs ? chain->periods : 0;
}

/* Samples of which the stack is not known are as the others. */
int fl_totals_gather(struct fl_profile *p)
{
	const struct fl_chains *c = fl_sampler_chains(p->s->sampler);
	struct in_chains in = { .p = p };
	double all = 0;

	name_places(&in, c);
	index_places(&in, c);
	for (uint32_t i = 0; !in.failed && i < c->n; i++)
		count_chain(&in, c, i);
	if (!in.failed && p->s->has_stacks)
		in.failed = fl_contexts_gather(p, &(struct fl_stood){ c, in.of, in.first });
	for (uint32_t f = 0; f < p->self.n; f++)
		all += (double)p->self.of[f];
	for (uint32_t f = 0; f < p->calls.n; f++)
		p->calls.of[f] = (uint64_t)((double)p->calls.of[f] * all /
					    (double)in.periods + 0.5);
	free(in.of);
	free(in.first);
	free(in.met);
	return in.failed ? -ENOMEM : 0;
}

/* ---- rows -------------------------------------------------------------------------- */

/* Of short calls half take less than SHORT_NS, and the mean of those that were timed is below
 * SHORT_MEAN_NS: else some may have slept, which samples do not see. LONGER_NS: by which a
 * timed call may be too long. */
enum { SHORT_NS = 500, SHORT_MEAN_NS = 1000, LONGER_NS = 10, FEW = 10 };

/* Of short calls, if chance has samples less far off than chance and the clock have timed
 * ones; of what has no other total: what calls itself, has no probe, or is short and by its few
 * timed calls took more than all there was; and where these few were shorter than others: what
 * takes CPU time takes no less in all, but for what chance may do once in a thousand times. */
static bool is_by_samples(const struct flick_rows *r, const uint64_t *row, uint64_t n)
{
	int total = fl_sheet_column(r, "total_ns"), p50 = fl_sheet_column(r, "p50_ns");
	int calls = fl_sheet_column(r, "calls"), error = fl_sheet_column(r, "avg_error_ns");
	int avg = fl_sheet_column(r, "avg_ns"), sum = fl_sheet_column(r, "sum_ns");
	double period = (double)fl_sampler_period_ns(), off = sqrt((double)n) * period;
	bool is_short = row[p50] < SHORT_NS && row[avg] < SHORT_MEAN_NS;
	bool is_timed = row[avg] != FLICK_NONE, recurses = row[sum] != FLICK_NONE;
	uint64_t timed_off = LONGER_NS;

	if (row[total] == FLICK_NONE)
		return n >= FEW && (!is_timed || recurses || is_short);
	if ((double)n * period - 3 * off > (double)row[total])
		return n >= FEW;
	if (!n || !is_short)
		return false;
	timed_off += row[error] == FLICK_NONE ? row[total] : row[error];
	return (double)row[calls] * (double)timed_off > off;
}

void fl_totals_fill(struct flick_rows *r, const struct fl_profile *p)
{
	int function = fl_sheet_column(r, "function"), total = fl_sheet_column(r, "total_ns");
	int self = fl_sheet_column(r, "self_ns");
	int avg = fl_sheet_column(r, "avg_ns"), calls = fl_sheet_column(r, "calls");
	int stacks = fl_sheet_column(r, "stack_samples"), sum = fl_sheet_column(r, "sum_ns");
	int error = fl_sheet_column(r, "avg_error_ns");

	for (size_t i = 0; stacks >= 0 && i < r->n_rows; i++) {
		uint64_t *row = r->cells + i * r->n_columns, f = row[function];
		uint64_t n = f < p->calls.n ? p->calls.of[f] : 0;
		bool recurses = row[total] == FLICK_NONE && row[sum] != FLICK_NONE;

		if (!is_by_samples(r, row, n))
			continue;
		row[stacks] = n;
		row[total] = n * fl_sampler_period_ns();
		row[total] = row[total] > row[self] ? row[total] : row[self];
		if (recurses || row[avg] == FLICK_NONE || !row[calls])
			continue;
		row[sum] = row[total];
		row[avg] = (row[total] + row[calls] / 2) / row[calls];
		row[error] = (uint64_t)((double)row[avg] / sqrt((double)n));
	}
}
