/*
 * emit.c - items of a body become bytes.
 *
 * Hides how long each item is. The list is measured with every branch in its long form. A
 * branch whose target is near even so becomes short. That brings no two items further apart, so
 * one more walk gives every item its offset. Then all bytes are written.
 */
#include <string.h>

#include "copy/emit.h"

static uintptr_t step_address(const struct fl_build *b, uint32_t step)
{
	return b->ground.at + fl_plan_offset(&b->plan, step);
}

/* ---- measure --------------------------------------------------------------------- */

/* A step's instruction, as far as the step keeps what was decoded. */
static struct fl_insn insn_of(const struct fl_shape_step *s)
{
	static const uint8_t classes[] = {
		[FL_SHAPE_CALL] = FL_INSN_CALL,
		[FL_SHAPE_JUMP] = FL_INSN_JUMP, [FL_SHAPE_TAIL] = FL_INSN_JUMP,
		[FL_SHAPE_BRANCH] = FL_INSN_BRANCH, [FL_SHAPE_BRANCH_OUT] = FL_INSN_BRANCH,
		[FL_SHAPE_END] = 0,
	};

	return (struct fl_insn){ .len = s->len, .cls = classes[s->kind],
				 .opcode_at = s->opcode_at, .operand_at = s->operand_at };
}

/* Kinds of steps that may be longer in a body. */
enum {
	GROWING = 1 << FL_SHAPE_JUMP | 1 << FL_SHAPE_BRANCH | 1 << FL_SHAPE_TAIL |
		  1 << FL_SHAPE_BRANCH_OUT | FL_ARCH_OPERANDS_GROW << FL_SHAPE_RELATIVE
};

/* Landings follow the steps. */
static uintptr_t first_landing(const struct fl_build *b)
{
	return b->ground.at + b->plan.items[b->plan.first[b->plan.shape->n_steps]].at;
}

static void fill_lookup(const struct fl_build *b, const struct fl_item *i, struct fl_lookup *l)
{
	const struct fl_shape *s = b->plan.shape;

	l->to = b->ground.at + i->at;
	l->code = fl_plan_bytes(&b->plan, i->step);
	l->len = s->steps[i->step].len;
	l->has_numbers = b->plan.has_numbers;
	l->landings = first_landing(b);
	l->n_parts = s->n_parts;
	for (uint32_t k = 0; k < s->n_parts; k++)
		l->part[k] = (struct fl_looked){
			.start = b->ground.at ? s->parts[k].start : 0,
			.table = (uintptr_t)b->tables[k],
			.bytes = (uint32_t)(s->parts[k].end - s->parts[k].start),
		};
}

size_t fl_emit_lookup(const struct fl_build *b, const struct fl_item *i, unsigned char *out,
		      struct fl_lookup *l)
{
	fill_lookup(b, i, l);
	return fl_arch_put_lookup(out, l);
}

/* Put the code that tells group `g`; 0: it cannot be told. Addresses in it are right once there
 * is ground. */
size_t fl_emit_tell(const struct fl_build *b, uint32_t g, unsigned char *out,
		       struct fl_tell *t)
{
	const struct fl_plan *p = &b->plan;
	const struct fl_group *group = &p->groups[g];
	const struct fl_item *cold = &p->items[p->cold + g];

	*t = (struct fl_tell){
		.to = b->ground.at, .cold = b->ground.at, .of = &p->told[group->first],
		.n = group->n, .keeps_flags = group->keeps_flags,
		.by_word = p->told[group->first].word & FL_ACCESS_WORD,
	};
	if (b->ground.at) {
		t->to += p->items[p->tell_of[g]].at;
		t->cold += cold->at;
		t->gate = (uintptr_t)&b->gate->tells;
		t->cs = (uintptr_t)b->sequences + g * FL_ARCH_CS_BYTES;
	}
	return fl_arch_put_tell(out, t);
}

static size_t put_cold(const struct fl_build *b, const struct fl_item *i, unsigned char *out)
{
	unsigned char tell[FL_ARCH_TELL_MAX];
	uintptr_t to = b->ground.at + i->at;
	struct fl_tell t;
	size_t n;

	fl_emit_tell(b, i->to, tell, &t);
	n = fl_arch_put_cold(out, to, &t, (uintptr_t)&b->gate->room);
	fl_arch_lay_cs(b->sequences + i->to * FL_ARCH_CS_BYTES, &t, to);
	return n;
}

static size_t tell_size(const struct fl_build *b, const struct fl_item *i)
{
	unsigned char out[FL_ARCH_TELL_MAX];
	struct fl_tell t;

	return fl_emit_tell(b, i->to, out, &t);
}

/* Put the inline code of a PATH. Addresses in it are right once there is ground. */
static size_t put_path(const struct fl_build *b, const struct fl_item *i, unsigned char *out)
{
	const struct fl_plan *p = &b->plan;
	struct fl_plan_tell *t = &p->tells[i->to];
	struct fl_path_code *c = &t->code;

	*c = (struct fl_path_code){
		.what = t->what, .to = b->ground.at, .cold = b->ground.at,
		.top_at = b->path_at, .height = t->of.height, .add = t->of.add,
		.set = t->of.set, .n_paths = t->of.n, .cell = b->cells,
		.dead = (fl_regs)~t->live,
		.flags_dead = !(t->live & FL_LIVE_FLAGS),
		.at_home = t->at_home, .n_spare = t->n_spare,
	};
	memcpy(c->spare, t->spare, sizeof c->spare);
	if (b->ground.at) {
		c->to += i->at;
		c->cold += fl_plan_has_cold(t) ? p->items[t->cold].at : 0;
		c->cs = (uintptr_t)b->sequences + i->to * FL_ARCH_CS_BYTES;
	}
	if (!p->n_cells)
		c->probe = b->ground.at ? (uintptr_t)&b->tells[i->to].probe : 1;
	return fl_arch_put_path(out, c);
}

/* A PATH_COLD stands behind its PATH, so the PATH has been put. */
size_t fl_emit_path_cold(const struct fl_build *b, const struct fl_item *i,
			 unsigned char *out, struct fl_path_code *c)
{
	const struct fl_plan_tell *t = &b->plan.tells[i->to];

	*c = t->code;
	if (!b->ground.at)
		return fl_arch_put_path_cold(out, 0, c, 0, 0);
	return fl_arch_put_path_cold(out, b->ground.at + i->at, c,
				     (uintptr_t)&b->tells[i->to],
				     (uintptr_t)&b->routines[fl_plan_routine(t)]);
}

static size_t path_size(const struct fl_build *b, const struct fl_item *i)
{
	unsigned char out[FL_ARCH_PATH_MAX];
	struct fl_path_code c;

	return i->kind == FL_ITEM_PATH ? put_path(b, i, out) : fl_emit_path_cold(b, i, out, &c);
}

size_t fl_emit_pair(const struct fl_build *b, const struct fl_item *i, unsigned char *out,
		       struct fl_exclusive_code *p)
{
	*p = (struct fl_exclusive_code){
		.part = i->to, .code = fl_plan_bytes(&b->plan, i->step),
		.own_at = b->copies->pairs_at,
	};
	return fl_arch_put_exclusive(out, p);
}

static size_t pair_size(const struct fl_build *b, const struct fl_item *i)
{
	unsigned char out[FL_ARCH_PAIR_MAX];
	struct fl_exclusive_code p;

	return fl_emit_pair(b, i, out, &p);
}

/* A short branch does not lead past the code of a PATH. */
static enum fl_past reach_of(const struct fl_item *skip)
{
	return skip[1].kind == FL_ITEM_PATH ? FL_PAST_FAR : FL_PAST_SHORT;
}

/* Until fl_emit_shorten() `is_short` is the size that the item would have. */
static size_t step_size(const struct fl_build *b, struct fl_item *i)
{
	const struct fl_shape_step *s = fl_plan_step(&b->plan, i);
	struct fl_moved moved;
	struct fl_insn insn;

	if (!(GROWING >> s->kind & 1))
		return s->len;
	insn = insn_of(s);
	moved = fl_arch_moved(fl_plan_bytes(&b->plan, i->step), &insn);
	if (i->kind == FL_ITEM_STEP && i->to != FL_NO_STEP)
		i->is_short = moved.in_short;
	return moved.in_long;
}

static size_t skip_size(const struct fl_build *b, const struct fl_item *i)
{
	unsigned char out[FL_ARCH_MOVED_MAX];
	struct fl_insn insn = insn_of(fl_plan_step(&b->plan, i));

	return fl_arch_put_skip(out, fl_plan_bytes(&b->plan, i->step), &insn, 0, reach_of(i));
}

/* Bytes of items whose kinds have a fixed size. */
static const uint8_t fixed_sizes[] = {
	[FL_ITEM_JUMP] = FL_ARCH_BRANCH_BYTES, [FL_ITEM_ON] = FL_ARCH_BRANCH_BYTES,
	[FL_ITEM_GO] = FL_ARCH_BRANCH_BYTES, [FL_ITEM_BACK] = FL_ARCH_BRANCH_BYTES,
	[FL_ITEM_GLUE] = FL_ARCH_CALL_BYTES,
	[FL_ITEM_CALL] = FL_ARCH_CALL_BYTES, [FL_ITEM_LANDING] = FL_ARCH_LANDED_BYTES,
	[FL_ITEM_COLD] = FL_ARCH_COLD_BYTES,
};

/* The size that the item will have anywhere; 0: it cannot be put. There is no ground yet. */
static size_t item_size(const struct fl_build *b, const struct fl_item *i)
{
	const struct fl_shape_step *s = fl_plan_step(&b->plan, i);
	const unsigned char *code = fl_plan_bytes(&b->plan, i->step);
	unsigned char out[FL_ARCH_MOVED_MAX + FL_ARCH_PLACE_MAX], lookup[FL_ARCH_LOOKUP_MAX];

	switch (i->kind) {
	case FL_ITEM_SKIP:
		return skip_size(b, i);
	case FL_ITEM_NOP:
		return fl_arch_put_place(out, FL_FORM_BODY_TAIL, NULL, 0);
	case FL_ITEM_POINT:
		return fl_arch_put_place(out, FL_FORM_BODY_POINT, NULL, 0);
	case FL_ITEM_RET:
		return fl_arch_put_place(out, FL_FORM_BODY_RET, code, s->len);
	case FL_ITEM_SWITCH:
		return fl_arch_put_place(out, FL_FORM_BODY_SWITCH, code, s->len);
	case FL_ITEM_LOOKUP:
		return fl_emit_lookup(b, i, lookup, &(struct fl_lookup){ .n_parts = 0 });
	case FL_ITEM_ASIDE:
		return fl_arch_put_aside(out, 0, 0, 0);
	case FL_ITEM_PATH: case FL_ITEM_PATH_COLD:
		return path_size(b, i);
	case FL_ITEM_TELL:
		return tell_size(b, i);
	case FL_ITEM_PAIR:
		return pair_size(b, i);
	}
	return 0;
}

static size_t any_size(const struct fl_build *b, struct fl_item *i)
{
	if (i->kind == FL_ITEM_RUN || i->kind == FL_ITEM_LANDINGS)
		return i->size;
	if (i->kind == FL_ITEM_STEP || i->kind == FL_ITEM_AGAIN)
		return step_size(b, i);
	return fixed_sizes[i->kind] ? fixed_sizes[i->kind] : item_size(b, i);
}

/* 0, or FLE_UNKNOWN: an instruction that cannot be moved. */
int fl_emit_measure(struct fl_build *b)
{
	struct fl_item *end = b->plan.items + b->plan.n;
	uint32_t at = 0;

	for (struct fl_item *i = b->plan.items; i < end; i++) {
		i->size = (uint16_t)any_size(b, i);
		i->at = at;
		at += i->size;
		if (!i->size) {
			b->datum = fl_plan_step(&b->plan, i)->at;
			return FLE_UNKNOWN;
		}
	}
	return 0;
}

/* Is the target near, with every branch as long as it was measured? Other branches that become
 * short only bring the target nearer. */
static bool is_short_enough(const struct fl_plan *p, const struct fl_item *i)
{
	int64_t d = (int64_t)fl_plan_offset(p, i->to) - (int64_t)i->at;

	d -= d > 0 ? i->size : i->is_short;
	return FL_ARCH_IS_SHORT(d);
}

void fl_emit_shorten(struct fl_build *b)
{
	struct fl_plan *p = &b->plan;
	struct fl_item *end = p->items + p->n;
	uint32_t at = 0;

	for (struct fl_item *i = p->items; i < end; i++)
		if (i->is_short && !is_short_enough(p, i))
			i->is_short = 0;
	for (struct fl_item *i = p->items; i < end; i++) {
		if (i->is_short)
			i->size = i->is_short;
		i->at = at;
		at += i->size;
	}
	b->n_code = at;
}

/* ---- bytes ----------------------------------------------------------------------- */

static size_t put_step(const struct fl_build *b, const struct fl_item *i, unsigned char *out)
{
	const struct fl_shape_step *s = fl_plan_step(&b->plan, i);
	const unsigned char *code = fl_plan_bytes(&b->plan, i->step);
	uintptr_t to = b->ground.at + i->at;
	uintptr_t target = i->to == FL_NO_STEP ? s->target : step_address(b, i->to);
	struct fl_insn insn = insn_of(s);

	if (i->is_short)
		return fl_arch_move_short(out, to, code, &insn, target);
	return fl_arch_move(out, to, code, &insn, s->at, target);
}

/* All bytes of the run are copied in one go. Then instructions that depend on their address are
 * written anew. 0: out of reach. */
static size_t put_run(const struct fl_build *b, const struct fl_item *i, unsigned char *out)
{
	const struct fl_shape_step *s = fl_plan_step(&b->plan, i), *end = s + i->to;
	const unsigned char *code = fl_plan_bytes(&b->plan, i->step);
	uintptr_t to = b->ground.at + i->at, from = s->at;

	memcpy(out, code, i->size);
	for (; s < end; s++) {
		size_t n = s->at - from;
		struct fl_insn insn;

		if (s->kind == FL_SHAPE_PLAIN)
			continue;
		insn = insn_of(s);
		if (fl_arch_move(out + n, to + n, code + n, &insn, s->at, s->target) != s->len)
			return 0;
	}
	return i->size;
}

/* Skips the `to` items behind it. */
static size_t put_skip(const struct fl_build *b, const struct fl_item *i, unsigned char *out)
{
	uint32_t over = i[i->to].at + i[i->to].size - (i->at + i->size);
	struct fl_insn insn = insn_of(fl_plan_step(&b->plan, i));

	return fl_arch_put_skip(out, fl_plan_bytes(&b->plan, i->step), &insn, over,
				reach_of(i));
}

/* A landing leads to its step, or to the PATH or ASIDE behind the landing. */
static size_t put_landing(const struct fl_build *b, const struct fl_item *i, unsigned char *out)
{
	const struct fl_shape_step *s = fl_plan_step(&b->plan, i);
	int32_t *table = b->tables[s->part];
	uintptr_t to = b->ground.at + i->at;

	table[s->at - b->plan.shape->parts[s->part].start] = (int32_t)(to - (uintptr_t)table);
	return fl_arch_put_landing(out, to, i < b->plan.items + b->plan.n - 1 &&
				   (i[1].kind == FL_ITEM_ASIDE ||
				    i[1].kind == FL_ITEM_PATH) ? b->ground.at + i[1].at :
				   step_address(b, i->step));
}

/* Tell the tables of the landings, which stand one behind the other. */
static void tell_landings(const struct fl_build *b, const struct fl_item *i)
{
	const struct fl_shape_step *s = fl_plan_step(&b->plan, i);
	uintptr_t start = b->plan.shape->parts[s->part].start, to = b->ground.at + i->at;
	size_t first = (to - first_landing(b)) / FL_ARCH_LANDED_BYTES + 1;
	uint16_t *numbers = b->tables[s->part];
	int32_t *distances = b->tables[s->part];
	int32_t distance = (int32_t)(to - (uintptr_t)distances);

	for (uint32_t k = 0; k < i->to; k++)
		if (b->plan.has_numbers)
			numbers[s[k].at - start] = (uint16_t)(first + k);
		else
			distances[s[k].at - start] =
				distance + (int32_t)(k * FL_ARCH_LANDED_BYTES);
}

/* In the order of their steps. */
static size_t put_landings(const struct fl_build *b, const struct fl_item *i,
			   unsigned char *out)
{
	uintptr_t to = b->ground.at + i->at;

	tell_landings(b, i);
	for (uint32_t k = 0; k < i->to; k++) {
		if (!fl_arch_put_landing(out, to, step_address(b, i->step + k)))
			return 0;
		out += FL_ARCH_LANDED_BYTES;
		to += FL_ARCH_LANDED_BYTES;
	}
	return i->size;
}

static size_t put_aside(const struct fl_build *b, const struct fl_item *i, unsigned char *out)
{
	const struct fl_plan_tell *t = &b->plan.tells[i->to];

	return fl_arch_put_aside(out, b->ground.at + i->at, (uintptr_t)&b->tells[i->to],
				 (uintptr_t)&b->routines[fl_plan_routine(t)]);
}

static size_t put_path_item(const struct fl_build *b, const struct fl_item *i,
			    unsigned char *out)
{
	struct fl_path_code c;
	size_t n = fl_emit_path_cold(b, i, out, &c);

	fl_arch_lay_path_cs(b->sequences + i->to * FL_ARCH_CS_BYTES, &c,
			    b->ground.at + i->at);
	return n;
}

static size_t put_jump(const struct fl_build *b, const struct fl_item *i, uintptr_t to,
		       unsigned char *out)
{
	return fl_arch_put_branch(out, FL_BRANCH_JUMP, b->ground.at + i->at, to);
}

static __attribute__((noinline)) size_t put_item(const struct fl_build *b,
						 const struct fl_item *i, unsigned char *out)
{
	const struct fl_shape_step *s = fl_plan_step(&b->plan, i);

	switch (i->kind) {
	case FL_ITEM_JUMP:
		return put_jump(b, i, s->target, out);
	case FL_ITEM_ON:
		return put_jump(b, i, s->at + s->len, out);
	case FL_ITEM_SKIP:
		return put_skip(b, i, out);
	case FL_ITEM_LANDING:
		return put_landing(b, i, out);
	case FL_ITEM_NOP:
		return fl_arch_put_place(out, FL_FORM_BODY_TAIL, NULL, 0);
	case FL_ITEM_POINT:
		return fl_arch_put_place(out, FL_FORM_BODY_POINT, NULL, 0);
	case FL_ITEM_RET:
		return fl_arch_put_place(out, FL_FORM_BODY_RET,
					 fl_plan_bytes(&b->plan, i->step), s->len);
	case FL_ITEM_SWITCH:
		return fl_arch_put_place(out, FL_FORM_BODY_SWITCH,
					 fl_plan_bytes(&b->plan, i->step), s->len);
	case FL_ITEM_LOOKUP:
		return fl_emit_lookup(b, i, out, &(struct fl_lookup){ .n_parts = 0 });
	case FL_ITEM_ASIDE:
		return put_aside(b, i, out);
	case FL_ITEM_GO:
		return put_jump(b, i, step_address(b, i->to), out);
	case FL_ITEM_BACK:
		return put_jump(b, i, b->ground.at + b->plan.items[i->to].at, out);
	case FL_ITEM_PATH:
		return put_path(b, i, out);
	case FL_ITEM_PATH_COLD:
		return put_path_item(b, i, out);
	case FL_ITEM_TELL:
		return fl_emit_tell(b, i->to, out, &(struct fl_tell){ .n = 0 });
	case FL_ITEM_COLD:
		return put_cold(b, i, out);
	case FL_ITEM_PAIR:
		return fl_emit_pair(b, i, out, &(struct fl_exclusive_code){ .part = 0 });
	}
	/* GLUE, CALL: place.c writes the target when it places the probe */
	return fl_arch_put_branch(out, FL_BRANCH_CALL, b->ground.at + i->at, b->ground.at);
}

/* The kinds that are most frequent come first. */
static size_t put_any(const struct fl_build *b, const struct fl_item *i, unsigned char *out)
{
	switch (i->kind) {
	case FL_ITEM_RUN:
		return put_run(b, i, out);
	case FL_ITEM_STEP: case FL_ITEM_AGAIN:
		return put_step(b, i, out);
	case FL_ITEM_LANDINGS:
		return put_landings(b, i, out);
	}
	return put_item(b, i, out);
}

int fl_emit_write(struct fl_build *b)
{
	const struct fl_item *i = b->plan.items, *end = i + b->plan.n;
	unsigned char *out = b->ground.write;

	memset(out - b->pad, FL_ARCH_TRAP & 0xff, b->pad);
	for (; i < end; i++)
		if (put_any(b, i, out + i->at) != i->size) {
			b->datum = fl_plan_step(&b->plan, i)->at;
			return FLE_NOREACH;
		}
	return 0;
}
