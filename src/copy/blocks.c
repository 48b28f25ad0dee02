/*
 * blocks.c - a function as a graph: what paths go through, and where they begin.
 *
 * A path begins at the entry, where an exception lands, and behind an indirect jump. Nobody
 * knows where that jump leads, so a path may begin at any step of a function that has one. A
 * path ends where the function is left: by a return, a jump, an indirect jump (also one that
 * stays inside), or a call that does not return. It also ends at a cut of paths.c. The weaver
 * tells the path's number before the last step, or before such a call, because no thread comes
 * behind it.
 *
 * A call that is left by an exception, longjmp() or a thread's end has no edge: that path
 * has no number, and is dropped.
 */
#include "copy/copy.h"
#include "copy/paths.h"
#include "copy/plan.h"

size_t fl_blocks_memory(const struct fl_shape *s)
{
	size_t n = s->n_steps;
	size_t starts = 2 * n + 1, edges = 2 * n, words = 3 * (n + 1) + 1;

	return starts * sizeof(struct fl_path_start) + edges * sizeof(struct fl_path_edge) +
	       words * sizeof(uint32_t) + fl_paths_memory(s->n_steps);
}

/* Returns what is left of the memory. */
static void *lay_blocks(struct fl_blocks *b, void *memory)
{
	size_t n = b->shape->n_steps;
	uint32_t *words;

	b->paths.starts = memory;
	b->paths.edges = (struct fl_path_edge *)(b->paths.starts + 2 * n + 1);
	words = (uint32_t *)(b->paths.edges + 2 * n);
	b->of = words;
	b->steps = words + n + 1;
	b->begins_at = words + 2 * (n + 1);
	return words + 3 * (n + 1) + 1;
}

/* The first step of the graph is the entry. A landing pad (endbr64) may stand before it, and is
 * in no block. */
static uint32_t first_step(const struct fl_shape *s)
{
	return s->n_steps && s->steps[0].at != s->entry;
}

static bool ends_block(const struct fl_shape *s, uint32_t step)
{
	return !fl_plan_goes_on(s, step) || s->steps[step].kind == FL_SHAPE_BRANCH ||
	       s->steps[step].kind == FL_SHAPE_BRANCH_OUT;
}

static void find_blocks(struct fl_blocks *b)
{
	const struct fl_shape *s = b->shape;
	uint32_t first = first_step(s);
	bool is_new = true;

	for (uint32_t i = first; i < s->n_steps; i++) {
		if (is_new || s->steps[i].is_target)
			b->steps[b->paths.n_blocks++] = i;
		b->of[i] = b->paths.n_blocks - 1;
		is_new = ends_block(s, i);
	}
	b->steps[b->paths.n_blocks] = s->n_steps;
	if (first)
		b->of[0] = 0;
}

static void draw_edge(struct fl_paths *p, uint32_t from, uint32_t to)
{
	p->edges[p->n_edges++] = (struct fl_path_edge){ .from = from, .to = to };
}

static void draw_edges(struct fl_blocks *b)
{
	struct fl_paths *p = &b->paths;

	for (uint32_t block = 0; block < p->n_blocks; block++) {
		uint32_t last = b->steps[block + 1] - 1;
		const struct fl_shape_step *i = &b->shape->steps[last];

		if (i->kind == FL_SHAPE_JUMP)
			draw_edge(p, block, b->of[i->to]);
		else
			draw_edge(p, block, fl_plan_goes_on(b->shape, last) ?
				  block + 1 : FL_PATH_NONE);
		p->edges[p->n_edges - 1].jumps = i->kind == FL_SHAPE_SWITCH;
		if (i->kind == FL_SHAPE_BRANCH)
			draw_edge(p, block, b->of[i->to]);
		if (i->kind == FL_SHAPE_BRANCH_OUT)
			draw_edge(p, block, FL_PATH_NONE);
	}
}

static void begin_with(struct fl_blocks *b, uint32_t step)
{
	b->begins_at[b->paths.n_given] = step;
	b->paths.starts[b->paths.n_given++].block = b->of[step];
}

static void say_starts(struct fl_blocks *b)
{
	const struct fl_shape *s = b->shape;
	bool is_any = s->has_switch;

	begin_with(b, first_step(s));
	for (uint32_t i = first_step(s); i < s->n_steps; i++)
		if (s->steps[i].is_pad || (is_any && s->steps[i].len))
			begin_with(b, i);
}

int fl_blocks_number(struct fl_blocks *b, const struct fl_shape *s, void *memory)
{
	void *rest;

	*b = (struct fl_blocks){ .shape = s };
	rest = lay_blocks(b, memory);
	find_blocks(b);
	draw_edges(b);
	say_starts(b);
	return fl_paths_number(&b->paths, rest);
}

uint32_t fl_blocks_begin(const struct fl_blocks *b, uint32_t start)
{
	return start < b->paths.n_given ? b->begins_at[start] :
		b->steps[b->paths.starts[start].block];
}

/* ---- for readers of numbers ----------------------------------------------------------- */

size_t fl_path_memory(const struct fl_shape *s)
{
	return fl_blocks_memory(s) + s->n_steps * sizeof(uint32_t);	/* edges */
}

/* The steps of a block, from that one on. */
static void walk_block(const struct fl_blocks *b, uint32_t block, uint32_t from,
		       fl_path_each *each, void *arg)
{
	for (uint32_t i = from; i < b->steps[block + 1]; i++)
		each(arg, &b->shape->steps[i], 0);
}

int fl_path_walk(const struct fl_shape *s, uint32_t number, void *memory, fl_path_each *each,
		 void *arg)
{
	uint32_t *edges = (uint32_t *)((char *)memory + fl_blocks_memory(s)), start, n, from;
	const struct fl_path_edge *e = NULL;
	struct fl_blocks b;
	int err = fl_blocks_number(&b, s, memory);

	if (err)
		return err;
	n = fl_paths_find(&b.paths, number, &start, edges);
	if (!n)
		return -ENOENT;
	from = fl_blocks_begin(&b, start);
	for (uint32_t i = 0; i < n; i++) {
		e = &b.paths.edges[edges[i]];
		walk_block(&b, e->from, from, each, arg);
		from = e->to == FL_PATH_NONE ? 0 : b.steps[e->to];
	}
	each(arg, NULL, e->to == FL_PATH_NONE ? 0 : s->steps[from].at);
	return 0;
}
