/*
 * shape.c - one function, instruction by instruction.
 *
 * Hides decoding: what each instruction is for whoever moves it, where direct branches lead,
 * what the jump at the entry covers. Code is read in a line. Where that meets bytes that are no
 * instruction, or a branch into the middle of one, only what can be reached is taken: then
 * every way must be known, so there may be no jump through a register.
 *
 * INVARIANT  Each step is an instruction that may be executed; a branch that stays inside
 *	leads to a step; what is not among the steps is never come to from them.
 */
#include <string.h>

#include "shape.h"

const unsigned char *fl_file_text(const struct fl_module *m, uintptr_t a, size_t *left)
{
	*left = 0;
	for (size_t i = 0; i < m->n_ph && m->file.bytes; i++) {
		const Elf64_Phdr *p = &m->ph[i];
		uintptr_t offset = a - (m->bias + p->p_vaddr);

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) || offset >= p->p_filesz)
			continue;
		*left = p->p_filesz - offset;
		return m->file.bytes + p->p_offset + offset;
	}
	return NULL;
}

const unsigned char *fl_shape_bytes(const struct fl_shape *s, const struct fl_shape_step *step)
{
	size_t left;

	return fl_file_text(s->m, step->at, &left);
}

static bool is_call(const struct fl_insn *i)
{
	return i->cls == FL_INSN_CALL || i->cls == FL_INSN_CALL_POINTER;
}

/* ---- what can be reached ------------------------------------------------- */

struct reach {
	const struct fl_module *m;
	const struct fl_shape_part *parts;
	uint32_t n_parts;
	size_t n_bytes;			/* of all parts, one behind the other */
	uint64_t *seen, *todo;		/* a bit a byte: starts of instructions */
	bool is_lost;			/* not everything is understood */
};

static size_t map_words(const struct reach *r)
{
	return r->n_bytes / 64 + 1;
}

/* SIZE_MAX: it lies in no part. */
static size_t offset_of(const struct reach *r, uintptr_t a)
{
	size_t before = 0;

	for (uint32_t i = 0; i < r->n_parts; i++) {
		size_t n = r->parts[i].end - r->parts[i].start;

		if (a - r->parts[i].start < n)
			return before + (a - r->parts[i].start);
		before += n;
	}
	return SIZE_MAX;
}

static void reach_at(struct reach *r, uintptr_t a)
{
	size_t at = offset_of(r, a);

	if (at != SIZE_MAX)
		fl_set_bit(r->todo, at);
}

static int reach_pad(void *arg, uintptr_t from, uintptr_t to, uintptr_t pad)
{
	(void)from;
	(void)to;
	reach_at(arg, pad);
	return 0;
}

/* Follow code in a line from `at` on, as far as it goes on. */
static void follow(struct reach *r, const struct fl_shape_part *part, uintptr_t at)
{
	struct fl_insn i = { .len = 0 };

	for (; at < part->end; at += i.len) {
		size_t left, bit = offset_of(r, at);
		const unsigned char *code = fl_file_text(r->m, at, &left);

		if (fl_bit(r->seen, bit))
			return;
		fl_arch_decode_flow(&i, code, code ? left : 0, at);
		r->is_lost |= !i.len || i.len > part->end - at ||
			      (i.cls == FL_INSN_JUMP && !i.target);
		if (r->is_lost)
			return;
		fl_set_bit(r->seen, bit);
		if (i.target && (i.cls == FL_INSN_JUMP || i.cls == FL_INSN_BRANCH))
			reach_at(r, i.target);
		if (i.cls == FL_INSN_JUMP || i.cls == FL_INSN_JUMP_POINTER ||
		    i.cls == FL_INSN_RET || i.cls == FL_INSN_STOP)
			return;
	}
	r->is_lost |= !is_call(&i);
}

/* One round: follow what is to be done and was not. False: there was nothing. */
static bool follow_all(struct reach *r)
{
	bool any = false;

	for (uint32_t i = 0; i < r->n_parts; i++) {
		const struct fl_shape_part *p = &r->parts[i];
		size_t base = offset_of(r, p->start);

		for (uintptr_t a = p->start; a < p->end; a++)
			if (fl_bit(r->todo, base + (a - p->start)) &&
			    !fl_bit(r->seen, base + (a - p->start)) && !r->is_lost) {
				follow(r, p, a);
				any = true;
			}
	}
	return any && !r->is_lost;
}

/* Does any instruction begin in another one? */
static bool overlap(const struct reach *r)
{
	for (uint32_t i = 0; i < r->n_parts; i++) {
		uintptr_t last = r->parts[i].start;
		size_t base = offset_of(r, last);

		for (uintptr_t a = last; a < r->parts[i].end; a++) {
			struct fl_insn insn;
			size_t left;
			const unsigned char *code;

			if (!fl_bit(r->seen, base + (a - r->parts[i].start)))
				continue;
			if (a < last)
				return true;
			code = fl_file_text(r->m, a, &left);
			fl_arch_decode_flow(&insn, code, left, a);
			last = a + insn.len;
		}
	}
	return false;
}

static void close_reach(struct reach *r)
{
	fl_scratch_close(r->seen, map_words(r) * sizeof *r->seen);
	fl_scratch_close(r->todo, map_words(r) * sizeof *r->todo);
}

/* False: not everything that can be reached is understood, and nothing is open. */
static bool open_reach(struct reach *r, const struct fl_module *m,
		       const struct fl_shape_part *parts, uint32_t n_parts)
{
	*r = (struct reach){ .m = m, .parts = parts, .n_parts = n_parts };
	for (uint32_t i = 0; i < n_parts; i++)
		r->n_bytes += parts[i].end - parts[i].start;
	r->seen = fl_scratch_open(map_words(r) * sizeof *r->seen);
	r->todo = fl_scratch_open(map_words(r) * sizeof *r->todo);
	r->is_lost = !r->seen || !r->todo;
	for (uint32_t i = 0; i < n_parts && !r->is_lost; i++)
		r->is_lost = parts[i].lsda &&
			(parts[i].lsda == FL_OBJ_UNKNOWN ||
			 fl_obj_pads(m, parts[i].lsda, parts[i].start, parts[i].end,
				     reach_pad, r));
	if (!r->is_lost)
		reach_at(r, parts[0].start);
	while (!r->is_lost && follow_all(r))
		;
	if (!r->is_lost && !overlap(r))
		return true;
	close_reach(r);
	return false;
}

/* ---- parts --------------------------------------------------------------- */

static uint32_t list_parts(struct fl_shape_part *parts, const struct fl_outline *o,
			   const struct fl_extent *x)
{
	uint32_t n = 0;

	for (;; x = &o->extents[x->next]) {
		if (n == FL_SHAPE_PARTS)
			return 0;
		parts[n++] = (struct fl_shape_part){ x->start, x->end, x->fde, x->lsda };
		if (x->next == FL_EXTENT_NONE)
			return n;
	}
}

bool fl_shape_can_reach(const struct fl_outline *o, const struct fl_extent *x)
{
	struct fl_shape_part parts[FL_SHAPE_PARTS];
	uint32_t n = list_parts(parts, o, x);
	struct reach r;

	if (!n || !open_reach(&r, o->m, parts, n))
		return false;
	close_reach(&r);
	return true;
}

/* ---- steps --------------------------------------------------------------- */

struct maker {
	struct fl_shape *s;
	const struct fl_outline *o;
	struct reach *reach;		/* NULL: all code is taken */
	uint32_t *index[FL_SHAPE_PARTS];	/* by part and byte: the step there */
	uint32_t branch;		/* the last JUMP or BRANCH so far, whose `to` is the one
					 * before until its target is marked; NO_BRANCH: none */
	bool is_torn;
};

enum { NO_BRANCH = UINT32_MAX };

static int step_part(const struct fl_shape *s, uintptr_t a)
{
	for (uint32_t i = 0; i < s->n_parts; i++)
		if (a - s->parts[i].start < s->parts[i].end - s->parts[i].start)
			return (int)i;
	return -1;
}

static uint8_t step_kind(const struct fl_shape *s, const struct fl_insn *i)
{
	switch (i->cls) {
	case FL_INSN_CALL:
		if (i->target)
			return FL_SHAPE_CALL;
		break;			/* through a pointer beside the code, if it is far */
	case FL_INSN_JUMP:
		return !i->target ? (s->is_stub ? FL_SHAPE_TAIL_POINTER : FL_SHAPE_SWITCH) :
		       step_part(s, i->target) < 0 ? FL_SHAPE_TAIL : FL_SHAPE_JUMP;
	case FL_INSN_BRANCH:
		return step_part(s, i->target) < 0 ? FL_SHAPE_BRANCH_OUT : FL_SHAPE_BRANCH;
	case FL_INSN_JUMP_POINTER:
		return FL_SHAPE_TAIL_POINTER;
	case FL_INSN_RET:
		return FL_SHAPE_RET;
	case FL_INSN_STOP:
		return FL_SHAPE_STOP;
	}
	return i->operand_at ? FL_SHAPE_RELATIVE : FL_SHAPE_PLAIN;
}

static uintptr_t target_of(const struct fl_insn *i, const unsigned char *code, uintptr_t at,
			   uint8_t kind)
{
	if (!i->operand_at)
		return kind == FL_SHAPE_PLAIN ? 0 : i->target;
	return fl_arch_operand(i, code, at);
}

/* Add steps from `at` on, as far as instructions are plain. Nobody has to decode these again:
 * the next one is where the outline has seen one begin. One look at its maps is enough for
 * several, so that none waits for memory. Returns where they end. */
static uintptr_t add_plain(struct maker *k, uint8_t part, uintptr_t at)
{
	enum { LOOK = 57, MOST = 16 };		/* bytes: of a look, of an instruction */
	const struct fl_outline *o = k->o;
	uintptr_t start = k->s->parts[part].start, end = k->s->parts[part].end, from;
	struct fl_shape_step *step = k->s->steps + k->s->n_steps;
	uint32_t n = k->s->n_steps, *index = k->index[part];

	do {
		uint64_t plain = fl_bits_from(o->plain, at - o->lo);
		uint64_t starts = fl_bits_from(o->starts, at - o->lo) >> 1;
		size_t len;

		for (from = at; plain & 1 && at < end && at - from < LOOK - MOST; at += len) {
			len = 1 + (size_t)__builtin_ctzll(starts | 1ull << MOST);
			plain >>= len;
			starts >>= len;
			len = len < end - at ? len : end - at;
			index[at - start] = n++;
			*step++ = (struct fl_shape_step){
				.at = at, .len = (uint8_t)len, .kind = FL_SHAPE_PLAIN,
				.part = part & 15,
			};
		}
	} while (at - from >= LOOK - MOST);
	k->s->n_steps = n;
	return at;
}

/* Read a part, in a line or as far as it can be reached. */
static void read_part(struct maker *k, uint8_t part)
{
	struct fl_shape *s = k->s;
	const struct fl_shape_part *p = &s->parts[part];
	size_t left, base = k->reach ? offset_of(k->reach, p->start) : 0;
	const unsigned char *code = fl_file_text(s->m, p->start, &left);
	struct fl_insn i = { .len = 0 };
	uint8_t kind, last = FL_INSN_OTHER;	/* class of the last one, NOPs apart */

	for (uintptr_t at = p->start; at < p->end; at += i.len) {
		const unsigned char *c = code + (at - p->start);

		if (k->reach && !fl_bit(k->reach->seen, base + (at - p->start))) {
			i.len = 1;
			continue;
		}
		if (!k->reach && fl_bit(k->o->plain, at - k->o->lo)) {
			i = (struct fl_insn){ .len = 0 };
			last = FL_INSN_OTHER;
			at = add_plain(k, part, at);
			continue;
		}
		fl_arch_decode_flow(&i, c, left - (at - p->start), at);
		if (!i.len) {
			k->is_torn = true;
			return;
		}
		kind = step_kind(s, &i);
		s->has_switch |= kind == FL_SHAPE_SWITCH;
		k->index[part][at - p->start] = s->n_steps;
		s->steps[s->n_steps++] = (struct fl_shape_step){
			.at = at, .target = target_of(&i, c, at, kind), .len = i.len,
			.kind = kind, .part = part & 15, .is_call = is_call(&i),
			.opcode_at = i.opcode_at & 15, .operand_at = i.operand_at & 15,
		};
		if (kind == FL_SHAPE_JUMP || kind == FL_SHAPE_BRANCH) {
			s->steps[s->n_steps - 1].to = k->branch;
			k->branch = s->n_steps - 1;
		}
		if (i.cls != FL_INSN_NOP)
			last = i.cls;
	}
	if (is_call(&i) || i.cls == FL_INSN_NOP || last == FL_INSN_BRANCH)
		s->steps[s->n_steps++] = (struct fl_shape_step){
			.at = p->end, .target = p->end, .part = part & 15,
			.kind = last == FL_INSN_BRANCH ? FL_SHAPE_RUNS_ON : FL_SHAPE_END,
		};
}

/* The step that begins at `a`; NULL: none does. What the index says of bytes where none
 * begins may be anything. */
static struct fl_shape_step *step_at(const struct maker *k, uintptr_t a)
{
	int part = step_part(k->s, a);
	struct fl_shape_step *s;
	uint32_t i;

	if (part < 0)
		return NULL;
	i = k->index[part][a - k->s->parts[part].start];
	s = &k->s->steps[i];
	return i < k->s->n_steps && s->at == a && s->part == part ? s : NULL;
}

/* Mark the step at `a` as a target. Its index. */
static uint32_t mark_target(struct maker *k, uintptr_t a)
{
	struct fl_shape_step *s = step_at(k, a);

	if (!s) {
		k->is_torn = true;
		return 0;
	}
	s->is_target = 1;
	return (uint32_t)(s - k->s->steps);
}

static int mark_pad(void *arg, uintptr_t from, uintptr_t to, uintptr_t pad)
{
	struct maker *k = arg;

	(void)from;
	(void)to;
	k->s->steps[mark_target(k, pad)].is_pad = 1;
	return 0;
}

static void mark_targets(struct maker *k)
{
	struct fl_shape *s = k->s;

	for (uint32_t i = k->branch, next; i != NO_BRANCH; i = next) {
		next = s->steps[i].to;
		s->steps[i].to = mark_target(k, s->steps[i].target);
	}
	for (uint32_t i = 0; i < s->n_parts; i++)
		if (s->parts[i].lsda)
			fl_obj_pads(s->m, s->parts[i].lsda, s->parts[i].start,
				    s->parts[i].end, mark_pad, k);
}

/* ---- the entry ------------------------------------------------------------ */

/* True when nothing leads to one of these steps, nor returns into the jump that is put there
 * behind its first byte. What a call returns to may lie behind the jump, where nothing
 * changes. */
static bool can_be_covered(const struct fl_shape *s, const struct fl_shape_step *first,
			   const struct fl_shape_step *end)
{
	for (const struct fl_shape_step *i = first; i < end; i++)
		if (i->is_target || !i->len ||
		    (i->is_call && i->at + i->len - s->entry < FL_ARCH_PAD_BYTES))
			return false;
	return true;
}

/* A loop that begins where the function does would be a call each time round. */
static void cover(struct maker *k)
{
	struct fl_shape *s = k->s;
	struct fl_shape_step *first = step_at(k, s->entry), *end = first;
	struct fl_shape_step *all = s->steps + s->first[1];
	uint32_t n = 0, most = s->before ? 1 : FL_ARCH_PAD_BYTES;

	while (end && end < all && n < most && end->at == s->entry + n)
		n += end++->len;
	s->window = n;
	if (first && !s->steps[0].is_target && can_be_covered(s, first, end))
		s->covered = (uint32_t)(end - first);
}

/* The index lies at the end of the room, behind all steps that there may be: a step a byte, and
 * one behind each part. False: there is not so much room. */
static bool lay_index(struct maker *k)
{
	enum { A_STEP = sizeof *k->s->steps / sizeof **k->index };
	struct fl_shape *s = k->s;
	size_t n = 0, n_index;
	uint32_t *at;

	for (uint32_t i = 0; i < s->n_parts; i++)
		n += s->parts[i].end - s->parts[i].start;
	n_index = n / A_STEP + 1;
	s->n_steps = (uint32_t)(n + s->n_parts + n_index);
	if (s->n_steps > s->room)
		return false;
	at = (uint32_t *)&s->steps[s->room - n_index];
	for (uint32_t i = 0; i < s->n_parts; i++) {
		k->index[i] = at;
		at += s->parts[i].end - s->parts[i].start;
	}
	s->n_steps = 0;
	return true;
}

static int make_steps(struct maker *k)
{
	struct fl_shape *s = k->s;

	if (!lay_index(k))
		return -ENOSPC;
	for (uint32_t i = 0; i < s->n_parts; i++) {
		s->first[i] = s->n_steps;
		read_part(k, (uint8_t)i);
		s->first[i + 1] = s->n_steps;
	}
	mark_targets(k);
	cover(k);
	return k->is_torn ? FLE_TORN : 0;
}

int fl_shape_open(struct fl_shape *s, const struct fl_outline *o, const struct fl_extent *f)
{
	size_t room = 1;

	for (uint32_t k = f->owner; k != FL_EXTENT_NONE; k = o->extents[k].next)
		room += 2 * (o->extents[k].end - o->extents[k].start + 1);
	*s = (struct fl_shape){ .room = (uint32_t)room };
	s->steps = fl_scratch_open(room * sizeof *s->steps);
	return s->steps ? 0 : -ENOMEM;
}

void fl_shape_close(struct fl_shape *s)
{
	fl_scratch_close(s->steps, s->room * sizeof *s->steps);
}

int fl_shape_of(struct fl_shape *s, const struct fl_outline *o, uintptr_t function,
		uint64_t *datum)
{
	size_t at = fl_outline_find(o, function);
	const struct fl_extent *x = &o->extents[at];
	struct maker k = { .s = s, .o = o, .branch = NO_BRANCH };
	struct reach reach;
	int err;

	*datum = function;
	s->m = o->m;
	s->function = function;
	s->n_steps = s->covered = s->window = s->n_parts = 0;
	if (at == o->n || x->start != function || x->kind != FL_EXTENT_FUNCTION)
		return FLE_NOENTRY;
	*datum = x->datum;
	if (x->refusal)
		return x->refusal;
	s->entry = fl_extent_entry(x);
	s->before = x->before;
	s->is_stub = x->flags & X_STUB;
	s->has_switch = false;
	s->n_parts = list_parts(s->parts, o, x);
	if (!(x->flags & X_READ))
		return make_steps(&k);
	if (!open_reach(&reach, o->m, s->parts, s->n_parts))
		return FLE_DATA;
	k.reach = &reach;
	err = make_steps(&k);
	close_reach(&reach);
	return err;
}
