/*
 * heights.c - may an indirect jump lead to an instruction that the entry's jump covers?
 *
 * Nobody knows where an indirect jump leads before it is made, and flick guesses no tables of a
 * compiler. But unwinders know how high the stack stands at each instruction, and a jump does
 * not move the stack pointer. So a jump does not lead to where the stack stands at another
 * height. There are two uses. A body that goes on in the original by such a jump (plan-entry.c)
 * must not come to the entry, which would call the function anew. And threads that are in the
 * original while the entry is armed (build.c) may come back to the first instruction, but not
 * behind it.
 *
 * INVARIANT  No indirect jump of the function leads to one of the steps that are asked for.
 * WHY	At each indirect jump of the function, and at each of these steps, the height is known
 *	by the stack pointer, and no jump has the height of one of these steps.
 */
#include "copy/plan.h"
#include "copy/unwind.h"

struct reader {
	const struct fl_shape *s;
	struct fl_fde fde;
	uint32_t part;			/* that `fde` is of */
};

static bool take_fde(struct reader *r, uint32_t part)
{
	const struct fl_shape_part *p = &r->s->parts[part];

	r->part = part;
	return p->fde && fl_fde_read(&r->fde, r->s->m, p->fde);
}

static uint64_t height_at(struct reader *r, const struct fl_shape_step *step)
{
	if (step->part != r->part && !take_fde(r, step->part))
		return FL_HEIGHT_UNKNOWN;
	return fl_rows_height(&r->fde, step->at);
}

/* Read the heights of the covered steps from the `from`th on. False: one is not known. */
static bool read_covered(struct reader *r, uint32_t from, uint64_t heights[FL_ARCH_PAD_BYTES])
{
	const struct fl_shape_step *first = r->s->steps;

	first += first->at != r->s->entry;	/* a landing pad */
	for (uint32_t i = from; i < r->s->covered; i++) {
		heights[i - from] = height_at(r, &first[i]);
		if (heights[i - from] == FL_HEIGHT_UNKNOWN)
			return false;
	}
	return true;
}

static bool is_elsewhere(uint64_t height, const uint64_t *heights, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (heights[i] == height)
			return false;
	return height != FL_HEIGHT_UNKNOWN;
}

bool fl_plan_switches_avoid(const struct fl_shape *s, uint32_t from)
{
	struct reader r = { .s = s };
	uint64_t heights[FL_ARCH_PAD_BYTES];

	if (from >= s->covered || !s->has_switch)
		return true;
	if (!take_fde(&r, 0) || !read_covered(&r, from, heights))
		return false;
	for (uint32_t i = 0; i < s->n_steps; i++)
		if (s->steps[i].kind == FL_SHAPE_SWITCH &&
		    !is_elsewhere(height_at(&r, &s->steps[i]), heights, s->covered - from))
			return false;
	return true;
}

bool fl_plan_may_go_on(const struct fl_shape *s)
{
	return s->covered && s->has_switch && fl_plan_switches_avoid(s, 0);
}
