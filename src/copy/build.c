/*
 * build.c - a body: from the list of its items to bytes, and to what is known of them.
 *
 * Hides sizes and addresses. The list is measured with every branch in its long form. A
 * branch whose target is near even so becomes short, which brings nothing further apart, so
 * one more walk gives every item its offset. Then all bytes are written, and beside them
 * where the place of each site is, the tables of indirect jumps, the rows for unwinders.
 *
 * INVARIANT  What fails leaves the ground as it was: bytes are taken when all are right.
 */
#include <string.h>
#include <sys/mman.h>

#include "copy/build.h"
#include "copy/paths.h"
#include "copy/plan.h"
#include "os/os.h"

struct build {
	struct fl_copies *copies;
	struct fl_plan plan;
	struct fl_ground ground;
	uint32_t n_code;
	uint32_t pad;			/* bytes that are left out before the first item */
	struct fl_copy_place *places;
	int32_t *tables[FL_SHAPE_PARTS];	/* of indirect jumps */
	uintptr_t *routines;			/* by enum fl_path_what */
	struct fl_path_tell *tells;
	intptr_t path_at;			/* fl_path_at_thread() */
	uint32_t cells;				/* the first one of its own */
	struct fl_gate *gate;
	unsigned char *sequences;	/* of groups, FL_ARCH_CS_BYTES each */
	struct fl_unwind_row *rows;
	uint64_t datum;
};

/* Of the cells that a thread's slot has for one path each. With the table's lock. */
static uint32_t next_cell;
enum { MOST_CELLS = 65536 };		/* a function's */

static uintptr_t step_address(const struct build *b, uint32_t step)
{
	return b->ground.at + b->plan.items[b->plan.first[step]].at;
}

/* ---- measure --------------------------------------------------------------------- */

/* What was decoded of a step. */
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

static bool is_branch(const struct fl_shape_step *s)
{
	return s->kind == FL_SHAPE_JUMP || s->kind == FL_SHAPE_BRANCH ||
	       s->kind == FL_SHAPE_TAIL || s->kind == FL_SHAPE_BRANCH_OUT;
}

static void fill_lookup(const struct build *b, const struct fl_item *i, struct fl_lookup *l)
{
	const struct fl_shape *s = b->plan.shape;

	l->to = b->ground.at + i->at;
	l->code = fl_plan_bytes(&b->plan, i->step);
	l->len = s->steps[i->step].len;
	l->n_parts = s->n_parts;
	for (uint32_t k = 0; k < s->n_parts; k++)
		l->part[k] = (struct fl_looked){
			.start = b->ground.at ? s->parts[k].start : 0,
			.table = (uintptr_t)b->tables[k],
			.bytes = (uint32_t)(s->parts[k].end - s->parts[k].start),
		};
}

static size_t lookup_size(const struct build *b, const struct fl_item *i)
{
	unsigned char out[FL_ARCH_LOOKUP_MAX];
	struct fl_lookup l;

	fill_lookup(b, i, &l);
	return fl_arch_put_lookup(out, &l);
}

/* What there is at group `g`; 0: nothing. All of it is right once there is ground. */
static size_t put_tell(const struct build *b, uint32_t g, unsigned char *out,
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

static size_t put_cold(const struct build *b, const struct fl_item *i, unsigned char *out)
{
	unsigned char tell[FL_ARCH_TELL_MAX];
	uintptr_t to = b->ground.at + i->at;
	struct fl_tell t;
	size_t n;

	put_tell(b, i->to, tell, &t);
	n = fl_arch_put_cold(out, to, &t, (uintptr_t)&b->gate->room);
	fl_arch_lay_cs(b->sequences + i->to * FL_ARCH_CS_BYTES, &t, to);
	return n;
}

static size_t tell_size(const struct build *b, const struct fl_item *i)
{
	unsigned char out[FL_ARCH_TELL_MAX];
	struct fl_tell t;

	return put_tell(b, i->to, out, &t);
}

/* What there is in place of a call. All of it is right once there is ground. */
static size_t put_path(const struct build *b, uint32_t k, unsigned char *out,
		       struct fl_path_code *c)
{
	const struct fl_plan *p = &b->plan;
	const struct fl_plan_tell *t = &p->tells[k];

	*c = (struct fl_path_code){
		.what = t->what, .to = b->ground.at, .cold = b->ground.at,
		.top_at = b->path_at, .height = t->of.height, .add = t->of.add,
		.set = t->of.set, .n_paths = t->of.n, .cell = b->cells,
		.dead = (fl_regs)~t->live,
		.flags_dead = !(t->live & FL_LIVE_FLAGS),
	};
	if (b->ground.at) {
		c->to += p->items[t->item].at;
		c->cold += p->items[t->cold].at;
		c->cs = (uintptr_t)b->sequences + k * FL_ARCH_CS_BYTES;
	}
	if (!p->n_cells)
		c->probe = b->ground.at ? (uintptr_t)&b->tells[k].probe : 1;
	return fl_arch_put_path(out, c);
}

static size_t put_path_cold(const struct build *b, const struct fl_item *i,
			    unsigned char *out, struct fl_path_code *c)
{
	const struct fl_plan_tell *t = &b->plan.tells[i->to];
	unsigned char path[FL_ARCH_PATH_MAX];

	put_path(b, i->to, path, c);
	if (!b->ground.at)
		return fl_arch_put_path_cold(out, 0, c, 0, 0);
	return fl_arch_put_path_cold(out, b->ground.at + i->at, c,
				     (uintptr_t)&b->tells[i->to],
				     (uintptr_t)&b->routines[t->what]);
}

static size_t path_size(const struct build *b, const struct fl_item *i)
{
	unsigned char out[FL_ARCH_PATH_MAX];
	struct fl_path_code c;

	return i->kind == FL_ITEM_PATH ? put_path(b, i->to, out, &c) :
		put_path_cold(b, i, out, &c);
}

static size_t put_pair(const struct build *b, const struct fl_item *i, unsigned char *out,
		       struct fl_exclusive_code *p)
{
	*p = (struct fl_exclusive_code){
		.part = i->to, .code = fl_plan_bytes(&b->plan, i->step),
		.own_at = b->copies->pairs_at,
	};
	return fl_arch_put_exclusive(out, p);
}

static size_t pair_size(const struct build *b, const struct fl_item *i)
{
	unsigned char out[FL_ARCH_PAIR_MAX];
	struct fl_exclusive_code p;

	return put_pair(b, i, out, &p);
}

/* What tells a path is longer than a short branch leads past. */
static enum fl_past reach_of(const struct fl_item *skip)
{
	return skip[1].kind == FL_ITEM_PATH ? FL_PAST_FAR : FL_PAST_SHORT;
}

/* As long as it will be anywhere; 0: it cannot be. There is no ground yet. */
static size_t item_size(const struct build *b, const struct fl_item *i)
{
	const struct fl_shape_step *s = fl_plan_step(&b->plan, i);
	const unsigned char *code = fl_plan_bytes(&b->plan, i->step);
	struct fl_insn insn = insn_of(s);
	unsigned char out[FL_ARCH_MOVED_MAX + FL_ARCH_PLACE_MAX];

	switch (i->kind) {
	case FL_ITEM_STEP:
		return is_branch(s) || (FL_ARCH_OPERANDS_GROW && s->kind == FL_SHAPE_RELATIVE) ?
			fl_arch_move(out, 0, code, &insn, 0, 0) : s->len;
	case FL_ITEM_SKIP:
		return fl_arch_put_skip(out, code, &insn, 0, reach_of(i));
	case FL_ITEM_NOP:
		return fl_arch_put_place(out, FL_FORM_BODY_TAIL, NULL, 0);
	case FL_ITEM_POINT:
		return fl_arch_put_place(out, FL_FORM_BODY_POINT, NULL, 0);
	case FL_ITEM_RET:
		return fl_arch_put_place(out, FL_FORM_BODY_RET, code, s->len);
	case FL_ITEM_SWITCH:
		return fl_arch_put_place(out, FL_FORM_BODY_SWITCH, code, s->len);
	case FL_ITEM_LOOKUP:
		return lookup_size(b, i);
	case FL_ITEM_LANDING:
		return FL_ARCH_LANDED_BYTES;
	case FL_ITEM_ASIDE:
		return fl_arch_put_aside(out, 0, 0, 0);
	case FL_ITEM_PATH: case FL_ITEM_PATH_COLD:
		return path_size(b, i);
	case FL_ITEM_TELL:
		return tell_size(b, i);
	case FL_ITEM_COLD:
		return FL_ARCH_COLD_BYTES;
	case FL_ITEM_PAIR:
		return pair_size(b, i);
	case FL_ITEM_GLUE: case FL_ITEM_CALL:
		return FL_ARCH_CALL_BYTES;
	}
	return FL_ARCH_BRANCH_BYTES;
}

/* 0, or FLE_UNKNOWN: an instruction that cannot be moved. */
static int measure_items(struct build *b)
{
	uint32_t at = 0;

	for (uint32_t k = 0; k < b->plan.n; k++) {
		struct fl_item *i = &b->plan.items[k];

		i->size = (uint16_t)item_size(b, i);
		i->at = at;
		at += i->size;
		if (!i->size) {
			b->datum = fl_plan_step(&b->plan, i)->at;
			return FLE_UNKNOWN;
		}
	}
	return 0;
}

/* With every branch as long as it was measured; others that become short bring it nearer. */
static bool is_short_enough(const struct fl_plan *p, const struct fl_item *i, size_t size)
{
	int64_t d = (int64_t)p->items[p->first[i->to]].at - (int64_t)i->at;

	d -= d > 0 ? i->size : (int64_t)size;
	return FL_ARCH_IS_SHORT(d);
}

/* is_short says for now how long it will be. */
static void shorten(struct fl_plan *p, struct fl_item *i)
{
	unsigned char out[FL_ARCH_MOVED_MAX];
	struct fl_insn insn = insn_of(fl_plan_step(p, i));
	size_t n = fl_arch_move_short(out, 0, fl_plan_bytes(p, i->step), &insn, 0);

	if (n && is_short_enough(p, i, n))
		i->is_short = (uint8_t)n;
}

static void set_offsets(struct build *b)
{
	struct fl_plan *p = &b->plan;
	uint32_t at = 0;

	for (uint32_t k = 0; k < p->n; k++)
		if (p->items[k].kind == FL_ITEM_STEP && p->items[k].to != FL_NO_STEP)
			shorten(p, &p->items[k]);
	for (uint32_t k = 0; k < p->n; k++) {
		struct fl_item *i = &p->items[k];

		if (i->is_short)
			i->size = i->is_short;
		i->at = at;
		at += i->size;
	}
	b->n_code = at;
}

/* ---- bytes ----------------------------------------------------------------------- */

static size_t put_step(const struct build *b, const struct fl_item *i, unsigned char *out)
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

/* `to` items behind it. */
static size_t put_skip(const struct build *b, const struct fl_item *i, unsigned char *out)
{
	uint32_t over = i[i->to].at + i[i->to].size - (i->at + i->size);
	struct fl_insn insn = insn_of(fl_plan_step(&b->plan, i));

	return fl_arch_put_skip(out, fl_plan_bytes(&b->plan, i->step), &insn, over,
				reach_of(i));
}

/* To its step, or to what is told behind it. */
static size_t put_landing(const struct build *b, const struct fl_item *i, unsigned char *out)
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

static void lay_tells(struct build *b)
{
	for (uint32_t k = 0; k < b->plan.n_tells; k++) {
		const struct fl_plan_tell *t = &b->plan.tells[k];

		b->tells[k] = t->of;
		b->tells[k].cell = b->cells;
		b->routines[t->what] = fl_path_routine(t->what);
	}
}

static size_t put_aside(const struct build *b, const struct fl_item *i, unsigned char *out)
{
	const struct fl_plan_tell *t = &b->plan.tells[i->to];

	return fl_arch_put_aside(out, b->ground.at + i->at, (uintptr_t)&b->tells[i->to],
				 (uintptr_t)&b->routines[t->what]);
}

static size_t put_path_item(const struct build *b, const struct fl_item *i,
			    unsigned char *out)
{
	struct fl_path_code c;
	size_t n = put_path_cold(b, i, out, &c);

	fl_arch_lay_path_cs(b->sequences + i->to * FL_ARCH_CS_BYTES, &c,
			    b->ground.at + i->at);
	return n;
}

static size_t put_lookup(const struct build *b, const struct fl_item *i, unsigned char *out)
{
	struct fl_lookup l;

	fill_lookup(b, i, &l);
	return fl_arch_put_lookup(out, &l);
}

static size_t put_jump(const struct build *b, const struct fl_item *i, uintptr_t to,
		       unsigned char *out)
{
	return fl_arch_put_branch(out, FL_BRANCH_JUMP, b->ground.at + i->at, to);
}

static size_t put_item(const struct build *b, const struct fl_item *i, unsigned char *out)
{
	const struct fl_shape_step *s = fl_plan_step(&b->plan, i);

	switch (i->kind) {
	case FL_ITEM_STEP:
		return put_step(b, i, out);
	case FL_ITEM_JUMP:
		return put_jump(b, i, s->target, out);
	case FL_ITEM_ON:
		return put_jump(b, i, s->at + s->len, out);
	case FL_ITEM_SKIP:
		return put_skip(b, i, out);
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
		return put_lookup(b, i, out);
	case FL_ITEM_LANDING:
		return put_landing(b, i, out);
	case FL_ITEM_ASIDE:
		return put_aside(b, i, out);
	case FL_ITEM_GO:
		return put_jump(b, i, step_address(b, i->to), out);
	case FL_ITEM_PATH:
		return put_path(b, i->to, out, &(struct fl_path_code){ .n = 0 });
	case FL_ITEM_PATH_COLD:
		return put_path_item(b, i, out);
	case FL_ITEM_TELL:
		return put_tell(b, i->to, out, &(struct fl_tell){ .n = 0 });
	case FL_ITEM_COLD:
		return put_cold(b, i, out);
	case FL_ITEM_PAIR:
		return put_pair(b, i, out, &(struct fl_exclusive_code){ .part = 0 });
	}
	/* GLUE, CALL: who places the probe says which */
	return fl_arch_put_branch(out, FL_BRANCH_CALL, b->ground.at + i->at, b->ground.at);
}

static bool is_copied(const struct build *b, const struct fl_item *i)
{
	return i->kind == FL_ITEM_STEP && fl_plan_step(&b->plan, i)->kind == FL_SHAPE_PLAIN;
}

/* How many items from `k` on are copied in one go: they are together there as here. */
static uint32_t copied_from(const struct build *b, uint32_t k)
{
	const struct fl_item *i = &b->plan.items[k];
	const struct fl_shape_step *s = fl_plan_step(&b->plan, i);
	uint32_t n = 1;

	while (k + n < b->plan.n && i[n].step == i->step + n && is_copied(b, &i[n]) &&
	       s[n].at == s[n - 1].at + s[n - 1].len)
		n++;
	return n;
}

static int write_code(struct build *b)
{
	unsigned char *out = b->ground.write;
	uint32_t n;

	memset(out - b->pad, FL_ARCH_TRAP & 0xff, b->pad);
	for (uint32_t k = 0; k < b->plan.n; k += n) {
		const struct fl_item *i = &b->plan.items[k];

		n = 1;
		if (is_copied(b, i)) {
			n = copied_from(b, k);
			memcpy(out + i->at, fl_plan_bytes(&b->plan, i->step),
			       i[n - 1].at + i[n - 1].size - i->at);
		} else if (put_item(b, i, out + i->at) != i->size) {
			b->datum = fl_plan_step(&b->plan, i)->at;
			return FLE_NOREACH;
		}
	}
	return 0;
}

/* ---- places and tables ------------------------------------------------------------- */

static enum fl_form place_form(const struct fl_item *i)
{
	switch (i->kind) {
	case FL_ITEM_NOP:
		return FL_FORM_BODY_TAIL;
	case FL_ITEM_POINT:
		return FL_FORM_BODY_POINT;
	case FL_ITEM_RET:
		return FL_FORM_BODY_RET;
	case FL_ITEM_SWITCH:
		return FL_FORM_BODY_SWITCH;
	}
	return FL_FORM_NONE;			/* no place */
}

/* From the place on; 0: none. */
static uint16_t call_of(const struct fl_item *i)
{
	switch (i->kind) {
	case FL_ITEM_SWITCH:
		return (uint16_t)(i[2].at - i->at);
	case FL_ITEM_NOP:
		return FL_ARCH_TAIL_CALL;
	case FL_ITEM_POINT:
		return FL_ARCH_POINT_CALL;
	}
	return 0;
}

/* Ascending by where they stand in the original, where a point stands in front of an exit:
 * parts may not be. */
static void keep_place(struct build *b, const struct fl_item *i, uint32_t n)
{
	uintptr_t at = fl_plan_step(&b->plan, i)->at;

	for (; n && b->places[n - 1].at > at; n--)
		b->places[n] = b->places[n - 1];
	b->places[n] = (struct fl_copy_place){
		.at = at, .offset = i->at + b->pad, .form = place_form(i),
		.call = call_of(i),
	};
}

static void keep_places(struct build *b)
{
	uint32_t n = 0;

	for (uint32_t k = 0; k < b->plan.n; k++)
		if (place_form(&b->plan.items[k]) != FL_FORM_NONE)
			keep_place(b, &b->plan.items[k], n++);
}

static size_t table_bytes(const struct fl_shape *s, uint32_t part)
{
	return (s->parts[part].end - s->parts[part].start) * sizeof(int32_t);
}

static size_t data_bytes(const struct build *b)
{
	const struct fl_shape *s = b->plan.shape;
	size_t n = b->plan.n_places * sizeof *b->places;

	for (uint32_t k = 0; b->plan.n_lookups && k < s->n_parts; k++)
		n += table_bytes(s, k);
	n = fl_round_up(n, sizeof(uintptr_t));
	if (b->plan.n_tells)
		n += FL_N_PATH_WHATS * sizeof *b->routines +
		     b->plan.n_tells * sizeof *b->tells;
	if (b->plan.n_groups || b->plan.n_tells)	/* aligned */
		n += 2 * FL_ARCH_CS_BYTES + sizeof *b->gate +
		     (b->plan.n_groups + b->plan.n_tells) * (size_t)FL_ARCH_CS_BYTES;
	return n;
}

static void lay_data(struct build *b)
{
	unsigned char *at = b->ground.data + b->plan.n_places * sizeof *b->places;

	b->places = (struct fl_copy_place *)b->ground.data;
	for (uint32_t k = 0; b->plan.n_lookups && k < b->plan.shape->n_parts; k++) {
		b->tables[k] = (int32_t *)at;
		at += table_bytes(b->plan.shape, k);
	}
	b->routines = (uintptr_t *)fl_round_up((uintptr_t)at, sizeof *b->routines);
	b->tells = (struct fl_path_tell *)(b->routines + FL_N_PATH_WHATS);
	at = b->plan.n_tells ? (unsigned char *)(b->tells + b->plan.n_tells) : at;
	b->gate = (struct fl_gate *)fl_round_up((uintptr_t)at, FL_ARCH_CS_BYTES);
	b->sequences = (unsigned char *)(b->gate + 1);
}

/* ---- for unwinders ----------------------------------------------------------------- */

/* A piece for each part, one for the landings of each, one for what is cold of it. */
struct pieces {
	struct build *b;
	struct fl_unwind_row *next;
	struct fl_unwind_piece of[3 * FL_SHAPE_PARTS];
	uint32_t n;
};

static void begin_piece(struct pieces *p, uint32_t part, uint32_t at, enum fl_piece_kind kind)
{
	p->of[p->n] = (struct fl_unwind_piece){
		.fde = p->b->plan.shape->parts[part].fde, .start = p->b->ground.at + at,
		.rows = p->next, .kind = kind,
	};
}

static void tell_row(struct pieces *p, uintptr_t at, uint32_t offset, uint32_t push)
{
	struct fl_unwind_piece *of = &p->of[p->n];

	*p->next++ = (struct fl_unwind_row){
		.at = at, .push = push,
		.offset = (uint32_t)(p->b->ground.at + offset - of->start),
	};
	of->n++;
}

static void end_piece(struct pieces *p, uint32_t at)
{
	p->of[p->n].end = p->b->ground.at + at;
	if (p->of[p->n].n && p->of[p->n].fde)
		p->n++;
}

static uint32_t item_offset(const struct build *b, uint32_t item)
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

	fill_lookup(p->b, i, &l);
	fl_arch_put_lookup(out, &l);
	tell_depths(p, i, l.depths, FL_ARCH_LOOKUP_DEPTHS);
}

static void tell_pair(struct pieces *p, const struct fl_item *i)
{
	unsigned char out[FL_ARCH_PAIR_MAX];
	struct fl_exclusive_code code;

	put_pair(p->b, i, out, &code);
	tell_depths(p, i, code.depths, code.n_depths);
}

/* Behind a part's last instruction the frame is as in it (FL_SHAPE_RUNS_ON): a table for
 * unwinding says nothing of what is behind. */
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

	put_tell(p->b, i->to, out, &t);
	tell_depths(p, i, t.depths, t.n_depths);
}

static void tell_path_depths(struct pieces *p, const struct fl_item *i)
{
	const struct fl_shape_step *step = fl_plan_step(&p->b->plan, i);
	uintptr_t at = step->len ? step->at : step->at - 1;
	unsigned char out[FL_ARCH_PATH_MAX];
	struct fl_path_code c;

	if (i->kind == FL_ITEM_PATH) {
		put_path(p->b, i->to, out, &c);
	} else {
		put_path_cold(p->b, i, out, &c);
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

	put_tell(p->b, i->to, out, &t);
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
	begin_piece(p, part, item_offset(p->b, k), FL_PIECE_BARE);
	for (; k < plan->n && fl_plan_step(plan, &plan->items[k])->part == part; k++) {
		const struct fl_item *i = &plan->items[k];

		if (i->kind == FL_ITEM_PATH_COLD)
			tell_path_depths(p, i);
		else
			tell_cold_group(p, i);
	}
	end_piece(p, item_offset(p->b, k));
}

/* The first part begins with the way in. */
static void tell_part(struct pieces *p, uint32_t part)
{
	const struct fl_plan *plan = &p->b->plan;
	uint32_t from = part ? plan->first[plan->steps[part]] : 0;
	uint32_t to = plan->first[plan->steps[part + 1]];
	uint32_t last = FL_NO_STEP;

	begin_piece(p, part, item_offset(p->b, from), FL_PIECE_BODY);
	for (uint32_t k = from; k < to; k++) {
		const struct fl_item *i = &plan->items[k];

		if (i->step != last && fl_plan_step(plan, i)->len)
			tell_row(p, fl_plan_step(plan, i)->at, i->at, 0);
		last = i->step;
		if (i->kind == FL_ITEM_LOOKUP)
			tell_lookup(p, i);
		else if (i->kind == FL_ITEM_POINT)
			tell_depths(p, i, fl_arch_point_depths, FL_ARCH_POINT_DEPTHS);
		else if (i->kind == FL_ITEM_ASIDE)
			tell_aside(p, i);
		else if (i->kind == FL_ITEM_PATH)
			tell_path_depths(p, i);
		else if (i->kind == FL_ITEM_PAIR)
			tell_pair(p, i);
		else if (i->kind == FL_ITEM_TELL)
			tell_group(p, i);
	}
	end_piece(p, item_offset(p->b, to));
}

static void tell_landings(struct pieces *p, uint32_t part)
{
	const struct fl_plan *plan = &p->b->plan;
	uint32_t k = plan->first[plan->shape->n_steps];

	while (k < plan->cold && fl_plan_step(plan, &plan->items[k])->part < part)
		k++;
	begin_piece(p, part, item_offset(p->b, k), FL_PIECE_BARE);
	for (; k < plan->cold; k++) {
		const struct fl_item *i = &plan->items[k];

		if (fl_plan_step(plan, i)->part != part)
			break;
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

static int tell_unwinders(struct build *b)
{
	struct pieces p = { .b = b, .next = b->rows };
	struct fl_unwind_body body = { .m = b->plan.shape->m, .pieces = p.of };

	for (uint32_t k = 0; k < b->plan.shape->n_parts; k++)
		tell_part(&p, k);
	for (uint32_t k = 0; k < b->plan.shape->n_parts; k++)
		tell_landings(&p, k);
	for (uint32_t k = 0; k < b->plan.shape->n_parts && b->plan.cold < b->plan.n; k++)
		tell_cold(&p, k);
	body.n = p.n;
	return fl_unwind_emit(b->ground.unwind, &body, &b->datum);
}

/* ---- a body ------------------------------------------------------------------------ */

/* Bytes to leave out, so that the entry's jumps to both ways have the same high bytes. */
static uint32_t bytes_to_leave(const struct build *b, uintptr_t at)
{
	uint32_t low = (uint32_t)(at - (b->plan.shape->entry + FL_ARCH_BRANCH_BYTES)) & 0xff;

	return low + FL_ARCH_CALL_BYTES > 0xff ? 0x100 - low : 0;
}

/* 0, or why there is no ground for it. */
static int take_ground(struct build *b)
{
	enum { LEFT_OUT_MAX = 0x100 };
	int err = fl_copies_reserve(b->copies, b->n_code + LEFT_OUT_MAX, data_bytes(b),
				    &b->ground);

	if (err)
		return err;
	b->pad = bytes_to_leave(b, b->ground.at);
	b->ground.at += b->pad;
	b->ground.write += b->pad;
	lay_data(b);
	lay_tells(b);
	return 0;
}

/* Where a thread goes on that stands in what the entry's jump covers, if nobody comes there
 * later. */
static void tell_copies(const struct fl_plan *p, uint8_t copies[FL_ARCH_INNER])
{
	for (uint32_t k = 1; k < p->shape->displaced; k++) {
		const struct fl_shape_step *step = &p->shape->steps[p->entry + k];
		uint32_t at = p->items[p->first[p->entry + k]].at - FL_ARCH_CALL_BYTES;

		if (step->at - p->shape->entry < FL_ARCH_INNER && at <= UINT8_MAX)
			copies[step->at - p->shape->entry] = (uint8_t)at;
	}
}

static int write_body(struct build *b, struct fl_copy *copy)
{
	const struct fl_plan *p = &b->plan;
	uintptr_t code = b->ground.at - b->pad;
	int err = write_code(b);

	if (!err) {
		keep_places(b);
		err = tell_unwinders(b);
	}
	if (err) {
		memset(b->ground.data, 0, data_bytes(b));
		return err;
	}
	*copy = (struct fl_copy){
		.function = p->shape->function, .entry = p->shape->entry, .code = code,
		.on = b->ground.at, .off = b->ground.at + FL_ARCH_CALL_BYTES,
		.call = b->pad, .places = b->places,
		.n_places = p->n_places, .n_code = b->n_code + b->pad,
		.tells = b->tells, .n_tells = p->n_tells,
	};
	tell_copies(p, copy->copies);
	if (p->n_groups)
		fl_gate_open(b->gate);
	next_cell += p->n_cells;
	fl_copies_take(b->copies, copy->n_code, data_bytes(b));
	return 0;
}

/* Memory that is kept until the copies end. NULL: there is none. */
static void *get_scratch(struct fl_copies *c, size_t n)
{
	void *p;

	if (c->scratch_bytes >= n)
		return c->scratch;
	p = fl_os_map(NULL, 2 * n, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (fl_is_err(p))
		return NULL;
	if (c->scratch)
		fl_os_unmap(c->scratch, c->scratch_bytes);
	c->scratch_bytes = 2 * n;
	return c->scratch = p;
}

/* Accesses that are told, at most so many; what is aligned most first. Where that ends. */
enum { TOLD_BYTES = sizeof(struct fl_tellable) + sizeof(struct fl_group) +
		    2 * sizeof(uint32_t) };

static unsigned char *lay_told(struct fl_plan *p, unsigned char *at, size_t most)
{
	p->told = (struct fl_tellable *)at;
	p->groups = (struct fl_group *)(p->told + most);
	p->told_at = (uint32_t *)(p->groups + most);
	p->tell_of = p->told_at + most;
	return at + fl_round_up(most * TOLD_BYTES, sizeof(uintptr_t));
}

/* Places are numbered from `first` on. */
static bool is_told_in_words(const struct fl_plan *p, const struct fl_group *g, uint32_t first)
{
	uint32_t end = g->first + g->n;

	for (uint32_t k = g->first; k < end; k++)
		if (p->told[k].operand.is_32 || p->told[k].operand.repeats)
			return false;
	return first + end <= FL_WORD_PLACES;
}

static void choose_word(struct fl_plan *p, uint32_t k, uint32_t first)
{
	p->told[k].word = FL_ACCESS_WORD | (uint64_t)(first + k) << FL_WORD_ADDRESS_BITS;
}

/* Numbers for what is told. */
static int number_places(struct build *b)
{
	struct fl_plan *p = &b->plan;
	uint32_t first = p->n_told ? fl_channel_claim_places(p->n_told) : 0;

	if (first == FL_MAX_PLACES)
		return -EFBIG;
	for (uint32_t k = 0; k < p->n_told; k++) {
		const struct fl_operand *o = &p->told[k].operand;
		uint32_t what = o->size;

		what |= o->what & FL_OPERAND_STORE ? FLICK_ACCESS_STORE : 0;
		what |= o->what & FL_OPERAND_LOAD ? FLICK_ACCESS_LOAD : 0;
		p->told[k].word = o->repeats ? fl_typed(FLICK_TYPE_STRING, first + k) :
				  fl_typed(FLICK_TYPE_ACCESS, first + k) |
				  (uint64_t)what << 32;
		fl_channel_tell_place(first + k, b->copies->pid,
				      p->shape->steps[p->told_at[k]].at, what);
	}
	for (uint32_t g = 0; g < p->n_groups; g++)
		if (is_told_in_words(p, &p->groups[g], first))
			for (uint32_t k = 0; k < p->groups[g].n; k++)
				choose_word(p, p->groups[g].first + k, first);
	return 0;
}

static int make_plan(struct build *b)
{
	const struct fl_shape *s = b->plan.shape;
	struct fl_plan *p = &b->plan;
	bool paths = b->copies->weaves & FL_WEAVE_PATHS;
	bool accesses = b->copies->weaves & FL_WEAVE_ACCESSES && !paths;
	size_t told = accesses ? (size_t)s->n_steps * FL_PLAN_TOLD : 0;
	size_t n = fl_plan_items(s) + 2 * told;
	size_t rows = (paths ? 2 * FL_PATH_DEPTHS : 3) * n +
		      n * FL_ARCH_LOOKUP_DEPTHS / 4 +	/* a look-up has 4 items */
		      s->n_points * FL_ARCH_POINT_DEPTHS + told * (FL_TELL_DEPTHS + 3ul);
	size_t first = (s->n_steps + 2ul) * sizeof *p->first;
	unsigned char *more;
	int err;

	first = fl_round_up(first, sizeof(uintptr_t));
	b->rows = get_scratch(b->copies, rows * sizeof *b->rows + n * sizeof *p->items +
			      first + fl_round_up(told * TOLD_BYTES, sizeof(uintptr_t)) +
			      (paths ? n * sizeof *p->tells + fl_blocks_memory(s) +
				       s->n_steps * sizeof(uint32_t) : 0));
	if (!b->rows)
		return -ENOMEM;
	p->accesses = accesses;
	p->cells = FL_PATH_OWN_CELLS - next_cell < MOST_CELLS ?
		FL_PATH_OWN_CELLS - next_cell : MOST_CELLS;
	b->path_at = paths ? fl_path_at_thread() : 0;
	p->items = (struct fl_item *)(b->rows + rows);
	p->first = (uint32_t *)(p->items + n);
	more = (unsigned char *)p->first + first;
	more = lay_told(p, more, told);
	p->tells = (struct fl_plan_tell *)more;
	more += n * sizeof *p->tells;
	err = paths ? fl_plan_paths(p, more, &b->datum) : fl_plan_entry(p, &b->datum);
	b->cells = p->n_cells ? FL_PATH_CELLS + next_cell : fl_path_cell(s->function);
	if (!err)
		err = number_places(b);
	return err ? err : fl_plan_check(p, b->copies->exclusive, &b->datum);
}

static int build(struct fl_copies *c, const struct fl_shape *s, struct fl_copy *copy,
		 uint64_t *datum)
{
	struct build b = { .copies = c, .plan.shape = s, .datum = s->function };
	int err = make_plan(&b);

	if (!err)
		err = measure_items(&b);
	if (!err) {
		set_offsets(&b);
		err = take_ground(&b);
	}
	if (!err)
		err = write_body(&b, copy);
	*datum = b.datum;
	return err;
}

/* A block may be full of rows for unwinders first. */
int fl_copy_build(struct fl_copies *c, const struct fl_shape *s, struct fl_copy *copy,
		  uint64_t *datum)
{
	int err = build(c, s, copy, datum);

	if (err != -ENOSPC)
		return err;
	fl_copies_fill(c);
	return build(c, s, copy, datum);
}
