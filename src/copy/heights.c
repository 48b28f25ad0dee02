/*
 * heights.c - may an indirect jump go on in the original, whose first bytes are the entry's
 * jump now?
 *
 * Where it leads nobody knows before it is made, and no table of a compiler's is guessed.
 * But unwinders know how high the stack stands at each instruction, and a jump does not
 * move the stack pointer. So it does not lead to where the stack stands at another height.
 *
 * INVARIANT  Who goes on in the original by an indirect jump does not come to the bytes that
 *	the entry's jump covers, nor calls the function anew.
 * WHY	At each jump of the function, and at each instruction of the window, the height is
 *	known by the stack pointer, and no two are alike. Direct branches that lead back
 *	there the shape knows: then nobody goes on.
 */
#include "copy/plan.h"
#include "copy/unwind.h"

struct reader {
	const struct fl_shape *s;
	struct fl_fde fde;
	uint32_t part;			/* whose it is */
};

static bool take_fde(struct reader *r, uint32_t part)
{
	const struct fl_shape_part *p = &r->s->parts[part];

	r->part = part;
	return p->fde && !fl_fde_read(&r->fde, r->s->m, p->fde);
}

static uint64_t height_at(struct reader *r, const struct fl_shape_step *step)
{
	if (step->part != r->part && !take_fde(r, step->part))
		return FL_HEIGHT_UNKNOWN;
	return fl_rows_height(&r->fde, step->at);
}

static bool is_in_window(const struct fl_shape *s, const struct fl_shape_step *step)
{
	return step->part == 0 && step->at - s->entry < s->window;
}

/* Those of the window, and how many; 0: one is not known. */
static uint32_t read_window(struct reader *r, uint64_t heights[FL_ARCH_PAD_BYTES])
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->s->n_steps; i++) {
		const struct fl_shape_step *step = &r->s->steps[i];

		if (step->at >= r->s->entry + r->s->window || step->part)
			break;
		if (!is_in_window(r->s, step))
			continue;
		heights[n] = height_at(r, step);
		if (heights[n++] == FL_HEIGHT_UNKNOWN)
			return 0;
	}
	return n;
}

static bool is_elsewhere(uint64_t height, const uint64_t *heights, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (heights[i] == height)
			return false;
	return height != FL_HEIGHT_UNKNOWN;
}

bool fl_plan_has_switch(const struct fl_shape *s)
{
	for (uint32_t i = 0; i < s->n_steps; i++)
		if (s->steps[i].kind == FL_SHAPE_SWITCH)
			return true;
	return false;
}

bool fl_plan_may_go_on(const struct fl_shape *s)
{
	struct reader r = { .s = s };
	uint64_t heights[FL_ARCH_PAD_BYTES];
	uint32_t n;

	if (!s->may_go_on || !fl_plan_has_switch(s) || !take_fde(&r, 0))
		return false;
	n = read_window(&r, heights);
	for (uint32_t i = 0; n && i < s->n_steps; i++)
		if (s->steps[i].kind == FL_SHAPE_SWITCH &&
		    !is_elsewhere(height_at(&r, &s->steps[i]), heights, n))
			return false;
	return n;
}
