/*
 * live.c - which general registers nobody needs before a step, and whether flags are.
 *
 * A register is needed where some way on reads it before it is set. What is called, and where
 * the function is left, may need all: a caller may know that the function leaves a register
 * alone (gcc's -fipa-ra), and of results there are as many as a language likes. Flags are
 * nobody's at calls, entries and exits.
 */
#include "copy/plan.h"

enum { FLAGS = FL_LIVE_FLAGS, ALL = 0xffff };

struct looker {
	const struct fl_plan *p;
	uint32_t *live;
};

/* Behind the step. */
static uint32_t live_behind(const struct looker *l, uint32_t i)
{
	const struct fl_shape *s = l->p->shape;
	const struct fl_shape_step *step = &s->steps[i];

	switch (step->kind) {
	case FL_SHAPE_JUMP:
		return l->live[step->to];
	case FL_SHAPE_BRANCH:
		return l->live[step->to] |
		       (fl_plan_goes_on(s, i) ? l->live[i + 1] : ALL | FLAGS);
	case FL_SHAPE_RET: case FL_SHAPE_TAIL: case FL_SHAPE_TAIL_POINTER:
		return ALL;
	case FL_SHAPE_BRANCH_OUT:
		return ALL | (fl_plan_goes_on(s, i) ? l->live[i + 1] : FLAGS);
	}
	return fl_plan_goes_on(s, i) ? l->live[i + 1] : ALL | FLAGS;
}

static uint32_t live_before(const struct looker *l, uint32_t i)
{
	const struct fl_shape_step *step = &l->p->shape->steps[i];
	uint32_t live = live_behind(l, i);
	struct fl_needs n;

	if (!step->len)
		return live;
	fl_arch_needs(&n, fl_plan_bytes(l->p, i), step->len);
	if (n.calls)
		return ALL;
	live = (live & ~(uint32_t)n.sets) | n.reads;
	switch (fl_arch_flags_use(fl_plan_bytes(l->p, i), step->len)) {
	case FL_FLAGS_READ:
		live |= FLAGS;
		break;
	case FL_FLAGS_SET:
		live &= ~(uint32_t)FLAGS;
		break;
	case FL_FLAGS_LEFT:
		break;
	}
	return live;
}

void fl_plan_look(const struct fl_plan *p, uint32_t *live)
{
	struct looker l = { .p = p, .live = live };
	bool is_new = true;

	for (uint32_t i = 0; i < p->shape->n_steps; i++)
		live[i] = 0;
	while (is_new) {
		is_new = false;
		for (uint32_t i = p->shape->n_steps; i--;) {
			uint32_t now = live_before(&l, i);

			is_new |= now != live[i];
			live[i] = now;
		}
	}
}
