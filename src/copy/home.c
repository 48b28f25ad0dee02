/*
 * home.c - a word of the stack where a call can keep its path's sum, if one is known.
 *
 * Most functions leave words of their stack alone: words that align the stack, or the red
 * zone. A sum that lies in such a word is the call's own: no frame of the thread's has to be
 * taken, looked up, asked whose it is, and given back. The way back is the place that the
 * stack pointer has at the entry (on x86-64 the return address lies there); words are counted
 * from the way back downwards.
 *
 * INVARIANT  From ENTER to the call's end only the code that tells paths writes the word.
 * WHY	1  The distance of the stack pointer below the way back is followed from the entry
 *	   on, over each edge, by instructions whose effect on it is known. Ways that meet
 *	   agree, and the stack pointer is never above the way back. A function that may keep
 *	   the stack pointer's value elsewhere (an address that is taken, a register) has no
 *	   home. So the function touches no words of its stack but those noted here.
 *	2  A function that is called writes below its caller's stack pointer, and above it
 *	   only to words that it is given: arguments that the caller stores there, room that
 *	   other conventions have for four registers, or the frame, if the function is assembly
 *	   that knows this frame. A word that aligns the stack is a single one. So where
 *	   several words in a row above the stack pointer are left alone, none is taken to be
 *	   nobody's.
 *	3  The word is one of the 16 below the way back, and the stack pointer is never above
 *	   the way back. So the word lies above the stack pointer or in the red zone, which the
 *	   kernel leaves alone when a signal comes.
 * A thread that comes into the body in another way than by its entry has no sum there.
 * Functions with a home have no landing pads for exceptions, and no indirect jumps. There is
 * one more way: a thread may stand in instructions that the entry's jump covers. So the sum
 * begins behind the place where all these threads go on (fl_plan_enters_at()). A step to which
 * no known way leads tells nothing.
 *
 * A sum may be no path's even so, where a context comes back that getcontext() has kept: so
 * code that counts checks the sum's range, as it does in a frame.
 */
#include "copy/plan.h"

/* WALKED: a bit in a depth, which is a multiple of WORD, while steps are walked. */
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

/* Mark the words that have some of `bytes` from `at` on, which is relative to the way back. */
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

/* A call through an address on the stack makes the walk fail. A called function that pops its
 * arguments makes it fail at a way out, where the depth is not 0 (is_way_out()). */
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

/* The stack pointer is at `depth` before a call. If more than one word in a row above it is
 * left alone, all of these may have been given to the called function. */
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

/* Do all threads that may stand in instructions covered by the entry's jump come to where the
 * sum begins, and each call once? */
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

/* May a thread come into the body in another way than by its entry? */
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
