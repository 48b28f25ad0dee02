/*
 * contexts.c - who called whom, as samples saw it: result `stacks` of a sampled recording.
 *
 * Each chain of calls is a way from a root of the tree to the function that a sample stood in.
 * The sample's time is that function's own there, as far as the function's self time in
 * `latency` has it: so over all the tree a function's self times add up to that self time.
 *
 * A sample has a part of its thread's stack. Where that part ends before the outermost call,
 * callers are taken from other samples as long as these agree: as long as a function has one
 * caller, except those that it has called itself, however far. Where a function has several
 * callers, and one function is in all ways to it (ways.c), the chain goes on from that one,
 * above a context without a function. Samples of the same program tell: in a process tree,
 * functions that many programs share have other callers in each, as __libc_start_main has the
 * programs' entries. A chain that comes to a function which nobody called is whole; any other
 * stands below a context without a function, and so does a sample that has no chain. A function
 * that calls itself may have done so any number of times in the missing part; these calls are
 * not made up.
 */
#include <stdlib.h>
#include <string.h>

#include "session/samples/contexts.h"
#include "session/samples/profile.h"
#include "session/samples/ways.h"

/* ---- contexts ------------------------------------------------------------------------ */

uint32_t fl_contexts_of(struct fl_contexts *c, uint32_t above, uint32_t function)
{
	uint32_t hash = fl_hash_of(fl_hash_of(0, above), function);

	for (uint32_t at = hash, i; (i = fl_hash_next(&c->by_function, hash, &at));)
		if (c->of[i - 1].above == above && c->of[i - 1].function == function)
			return i;
	if (fl_array_room(&c->of, c->n, sizeof(*c->of)) ||
	    fl_hash_put(&c->by_function, hash, c->n + 1))
		return 0;
	c->of[c->n] = (struct fl_context){ above, function, 0, 0 };
	return ++c->n;
}

void fl_contexts_free(struct fl_contexts *c)
{
	fl_hash_free(&c->by_function);
	free(c->of);
	*c = (struct fl_contexts){ 0 };
}

static const struct flick_column columns[] = {
	{ "id", FLICK_COL_ID },
	{ "parent", FLICK_COL_PARENT },
	{ "function", FLICK_COL_FUNCTION },
	{ "total_ns", FLICK_COL_NS },
	{ "self_ns", FLICK_COL_NS },
	{ "samples", FLICK_COL_COUNT },
	{ "self_samples", FLICK_COL_COUNT },
};
enum { ID, PARENT, FUNCTION, TOTAL, SELF, SAMPLES, SELF_SAMPLES, N_COLUMNS };

/* Sums go up from the last context, because a caller stands before what it called. */
int fl_contexts_rows(const struct fl_contexts *c, struct flick_rows *r)
{
	uint64_t *cells = calloc(c->n + 1, N_COLUMNS * sizeof(*cells));

	if (!cells)
		return -ENOMEM;
	*r = (struct flick_rows){ columns, N_COLUMNS, cells, c->n };
	for (uint32_t i = c->n; i-- > 0;) {
		const struct fl_context *of = &c->of[i];
		uint64_t *row = cells + (size_t)i * N_COLUMNS, *above;

		row[ID] = i;
		row[PARENT] = of->above ? of->above - 1 : FLICK_NONE;
		row[FUNCTION] = of->function == FLICK_NO_FUNCTION ? FLICK_NONE : of->function;
		row[TOTAL] += row[SELF] = of->ns;
		row[SAMPLES] += row[SELF_SAMPLES] = of->samples;
		if (!of->above)
			continue;
		above = cells + (size_t)(of->above - 1) * N_COLUMNS;
		above[TOTAL] += row[TOTAL];
		above[SAMPLES] += row[SAMPLES];
	}
	return 0;
}

/* ---- chains of functions ------------------------------------------------------------- */

/* The caller of a function in all chains of a program: 1 + a function, or one of these. */
enum { NOT_SEEN, NOBODY = UINT32_MAX - 1, SEVERAL = UINT32_MAX };

struct folded {
	struct fl_profile *p;
	const struct fl_stood *in;
	struct fl_contexts tree;
	uint32_t *caller;		/* index: function */
	struct fl_ways ways;
	uint32_t *steps;		/* functions of one chain, the innermost first */
	uint32_t n;
	uint64_t *left, *left_taken;	/* by function: self that is in no chain */
	bool failed;
};

static void add_step(struct folded *d, uint32_t function)
{
	if (fl_array_room(&d->steps, d->n, sizeof(*d->steps)))
		d->failed = true;
	else
		d->steps[d->n++] = function;
}

/* A function that has probes of its compiler's may be told as one inlined into itself. */
static void add_place(struct folded *d, uint32_t place)
{
	const uint32_t *first = &d->in->first[place];
	uint32_t before = d->n;

	for (uint32_t k = first[0]; k < first[1]; k++) {
		uint32_t f = d->in->of[k].function;

		if (k + 1 < first[1] || d->n == before || d->steps[d->n - 1] != f)
			add_step(d, f);
	}
}

/* False: the chain's sample did not stand in the program's own code. */
static bool find_chain_steps(struct folded *d, const struct fl_chain *chain)
{
	const uint32_t *place = &d->in->chains->steps[chain->first];

	d->n = 0;
	for (uint32_t i = 0; i < chain->n && !d->failed; i++) {
		add_place(d, place[i]);
		if (!d->n)
			return false;
	}
	return !d->failed;
}

static void note_caller(struct folded *d, uint32_t function, uint32_t caller)
{
	uint32_t *of = &d->caller[function];

	*of = *of == NOT_SEEN || *of == caller ? caller : SEVERAL;
}

static void note_callers(struct folded *d, const struct fl_chain *chain)
{
	if (!find_chain_steps(d, chain))
		return;
	for (uint32_t i = 0; i + 1 < d->n; i++) {
		note_caller(d, d->steps[i], d->steps[i + 1] + 1);
		d->failed |= fl_ways_note(&d->ways, d->steps[i], d->steps[i + 1]) != 0;
	}
	if (chain->end != FL_CHAIN_WHOLE)
		return;
	note_caller(d, d->steps[d->n - 1], NOBODY);
	d->failed |= fl_ways_begin(&d->ways, d->steps[d->n - 1]) != 0;
}

/* Go on to callers as far as samples agree. Is the chain whole then, except for gaps? Functions
 * that were seen to be called by one another alone lead nowhere. */
static bool go_out(struct folded *d, uint32_t *gaps)
{
	enum { FARTHEST = 256 };
	uint32_t n = d->n, caller, at;

	while ((caller = d->caller[at = d->steps[d->n - 1]]) != NOBODY) {
		uint32_t through = fl_ways_through(&d->ways, at);

		if (d->failed || caller == NOT_SEEN ||
		    (caller == SEVERAL && through == FLICK_NO_FUNCTION))
			return false;
		if (d->n >= n + FARTHEST) {
			d->n = n;
			return false;
		}
		if (caller == SEVERAL && !fl_ways_is_call(&d->ways, at)) {
			add_step(d, FLICK_NO_FUNCTION);
			*gaps += 1;
		}
		add_step(d, caller == SEVERAL ? through : caller - 1);
	}
	return true;
}

/* ---- the tree ------------------------------------------------------------------------ */

static uint32_t get_context(struct folded *d, uint32_t above, uint32_t function)
{
	uint32_t context = fl_contexts_of(&d->tree, above, function);

	d->failed |= !context;
	return context;
}

static void add_time(struct folded *d, uint32_t context, uint64_t periods, uint64_t samples)
{
	if (d->failed)
		return;
	d->tree.of[context - 1].ns += periods * fl_sampler_period_ns();
	d->tree.of[context - 1].samples += samples;
}

/* A chain that is met when there are more contexts than anybody looks at is left out: its
 * samples then stand in no known context (add_left). */
static void add_chain(struct folded *d, const struct fl_chain *chain)
{
	enum { MOST = 1 << 18 };
	struct fl_stack_ends *ends = &d->p->s->stack_ends;
	bool is_whole = chain->end == FL_CHAIN_WHOLE;
	uint32_t context = 0, gaps = 0, f;

	if (!chain->periods || !find_chain_steps(d, chain))
		return;
	f = d->steps[0];
	if (f >= d->p->self.n || d->left[f] < chain->periods)
		return;
	if (chain->end == FL_CHAIN_CUT)
		is_whole = go_out(d, &gaps);
	if (d->tree.n + d->n >= MOST)
		return;
	if (!is_whole)
		context = get_context(d, 0, FLICK_NO_FUNCTION);
	for (uint32_t i = d->n; i-- > 0 && !d->failed;)
		context = get_context(d, context, d->steps[i]);
	add_time(d, context, chain->periods, chain->samples);
	d->left[f] -= chain->periods;
	d->left_taken[f] -= chain->samples;
	if (!is_whole || gaps)
		ends->unknown += chain->samples;
	else if (chain->end == FL_CHAIN_CUT)
		ends->completed += chain->samples;
}

/* A sample is in no chain of the tree if it stood in code that the program has made itself, if
 * there was no memory for its chain, or if there were too many contexts. */
static void add_left(struct folded *d)
{
	const struct fl_profile_samples *self = &d->p->self;
	uint32_t none;

	for (uint32_t f = 0; f < self->n && !d->failed; f++) {
		if (!d->left[f])
			continue;
		none = get_context(d, 0, FLICK_NO_FUNCTION);
		add_time(d, get_context(d, none, f), d->left[f], d->left_taken[f]);
		d->p->s->stack_ends.unknown += d->left_taken[f];
	}
}

static uint64_t *copy_samples(const struct fl_profile_samples *from)
{
	uint64_t *to = calloc(from->n + 1, sizeof(*to));

	if (to && from->n)
		memcpy(to, from->of, from->n * sizeof(*to));
	return to;
}

/* Add the chains of one program, from its first one on. */
static void add_program(struct folded *d, uint32_t first, unsigned char *is_added)
{
	const struct fl_chains *c = d->in->chains;
	const char *program = c->of[first].program;

	memset(d->caller, 0, d->p->s->functions.n * sizeof(*d->caller));
	d->failed |= fl_ways_open(&d->ways, d->p->s->functions.n) != 0;
	for (uint32_t i = first; i < c->n && !d->failed; i++)
		if (c->of[i].program == program)
			note_callers(d, &c->of[i]);
	if (!d->failed)
		d->failed = fl_ways_find(&d->ways) != 0;
	for (uint32_t i = first; i < c->n && !d->failed; i++) {
		if (c->of[i].program != program)
			continue;
		add_chain(d, &c->of[i]);
		is_added[i] = true;
	}
	fl_ways_close(&d->ways);
}

static void make_tree(struct folded *d)
{
	const struct fl_chains *c = d->in->chains;
	unsigned char *is_added = calloc(c->n + 1, 1);

	d->failed |= !is_added;
	for (uint32_t i = 0; i < c->n && !d->failed; i++)
		if (!is_added[i])
			add_program(d, i, is_added);
	free(is_added);
	add_left(d);
}

/* The samples of a context are in each function above it once. */
static void count_way(struct folded *d, uint32_t context)
{
	const struct fl_context *of = d->tree.of;
	uint64_t periods = of[context - 1].ns / fl_sampler_period_ns();
	struct fl_profile *p = d->p;
	bool lacks = false;

	for (uint32_t i = context; i; i = of[i - 1].above)
		lacks |= of[i - 1].function == FLICK_NO_FUNCTION;
	for (uint32_t i = context; i; i = of[i - 1].above) {
		uint32_t f = of[i - 1].function;

		if (f == FLICK_NO_FUNCTION || d->caller[f] == context)
			continue;
		d->caller[f] = context;
		d->failed |= fl_profile_add(p, &p->told, f, periods) ||
			     (lacks && fl_profile_add(p, &p->lacking, f, periods));
	}
	p->n_lacking += lacks ? periods : 0;
}

/* Programs are done: `caller` has the last context that was counted. */
static void count_in_calls(struct folded *d)
{
	memset(d->caller, 0, d->p->s->functions.n * sizeof(*d->caller));
	for (uint32_t i = 0; i < d->tree.n && !d->failed; i++)
		if (d->tree.of[i].ns)
			count_way(d, i + 1);
}

int fl_contexts_gather(struct fl_profile *p, const struct fl_stood *in)
{
	struct fl_session *s = p->s;
	struct folded d = { .p = p, .in = in,
			 .caller = calloc(s->functions.n + 1, sizeof(*d.caller)),
			 .left = copy_samples(&p->self),
			 .left_taken = copy_samples(&p->taken) };
	int err = -ENOMEM;

	d.failed = !d.caller || !d.left || !d.left_taken;
	if (!d.failed)
		make_tree(&d);
	if (!d.failed)
		count_in_calls(&d);
	if (!d.failed)
		err = s->has_stacks ? fl_contexts_rows(&d.tree, &s->sampled[FL_R_STACKS]) : 0;
	fl_contexts_free(&d.tree);
	free(d.caller);
	free(d.steps);
	free(d.left);
	free(d.left_taken);
	return err;
}

/* ---- why there is none ------------------------------------------------------------------- */

const char *fl_contexts_lack(const struct fl_session *s)
{
	if (s->has_stacks)
		return NULL;
	if (s->o->action != FL_ACT_SAMPLE)
		return "only recordings by default have samples of stacks";
	return s->sampler ? "there were too few samples of stacks" :
	       "the system gave no samples of stacks";
}
