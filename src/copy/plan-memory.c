/*
 * plan-memory.c - which accesses to memory a body tells, and where: groups, each told in one
 * go before one step.
 *
 * The accesses of a group share its costs: registers, and the look for room. So a group is as
 * large as it can be: accesses of a straight line, each told where every register of its
 * address has the value that it has at the access. That may be behind the access, where the
 * next one's address is known. Moves of the stack pointer in between are counted.
 *
 * INVARIANT  A thread that runs through the steps of a group runs once through the step before
 *	which the group is told.
 * WHY	A group lies in one straight line, which nobody enters or leaves in its middle: a line
 *	ends before each step that a branch, an exception or a call's return may come to, and
 *	behind each step that leads elsewhere. Nobody knows where a function's indirect jumps
 *	lead: in a function that has some, each step is a line. Only a handler of the program's
 *	that goes on elsewhere leaves a line in its middle.
 */
#include "copy/plan.h"

enum { FLAGS_LOOK = 16, STACK = 1u << FL_ARCH_SP, WORD = 8 };

/* The line in hand, and the group in hand in that line. */
struct weaver {
	struct fl_plan *p;
	uint32_t begin;			/* the line's first step */
	int64_t moved[FL_PLAN_LINE + 1];	/* the stack pointer, before each step */
	uint32_t written[FL_ARCH_REGS];	/* the step behind the last one that wrote it */
	uint32_t first;			/* access of the group */
	uint32_t from, to;		/* steps before which the group can be told */
	uint32_t at_first;		/* the step of its first access */
	fl_regs regs;			/* that its addresses need */
};

static fl_regs regs_of(const struct fl_operand *o)
{
	return (fl_regs)((o->base < FL_ARCH_REGS ? 1u << o->base : 0) |
			 (o->index < FL_ARCH_REGS ? 1u << o->index : 0));
}

static unsigned int count_regs(fl_regs regs)
{
	unsigned int n = 0;

	for (; regs; regs &= (fl_regs)(regs - 1))
		n++;
	return n;
}

static bool are_flags_dead(const struct fl_plan *p, uint32_t step)
{
	for (uint32_t k = 0; k < FLAGS_LOOK; k++, step++) {
		const struct fl_shape_step *s = &p->shape->steps[step];

		if (s->kind != FL_SHAPE_PLAIN && s->kind != FL_SHAPE_RELATIVE)
			return false;
		switch (fl_arch_flags_use(fl_plan_bytes(p, step), s->len)) {
		case FL_FLAGS_READ:
			return false;
		case FL_FLAGS_SET:
			return true;
		case FL_FLAGS_LEFT:
			break;
		}
		if (s->is_call || !fl_plan_goes_on(p->shape, step))
			return false;
	}
	return false;
}

/* ---- a group ------------------------------------------------------------------------- */

/* The step before which the group is told: where flags are dead, if there is such a step. */
static uint32_t choose_step(const struct weaver *w, uint32_t last)
{
	uint32_t to = w->to < last ? w->to : last;

	for (uint32_t k = w->from; k <= to; k++)
		if (are_flags_dead(w->p, k))
			return k;
	if (w->at_first < w->from)
		return w->from;
	return w->at_first < to ? w->at_first : to;
}

/* The accesses so far are a group; `last` is the last step before which it may be told. */
static void end_group(struct weaver *w, uint32_t last)
{
	struct fl_plan *p = w->p;
	uint32_t step;

	if (w->first == p->n_told)
		return;
	step = choose_step(w, last);
	for (uint32_t k = w->first; k < p->n_told; k++) {
		struct fl_operand *o = &p->told[k].operand;

		if (o->base == FL_ARCH_SP)
			o->target += w->moved[p->told_at[k] - w->begin] -
				     w->moved[step - w->begin];
	}
	p->groups[p->n_groups++] = (struct fl_group){
		.step = step, .first = w->first, .n = p->n_told - w->first,
		.keeps_flags = !are_flags_dead(p, step),
	};
	w->first = p->n_told;
	w->from = step;
	w->to = UINT32_MAX;
	w->regs = 0;
}

static uint32_t earliest(const struct weaver *w, fl_regs regs)
{
	uint32_t from = w->from;

	for (unsigned int r = 0; r < FL_ARCH_REGS; r++)
		if (regs >> r & 1 && w->written[r] > from)
			from = w->written[r];
	return from;
}

static void add_access(struct weaver *w, const struct fl_operand *o, uint32_t step)
{
	struct fl_plan *p = w->p;
	fl_regs regs = regs_of(o);

	if (earliest(w, regs) > w->to || p->n_told - w->first == FL_TELL_MOST ||
	    count_regs((fl_regs)(w->regs | regs)) > FL_TELL_REGS)
		end_group(w, step);
	if (w->first == p->n_told)
		w->at_first = step;
	w->from = earliest(w, regs);
	w->regs |= regs;
	p->told_at[p->n_told] = step;
	p->told[p->n_told++] = (struct fl_tellable){ .operand = *o };
}

/* ---- a line -------------------------------------------------------------------------- */

static void begin_line(struct weaver *w, uint32_t step)
{
	w->begin = w->from = step;
	w->to = UINT32_MAX;
	w->moved[0] = 0;
	for (unsigned int r = 0; r < FL_ARCH_REGS; r++)
		w->written[r] = step;
}

static bool begins_line(const struct weaver *w, uint32_t step)
{
	const struct fl_shape_step *s = &w->p->shape->steps[step];

	return step == w->p->entry || s->is_target || s->is_pad ||
	       step - w->begin >= FL_PLAN_LINE || w->p->shape->has_switch;
}

static bool ends_line(const struct fl_plan *p, uint32_t step, const struct fl_insn *i)
{
	const struct fl_shape_step *s = &p->shape->steps[step];

	return (s->kind != FL_SHAPE_PLAIN && s->kind != FL_SHAPE_RELATIVE) || s->is_call ||
	       i->cls == FL_INSN_CALL || i->cls == FL_INSN_CALL_POINTER ||
	       !fl_plan_goes_on(p->shape, step);
}

/* By how much the stack pointer moves; *writes: the other registers that change. */
static int64_t move_of(const struct fl_insn *i, fl_regs *writes)
{
	*writes = i->writes;
	switch (i->cls) {
	case FL_INSN_PUSH:
		*writes &= (fl_regs)~STACK;
		return -WORD;
	case FL_INSN_POP:
		*writes = (fl_regs)((*writes & ~STACK) | 1u << i->reg);
		return i->reg == FL_ARCH_SP ? 0 : WORD;
	case FL_INSN_LEAVE:
		*writes |= (fl_regs)(STACK | 1u << FL_ARCH_FP);
		return 0;
	case FL_INSN_FRAME_ADDRESS:
		if (i->reg == FL_ARCH_SP && i->source == FL_ARCH_SP)
			return (int64_t)i->target;
		*writes |= (fl_regs)(1u << i->reg);
		return 0;
	case FL_INSN_LOAD_ADDRESS: case FL_INSN_LOAD_POINTER: case FL_INSN_MOVE:
	case FL_INSN_LOAD_FRAME:
		*writes |= (fl_regs)(1u << i->reg);
		return 0;
	case FL_INSN_ALIGN:
		*writes |= STACK;
	}
	return 0;
}

static void go_past(struct weaver *w, uint32_t step, const struct fl_insn *i)
{
	fl_regs writes;

	w->moved[step + 1 - w->begin] = w->moved[step - w->begin] + move_of(i, &writes);
	if (writes & w->regs && step < w->to)
		w->to = step;
	for (unsigned int r = 0; r < FL_ARCH_REGS; r++)
		if (writes >> r & 1)
			w->written[r] = step + 1;
}

/* Can the accesses be told before another step? Not if an address of 32 bits needs the stack
 * pointer, or no register. */
static bool is_tellable(const struct fl_operands *s)
{
	for (uint32_t k = 0; k < s->n; k++) {
		const struct fl_operand *o = &s->of[k];

		if (o->is_32 && (o->base == FL_ARCH_SP || regs_of(o) == 0))
			return false;
	}
	return true;
}

/* A string's accesses are told before their own step, where the counter has its value. They are
 * a group by themselves, which finds the direction in the flags, and keeps these. */
static void add_string(struct weaver *w, const struct fl_operands *s, uint32_t step)
{
	end_group(w, step);
	for (uint32_t k = 0; k < s->n; k++)
		add_access(w, &s->of[k], step);
	w->from = w->to = step;
	end_group(w, step);
	w->p->groups[w->p->n_groups - 1].keeps_flags = true;
}

static bool weave_accesses(struct weaver *w, uint32_t step)
{
	const struct fl_shape_step *s = &w->p->shape->steps[step];
	const unsigned char *code = fl_plan_bytes(w->p, step);
	struct fl_operands operands;
	struct fl_insn i;

	fl_arch_decode(&i, code, s->len, s->at);
	if (i.len != s->len || !fl_arch_operands(&operands, code, &i, s->at) ||
	    !is_tellable(&operands))
		return false;
	if (begins_line(w, step))
		begin_line(w, step);
	if (operands.n && operands.of[0].repeats)
		add_string(w, &operands, step);
	for (uint32_t k = 0; k < operands.n && !operands.of[k].repeats; k++)
		add_access(w, &operands.of[k], step);
	go_past(w, step, &i);
	if (ends_line(w->p, step, &i)) {
		end_group(w, step);
		begin_line(w, step + 1);
	}
	return true;
}

int fl_plan_memory(struct fl_plan *p, uint64_t *datum)
{
	struct weaver w = { .p = p };

	*datum = 0;
	if (!fl_arch_has_rseq())
		return FLE_SEQUENCE;
	begin_line(&w, p->entry);
	for (uint32_t i = p->entry; i < p->shape->n_steps; i++) {
		const struct fl_shape_step *s = &p->shape->steps[i];

		if (i != w.begin && (begins_line(&w, i) || !s->len))
			end_group(&w, i - 1);
		if (s->len && !weave_accesses(&w, i)) {
			*datum = s->at;
			return FLE_OPERAND;
		}
	}
	return 0;
}
