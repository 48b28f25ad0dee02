/*
 * miss-tree.c - accesses to memory, and how many of them miss, by call path.
 *
 * Paper 2 sections 4 and 5. The caches are those of misses.c, and see accesses in the same
 * order: so the sum over all paths is the sum that misses.c has over all functions. An access
 * belongs to the path of the innermost call that is open at the access's place in its thread's
 * records. run.c hands these over in pieces that end at each begin and end of a call. Where an
 * exception or longjmp() left a call, no end is seen. But an access is of one function: if that
 * is another one than the innermost call's, the nearest open call of it made the access, and
 * what it had called is over. What goes on behind a call of itself that was left is not told
 * from that.
 *
 * A path is known when its last call begins, and is a row of a table from then on. The lists of
 * tree.c, with which a call is charged when it ends, could not tell whose an access is.
 */
#include "analysis/misses.h"

#include <stdlib.h>

/* A path: its last function, and the path that called it. Path 0 is that of no call. */
struct call_path {
	uint32_t function, caller;
	uint32_t first, next;		/* `first` it called, `next` of one caller; 0: none */
	uint64_t calls;
};
struct miss_tree {
	struct fl_misses misses;	/* by path */
	struct call_path *paths;
	size_t n;
	uint32_t *now;			/* by thread: the path of its innermost call */
	uint32_t n_threads;
	uint32_t *functions;		/* by place; 1 + whose it is, 0: not asked yet */
	uint32_t n_places;
	struct {			/* the last that was looked for */
		uint32_t below, function, path;
	} found;
};

/* ---- paths --------------------------------------------------------------------------- */

/* The path from `caller` to `function`, which becomes the first of the caller's list, because
 * it will soon come again. 0: no memory. */
static uint32_t find_path(struct miss_tree *t, uint32_t caller, uint32_t function)
{
	uint32_t *at = &t->paths[caller].first, found;

	while (*at && t->paths[*at].function != function)
		at = &t->paths[*at].next;
	found = *at;
	if (found) {
		*at = t->paths[found].next;
	} else {
		if (t->n == UINT32_MAX || fl_array_room(&t->paths, t->n, sizeof *t->paths) ||
		    fl_misses_extend(&t->misses, (uint32_t)t->n + 1))
			return 0;
		found = (uint32_t)t->n++;
		t->paths[found] = (struct call_path){ .function = function, .caller = caller };
	}
	t->paths[found].next = t->paths[caller].first;
	t->paths[caller].first = found;
	return found;
}

static uint32_t path_in(void *const *mark)
{
	return (uint32_t)(uintptr_t)*mark;
}

static int enter(void *state, const struct flick_call *call, void **mark, void **caller)
{
	struct miss_tree *t = state;
	uint32_t path = find_path(t, path_in(caller), call->function);

	if (!path || fl_array_extend(&t->now, &t->n_threads, call->thread + 1, sizeof *t->now))
		return -ENOMEM;
	*mark = (void *)(uintptr_t)path;
	t->now[call->thread] = path;
	return 0;
}

static int leave(void *state, const struct flick_call *call, void **mark, void **caller)
{
	struct miss_tree *t = state;

	t->paths[path_in(mark)].calls++;
	if (call->thread < t->n_threads)
		t->now[call->thread] = path_in(caller);
	return 0;
}

/* ---- accesses -------------------------------------------------------------------------- */

/* FLICK_NO_FUNCTION: nobody knows, or the record is no access. */
static uint32_t teller_of(struct miss_tree *t, const struct flick_record *r)
{
	const struct flick_view *v = t->misses.view;
	uint32_t place = fl_record_probe(r), type = fl_record_type(r);

	if ((type != FLICK_TYPE_ACCESS && type != FLICK_TYPE_STRING) ||
	    place >= FL_MAX_PLACES || !v->place)
		return FLICK_NO_FUNCTION;
	if (place >= t->n_places &&
	    fl_array_extend(&t->functions, &t->n_places, place + 1, sizeof *t->functions))
		return FLICK_NO_FUNCTION;
	if (!t->functions[place])
		t->functions[place] = v->place(v, place) + 1;	/* NO_FUNCTION is asked anew */
	return t->functions[place] - 1;
}

/* The nearest path of the function at `path` or above; where it has none the access is told by
 * `path`. */
static uint32_t path_of_access(struct miss_tree *t, uint32_t path, const struct flick_record *r)
{
	uint32_t function = teller_of(t, r), p = path;

	if (t->paths[path].function == function || function == FLICK_NO_FUNCTION)
		return path;
	if (t->found.below == path && t->found.function == function)
		return t->found.path;
	while (p && t->paths[p].function != function)
		p = t->paths[p].caller;
	t->found.below = path;
	t->found.function = function;
	t->found.path = p ? p : path;
	return t->found.path;
}

/* Accesses in a row are of one call, mostly. */
static int batch(void *state, uint32_t thread, const struct flick_record *r, size_t n)
{
	struct miss_tree *t = state;
	uint32_t now = thread < t->n_threads ? t->now[thread] : 0;
	int err = 0;

	for (size_t k; !err && n; r += k, n -= k) {
		uint32_t path = path_of_access(t, now, r);

		for (k = 1; k < n && path_of_access(t, now, &r[k]) == path; k++)
			;
		err = fl_misses_of_path(&t->misses, path, thread, r, k);
	}
	return err;
}

/* ---- opened, closed -------------------------------------------------------------------- */

static void close_tree(void *state)
{
	struct miss_tree *t = state;

	fl_misses_close(&t->misses);
	free(t->paths);
	free(t->now);
	free(t->functions);
	free(t);
}

static int open_tree(void **state, const struct flick_view *view, const char *arg)
{
	struct miss_tree *t = calloc(1, sizeof *t);
	int err = t ? fl_misses_open(&t->misses, view, arg) : -ENOMEM;

	if (!err)
		err = fl_misses_extend(&t->misses, 1);
	if (!err)
		err = fl_array_room(&t->paths, 0, sizeof *t->paths);
	if (err) {
		if (t)
			close_tree(t);
		return err;
	}
	t->paths[t->n++] = (struct call_path){ .function = FLICK_NO_FUNCTION };
	*state = t;
	return 0;
}

/* ---- rows -------------------------------------------------------------------------------- */

/* `all_...`: of the path's calls and of all that they called; others: of its calls alone. */
static const struct flick_column columns[] = {
	{ "id", FLICK_COL_ID },
	{ "parent", FLICK_COL_PARENT },
	{ "function", FLICK_COL_FUNCTION },
	{ "calls", FLICK_COL_COUNT },
	{ "all_accesses", FLICK_COL_COUNT },
	{ "all_misses", FLICK_COL_COUNT },
	FL_MISSED_COLUMNS
};
enum { FIXED = ARRAY_LEN(columns) - FL_CACHE_LEVELS };

/* Each path's sum over itself and all below. Callers stand before the paths that they called.
 * NULL: no memory. */
static struct fl_missed *sum_up(const struct miss_tree *t)
{
	struct fl_missed *all = malloc(t->n * sizeof *all);

	for (size_t i = 0; all && i < t->n; i++)
		all[i] = t->misses.of[i];
	for (size_t i = t->n; all && i-- > 1;)
		fl_missed_add(&all[t->paths[i].caller], &all[i]);
	return all;
}

static uint64_t *write_row(const struct miss_tree *t, size_t i, const struct fl_missed *all,
			   uint64_t *cell)
{
	const struct call_path *p = &t->paths[i];

	*cell++ = i;
	*cell++ = i && p->caller ? p->caller : FLICK_NONE;
	*cell++ = i ? p->function : FLICK_NONE;
	*cell++ = p->calls;
	*cell++ = fl_missed_accesses(i ? all : &t->misses.of[i]);
	*cell++ = (i ? all : &t->misses.of[i])->misses[t->misses.levels - 1];
	return fl_missed_row(&t->misses.of[i], t->misses.levels, cell);
}

/* Accesses outside of all calls that were seen to begin are a row without a function. */
static int rows(void *state, struct flick_rows *r)
{
	struct miss_tree *t = state;
	size_t from = fl_missed_accesses(&t->misses.of[0]) == 0;
	size_t n_columns = FIXED + t->misses.levels;
	struct fl_missed *all = sum_up(t);
	uint64_t *cell = all ? calloc(t->n * n_columns, sizeof *cell) : NULL;

	if (!cell) {
		free(all);
		return -ENOMEM;
	}
	*r = (struct flick_rows){ columns, n_columns, cell, t->n - from };
	for (size_t i = from; i < t->n; i++)
		cell = write_row(t, i, &all[i], cell);
	free(all);
	return 0;
}

const struct flick_analysis fl_analysis_miss_tree = {
	.size = sizeof(struct flick_analysis),
	.version = FLICK_ANALYSIS_VERSION,
	.needs = FLICK_NEEDS_ACCESSES,
	.name = "cache-tree",
	.about = "the same of each calling context",
	.args = "SIZE,WAYS,LINE of each level, or host",
	.open = open_tree,
	.enter = enter,
	.leave = leave,
	.batch = batch,
	.rows = rows,
	.close = close_tree,
};
