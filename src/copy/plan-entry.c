/*
 * plan-entry.c - which items a body is made of that has places for its entry, its exits
 * and the jumps that leave it.
 *
 *	on:	call glue
 *	off:	the steps; of these have places:
 *
 *	ret			RET
 *	jmp OUT, jmp *slot	NOP; jmp
 *	jcc OUT			jncc past; NOP; jmp OUT
 *	what stands behind	NOP; jmp there
 *	jmp *anything		SWITCH; LOOKUP; CALL; jmp *anything
 *				or LOOKUP; NOP; jmp *anything
 *	ret $n			NOP; ret $n
 *	any that is a point	POINT; what stands for it
 *
 * A SWITCH that is off jumps into the original, and goes on there: a call that has no exit
 * to show does not look up where each of its jumps leads. So it must not lead to where the
 * entry's jump stands now (heights.c); nor may it where there are points, which are in the
 * body alone.
 */
#include "copy/plan.h"

static void begin_parts(struct fl_plan *p)
{
	const struct fl_shape *s = p->shape;
	uint32_t i = 0;

	for (uint32_t part = 0; part < s->n_parts; part++) {
		p->steps[part] = i;
		p->bytes[part] = i < s->n_steps ? fl_shape_bytes(s, &s->steps[i]) : NULL;
		while (i < s->n_steps && s->steps[i].part == part)
			i++;
	}
	p->steps[s->n_parts] = i;
}

/* The step at that address; FL_NO_STEP: none begins there. */
static uint32_t find_step(const struct fl_plan *p, uintptr_t at)
{
	const struct fl_shape *s = p->shape;

	for (uint32_t part = 0; part < s->n_parts; part++) {
		uint32_t from = p->steps[part], n = p->steps[part + 1] - from;
		size_t i = fl_rows_from(&s->steps[from], n, sizeof *s->steps, at);

		if (i && s->steps[from + i - 1].at == at)
			return from + (uint32_t)i - 1;
	}
	return FL_NO_STEP;
}

size_t fl_plan_items(const struct fl_shape *s)
{
	/* between two; SKIP, NOP, JUMP, ON; LANDING, PATH, GO; SWITCH, ...; COLD */
	enum { A_STEP = 12, STUBS = 16 };

	return (size_t)s->n_steps * A_STEP + s->n_points + STUBS;
}

void fl_plan_weave(struct fl_plan *p, enum fl_item_kind kind, uint32_t step)
{
	p->items[p->n++] = (struct fl_item){ .kind = kind, .step = step, .to = FL_NO_STEP };
	p->n_places += kind == FL_ITEM_NOP || kind == FL_ITEM_RET || kind == FL_ITEM_SWITCH ||
		       kind == FL_ITEM_POINT;
	p->n_lookups += kind == FL_ITEM_LOOKUP;
}

static void weave_return(struct fl_plan *p, uint32_t i)
{
	unsigned char place[FL_ARCH_MOVED_MAX];

	if (fl_arch_put_place(place, FL_FORM_BODY_RET, fl_plan_bytes(p, i),
			      p->shape->steps[i].len)) {
		fl_plan_weave(p, FL_ITEM_RET, i);
		return;
	}
	fl_plan_weave(p, FL_ITEM_NOP, i);
	fl_plan_weave(p, FL_ITEM_STEP, i);
}

static void weave_switch(struct fl_plan *p, uint32_t i)
{
	if (p->may_go_on)
		fl_plan_weave(p, FL_ITEM_SWITCH, i);
	fl_plan_weave(p, FL_ITEM_LOOKUP, i);
	fl_plan_weave(p, p->may_go_on ? FL_ITEM_CALL : FL_ITEM_NOP, i);
	fl_plan_weave(p, FL_ITEM_STEP, i);
}

/* Whoever comes to the step comes to the point first. */
static void weave_point(struct fl_plan *p, uint32_t i)
{
	const struct fl_shape *s = p->shape;
	size_t at = fl_rows_from(s->points, s->n_points, sizeof *s->points, s->steps[i].at);

	if (at && s->points[at - 1] == s->steps[i].at && s->steps[i].len)
		fl_plan_weave(p, FL_ITEM_POINT, i);
}

void fl_plan_weave_step(struct fl_plan *p, uint32_t i)
{
	switch (p->shape->steps[i].kind) {
	case FL_SHAPE_JUMP: case FL_SHAPE_BRANCH:
		fl_plan_weave(p, FL_ITEM_STEP, i);
		p->items[p->n - 1].to = p->shape->steps[i].to;
		return;
	case FL_SHAPE_BRANCH_OUT:
		fl_plan_weave(p, FL_ITEM_SKIP, i);
		p->items[p->n - 1].to = 2;
		fl_plan_weave(p, FL_ITEM_NOP, i);
		fl_plan_weave(p, FL_ITEM_JUMP, i);
		return;
	case FL_SHAPE_SWITCH:
		weave_switch(p, i);
		return;
	case FL_SHAPE_TAIL: case FL_SHAPE_TAIL_POINTER:
		fl_plan_weave(p, FL_ITEM_NOP, i);
		break;
	case FL_SHAPE_RET:
		weave_return(p, i);
		return;
	case FL_SHAPE_RUNS_ON:
		fl_plan_weave(p, FL_ITEM_NOP, i);
		fl_plan_weave(p, FL_ITEM_JUMP, i);
		return;
	case FL_SHAPE_END:
		fl_plan_weave(p, FL_ITEM_JUMP, i);
		return;
	}
	fl_plan_weave(p, FL_ITEM_STEP, i);
}

/* Behind a step comes what is behind it in the original: the next step, or the original. */
void fl_plan_weave_gap(struct fl_plan *p, uint32_t i)
{
	if (fl_plan_falls_through(&p->shape->steps[i]) && !fl_plan_goes_on(p->shape, i))
		fl_plan_weave(p, FL_ITEM_ON, i);
}

/* Groups that are told before step `i`, from *g on. */
static void weave_tells(struct fl_plan *p, uint32_t i, uint32_t *g)
{
	for (; *g < p->n_groups && p->groups[*g].step == i; ++*g) {
		fl_plan_weave(p, FL_ITEM_TELL, i);
		p->items[p->n - 1].to = *g;
		p->tell_of[*g] = p->n - 1;
	}
}

static void weave_cold(struct fl_plan *p)
{
	p->cold = p->n;
	for (uint32_t g = 0; g < p->n_groups; g++) {
		fl_plan_weave(p, FL_ITEM_COLD, p->groups[g].step);
		p->items[p->n - 1].to = g;
	}
}

/* Before the entry there is a landing pad alone, which nobody needs here. */
int fl_plan_begin(struct fl_plan *p, uint64_t *datum)
{
	const struct fl_shape *s = p->shape;

	begin_parts(p);
	p->entry = find_step(p, s->entry);
	*datum = s->entry;
	if (p->entry >= p->steps[1] || p->entry > 1)
		return FLE_UNKNOWN;
	fl_plan_weave(p, FL_ITEM_GLUE, p->entry);
	p->first[0] = p->n;
	return 0;
}

int fl_plan_entry(struct fl_plan *p, uint64_t *datum)
{
	const struct fl_shape *s = p->shape;
	uint32_t group = 0;
	int err = fl_plan_begin(p, datum);

	if (!err && p->accesses)
		err = fl_plan_memory(p, datum);
	if (err)
		return err;
	p->may_go_on = !p->accesses && !s->n_points && fl_plan_may_go_on(s);
	for (uint32_t i = p->entry; i < s->n_steps; i++) {
		p->first[i] = p->n;
		weave_tells(p, i, &group);
		if (s->n_points)
			weave_point(p, i);
		fl_plan_weave_step(p, i);
		fl_plan_weave_gap(p, i);
	}
	p->first[s->n_steps] = p->n;
	for (uint32_t i = p->entry; p->n_lookups && i < s->n_steps; i++)
		if (s->steps[i].len)
			fl_plan_weave(p, FL_ITEM_LANDING, i);
	weave_cold(p);
	return 0;
}
