/*
 * paths.c - how often each path through each function was gone.
 *
 * A second body tells a path when the path ends (copy/plan-paths.c): the function, and the
 * path's number. The function's own code says what the number means. FLICK_PATH_DROPPED is no
 * number: nothing is known of such a path except that it ended. Most paths are counted where
 * they end (channel/cells.c), and come with a count.
 */
#include "analysis/sums.h"

#include <stdlib.h>

struct gone {
	uint64_t key;			/* function, number; FLICK_NONE: free */
	uint64_t n;
};
struct gone_paths {
	const struct flick_view *view;
	struct gone *all;		/* a hash, never more than half full */
	uint32_t n, room;		/* room: a power of two, or 0 */
};

static int open_paths(void **state, const struct flick_view *view, const char *arg)
{
	return fl_state_open(state, sizeof(struct gone_paths), view, arg);
}

/* The hash is the upper half of the product: only there does each bit of the function count,
 * and most functions have the same low numbers of paths. */
static struct gone *gone_of(const struct gone_paths *p, uint64_t key)
{
	uint64_t h = key * 0x9e3779b97f4a7c15ull >> 32;

	while (p->all[h & (p->room - 1)].key != key &&
	       p->all[h & (p->room - 1)].key != FLICK_NONE)
		h++;
	return &p->all[h & (p->room - 1)];
}

static int grow_gone(struct gone_paths *p)
{
	struct gone_paths bigger = { .view = p->view, .n = p->n,
				.room = p->room ? 2 * p->room : 1 << 10 };

	bigger.all = malloc(bigger.room * sizeof *bigger.all);
	if (!bigger.all)
		return -ENOMEM;
	for (uint32_t i = 0; i < bigger.room; i++)
		bigger.all[i] = (struct gone){ .key = FLICK_NONE };
	for (uint32_t i = 0; i < p->room; i++)
		if (p->all[i].key != FLICK_NONE)
			*gone_of(&bigger, p->all[i].key) = p->all[i];
	free(p->all);
	*p = bigger;
	return 0;
}

static int add_gone(struct gone_paths *p, uint64_t key, uint64_t n)
{
	struct gone *of;

	if (2 * p->n >= p->room && grow_gone(p))
		return -ENOMEM;
	of = gone_of(p, key);
	p->n += of->key == FLICK_NONE;
	of->key = key;
	of->n += n;
	return 0;
}

static uint64_t times(const struct flick_record *r)
{
	return r->tsc ? r->tsc : 1;
}

/* A path that is gone again and again is looked up once. */
static int batch(void *state, uint32_t thread, const struct flick_record *r, size_t n)
{
	struct gone_paths *p = state;
	uint32_t last_probe = 0, last_path = 0;
	uint64_t again = 0, key = FLICK_NONE;
	int err = 0;

	(void)thread;
	for (size_t i = 0; !err && i < n; i++) {
		uint32_t probe = fl_record_probe(&r[i]);

		if (fl_record_type(&r[i]) != FLICK_TYPE_PATH || probe >= p->view->n_tags)
			continue;
		if (again && probe == last_probe && r[i].sp == last_path) {
			again += times(&r[i]);
			continue;
		}
		if (again)
			err = add_gone(p, key, again);
		again = times(&r[i]);
		last_probe = probe;
		last_path = r[i].sp;
		key = (uint64_t)p->view->tags[probe].function << 32 | last_path;
	}
	return !err && again ? add_gone(p, key, again) : err;
}

static int merge(void *into, void *from)
{
	struct gone_paths *other = from;
	int err = 0;

	for (uint32_t i = 0; !err && i < other->room; i++)
		if (other->all[i].key != FLICK_NONE)
			err = add_gone(into, other->all[i].key, other->all[i].n);
	return err;
}

static const struct flick_column columns[] = {
	{ "function", FLICK_COL_FUNCTION },
	{ "calls", FLICK_COL_COUNT },	/* of the path */
	{ "path", FLICK_COL_COUNT },
};

static int rows(void *state, struct flick_rows *r)
{
	struct gone_paths *p = state;
	uint64_t *cell = calloc((size_t)p->n * ARRAY_LEN(columns) + 1, sizeof *cell);

	if (!cell)
		return -ENOMEM;
	*r = (struct flick_rows){ columns, ARRAY_LEN(columns), cell, p->n };
	for (uint32_t i = 0; i < p->room; i++) {
		uint32_t number = (uint32_t)p->all[i].key;

		if (p->all[i].key == FLICK_NONE)
			continue;
		*cell++ = p->all[i].key >> 32;
		*cell++ = p->all[i].n;
		*cell++ = number == FLICK_PATH_DROPPED ? FLICK_NONE : number;
	}
	return 0;
}

static void close_paths(void *state)
{
	struct gone_paths *p = state;

	free(p->all);
	free(p);
}

const struct flick_analysis fl_analysis_paths = {
	.size = sizeof(struct flick_analysis),
	.version = FLICK_ANALYSIS_VERSION,
	.needs = FLICK_NEEDS_PATHS,
	.name = "paths",
	.about = "how often each path through a function was gone",
	.open = open_paths,
	.batch = batch,
	.merge = merge,
	.rows = rows,
	.close = close_paths,
};
