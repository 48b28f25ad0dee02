/*
 * pieces.c - a body for unwinders: which bytes of it belong to which instruction of the
 * original, and how deep the stack is there.
 */
#include "copy/emit.h"

/* Each part has a piece for its steps, one for its landings, and one for its cold items. */
struct pieces {
	struct fl_build *b;
	struct fl_unwind_row *next;
	uint32_t begin;			/* of the piece in hand: offset in the body */
	struct fl_unwind_piece of[3 * FL_SHAPE_PARTS];
	uint32_t n;
};

static void begin_piece(struct pieces *p, uint32_t part, uint32_t at, enum fl_piece_kind kind)
{
	p->begin = at;
	p->of[p->n] = (struct fl_unwind_piece){
		.fde = p->b->plan.shape->parts[part].fde, .start = p->b->ground.at + at,
		.rows = p->next, .kind = kind,
	};
}

static void tell_row(struct pieces *p, uintptr_t at, uint32_t offset, uint32_t push)
{
	*p->next++ = (struct fl_unwind_row){
		.at = at, .push = (uint16_t)push, .offset = offset - p->begin,
	};
}

static void tell_run(struct pieces *p, const struct fl_item *i)
{
	*p->next++ = (struct fl_unwind_row){
		.at = fl_plan_step(&p->b->plan, i)->at, .bytes = i->size,
		.offset = i->at - p->begin,
	};
}

static void end_piece(struct pieces *p, uint32_t at)
{
	struct fl_unwind_piece *of = &p->of[p->n];

	of->end = p->b->ground.at + at;
	of->n += (uint32_t)(p->next - of->rows);
	if (of->n && of->fde)
		p->n++;
}

static uint32_t item_offset(const struct fl_build *b, uint32_t item)
{
	return item < b->plan.n ? b->plan.items[item].at : b->n_code;
}

static void tell_depths(struct pieces *p, const struct fl_item *i,
			const struct fl_depth *depths, size_t n)
{
	for (size_t k = 0; k < n; k++)
		tell_row(p, fl_plan_step(&p->b->plan, i)->at, i->at + depths[k].offset,
			 depths[k].depth);
}

static void tell_lookup(struct pieces *p, const struct fl_item *i)
{
	unsigned char out[FL_ARCH_LOOKUP_MAX];
	struct fl_lookup l;

	fl_emit_lookup(p->b, i, out, &l);
	tell_depths(p, i, l.depths, FL_ARCH_LOOKUP_DEPTHS);
}

static void tell_pair(struct pieces *p, const struct fl_item *i)
{
	unsigned char out[FL_ARCH_PAIR_MAX];
	struct fl_exclusive_code code;

	fl_emit_pair(p->b, i, out, &code);
	tell_depths(p, i, code.depths, code.n_depths);
}

/* A step without an instruction (FL_SHAPE_RUNS_ON) is behind a part's last instruction, of
 * which a table for unwinding says nothing. The frame there is as in that instruction. */
static void tell_aside(struct pieces *p, const struct fl_item *i)
{
	const struct fl_shape_step *step = fl_plan_step(&p->b->plan, i);
	uintptr_t at = step->len ? step->at : step->at - 1;

	tell_row(p, at, i->at + FL_ARCH_ASIDE_DOWN, FL_ARCH_ASIDE_DEPTH);
	tell_row(p, at, i->at + i->size, 0);
}

static void tell_group(struct pieces *p, const struct fl_item *i)
{
	unsigned char out[FL_ARCH_TELL_MAX];
	struct fl_tell t;

	fl_emit_tell(p->b, i->to, out, &t);
	tell_depths(p, i, t.depths, t.n_depths);
}

static void tell_path_depths(struct pieces *p, const struct fl_item *i)
{
	const struct fl_shape_step *step = fl_plan_step(&p->b->plan, i);
	uintptr_t at = step->len ? step->at : step->at - 1;
	unsigned char out[FL_ARCH_PATH_MAX];
	struct fl_path_code c;

	if (i->kind == FL_ITEM_PATH) {
		c = p->b->plan.tells[i->to].code;
	} else {
		fl_emit_path_cold(p->b, i, out, &c);
		tell_row(p, at, i->at, c.kept);
	}
	for (uint32_t k = 0; k < c.n_depths; k++)
		tell_row(p, at, i->at + c.depths[k].offset, c.depths[k].depth);
}

static void tell_cold_group(struct pieces *p, const struct fl_item *i)
{
	unsigned char out[FL_ARCH_TELL_MAX];
	uintptr_t at = fl_plan_step(&p->b->plan, i)->at;
	struct fl_tell t;

	fl_emit_tell(p->b, i->to, out, &t);
	fl_arch_put_cold(out, p->b->ground.at + i->at, &t, (uintptr_t)&p->b->gate->room);
	tell_row(p, at, i->at, t.kept);
	tell_row(p, at, i->at + (uint32_t)t.pushed, t.kept + FL_ARCH_COLD_PUSHED);
	tell_row(p, at, i->at + (uint32_t)t.pushed + FL_ARCH_COLD_CALL, t.kept);
}

static void tell_cold(struct pieces *p, uint32_t part)
{
	const struct fl_plan *plan = &p->b->plan;
	uint32_t k = plan->cold;

	while (k < plan->n && fl_plan_step(plan, &plan->items[k])->part < part)
		k++;
	begin_piece(p, part, item_offset(p->b, k), FL_PIECE_ASIDE);
	for (; k < plan->n && fl_plan_step(plan, &plan->items[k])->part == part; k++) {
		const struct fl_item *i = &plan->items[k];

		if (i->kind == FL_ITEM_PATH_COLD)
			tell_path_depths(p, i);
		else
			tell_cold_group(p, i);
	}
	end_piece(p, item_offset(p->b, k));
}

/* Tell rows for an item that moves the stack pointer. */
static void tell_item(struct pieces *p, const struct fl_item *i)
{
	switch (i->kind) {
	case FL_ITEM_LOOKUP:
		tell_lookup(p, i);
		return;
	case FL_ITEM_POINT:
		tell_depths(p, i, fl_arch_point_depths, FL_ARCH_POINT_DEPTHS);
		return;
	case FL_ITEM_ASIDE:
		tell_aside(p, i);
		return;
	case FL_ITEM_PATH:
		tell_path_depths(p, i);
		return;
	case FL_ITEM_PAIR:
		tell_pair(p, i);
		return;
	case FL_ITEM_TELL:
		tell_group(p, i);
		return;
	}
}

/* The first part begins with the call of glue. Steps that stand there once more have no rows:
 * the frame is as in the last step before them (plan-paths.c). */
static void tell_part(struct pieces *p, uint32_t part)
{
	const struct fl_plan *plan = &p->b->plan;
	uint32_t from = part ? plan->first[plan->shape->first[part]] : 0;
	uint32_t to = plan->first[plan->shape->first[part + 1]];
	int64_t last = -1;		/* the step that has come furthest */

	begin_piece(p, part, item_offset(p->b, from), FL_PIECE_BODY);
	for (uint32_t k = from; k < to; k++) {
		const struct fl_item *i = &plan->items[k];
		const struct fl_shape_step *step = fl_plan_step(plan, i);

		if (i->kind == FL_ITEM_RUN) {
			tell_run(p, i);
			last = i->step;
			continue;
		}
		if (i->step > last) {
			if (step->len)
				tell_row(p, step->at, i->at, 0);
			last = i->step;
		}
		if (i->kind != FL_ITEM_STEP)
			tell_item(p, i);
	}
	end_piece(p, item_offset(p->b, to));
}

/* plan-entry.c's landings follow their steps: there is nothing in between. */
static void note_steps(struct pieces *p, const struct fl_item *i)
{
	struct fl_unwind_piece *of = &p->of[p->n];

	if (!of->n)
		of->steps = fl_plan_step(&p->b->plan, i);
	of->kind = FL_PIECE_LANDINGS;
	of->n += i->to;
}

static void tell_landings(struct pieces *p, uint32_t part)
{
	const struct fl_plan *plan = &p->b->plan;
	uint32_t k = plan->first[plan->shape->n_steps];

	while (k < plan->cold && fl_plan_step(plan, &plan->items[k])->part < part)
		k++;
	begin_piece(p, part, item_offset(p->b, k), FL_PIECE_ASIDE);
	for (; k < plan->cold; k++) {
		const struct fl_item *i = &plan->items[k];

		if (fl_plan_step(plan, i)->part != part)
			break;
		if (i->kind == FL_ITEM_LANDINGS)
			note_steps(p, i);
		if (i->kind == FL_ITEM_ASIDE)
			tell_aside(p, i);
		if (i->kind == FL_ITEM_PATH)
			tell_path_depths(p, i);
		if (i->kind != FL_ITEM_LANDING)
			continue;
		tell_row(p, fl_plan_step(plan, i)->at, i->at, FL_ARCH_LOOKUP_KEPT);
		tell_row(p, fl_plan_step(plan, i)->at, i->at + FL_ARCH_LANDED_UP, 0);
	}
	end_piece(p, item_offset(p->b, k));
}

int fl_pieces_tell(struct fl_build *b)
{
	struct pieces p;		/* of which `of` is written when a piece begins */
	struct fl_unwind_body body = { .m = b->plan.shape->m, .pieces = p.of };

	p.b = b;
	p.next = b->rows;
	p.n = 0;
	for (uint32_t k = 0; k < b->plan.shape->n_parts; k++)
		tell_part(&p, k);
	for (uint32_t k = 0; k < b->plan.shape->n_parts; k++)
		tell_landings(&p, k);
	for (uint32_t k = 0; k < b->plan.shape->n_parts && b->plan.cold < b->plan.n; k++)
		tell_cold(&p, k);
	body.n = p.n;
	return fl_unwind_emit(b->ground.unwind, &body, &b->datum);
}
