/*
 * totals.c - total times of short calls, from samples that stood in them.
 *
 * To look at the clock twice takes longer than a short call; and work that a core does beside
 * other calls, it does behind a timed one. So a timed call of some nanoseconds is several times
 * as long as others, and no constant takes that out. A sample of the program counter changes no
 * call, and its thread's stack tells in whose calls it stood (perf/stacks.c). The part of the
 * program's samples that have a function in their chain, counted once however often it is
 * there, is the part of CPU time that the function and what it called had.
 *
 * Functions that were inlined are in no stack: one is in a chain if an instruction stands in
 * its code, or calls from there (inner.c).
 *
 * A chain ends too early where no more of the stack was copied, where no table tells who
 * called, as in assembly, or where the program has made the code. Any function that is not in
 * the chain may have called further up. A function that calls a long call is long itself, so a
 * short call can only be missing in chains that have no long one: so many samples more a total
 * may have.
 */
#include <math.h>
#include <stdlib.h>

#include "session/samples/bare.h"
#include "session/samples/contexts.h"
#include "session/functions.h"
#include "session/samples/inner.h"
#include "session/samples/leaf.h"
#include "session/samples/nested.h"
#include "session/samples/profile.h"
#include "session/results.h"

/* Calls are short where half of them take less than SHORT_NS, and the mean of timed ones is
 * below SHORT_MEAN_NS: with a longer mean some may have slept, which samples do not see. A
 * timed call may be too long by LONGER_NS, and is not too long by FAR_LONGER_NS. MANY: a
 * tenth. */
enum { SHORT_NS = 500, SHORT_MEAN_NS = 1000, LONGER_NS = 10, FAR_LONGER_NS = 40, FEW = 10,
       MANY = 10 };
#define ROUGH 0.3		/* of an average: an error that is marked */
#define NEAR 0.1		/* of a total: by so much timed calls may be off unseen */

/* ---- who is in a chain ------------------------------------------------------------- */

struct in_chains {
	struct fl_profile *p;
	struct fl_stand *of;		/* by place, the innermost of each first */
	uint32_t n;
	uint32_t *first;		/* index: place; where its rows begin */
	uint32_t *leaf;			/* index: place; 1 + whose code it is; 0: not the
					 * program's */
	uint32_t *met, mark;		/* index: function; `mark`: the chain has it */
	bool *is_long;			/* index: function; its calls are, as far as known */
	double *calls, *cut;		/* index: function; periods that stood in calls of it;
					 * of these, in chains that may lack some */
	double *share;			/* index: chain; periods that it stands for */
	double periods, n_cut;		/* of all of them */
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

/* Rows of one place stay in the order they were noted in: what is further out comes later. */
static int by_place(const void *x, const void *y)
{
	const struct fl_stand *a = x, *b = y;

	if (a->place != b->place)
		return a->place < b->place ? -1 : 1;
	return a->noted < b->noted ? -1 : a->noted > b->noted;
}

static void name_places(struct in_chains *in, const struct fl_chains *c)
{
	size_t n = 0;
	struct fl_place *places = fl_profile_places(in->p, c->places, c->n_places, &n);
	uint32_t f;

	in->leaf = calloc(c->n_places + 1, sizeof(*in->leaf));
	in->failed |= !in->leaf || !places ||
		      fl_inner_fill(&in->p->inner, places, n, note_stands, in);
	for (size_t i = 0; !in->failed && i < n; i++) {
		in->failed |= fl_profile_function(in->p, &places[i], &f);
		if (in->failed)
			break;
		in->leaf[places[i].pc] = f + 1;
		note_stands(in, &places[i], f);
	}
	free(places);
}

static void index_places(struct in_chains *in, const struct fl_chains *c)
{
	uint32_t n = in->p->s->functions.n + 1, i = 0;

	if (in->n)
		qsort(in->of, in->n, sizeof(*in->of), by_place);
	in->first = calloc(c->n_places + 1, sizeof(*in->first));
	in->met = calloc(n, sizeof(*in->met));
	in->calls = calloc(n, sizeof(*in->calls));
	in->cut = calloc(n, sizeof(*in->cut));
	in->failed |= !in->first || !in->met || !in->calls || !in->cut;
	for (uint32_t place = 0; !in->failed && place <= c->n_places; place++) {
		while (i < in->n && in->of[i].place < place)
			i++;
		in->first[place] = i;
	}
}

static bool is_long(const struct flick_rows *r, const uint64_t *row)
{
	int total = fl_sheet_column(r, "total_ns"), p50 = fl_sheet_column(r, "p50_ns");
	int calls = fl_sheet_column(r, "calls"), avg = fl_sheet_column(r, "avg_ns");

	if (row[avg] != FLICK_NONE)
		return row[p50] >= SHORT_NS || row[avg] >= SHORT_MEAN_NS;
	return row[total] != FLICK_NONE && row[calls] != FLICK_NONE &&
	       row[total] / SHORT_MEAN_NS >= row[calls];
}

/* A function without a probe is not known to be long. */
static void find_long(struct in_chains *in)
{
	const struct flick_rows *r = fl_session_result(in->p->s, "latency");
	uint32_t n = in->p->s->functions.n;
	int function = r ? fl_sheet_column(r, "function") : -1;

	in->is_long = calloc(n + 1, sizeof(*in->is_long));
	in->failed |= !in->is_long;
	for (size_t i = 0; !in->failed && function >= 0 && i < r->n_rows; i++) {
		const uint64_t *row = r->cells + i * r->n_columns;

		if (row[function] < n)
			in->is_long[row[function]] = is_long(r, row);
	}
}

/* A function that calls itself is added once. True: one function of the chain is long. */
static bool add_each(struct in_chains *in, const struct fl_chains *c, uint32_t i,
		     double *to)
{
	const struct fl_chain *chain = &c->of[i];
	bool has_long = false;

	in->mark++;
	for (uint32_t step = chain->first; step < chain->first + chain->n; step++) {
		uint32_t place = c->steps[step];

		for (uint32_t k = in->first[place]; k < in->first[place + 1]; k++) {
			uint32_t f = in->of[k].function;

			has_long |= in->is_long[f];
			if (in->met[f] == in->mark)
				continue;
			in->met[f] = in->mark;
			to[f] += in->share[i];
		}
	}
	return has_long;
}

/* A chain that stood in flick's own code is no time of the program's: its share is 0. */
static void count_chain(struct in_chains *in, const struct fl_chains *c, uint32_t i)
{
	in->periods += in->share[i];
	if (add_each(in, c, i, in->calls) || c->of[i].end == FL_CHAIN_WHOLE)
		return;
	add_each(in, c, i, in->cut);
	in->n_cut += in->share[i];
}

static void fill(struct in_chains *in, struct fl_profile_samples *to, const double *from,
		 double by)
{
	for (uint32_t f = 0; !in->failed && f < in->p->s->functions.n; f++)
		if (from[f] > 0)
			in->failed |= fl_profile_add(in->p, to, f, (uint64_t)
						     (from[f] * by + 0.5)) != 0;
}

/* Samples for whose chain no memory was left are taken to be like the others. */
int fl_totals_gather(struct fl_profile *p)
{
	const struct fl_chains *c = fl_sampler_chains(p->s->sampler);
	struct in_chains in = { .p = p };
	struct fl_stood stood;
	double by = 0;

	name_places(&in, c);
	index_places(&in, c);
	find_long(&in);
	in.share = in.failed ? NULL : fl_gone_share(c, in.leaf);
	in.failed |= !in.share;
	for (uint32_t i = 0; !in.failed && i < c->n; i++)
		count_chain(&in, c, i);
	stood = (struct fl_stood){ c, in.of, in.first };
	if (!in.failed)
		in.failed = fl_nested_gather(p, &stood, in.share, in.leaf) != 0;
	if (!in.failed && p->refutes)
		in.failed = fl_contexts_gather(p, &stood);
	for (uint32_t f = 0; in.periods > 0 && f < p->self.n; f++)
		by += (double)p->self.of[f] / in.periods;
	fill(&in, &p->calls, in.calls, by);
	fill(&in, &p->cut, in.cut, by);
	p->n_cut = (uint64_t)(in.n_cut * by + 0.5);
	free(in.of);
	free(in.first);
	free(in.leaf);
	free(in.met);
	free(in.is_long);
	free(in.calls);
	free(in.cut);
	free(in.share);
	return in.failed ? -ENOMEM : 0;
}

/* ---- rows -------------------------------------------------------------------------- */

/* Samples of a function: `n` stood in calls of it, as the tree has it: with those of whose
 * callers other samples tell. `may` others may have, as far as they have no long call; if its
 * calls are long, `unsure` others. `cut` is the part of `n` in whose own chains the function
 * is, and which end too early, as those of `may` do. Its callers did not run for so long. */
struct stood {
	uint64_t n, may, cut, unsure, waited_ns;
};

static bool is_leaf(const struct fl_functions *r, uint64_t f)
{
	return fl_leaf_is(r->symbols, fl_functions_module(r, r->all[f].module)->path,
			  r->all[f].at);
}

static bool is_each_timed(const struct flick_rows *r, const uint64_t *row)
{
	int sampled = fl_sheet_column(r, "sampled"), calls = fl_sheet_column(r, "calls");

	return sampled < 0 || (row[sampled] != FLICK_NONE && row[sampled] >= row[calls]);
}

/* Where each call was timed, samples that lack the function are asked nothing. */
static struct stood stood_in(const struct fl_profile *p, const struct flick_rows *r,
			     const uint64_t *row)
{
	uint64_t f = row[fl_sheet_column(r, "function")], told = fl_profile_of(&p->told, f);
	struct stood in = { .n = fl_profile_of(&p->calls, f),
			    .cut = fl_profile_of(&p->cut, f),
			    .unsure = p->n_lacking - fl_profile_of(&p->lacking, f),
			    .waited_ns = p->refutes ?
				fl_lives_of_callers(&p->lives, f)->waited_ns : UINT64_MAX };

	in.may = p->n_cut > in.cut ? p->n_cut - in.cut : 0;
	if (told > in.n && !is_each_timed(r, row)) {
		in.may = in.may > told - in.n ? in.may - (told - in.n) : 0;
		in.n = told;
	}
	if (in.may < FEW || (in.n && in.may > in.n / MANY && is_leaf(&p->s->functions, f)))
		in.may = 0;
	return in;
}

/* A few timed calls are of a moment or two, when nothing of the function was in a cache. */
static bool are_timed_often(const struct flick_rows *r, const uint64_t *row)
{
	enum { MANY_TIMED = 200 };
	int sampled = fl_sheet_column(r, "sampled");

	return sampled < 0 || row[sampled] >= MANY_TIMED;
}

static bool is_short(const struct flick_rows *r, const uint64_t *row)
{
	return row[fl_sheet_column(r, "p50_ns")] < SHORT_NS &&
	       row[fl_sheet_column(r, "avg_ns")] < SHORT_MEAN_NS;
}

/* Have calls, long ones, too, little more time than samples tell? */
static bool is_cpu_time(struct stood in)
{
	double period = (double)fl_sampler_period_ns();

	return in.unsure <= in.n && (double)in.waited_ns <= ROUGH * (double)in.n * period;
}

/* How many samples tell a function's total; 0: its timed calls do. Samples tell the total of
 * - a function that has no other: it calls itself, has no probe, or by its few timed calls took
 *   more than all there was, and is short, or cannot have waited for long. If many more samples
 *   may have stood in it, it has no total.
 * - a function whose timed calls were too short: its CPU time is part of its total, so samples
 *   exceed the total by chance only once in a thousand times, or because timed calls are
 *   farther off than they are.
 * - short calls, if chance has samples less far off than chance and the clock have timed calls.
 *   If many more samples may have stood there, and calls were timed longer than the clock makes
 *   them, these samples did, unless that is more than the total. `far` is less where next to
 *   nothing tells who called. One timed call may have been held up: so the median is asked,
 *   too. */
static uint64_t samples_for(const struct flick_rows *r, const uint64_t *row, struct stood in)
{
	uint64_t n = in.n;
	int total = fl_sheet_column(r, "total_ns"), p50 = fl_sheet_column(r, "p50_ns");
	int calls = fl_sheet_column(r, "calls"), error = fl_sheet_column(r, "avg_error_ns");
	int avg = fl_sheet_column(r, "avg_ns"), sum = fl_sheet_column(r, "sum_ns");
	double period = (double)fl_sampler_period_ns(), off = sqrt((double)n) * period;
	bool is_timed = row[avg] != FLICK_NONE, recurses = row[sum] != FLICK_NONE;
	uint64_t timed_off = LONGER_NS;
	double longer, far, may_lack;

	if (row[total] == FLICK_NONE)
		return n >= FEW && in.may <= n &&
		       (!is_timed || recurses || is_short(r, row) || is_cpu_time(in)) ?
		       n : 0;
	may_lack = row[error] == FLICK_NONE ? 0 : (double)row[calls] * (double)row[error];
	if ((double)n * period - (may_lack > off ? 0 : 3 * off) > (double)row[total])
		return n >= FEW ? n : 0;
	if (!n || !is_short(r, row))
		return 0;
	longer = fmin((double)row[total], (double)row[calls] * (double)row[p50]) -
		 (double)n * period - 3 * off;
	far = in.cut > n / 2 ? LONGER_NS : FAR_LONGER_NS;
	if (in.may > n / MANY && are_timed_often(r, row) && longer > (double)row[calls] * far)
		return (double)row[total] > (double)(n + in.may) * period ? n + in.may : 0;
	timed_off += row[error] == FLICK_NONE ? row[total] : row[error];
	return (double)row[calls] * (double)timed_off > off ? n : 0;
}

bool fl_totals_bound(const struct flick_rows *r, uint64_t *row, uint64_t most)
{
	int total = fl_sheet_column(r, "total_ns"), sum = fl_sheet_column(r, "sum_ns");
	int avg = fl_sheet_column(r, "avg_ns"), calls = fl_sheet_column(r, "calls");
	int error = fl_sheet_column(r, "avg_error_ns");
	double off;

	if (total < 0 || avg < 0 || calls < 0 || error < 0 || row[avg] == FLICK_NONE ||
	    !row[calls] || row[total] != row[sum])
		return false;
	off = NEAR * (double)row[total];
	if (row[error] != FLICK_NONE)
		off = fmax(off, 3 * (double)row[calls] * (double)row[error]);
	off = fmin(off, ROUGH * (double)row[total]);	/* else timed calls tell nothing */
	if ((double)row[total] - off > (double)most)
		return false;
	row[total] = row[sum] = most;
	row[avg] = (most + row[calls] / 2) / row[calls];
	return true;
}

/* Timed calls stand for the others. If calls then took more than the samples that stood in
 * calls, or may have, and all the time in which no caller ran, the timed calls were first ones,
 * and cold. Or else threads wait there nearly all the time, which is more by chance each other
 * time: then it is that time, of which samples tell nothing. */
static bool stands_for_too_much(const struct flick_rows *r, uint64_t *row,
				const struct fl_profile *p, struct stood in)
{
	int total = fl_sheet_column(r, "total_ns"), calls = fl_sheet_column(r, "calls");
	int sampled = fl_sheet_column(r, "sampled");
	double n = (double)(in.n + in.may), most;

	if (!p->refutes || row[total] == FLICK_NONE || sampled < 0 ||
	    row[calls] <= row[sampled])
		return false;
	most = (n + 3 * sqrt(n) + 3) * (double)fl_sampler_period_ns() + (double)in.waited_ns;
	return (double)row[total] > most &&
	       (is_cpu_time(in) || !fl_totals_bound(r, row, (uint64_t)most));
}

/* One timed call that was held up, as by an interrupt, counts as one in a thousand, where it
 * was one in millions. If the average of short calls may be off by a third, and by it they took
 * more than all samples that stood in them, or may have, it is refuted. Then the median tells,
 * if samples allow it; the average's error stays, so that it is an estimate. Of a function that
 * calls itself neither tells, nor of one that may have slept. */
static void take_median(const struct flick_rows *r, uint64_t *row, struct stood in)
{
	int total = fl_sheet_column(r, "total_ns"), p50 = fl_sheet_column(r, "p50_ns");
	int calls = fl_sheet_column(r, "calls"), error = fl_sheet_column(r, "avg_error_ns");
	int avg = fl_sheet_column(r, "avg_ns"), sum = fl_sheet_column(r, "sum_ns");
	double period = (double)fl_sampler_period_ns(), n = (double)in.n, by_median;
	double least = (n - 3 * sqrt(n)) * period, most = (n + (double)in.may) * period;

	if (row[total] == FLICK_NONE || row[sum] != row[total] ||
	    row[error] == FLICK_NONE || row[p50] >= SHORT_NS || row[avg] >= SHORT_MEAN_NS ||
	    !are_timed_often(r, row) || in.may <= in.n / MANY ||
	    (double)row[error] < ROUGH * (double)row[avg] || (double)row[total] <= most)
		return;
	by_median = (double)row[calls] * (double)row[p50];
	if (by_median < least || by_median > most)
		return;
	row[total] = row[sum] = (uint64_t)by_median;
	row[avg] = row[p50];
}

static void forget_times(const struct flick_rows *r, uint64_t *row)
{
	static const char *const names[] = { "total_ns", "sum_ns", "avg_ns", "avg_error_ns" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		int c = fl_sheet_column(r, names[i]);

		if (c >= 0)
			row[c] = FLICK_NONE;
	}
}

void fl_totals_refute(struct flick_rows *r, const struct fl_profile *p)
{
	for (size_t i = 0; i < r->n_rows; i++) {
		uint64_t *row = r->cells + i * r->n_columns;

		if (stands_for_too_much(r, row, p, stood_in(p, r, row)))
			forget_times(r, row);
	}
}

void fl_totals_drop(struct flick_rows *r, const struct fl_profile *p)
{
	int function = fl_sheet_column(r, "function"), total = fl_sheet_column(r, "total_ns");
	int avg = fl_sheet_column(r, "avg_ns"), calls = fl_sheet_column(r, "calls");
	int sum = fl_sheet_column(r, "sum_ns");

	for (size_t i = 0; avg >= 0 && sum >= 0 && i < r->n_rows; i++) {
		uint64_t *row = r->cells + i * r->n_columns;
		double most = (double)fl_lives_of_callers(&p->lives, row[function])->all_ns;

		if (row[total] == FLICK_NONE && row[sum] == FLICK_NONE &&
		    row[avg] != FLICK_NONE && row[calls] != FLICK_NONE &&
		    (double)row[avg] * (double)row[calls] > most)
			forget_times(r, row);
	}
}

/* The calls of a function that are timed first have those in them that come next. Where no
 * samples tell how many, all calls seem to be as long as these. */
void fl_totals_mark(struct flick_rows *r)
{
	int total = fl_sheet_column(r, "total_ns"), sum = fl_sheet_column(r, "sum_ns");
	int avg = fl_sheet_column(r, "avg_ns"), error = fl_sheet_column(r, "avg_error_ns");

	for (size_t i = 0; error >= 0 && avg >= 0 && sum >= 0 && i < r->n_rows; i++) {
		uint64_t *row = r->cells + i * r->n_columns;
		bool recurses = row[total] == FLICK_NONE && row[sum] != FLICK_NONE;

		if (recurses && row[avg] != FLICK_NONE && !is_each_timed(r, row))
			row[error] = row[avg];
	}
}

/* Where most processes had no probes, those with probes ran a little while, when all was cold
 * for the first time: their timed calls do not stand for others. Nor do those of a function
 * whose probes were on for a part of the time stand for the rest of it. There the total has
 * calls that nobody counted, so the average stays that of timed calls. */
void fl_totals_fill(struct flick_rows *r, const struct fl_profile *p)
{
	int function = fl_sheet_column(r, "function"), total = fl_sheet_column(r, "total_ns");
	int self = fl_sheet_column(r, "self_ns");
	int avg = fl_sheet_column(r, "avg_ns"), calls = fl_sheet_column(r, "calls");
	int stacks = fl_sheet_column(r, "stack_samples"), sum = fl_sheet_column(r, "sum_ns");
	int error = fl_sheet_column(r, "avg_error_ns");
	int switched = fl_sheet_column(r, "switched");

	for (size_t i = 0; stacks >= 0 && i < r->n_rows; i++) {
		uint64_t *row = r->cells + i * r->n_columns, f = row[function], n;
		struct stood in = stood_in(p, r, row);
		bool is_off = row[switched] || fl_bare_is_most(p, f);
		bool recurses, is_refuted, is_part;
		double nested;

		if (!is_off)
			take_median(r, row, in);
		is_refuted = stands_for_too_much(r, row, p, in);
		recurses = row[total] == FLICK_NONE && row[sum] != FLICK_NONE;
		is_part = is_long(r, row) && (double)in.unsure > ROUGH * (double)in.n;
		if (!is_off && !is_refuted)
			n = samples_for(r, row, in);
		else if (!is_off && !is_short(r, row) && !is_cpu_time(in))
			n = 0;			/* they tell not how long it waited */
		else
			n = in.n >= FEW && in.may <= in.n ? in.n : 0;
		is_off |= is_refuted;
		if (is_off)
			row[total] = row[sum] = FLICK_NONE;
		if (!n && is_refuted && !row[switched])
			forget_times(r, row);
		if (!n)
			continue;
		row[stacks] = n;
		row[total] = n * fl_sampler_period_ns();
		row[total] = row[total] > row[self] ? row[total] : row[self];
		if (row[avg] == FLICK_NONE || !row[calls] || row[switched])
			continue;
		nested = recurses ? fl_nested_calls(p, f) : 1;
		if (!(nested > 0)) {
			row[error] = row[avg];	/* it is of a few calls, the outermost */
			continue;
		}
		row[sum] = (uint64_t)((double)row[total] * nested);
		row[avg] = (row[sum] + row[calls] / 2) / row[calls];
		row[error] = (uint64_t)((double)row[avg] / sqrt((double)n));
		if (is_part)			/* so many more may have stood in its calls */
			row[error] = row[avg] + row[avg] * in.unsure / n;
	}
}
