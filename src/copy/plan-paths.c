/*
 * plan-paths.c - the items of a body that tells its paths (paths.h).
 *
 *	on:	call glue
 *	off:	ENTER; the steps; and
 *
 *	an edge that adds, or is cut	ADD or CUT, before a jump or behind what falls through
 *	jcc STEP that does		jncc past; ADD or CUT; jmp STEP
 *	jcc HEAD, straight above	jncc past; CUT; again: the loop; jncc past; ONLY;
 *					jmp again
 *	a step that leaves, a call	LEAVE; then as plan-entry.c has it
 *	that does not return
 *	jcc OUT				jncc past; LEAVE; NOP; jmp OUT
 *	jmp *anything			CUT; LOOKUP; DONE; NOP; jmp *anything
 *	a landing of that, a pad	AT
 *
 * A block's ADD, CUT or LEAVE may stand further up in the block, if the block has one edge
 * (spots.c). In a function with one path only its end is told, and nothing else is woven. Where
 * the sum is on the stack ENTER may stand further down, and nothing needs a DONE (home.c).
 */
#include "copy/paths.h"
#include "copy/plan.h"
#include "copy/unwind.h"
#include "os/os.h"

enum { ALL_LIVE = FL_LIVE_FLAGS | 0xffff };

struct weaver {
	struct fl_plan *p;
	struct fl_blocks b;
	struct fl_fde fde;
	struct fl_rows_frame frame;	/* at the step that was asked for last */
	uint32_t part;			/* that `fde` is of; FL_NO_STEP: none is read */
	int err;			/* why paths cannot be told; 0: they can */
	uint32_t where;			/* the step at which that was found */
	bool is_only;			/* the function has one path, which no edge cuts */
	bool has_cells;			/* of its own */
	uint32_t *live;			/* by step */
	uint32_t spot;			/* the step before which this block's end is told */
	uint32_t enter;			/* the step before which the sum begins */
};

/* The first reason stays. */
static void refuse_paths(struct weaver *w, int err, uint32_t step)
{
	if (w->err)
		return;
	w->err = err;
	w->where = step;
}

/* Find where the frame is at that step; false: the tables for unwinding do not tell. */
static bool find_frame(struct weaver *w, uint32_t step)
{
	const struct fl_shape *s = w->p->shape;
	const struct fl_shape_step *i = &s->steps[step];

	if (w->part != i->part && !w->err) {
		w->part = i->part;
		w->frame.to = 0;
		if (!s->parts[i->part].fde ||
		    !fl_fde_read(&w->fde, s->m, s->parts[i->part].fde))
			refuse_paths(w, FLE_UNWIND, step);
	}
	if (!w->err && (i->at < w->frame.from || i->at >= w->frame.to))
		fl_rows_frame(&w->fde, i->at, &w->frame);
	return !w->err;
}

/* How far the way back (home.c) is from a register, before that step; the lowest bit says that
 * the register is the frame pointer. */
static int32_t frame_at(struct weaver *w, uint32_t step)
{
	const struct fl_rows_frame *f = &w->frame;

	if (find_frame(w, step) && f->offset % 2 == 0 && f->offset < INT32_MAX &&
	    (f->reg == FL_ARCH_DWARF_SP || f->reg == FL_ARCH_DWARF_FP))
		return (int32_t)f->offset - FL_ARCH_DWARF_CALLED +
		       (f->reg == FL_ARCH_DWARF_FP);
	refuse_paths(w, FLE_HEIGHT, step);
	return 0;
}

static bool is_called(const struct weaver *w, enum fl_path_what what)
{
	return (what == FL_PATH_CUT || what == FL_PATH_LEAVE) &&
	       (!fl_arch_has_rseq() || (w->is_only && !w->has_cells));
}

/* In a function with cells of its own a sum counts bytes of cells. */
static struct fl_path_tell tell_of(struct weaver *w, uint32_t step, uint32_t add, uint32_t set)
{
	uint32_t unit = w->has_cells ? FL_PATH_CELL_BYTES : 1;

	if (w->is_only)
		return (struct fl_path_tell){ .n = w->b.paths.n * unit };
	return (struct fl_path_tell){
		.height = w->p->home ? w->p->depth[step] - w->p->home : frame_at(w, step),
		.add = add * unit, .set = set * unit, .n = w->b.paths.n * unit,
	};
}

/* Weave a PATH or ASIDE before `step`. It leads to step `to`, whose live registers it keeps. */
static void tell_path_to(struct weaver *w, enum fl_path_what what, uint32_t step,
			 uint32_t add, uint32_t set, uint32_t to)
{
	struct fl_plan *p = w->p;
	bool calls = is_called(w, what), at_home = p->home && !w->is_only;
	struct fl_plan_tell *t = &p->tells[p->n_tells];

	if ((w->is_only && what != FL_PATH_LEAVE) ||
	    (at_home && p->depth[step] == FL_DEPTH_UNKNOWN))
		return;
	*t = (struct fl_plan_tell){
		.what = w->is_only ? FL_PATH_ONLY : what,
		.of = tell_of(w, step, add, set),
		.live = to == FL_NO_STEP ? ALL_LIVE : w->live[to],
		.item = calls ? FL_NO_STEP : p->n, .at_home = at_home,
	};
	t->n_spare = fl_plan_spare_words(p, step, t->spare);
	fl_plan_weave(p, calls ? FL_ITEM_ASIDE : FL_ITEM_PATH, step);
	p->items[p->n - 1].to = p->n_tells++;
}

static void tell_path(struct weaver *w, enum fl_path_what what, uint32_t step,
		      uint32_t add, uint32_t set)
{
	tell_path_to(w, what, step, add, set, step);
}

static const struct fl_path_edge *edge_of(const struct weaver *w, uint32_t step, uint32_t k)
{
	return &w->b.paths.edges[w->b.paths.first[w->b.of[step]] + k];
}

static bool is_told(const struct fl_path_edge *e)
{
	return e->cut || (e->to != FL_PATH_NONE && e->add);
}

/* Weave an edge's CUT or ADD before `step`; registers are live as before `to`. */
static void tell_edge(struct weaver *w, const struct fl_path_edge *e, uint32_t step,
		      uint32_t to)
{
	const struct fl_paths *paths = &w->b.paths;

	if (e->cut)
		tell_path_to(w, FL_PATH_CUT, step, e->add,
			     paths->starts[paths->begins[e->to]].set, to);
	else if (e->to != FL_PATH_NONE && e->add)
		tell_path_to(w, FL_PATH_ADD, step, e->add, 0, to);
}

static bool is_last(const struct weaver *w, uint32_t step)
{
	return step + 1 == w->b.steps[w->b.of[step] + 1];
}

/* ---- rounds ---------------------------------------------------------------------------- */

/*
 * A loop may be gone through from its head down to the branch back, with no branch taken. Then
 * all rounds except the first are the same path. So the loop stands in the body twice: the
 * branch back of the first copy goes on in the second one, where that path is counted without a
 * sum. A thread that takes a branch in the second copy, out of the loop or further down in it,
 * is in the first copy again. It finds the sum as it was set at the head, because the steps in
 * between add nothing.
 *
 * Such a loop calls nobody and does not move the stack pointer, so the second copy has one row
 * for unwinders. A table that lands exceptions might tell the loop's steps apart, so a loop in
 * a part with such a table does not stand there twice.
 */
static bool is_in_round(const struct weaver *w, uint32_t step)
{
	const struct fl_shape *s = w->p->shape;
	const struct fl_shape_step *i = &s->steps[step];

	if (i->is_pad || !fl_plan_goes_on(s, step) || w->p->uses[step].needs.calls ||
	    (is_last(w, step) && is_told(edge_of(w, step, 0))))
		return false;
	return i->kind == FL_SHAPE_PLAIN || i->kind == FL_SHAPE_RELATIVE ||
	       i->kind == FL_SHAPE_BRANCH;
}

/* Does the branch end such a loop? Then all items of the loop so far can stand there again. */
static bool ends_round(struct weaver *w, uint32_t i)
{
	enum { STEPS = 32, AGAIN = 1 << FL_ITEM_STEP | 1 << FL_ITEM_SKIP | 1 << FL_ITEM_PATH |
				   1 << FL_ITEM_GO };
	const struct fl_shape *s = w->p->shape;
	uint32_t head = s->steps[i].to;

	if (!w->has_cells || s->has_switch ||
	    edge_of(w, i, 1)->cut != FL_PATH_CUT_BACK ||
	    head > i || i - head >= STEPS || s->steps[i].is_pad ||
	    s->parts[s->steps[i].part].lsda || !s->parts[s->steps[i].part].fde)
		return false;
	for (uint32_t k = head; k < i; k++)
		if (!is_in_round(w, k))
			return false;
	for (uint32_t k = w->p->first[head]; k < w->p->n; k++)
		if (!(AGAIN >> w->p->items[k].kind & 1))
			return false;
	return find_frame(w, i) && w->frame.from <= s->steps[head].at &&
	       s->steps[i].at < w->frame.to;
}

/* Weave copies of the items in [from, to), the loop's items before the branch at step `i`. */
static void weave_again(struct weaver *w, uint32_t from, uint32_t to, uint32_t i)
{
	struct fl_plan *p = w->p;

	for (; from < to; from++) {
		struct fl_item *item = &p->items[p->n];

		*item = p->items[from];
		if (item->kind == FL_ITEM_STEP)
			item->kind = FL_ITEM_AGAIN;
		if (item->kind == FL_ITEM_PATH) {
			p->tells[p->n_tells] = p->tells[item->to];
			p->tells[p->n_tells].item = p->n;
			item->to = p->n_tells++;
			item->step = i;
		}
		p->n++;
	}
}

static void tell_round(struct weaver *w, uint32_t i)
{
	const struct fl_paths *paths = &w->b.paths;
	const struct fl_path_edge *back = edge_of(w, i, 1);
	struct fl_plan *p = w->p;
	struct fl_plan_tell *t = &p->tells[p->n_tells];

	*t = (struct fl_plan_tell){
		.what = FL_PATH_ONLY, .live = w->live[p->shape->steps[i].to], .item = p->n,
		.of = { .add = paths->starts[paths->begins[back->to]].set + back->add,
			.n = paths->n },
	};
	t->n_spare = fl_plan_spare_words(p, i, t->spare);
	fl_plan_weave(p, FL_ITEM_PATH, i);
	p->items[p->n - 1].to = p->n_tells++;
}

/* Weave the second copy behind the CUT of the first one, whose items are [from, to). */
static void weave_rounds(struct weaver *w, uint32_t i, uint32_t from, uint32_t to)
{
	struct fl_plan *p = w->p;
	uint32_t head = p->n, skip;

	weave_again(w, from, to, i);
	skip = p->n;
	fl_plan_weave(p, FL_ITEM_SKIP, i);
	tell_round(w, i);
	fl_plan_weave(p, FL_ITEM_BACK, i);
	p->items[p->n - 1].to = head;
	p->items[skip].to = p->n - 1 - skip;
}

/* ---- the last step of a block ------------------------------------------------------ */

static void weave_branch(struct weaver *w, uint32_t i)
{
	const struct fl_path_edge *taken = edge_of(w, i, 1);
	uint32_t skip = w->p->n, to = w->p->shape->steps[i].to;
	bool rounds = is_told(taken) && ends_round(w, i);

	if (!is_told(taken)) {
		fl_plan_weave_step(w->p, i);
		return;
	}
	fl_plan_weave(w->p, FL_ITEM_SKIP, i);
	tell_edge(w, taken, i, w->b.steps[taken->to]);
	if (rounds) {
		weave_rounds(w, i, w->p->first[to], skip);
	} else {
		fl_plan_weave(w->p, FL_ITEM_GO, i);
		w->p->items[w->p->n - 1].to = to;
	}
	w->p->items[skip].to = w->p->n - 1 - skip;
}

static void weave_branch_out(struct weaver *w, uint32_t i)
{
	uint32_t skip = w->p->n;

	fl_plan_weave(w->p, FL_ITEM_SKIP, i);
	tell_path_to(w, FL_PATH_LEAVE, i, edge_of(w, i, 1)->add, 0, FL_NO_STEP);
	fl_plan_weave(w->p, FL_ITEM_NOP, i);
	fl_plan_weave(w->p, FL_ITEM_JUMP, i);
	w->p->items[skip].to = w->p->n - 1 - skip;
}

/* If the jump leaves the function after all, the call ends: DONE. */
static void weave_switch(struct weaver *w, uint32_t i)
{
	tell_path(w, FL_PATH_CUT, i, edge_of(w, i, 0)->add, 0);
	fl_plan_weave(w->p, FL_ITEM_LOOKUP, i);
	tell_path_to(w, FL_PATH_DONE, i, 0, 0, FL_NO_STEP);
	fl_plan_weave(w->p, FL_ITEM_NOP, i);
	fl_plan_weave(w->p, FL_ITEM_STEP, i);
}

static void weave_last(struct weaver *w, uint32_t i)
{
	switch (w->p->shape->steps[i].kind) {
	case FL_SHAPE_BRANCH:
		weave_branch(w, i);
		return;
	case FL_SHAPE_BRANCH_OUT:
		weave_branch_out(w, i);
		return;
	case FL_SHAPE_SWITCH:
		weave_switch(w, i);
		return;
	}
	fl_plan_weave_step(w->p, i);
}

/* A call that the function's code ends with does not return. */
static void weave_last_call(struct weaver *w, uint32_t i)
{
	if (w->p->shape->steps[i + 1].kind == FL_SHAPE_END)
		tell_path(w, FL_PATH_LEAVE, i, edge_of(w, i, 0)->add, 0);
	fl_plan_weave_step(w->p, i);
}

/* ---- the end of a block with one edge ----------------------------------------------- */

static bool has_one_edge(const struct fl_shape *s, uint32_t last)
{
	switch (s->steps[last].kind) {
	case FL_SHAPE_BRANCH: case FL_SHAPE_BRANCH_OUT: case FL_SHAPE_SWITCH:
	case FL_SHAPE_END:
		return false;
	default:
		return true;
	}
}

static enum fl_path_what what_ends(const struct fl_path_edge *e)
{
	return e->to == FL_PATH_NONE ? FL_PATH_LEAVE : e->cut ? FL_PATH_CUT : FL_PATH_ADD;
}

/* Choose where the end of the block that begins with step `first` is told. A block that falls
 * through may be told behind its last step. */
static void choose_spot(struct weaver *w, uint32_t first)
{
	const struct fl_shape *s = w->p->shape;
	uint32_t block = w->b.of[first], last = w->b.steps[block + 1] - 1;
	const struct fl_path_edge *e = edge_of(w, first, 0);

	w->spot = FL_NO_STEP;
	if (!has_one_edge(s, last) || (e->to != FL_PATH_NONE && !is_told(e)))
		return;
	w->spot = last + fl_plan_goes_on(s, last);
	if (w->p->home && first < w->enter)
		first = w->enter;
	if (!w->p->shape->has_switch && !is_called(w, what_ends(e)))
		w->spot = fl_plan_spot(w->p, w->live, first, w->spot, what_ends(e));
}

static void tell_last_edge(struct weaver *w, uint32_t step)
{
	const struct fl_path_edge *e = edge_of(w, step, 0);

	if (e->to == FL_PATH_NONE)
		tell_path(w, FL_PATH_LEAVE, step, e->add, 0);
	else
		tell_edge(w, e, step, step);
}

/* ---- a body ------------------------------------------------------------------------- */

/* An edge that falls through into step `i` is told before the step; branches to the step lead
 * behind that. */
static void weave_between(struct weaver *w, uint32_t i)
{
	const struct fl_path_edge *e;

	if (i == w->p->entry || !fl_plan_goes_on(w->p->shape, i - 1) || !is_last(w, i - 1))
		return;
	e = edge_of(w, i - 1, 0);
	if (is_told(e) && (w->spot == i || w->spot == FL_NO_STEP))
		tell_edge(w, e, i, i);
}

static bool has_branch_to(const struct fl_shape *s, uint32_t step)
{
	for (uint32_t i = 0; i < s->n_steps; i++) {
		uint8_t kind = s->steps[i].kind;

		if ((kind == FL_SHAPE_JUMP || kind == FL_SHAPE_BRANCH) &&
		    s->steps[i].to == step)
			return true;
	}
	return false;
}

/* The start that was given for that step; FL_PATH_NONE: there is none. */
static uint32_t start_of(const struct weaver *w, uint32_t step)
{
	for (uint32_t k = 1; k < w->b.paths.n_given; k++)
		if (w->b.begins_at[k] == step)
			return k;
	return FL_PATH_NONE;
}

/* Weave AT before a landing pad of exceptions. False: threads come to the pad in another way,
 * too, and would begin a path there. */
static bool weave_pad(struct weaver *w, uint32_t i)
{
	const struct fl_shape *s = w->p->shape;
	uint32_t start = start_of(w, i);

	if (start == FL_PATH_NONE || (i && fl_plan_goes_on(s, i - 1)) || has_branch_to(s, i))
		return false;
	tell_path(w, FL_PATH_AT, i, 0, w->b.paths.starts[start].set);
	return true;
}

static bool weave_steps(struct weaver *w)
{
	struct fl_plan *p = w->p;
	const struct fl_shape *s = p->shape;

	for (uint32_t i = p->entry; i < s->n_steps; i++) {
		weave_between(w, i);
		p->first[i] = p->n;
		if (s->steps[i].is_pad && !weave_pad(w, i)) {
			refuse_paths(w, FLE_PAD, i);
			return false;
		}
		if (i == w->enter && i != p->entry)
			tell_path(w, FL_PATH_ENTER, i, 0, w->b.paths.starts[0].set);
		if (i == p->entry || is_last(w, i - 1))
			choose_spot(w, i);
		if (w->spot == i)
			tell_last_edge(w, i);
		if (is_last(w, i))
			weave_last(w, i);
		else
			weave_last_call(w, i);
		fl_plan_weave_gap(p, i);
	}
	p->first[s->n_steps] = p->n;
	return true;
}

/* Given starts ascend by their steps, so one walk finds each step's start. */
static void weave_landings(struct weaver *w)
{
	const struct fl_shape *s = w->p->shape;
	uint32_t k = 1;

	for (uint32_t i = w->p->entry; w->p->n_lookups && i < s->n_steps; i++) {
		if (!s->steps[i].len)
			continue;
		while (k < w->b.paths.n_given && w->b.begins_at[k] < i)
			k++;
		fl_plan_weave(w->p, FL_ITEM_LANDING, i);
		if (w->is_only)
			continue;
		if (k == w->b.paths.n_given || w->b.begins_at[k] != i)
			k = 0;			/* the entry's */
		tell_path(w, FL_PATH_AT, i, 0, w->b.paths.starts[k].set);
		fl_plan_weave(w->p, FL_ITEM_GO, i);
		w->p->items[w->p->n - 1].to = i;
		k += k == 0;
	}
}

static uint32_t step_of_tell(const struct fl_plan *p, uint32_t k)
{
	return p->items[p->tells[k].item].step;
}

static uint32_t next_cold(const struct fl_plan *p, uint32_t k, uint32_t end)
{
	while (k < end && !fl_plan_has_cold(&p->tells[k]))
		k++;
	return k;
}

static void weave_one_cold(struct fl_plan *p, uint32_t k)
{
	p->tells[k].cold = p->n;
	fl_plan_weave(p, FL_ITEM_PATH_COLD, step_of_tell(p, k));
	p->items[p->n - 1].to = k;
}

/* Weave cold parts in the order of steps, because rows for unwinders must be in that order.
 * Tells from index `landings` on ascend by themselves: the two rows are merged. */
static void weave_cold(struct weaver *w, uint32_t landings)
{
	struct fl_plan *p = w->p;
	uint32_t k = next_cold(p, 0, landings), l = next_cold(p, landings, p->n_tells);

	p->cold = p->n;
	while (k < landings || l < p->n_tells) {
		bool is_landing = k == landings || (l < p->n_tells &&
						    step_of_tell(p, l) < step_of_tell(p, k));

		weave_one_cold(p, is_landing ? l : k);
		if (is_landing)
			l = next_cold(p, l + 1, p->n_tells);
		else
			k = next_cold(p, k + 1, landings);
	}
}

static int weave_all(struct weaver *w, uint64_t *datum)
{
	struct fl_plan *p = w->p;
	int err = fl_plan_begin(p, datum);
	uint32_t landings;

	if (err)
		return err;
	fl_plan_look(p, w->live);
	fl_plan_find_home(p);
	w->is_only = w->b.paths.n == 1 && !p->shape->has_switch;
	w->has_cells = w->b.paths.n <= p->cells && fl_arch_has_rseq();
	p->n_cells = w->has_cells ? w->b.paths.n : 0;
	w->enter = p->home ? fl_plan_enters_at(p) : p->entry;
	if (w->enter == p->entry)
		tell_path(w, FL_PATH_ENTER, p->entry, 0, w->b.paths.starts[0].set);
	if (weave_steps(w)) {
		landings = p->n_tells;
		weave_landings(w);
		weave_cold(w, landings);
	}
	*datum = p->shape->steps[w->where].at;
	return w->err;
}

int fl_plan_paths(struct fl_plan *p, void *memory, uint64_t *datum)
{
	struct weaver w = { .p = p, .part = FL_NO_STEP };

	*datum = p->shape->function;
	w.live = (uint32_t *)((char *)memory + fl_blocks_memory(p->shape));
	p->depth = (int32_t *)(w.live + p->shape->n_steps);
	p->uses = (struct fl_step_use *)(p->depth + p->shape->n_steps + 1);
	if (fl_blocks_number(&w.b, p->shape, memory))
		return FLE_UNKNOWN;
	return weave_all(&w, datum);
}
