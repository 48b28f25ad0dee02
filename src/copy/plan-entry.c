/*
 * plan-entry.c - the items of a body with places for its entry, its exits and the jumps
 * that leave it.
 *
 *	on:	call glue
 *	off:	the steps; these steps have places:
 *
 *	ret			RET
 *	jmp OUT, jmp *slot	NOP; jmp
 *	jcc OUT			jncc past; NOP; jmp OUT
 *	running on behind	NOP; jmp there
 *	jmp *anything		SWITCH; LOOKUP; CALL; jmp *anything
 *				or LOOKUP; NOP; jmp *anything
 *	ret $n			NOP; ret $n
 *	any that is a point	POINT; what stands for it
 *
 * A SWITCH that is off jumps into the original, and the call goes on there: a call whose
 * exit nobody records need not look up where each of its jumps leads. So such a jump must not
 * lead to where the entry's jump stands now (heights.c). Nor may a body with points have a
 * SWITCH, because points are in the body alone.
 */
#include "copy/plan.h"

static void find_in_file(struct fl_plan *p)
{
	const struct fl_shape *s = p->shape;

	for (uint32_t part = 0; part < s->n_parts; part++) {
		const struct fl_shape_step *first = &s->steps[s->first[part]];

		if (s->first[part] < s->first[part + 1])
			p->to_file[part] = (uintptr_t)fl_shape_bytes(s, first) - first->at;
	}
}

size_t fl_plan_items(const struct fl_shape *s)
{
	/* between steps; SKIP, NOP, JUMP, ON; LANDING, PATH, GO; SWITCH, ...; COLD */
	enum { A_STEP = 12, STUBS = 16 };

	return (size_t)s->n_steps * A_STEP + s->n_points + STUBS;
}

static inline void weave_item(struct fl_plan *p, enum fl_item_kind kind, uint32_t step,
			      uint32_t to)
{
	p->items[p->n++] = (struct fl_item){ .kind = kind, .step = step, .to = to };
}

void fl_plan_weave(struct fl_plan *p, enum fl_item_kind kind, uint32_t step)
{
	weave_item(p, kind, step, FL_NO_STEP);
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

/* A thread that comes to the step comes to the point first. */
static void weave_point(struct fl_plan *p, uint32_t i)
{
	const struct fl_shape *s = p->shape;
	size_t at = fl_rows_from(s->points, s->n_points, sizeof *s->points, s->steps[i].at);

	if (at && s->points[at - 1] == s->steps[i].at && s->steps[i].len)
		fl_plan_weave(p, FL_ITEM_POINT, i);
}

/* Steps that leave the function, and other steps that are more than their own instruction. */
static void weave_leaving(struct fl_plan *p, uint32_t i)
{
	switch (p->shape->steps[i].kind) {
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

/* Weave a step. Nearly all steps stay what they are. */
void fl_plan_weave_step(struct fl_plan *p, uint32_t i)
{
	const struct fl_shape_step *s = &p->shape->steps[i];

	if (s->kind <= FL_SHAPE_CALL)
		weave_item(p, FL_ITEM_STEP, i, FL_NO_STEP);
	else if (s->kind <= FL_SHAPE_BRANCH)
		weave_item(p, FL_ITEM_STEP, i, s->to);
	else
		weave_leaving(p, i);
}

/* Kinds of steps that have the same length in a body: a run of these is one item. */
enum {
	LASTING = 1 << FL_SHAPE_PLAIN | 1 << FL_SHAPE_CALL |
		  !FL_ARCH_OPERANDS_GROW << FL_SHAPE_RELATIVE
};

static bool lasts(const struct fl_shape_step *s)
{
	return LASTING >> s->kind & 1;
}

/* Weave the steps of such kinds that stand in a row, from `step` on; returns the last one. */
static uint32_t weave_run(struct fl_plan *p, uint32_t step)
{
	enum { MOST = 4096 };		/* a size has 16 bits */
	const struct fl_shape_step *first = &p->shape->steps[step], *s = first;
	uint32_t most = p->shape->first[first->part + 1] - step, *item = &p->first[step];
	const struct fl_shape_step *end = first + (most < MOST ? most : MOST);
	uintptr_t behind;

	do {
		*item++ = p->n;
		behind = s->at + s->len;
	} while (++s < end && s->at == behind && lasts(s));
	weave_item(p, FL_ITEM_RUN, step, (uint32_t)(s - first));
	p->items[p->n - 1].size = (uint16_t)(behind - first->at);
	return step + (uint32_t)(s - first) - 1;
}

/* A step that falls through goes on to the next step, or to the original. */
void fl_plan_weave_gap(struct fl_plan *p, uint32_t i)
{
	if (!fl_plan_is_followed(p->shape, i) && fl_plan_falls_through(&p->shape->steps[i]))
		fl_plan_weave(p, FL_ITEM_ON, i);
}

/* Weave the groups that are told before step `i`, from group *g on. */
static void weave_tells(struct fl_plan *p, uint32_t i, uint32_t *g)
{
	for (; *g < p->n_groups && p->groups[*g].step == i; ++*g) {
		fl_plan_weave(p, FL_ITEM_TELL, i);
		p->items[p->n - 1].to = *g;
		p->tell_of[*g] = p->n - 1;
	}
}

/* Weave the landings of steps that are instructions of one part, in a row, from `step` on;
 * returns the last one. */
static uint32_t weave_landings(struct fl_plan *p, uint32_t step)
{
	enum { MOST = UINT16_MAX / FL_ARCH_LANDED_BYTES };	/* a size has 16 bits */
	const struct fl_shape_step *s = &p->shape->steps[step];
	uint32_t most = p->shape->n_steps - step, n = 1;

	most = most < MOST ? most : MOST;
	while (n < most && s[n].len && s[n].part == s->part)
		n++;
	weave_item(p, FL_ITEM_LANDINGS, step, n);
	p->items[p->n - 1].size = (uint16_t)(n * FL_ARCH_LANDED_BYTES);
	return step + n - 1;
}

static void weave_cold(struct fl_plan *p)
{
	p->cold = p->n;
	for (uint32_t g = 0; g < p->n_groups; g++) {
		fl_plan_weave(p, FL_ITEM_COLD, p->groups[g].step);
		p->items[p->n - 1].to = g;
	}
}

/* Only a landing pad (endbr64) may stand before the entry; a body does not need it. */
int fl_plan_begin(struct fl_plan *p, uint64_t *datum)
{
	const struct fl_shape *s = p->shape;

	find_in_file(p);
	p->held_bytes = fl_plan_held_bytes(p);
	p->entry = s->steps[0].at != s->entry;
	*datum = s->entry;
	if (p->entry >= s->first[1] || s->steps[p->entry].at != s->entry)
		return FLE_UNKNOWN;
	fl_plan_weave(p, FL_ITEM_GLUE, p->entry);
	p->first[0] = p->n;
	return 0;
}

static void weave_woven(struct fl_plan *p, uint32_t i, uint32_t *group)
{
	weave_tells(p, i, group);
	weave_point(p, i);
	fl_plan_weave_step(p, i);
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
	p->runs = !p->accesses && !s->n_points;
	p->may_go_on = p->runs && fl_plan_may_go_on(s);
	p->runs &= !p->held_bytes;
	for (uint32_t i = p->entry; i < s->n_steps; i++) {
		uint8_t kind = s->steps[i].kind;

		p->first[i] = p->n;
		if (p->runs && lasts(&s->steps[i]))
			i = weave_run(p, i);
		else if (p->runs && (kind == FL_SHAPE_JUMP || kind == FL_SHAPE_BRANCH))
			weave_item(p, FL_ITEM_STEP, i, s->steps[i].to);
		else
			weave_woven(p, i, &group);
		if (!fl_plan_is_followed(s, i))		/* as most are */
			fl_plan_weave_gap(p, i);
	}
	p->first[s->n_steps] = p->n;
	for (uint32_t i = p->entry; p->n_lookups && i < s->n_steps; i++)
		if (s->steps[i].len)
			i = weave_landings(p, i);
	p->has_numbers = FL_ARCH_LOOKUP_NUMBERS && s->n_steps <= UINT16_MAX;
	weave_cold(p);
	return 0;
}
