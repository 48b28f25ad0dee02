/*
 * live.c - which general registers are needed before a step, and whether the flags are.
 *
 * A register is needed where some way on reads it before it is set. A called function may need
 * all registers, and so may the caller where the function is left: the caller may know that the
 * function leaves a register alone (gcc's -fipa-ra), and a language may return results in as
 * many registers as it likes. Nobody needs flags at calls, entries and exits.
 */
#include "copy/plan.h"

enum { FLAGS = FL_LIVE_FLAGS, ALL = 0xffff };

struct looker {
	const struct fl_plan *p;
	uint32_t *live;
};

/* Registers and flags that are needed behind the step. */
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
	const struct fl_step_use *use = &l->p->uses[i];

	return (live_behind(l, i) & ~use->sets) | use->reads;
}

/* A step without an instruction uses nothing. */
static struct fl_step_use use_of(const struct fl_plan *p, uint32_t i)
{
	const struct fl_shape_step *step = &p->shape->steps[i];
	struct fl_step_use use = { .reads = 0 };

	if (!step->len)
		return use;
	fl_arch_needs(&use.needs, fl_plan_bytes(p, i), step->len);
	use.reads = use.needs.calls ? ALL : use.needs.reads;
	use.sets = use.needs.calls ? ALL | FLAGS : use.needs.sets;
	if (use.needs.calls)
		return use;
	switch (fl_arch_flags_use(fl_plan_bytes(p, i), step->len)) {
	case FL_FLAGS_READ:
		use.reads |= FLAGS;
		break;
	case FL_FLAGS_SET:
		use.sets |= FLAGS;
		break;
	case FL_FLAGS_LEFT:
		break;
	}
	return use;
}

void fl_plan_look(const struct fl_plan *p, uint32_t *live)
{
	struct looker l = { .p = p, .live = live };
	bool is_new = true;

	for (uint32_t i = 0; i < p->shape->n_steps; i++) {
		live[i] = 0;
		p->uses[i] = use_of(p, i);
	}
	while (is_new) {
		is_new = false;
		for (uint32_t i = p->shape->n_steps; i--;) {
			uint32_t now = live_before(&l, i);

			is_new |= now != live[i];
			live[i] = now;
		}
	}
}
