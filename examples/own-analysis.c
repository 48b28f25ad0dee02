/*
 * own-analysis.c - an analysis of one's own: the longest call of each function,
 * and who made it.
 *
 *	cc -shared -fPIC own-analysis.c -o longest.so $(pkg-config --cflags flick)
 *	flick record -a ./longest.so ./app
 *	flick report
 *
 * `-a ./longest.so:1000` keeps only calls of at least 1,000 ns.
 */
#include <errno.h>
#include <stdlib.h>

#include <flick/analysis.h>

struct longest {
	uint64_t calls;			/* in thousandths: see `weight` */
	uint64_t ended;			/* of them: those that have a time */
	uint64_t ticks;
	uint32_t caller;
};

/* The longest call of a function that one call seems to have made. Each open call
 * has a list of these in its mark, and is charged with it only when it ends: see the
 * INVARIANT of struct flick_call. */
struct candidate {
	struct candidate *next;
	uint32_t function;
	uint64_t ticks;
};

struct state {
	const struct flick_view *view;
	double at_least_ns;
	struct longest *of;		/* index: function */
	uint32_t n;
};

static int open_longest(void **state, const struct flick_view *view, const char *arg)
{
	struct state *s;
	char *end = NULL;
	double at_least = arg ? strtod(arg, &end) : 0;

	if (arg && (end == arg || *end))
		return -EINVAL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->view = view;
	s->at_least_ns = at_least;
	*state = s;
	return 0;
}

/* Functions are numbered from 0, and there may be more than a moment ago. */
static struct longest *row_of(struct state *s, uint32_t function)
{
	struct longest *grown;

	if (function < s->n)
		return &s->of[function];
	grown = realloc(s->of, s->view->n_functions * sizeof(*grown));
	if (!grown)
		return NULL;
	for (s->of = grown; s->n < s->view->n_functions; s->n++)
		grown[s->n] = (struct longest){ 0, 0, 0, FLICK_NO_FUNCTION };
	return &s->of[function];
}

static void keep_longer(struct longest *row, uint64_t ticks, uint32_t caller)
{
	if (ticks < row->ticks)
		return;
	row->ticks = ticks;
	row->caller = caller;
}

/* Empty a list: its calls were made by `caller`. */
static void charge(struct state *s, void **mark, uint32_t caller)
{
	struct candidate *c, *next;

	for (c = *mark; c; c = next) {
		next = c->next;
		keep_longer(&s->of[c->function], c->ticks, caller);
		free(c);
	}
	*mark = NULL;
}

/* Into the list of what seems to have made it. */
static int note(const struct flick_call *call, void **caller)
{
	struct candidate *c = *caller;

	while (c && c->function != call->function)
		c = c->next;
	if (!c) {
		c = calloc(1, sizeof(*c));
		if (!c)
			return -ENOMEM;
		c->function = call->function;
		c->next = *caller;
		*caller = c;
	}
	c->ticks = call->total > c->ticks ? call->total : c->ticks;
	return 0;
}

/* A call whose end was not seen has no time, and what it made is not certain. */
static int leave(void *state, const struct flick_call *call, void **mark, void **caller)
{
	struct longest *row = row_of(state, call->function);

	charge(state, mark, call->how == FLICK_ENDED ? call->function :
	       FLICK_NO_FUNCTION);
	if (!row)
		return -ENOMEM;
	row->calls += call->weight;
	if (call->how != FLICK_ENDED)
		return 0;
	row->ended++;
	return note(call, caller);
}

/* What is left was made by nobody who is known. */
static int thread_end(void *state, uint32_t thread, void **root)
{
	(void)thread;
	charge(state, root, FLICK_NO_FUNCTION);
	return 0;
}

static int merge(void *into, void *from)
{
	struct state *other = from;

	for (uint32_t f = 0; f < other->n; f++) {
		struct longest *row = row_of(into, f);

		if (!row)
			return -ENOMEM;
		row->calls += other->of[f].calls;
		row->ended += other->of[f].ended;
		if (other->of[f].ended)
			keep_longer(row, other->of[f].ticks, other->of[f].caller);
	}
	return 0;
}

static const struct flick_column columns[] = {
	{ "longest_ns", FLICK_COL_NS },
	{ "calls", FLICK_COL_COUNT },
	{ "function", FLICK_COL_FUNCTION },
	{ "made_by", FLICK_COL_FUNCTION },
};
enum { N_COLUMNS = sizeof(columns) / sizeof(*columns) };

/* With --rate a call that was seen stands for more than itself. */
static uint64_t calls_of(const struct state *s, uint32_t f)
{
	if (!(s->view->flags & FLICK_VIEW_WINDOWS))
		return s->of[f].calls / FLICK_WEIGHT_ONE;
	return (uint64_t)((double)s->of[f].calls * s->view->scales[f] + 0.5);
}

static int rows(void *state, struct flick_rows *r)
{
	struct state *s = state;
	uint64_t *cell = calloc((size_t)s->n * N_COLUMNS + 1, sizeof(*cell));

	if (!cell)
		return -ENOMEM;
	r->columns = columns;
	r->n_columns = N_COLUMNS;
	r->cells = cell;
	r->n_rows = 0;
	for (uint32_t f = 0; f < s->n; f++) {
		double ns = (double)s->of[f].ticks * s->view->ns_per_tick;

		if (!s->of[f].ended || ns < s->at_least_ns)
			continue;
		*cell++ = (uint64_t)(ns + 0.5);
		*cell++ = calls_of(s, f);
		*cell++ = f;
		*cell++ = s->of[f].caller == FLICK_NO_FUNCTION ? FLICK_NONE :
			  s->of[f].caller;
		r->n_rows++;
	}
	return 0;
}

static void close_longest(void *state)
{
	struct state *s = state;

	free(s->of);
	free(s);
}

const struct flick_analysis flick_analysis = {
	.size = sizeof(struct flick_analysis),
	.version = FLICK_ANALYSIS_VERSION,
	.needs = FLICK_NEEDS_CALLS,
	.name = "longest",
	.about = "the longest call of each function, and who made it",
	.args = "the shortest time to show, in nanoseconds",
	.open = open_longest,
	.leave = leave,
	.thread_end = thread_end,
	.merge = merge,
	.rows = rows,
	.close = close_longest,
};
