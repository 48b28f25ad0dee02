/*
 * home.c - a word of the stack where a call can keep its path's sum, if one is known.
 *
 * Most functions leave words of their stack alone: what aligns it, or the red zone. A sum that
 * lies there is the call's own: no frame of the thread's has to be taken, looked up, asked
 * whose it is, and given back. Words are counted from the way back of the call downwards.
 *
 * INVARIANT  From ENTER to the call's end nobody but what tells its paths writes the word.
 * WHY	1  How far the stack pointer is below the way back is followed from the entry on, over
 *	   each edge, by instructions of which that is known; ways that meet agree, and it is
 *	   never above. What may leave the stack pointer's value elsewhere (an address that is
 *	   taken, a register) says that there is no home. So what the function touches
 *	   of its stack are the words noted here.
 *	2  Who is called writes below the caller's stack pointer, and to what it is given above
 *	   that: what the caller stores there, room that other conventions have for four
 *	   registers, or the frame, if it is assembly that knows this. A word that aligns is
 *	   one; so where several in a row above the stack pointer are left alone, none is known
 *	   to be nobody's.
 *	3  The word is one of the 16 below the way back, and the stack pointer is never above
 *	   that: so it lies above the stack pointer or in the red zone, which the kernel leaves
 *	   alone when a signal comes.
 * Who comes into the body in another way than by its entry has no sum there: an exception that
 * lands, a jump to who knows where, of which functions with a home have none; and a thread that
 * stands in what the entry's jump covers: so the sum begins behind where all these go on
 * (fl_plan_enters_at()). A step to which no known way leads tells nothing.
 *
 * A sum may be no path's even so, where a context comes back that getcontext() has kept: so
 * whoever counts looks at its range, as in a frame.
 */
#include "copy/plan.h"

/* WALKED: in a depth, which is one of words, while steps are walked. */
enum { WORD = 8, WORDS = 16, ALL = (1 << WORDS) - 1, WALKED = 1 };

struct walk {
	struct fl_plan *p;
	uint32_t touched, called, given;	/* words, by bits */
	bool is_new;
};

/* ---- what a step does ---------------------------------------------------------------- */

static bool come_to(struct walk *w, uint32_t step, int64_t depth)
{
	int32_t *at = &w->p->depth[step];

	if (depth < 0 || depth > INT32_MAX / 2 || depth % WORD)
		return false;
	w->is_new |= *at == FL_DEPTH_UNKNOWN;
	if (*at == FL_DEPTH_UNKNOWN)
		*at = (int32_t)depth;
	return (*at & ~WALKED) == depth;
}

/* Bytes from so far above the way back on. */
static void mark_touched(struct walk *w, int64_t at, uint32_t bytes)
{
	for (uint32_t k = 0; k < WORDS; k++)
		if (at < -WORD * (int64_t)k && at + bytes > -WORD * (int64_t)(k + 1))
			w->touched |= 1u << k;
}

static void close_below(struct walk *w, int32_t depth)
{
	for (uint32_t k = (uint32_t)depth / WORD; k < WORDS; k++)
		w->called |= 1u << k;
}

static bool is_way_out(uint8_t kind)
{
	return kind == FL_SHAPE_RET || kind == FL_SHAPE_TAIL || kind == FL_SHAPE_TAIL_POINTER ||
	       kind == FL_SHAPE_BRANCH_OUT;
}

/* A call by what lies on the stack is not known. Who pops what it is given has the way out
 * elsewhere than the way back is (is_way_out()). */
static bool walk_plain(struct walk *w, uint32_t i, int32_t *depth)
{
	const struct fl_needs *n = &w->p->uses[i].needs;

	if (n->calls) {
		close_below(w, *depth);
		return !(n->reads >> FL_ARCH_SP & 1);
	}
	mark_touched(w, (int64_t)n->touched_at - *depth, n->touched);
	*depth += n->grows;
	return n->stack_known;
}

static bool walk_step(struct walk *w, uint32_t i)
{
	const struct fl_shape *s = w->p->shape;
	const struct fl_shape_step *step = &s->steps[i];
	int32_t depth = w->p->depth[i];

	if (step->kind == FL_SHAPE_CALL)
		close_below(w, depth);
	else if ((step->kind == FL_SHAPE_PLAIN || step->kind == FL_SHAPE_RELATIVE) &&
		 !walk_plain(w, i, &depth))
		return false;
	if (step->kind == FL_SHAPE_RUNS_ON ||
	    (is_way_out(step->kind) && depth))
		return false;
	if ((step->kind == FL_SHAPE_JUMP || step->kind == FL_SHAPE_BRANCH) &&
	    !come_to(w, step->to, depth))
		return false;
	return !fl_plan_goes_on(s, i) || come_to(w, i + 1, depth);
}

/* ---- the function ---------------------------------------------------------------------- */

static bool walk_all(struct walk *w)
{
	const struct fl_plan *p = w->p;

	for (uint32_t i = 0; i <= p->shape->n_steps; i++)
		p->depth[i] = FL_DEPTH_UNKNOWN;
	p->depth[p->entry] = 0;
	do {
		w->is_new = false;
		for (uint32_t i = 0; i < p->shape->n_steps; i++) {
			if (p->depth[i] == FL_DEPTH_UNKNOWN || p->depth[i] & WALKED)
				continue;
			if (!walk_step(w, i))
				return false;
			p->depth[i] |= WALKED;
		}
	} while (w->is_new);
	for (uint32_t i = 0; i < p->shape->n_steps; i++)
		if (p->depth[i] != FL_DEPTH_UNKNOWN)
			p->depth[i] &= ~WALKED;
	return true;
}

/* Words that are left alone from the stack pointer on, where that is so far down. */
static void close_row(struct walk *w, int32_t depth)
{
	int32_t from = depth / WORD, to = from;
	uint32_t row = 0;

	for (; to > 0 && (to > WORDS || !(w->touched >> (to - 1) & 1)); to--)
		row |= to > WORDS ? 0 : 1u << (to - 1);
	if (from - to > 1)
		w->given |= row;
}

static void close_given(struct walk *w)
{
	const struct fl_plan *p = w->p;

	for (uint32_t i = 0; i < p->shape->n_steps; i++)
		if (p->depth[i] != FL_DEPTH_UNKNOWN &&
		    (p->shape->steps[i].kind == FL_SHAPE_CALL || p->uses[i].needs.calls))
			close_row(w, p->depth[i]);
}

uint32_t fl_plan_enters_at(const struct fl_plan *p)
{
	uint32_t covered = p->shape->covered;

	return covered ? p->entry + covered - 1 : p->entry;
}

/* Do all that may stand in what the entry's jump covers come to where the sum begins, and
 * nobody twice? */
static bool has_beginning(const struct fl_plan *p)
{
	const struct fl_shape *s = p->shape;
	uint32_t at = fl_plan_enters_at(p);

	for (uint32_t i = 0; i < at; i++)
		if (s->steps[i].is_target || !fl_plan_goes_on(s, i) ||
		    s->steps[i].kind == FL_SHAPE_BRANCH ||
		    s->steps[i].kind == FL_SHAPE_BRANCH_OUT ||
		    s->steps[i].kind == FL_SHAPE_CALL)
			return false;
	return at < s->n_steps && (at == p->entry || !s->steps[at].is_target);
}

/* Not only by its entry. */
static bool is_come_to_elsewhere(const struct fl_shape *s)
{
	for (uint32_t i = 0; i < s->n_steps; i++)
		if (s->steps[i].is_pad)
			return true;
	return s->has_switch;
}

void fl_plan_find_home(struct fl_plan *p)
{
	struct walk w = { .p = p };
	uint32_t k = 0;

	p->home = 0;
	p->spare = 0;
	if (is_come_to_elsewhere(p->shape) || !walk_all(&w))
		return;
	close_given(&w);
	p->spare = ALL & ~w.touched & ~w.given;
	if (!has_beginning(p))
		return;
	while (k < WORDS && !((p->spare & ~w.called) >> k & 1))
		k++;
	if (k == WORDS)
		return;
	p->home = (int32_t)(k + 1) * WORD;
	p->spare &= ~(1u << k);
}

uint32_t fl_plan_spare_words(const struct fl_plan *p, uint32_t step, int32_t *at)
{
	uint32_t n = 0;

	if (!p->spare || p->depth[step] == FL_DEPTH_UNKNOWN)
		return 0;
	for (uint32_t k = 0; k < WORDS && n < FL_PATH_SPARE; k++) {
		int32_t from_pointer = p->depth[step] - (int32_t)(k + 1) * WORD;

		if (p->spare >> k & 1 && from_pointer == (int8_t)from_pointer)
			at[n++] = from_pointer;
	}
	return n;
}
