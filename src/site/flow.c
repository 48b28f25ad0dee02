/*
 * flow.c - what a register holds at a call, where that can be known for sure.
 *
 * Two rules. A constant that was loaded on the straight line before the call
 * counts if no branch lands in between (cyg.c checks that, when it has seen
 * all branches). And a register that calls keep counts anywhere in a function
 * that gives it one constant and nothing else: compilers load a function's
 * address once and copy it to each call.
 *
 * Restoring such a register for the caller is no new value: a pop is none, nor
 * is a reload on a line that goes on to a return without using it.
 */
#include "cyg.h"

static const uint8_t kept_index[16] = FL_ARCH_KEPT_INDEX;

static bool is_kept(unsigned int reg)
{
	return FL_ARCH_KEPT >> reg & 1;
}

static void set(struct fl_line *l, unsigned int reg, const struct fl_value *v)
{
	l->value[reg] = *v;
	l->known |= 1u << reg;
	l->reloaded &= ~(1u << reg);
}

/* The whole function now knows `reg` to hold `v`. */
static void keep(struct fl_keep *k, unsigned int reg, const struct fl_value *v)
{
	unsigned int i = kept_index[reg];

	if (!is_kept(reg))
		return;
	if (v->source != FL_UNKNOWN && k->value[i].source == FL_UNKNOWN) {
		k->value[i].v = v->v;
		k->value[i].since = v->since;
		k->value[i].source = v->source;
	} else if (v->source != k->value[i].source || v->v != k->value[i].v ||
		   v->source == FL_UNKNOWN) {
		k->many |= 1u << reg;
	}
}

static void load(struct fl_line *l, struct fl_keep *k, const struct fl_insn *i,
		 uintptr_t at)
{
	struct fl_value v = {
		.v = i->target, .since = at,
		.source = i->cls == FL_INSN_LOAD_SLOT ? FL_SLOT : FL_ADDRESS,
	};

	set(l, i->reg, &v);
	keep(k, i->reg, &v);
}

static void move(struct fl_line *l, struct fl_keep *k, const struct fl_insn *i,
		 uintptr_t at)
{
	struct fl_value v = fl_flow_value(l, k, i->source, at);

	set(l, i->reg, &v);
	keep(k, i->reg, &v);
	if (v.source == FL_UNKNOWN && !v.via)
		l->known &= ~(1u << i->reg);
}

/* The line may go on elsewhere, with what it wrote. */
static void leave(struct fl_line *l, struct fl_keep *k)
{
	k->many |= l->reloaded;
	l->reloaded = 0;
}

void fl_flow_step(struct fl_line *l, struct fl_keep *k, const struct fl_insn *i,
		  uintptr_t at)
{
	switch (i->cls) {
	case FL_INSN_LOAD_ADDRESS: case FL_INSN_LOAD_SLOT:
		load(l, k, i, at);
		break;
	case FL_INSN_MOVE:
		move(l, k, i, at);
		break;
	case FL_INSN_POP:
		l->known &= ~i->writes;
		break;
	case FL_INSN_RET:
		l->known = l->reloaded = 0;
		break;
	case FL_INSN_CALL: case FL_INSN_CALL_SLOT:
		fl_flow_forget(l, i->writes);
		if (l->has_handlers)
			l->known = 0;		/* one may stand behind the call */
		break;
	case FL_INSN_JUMP: case FL_INSN_JUMP_SLOT:
		leave(l, k);
		l->known = 0;
		break;
	case FL_INSN_BRANCH:
		fl_flow_forget(l, i->writes);
		leave(l, k);
		break;
	default:
		fl_flow_forget(l, i->writes);
	}
}

struct fl_value fl_flow_value(struct fl_line *l, struct fl_keep *k, unsigned int reg,
			      uintptr_t at)
{
	struct fl_value v = { 0 };

	if (l->known >> reg & 1)
		v = l->value[reg];
	if (is_kept(reg)) {
		k->many |= l->reloaded & 1u << reg;
		v.via = reg;
		v.moved = at;
	}
	return v;
}

struct fl_value fl_flow_kept(const struct fl_keep *k, unsigned int reg, uintptr_t at)
{
	unsigned int i = kept_index[reg];
	bool is_before = (uint32_t)at - k->value[i].since < UINT32_MAX / 2 ||
			 k->anywhere >> reg & 1;

	if (k->many >> reg & 1 || !is_before)
		return (struct fl_value){ 0 };
	return (struct fl_value){ .v = k->value[i].v, .source = k->value[i].source };
}

static void join_register(struct fl_keep *a, struct fl_keep *b, unsigned int reg)
{
	unsigned int i = kept_index[reg];

	if (a->value[i].source == FL_UNKNOWN)
		a->value[i] = b->value[i];
	else if (b->value[i].source == FL_UNKNOWN)
		b->value[i] = a->value[i];
	else if (a->value[i].source != b->value[i].source ||
		 a->value[i].v != b->value[i].v)
		a->many |= 1u << reg;
	a->anywhere |= 1u << reg;
}

void fl_flow_join(struct fl_keep *a, struct fl_keep *b)
{
	for (unsigned int reg = 0; reg < 16; reg++)
		if (is_kept(reg))
			join_register(a, b, reg);
	b->many = a->many |= b->many;
	b->anywhere = a->anywhere |= b->anywhere;
	b->carries = a->carries |= b->carries;
}
