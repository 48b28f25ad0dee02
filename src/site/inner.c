/*
 * inner.c - which body stands at an address, of those the compiler put into one another.
 *
 * A body that was inlined begins behind its profiling call of entry and ends with that
 * of exit. So the way from the head of the machine function to an address opens and
 * closes bodies; the innermost one that is open there has it. Hides that text must be
 * decoded for this, and how loops and cold parts are laid out.
 *
 * INVARIANT  A block is entered with one nest of bodies: the first way to it tells.
 * WHY	Compilers keep the order of these calls on each path, so two ways to one block
 *	have the same bodies open, except where one of them left a body by an exception or
 *	by a call that has no name. An instruction that was moved over a profiling call (it
 *	may be arithmetic, never memory) is told of the neighbour.
 */
#include "cyg.h"

enum { MAX_NESTS = 512, NOWHERE_YET = UINT32_MAX };

/* A body that is open within others; the first is none: the machine function's own. */
struct nest {
	uint32_t function, around;
};

struct walk {
	struct fl_code c;
	struct fl_body body;
	const struct fl_inner_in *in;
	struct nest *nests;
	uint32_t n_nests;
	uint32_t *heads;		/* the nest at each block's head */
	size_t room_heads;
};

/* ---- nests ----------------------------------------------------------------------- */

static uint32_t open_nest(struct walk *w, uint32_t around, uint32_t function)
{
	for (uint32_t i = 1; i < w->n_nests; i++)
		if (w->nests[i].around == around && w->nests[i].function == function)
			return i;
	if (w->n_nests == MAX_NESTS)
		return around;
	w->nests[w->n_nests] = (struct nest){ function, around };
	return w->n_nests++;
}

/* An exit of a body that is not open closes none. */
static uint32_t close_nest(const struct walk *w, uint32_t nest, uint32_t function)
{
	uint32_t i = nest;

	while (i && w->nests[i].function != function)
		i = w->nests[i].around;
	return i ? w->nests[i].around : nest;
}

/* What is open behind the steps of a block that stand before `at`. */
static uint32_t pass_steps(struct walk *w, const struct fl_block *k, uint32_t nest,
			   uint32_t at)
{
	for (uint32_t i = k->first; i < k->end && w->c.steps[i].at < at; i++) {
		const struct fl_step *s = &w->c.steps[i];
		uint32_t function;

		if (s->op != FL_STEP_HOOK)
			continue;
		function = w->in->function_at(w->in->arg, w->c.lo + s->at);
		if (function && w->c.notes[s->v].kind == FL_ENTRY)
			nest = open_nest(w, nest, function);
		else if (function)
			nest = close_nest(w, nest, function);
	}
	return nest;
}

/* ---- the graph ------------------------------------------------------------------- */

static void arrive(struct walk *w, uint32_t block, uint32_t nest)
{
	struct fl_body *b = &w->body;

	if (w->heads[block] != NOWHERE_YET)
		return;
	w->heads[block] = nest;
	b->queue[b->n_queue++] = block;
}

static void arrive_from_switch(struct fl_body *b, uint32_t block)
{
	struct walk *w = (struct walk *)((char *)b - offsetof(struct walk, body));

	arrive(w, block, w->heads[b->n_blocks - 1]);
}

static void go_on(struct walk *w, uint32_t block, uint32_t nest)
{
	struct fl_body *b = &w->body;

	arrive(w, block, nest);
	while (b->n_queue) {
		uint32_t i = b->queue[--b->n_queue];
		const struct fl_block *k = &b->blocks[i];
		uint32_t then = pass_steps(w, k, w->heads[i], FL_NOWHERE);

		if (k->taken != FL_NOWHERE)
			arrive(w, k->taken, then);
		if (k->flags & FL_BLOCK_FALLS)
			arrive(w, i + 1, then);
		if (i == b->n_blocks - 1)
			fl_body_targets(b, arrive_from_switch);
	}
}

/* Begin at the head of the function: other roots are seldom come to. */
static int make_nests(struct walk *w, uint32_t first)
{
	struct fl_body *b = &w->body;
	int err = fl_body_make(b, first);

	if (err)
		return err;
	if (b->n_blocks > w->room_heads) {
		fl_scratch_close(w->heads, w->room_heads * sizeof *w->heads);
		w->room_heads = 2 * (size_t)b->n_blocks;
		w->heads = fl_scratch_open(w->room_heads * sizeof *w->heads);
	}
	if (!w->heads)
		return -ENOMEM;
	w->n_nests = 1;
	for (uint32_t i = 0; i < b->n_blocks; i++)
		w->heads[i] = NOWHERE_YET;
	for (uint32_t i = 0; i < b->n_blocks; i++)
		if (b->blocks[i].flags & FL_BLOCK_FUNCTION)
			go_on(w, i, 0);
	for (uint32_t i = 0; i < b->n_blocks; i++)
		if (b->blocks[i].flags & FL_BLOCK_ROOT)
			go_on(w, i, 0);
	return 0;
}

/* ---- addresses ------------------------------------------------------------------- */

/* The innermost body at the i-th address. */
static uint32_t find(struct walk *w, size_t i, uint32_t at)
{
	uint32_t block = fl_body_at(&w->body, at);
	uint32_t nest, around;

	if (block == FL_NOWHERE || w->heads[block] == NOWHERE_YET)
		return 0;
	nest = pass_steps(w, &w->body.blocks[block], w->heads[block], at);
	for (around = nest; around && w->in->around; around = w->nests[around].around)
		w->in->around(w->in->arg, i, w->nests[around].function);
	return nest ? w->nests[nest].function : 0;
}

static int find_all(struct walk *w, uint32_t *inner)
{
	uint32_t body = FL_NOWHERE;
	int err = 0;

	for (size_t i = 0; i < w->in->n && !err; i++) {
		uint32_t at = fl_code_offset(&w->c, w->in->at[i]);
		size_t range = at == FL_NOWHERE ? w->c.ranges.n : fl_code_range(&w->c, at);
		uint32_t first;

		if (range == w->c.ranges.n)
			continue;
		first = fl_cyg_owner(&w->c, (uint32_t)range);
		if (first != body)
			err = make_nests(w, first);
		body = first;
		if (!err)
			inner[i] = find(w, i, at);
	}
	return err;
}

int fl_site_inner(const struct fl_module *m, const struct fl_inner_in *in, uint32_t *inner)
{
	struct walk w = { .in = in };
	int err;

	for (size_t i = 0; i < in->n; i++)
		inner[i] = 0;
	w.body.c = &w.c;
	if (!fl_reach_open(&w.c.reach, m))
		return 0;
	err = fl_code_open(&w.c, m);
	w.nests = fl_scratch_open(MAX_NESTS * sizeof *w.nests);
	if (!err && !w.nests)
		err = -ENOMEM;
	if (!err && w.c.ranges.n)
		err = fl_inner_read(&w.c, in->at, in->n);
	if (!err && !w.c.is_lost)
		err = fl_cyg_join(&w.c);
	if (!err && !w.c.is_lost)
		err = find_all(&w, inner);
	fl_scratch_close(w.heads, w.room_heads * sizeof *w.heads);
	fl_scratch_close(w.nests, MAX_NESTS * sizeof *w.nests);
	fl_body_close(&w.body);
	fl_code_close(&w.c);
	return err;
}
