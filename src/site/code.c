/*
 * code.c - text, decoded once: the steps that matter, and where blocks begin.
 *
 * Hides the instructions. What is left of a range is a row of steps (cyg.h),
 * its profiling calls as notes, and a bit for each place where a line of code
 * may be come to otherwise than from the instruction before: targets of
 * branches, landing pads of exceptions (from the tables of the unwinder), what
 * stands behind a branch, and every address of code that code itself forms.
 */
#include <string.h>

#include "cyg.h"

enum { ALL = (fl_regs)~0u };

/* Registers whose way is followed: others hold a constant for a few instructions,
 * between its load and the argument. */
#define FOLLOWED (FL_ARCH_KEPT | 1u << FL_ARCH_ARG0 | 1u << FL_ARCH_SP)

uint32_t fl_code_offset(const struct fl_code *c, uintptr_t a)
{
	if (a - c->lo >= c->hi - c->lo && c->is_fixed)
		a += c->m->bias;	/* an absolute address of a file laid out elsewhere */
	if (a - c->lo >= c->hi - c->lo || (!c->is_whole && !fl_text_bytes(c->m, a)))
		return FL_NOWHERE;
	return (uint32_t)(a - c->lo);
}

size_t fl_code_range(const struct fl_code *c, uint32_t at)
{
	size_t i = fl_ranges_find(&c->ranges, c->lo + at);

	return i < c->ranges.n && c->ranges.r[i].start <= c->lo + at ? i : c->ranges.n;
}

bool fl_code_is_torn(const struct fl_code *c, const struct fl_part *p)
{
	for (size_t i = fl_part_start(c, p); i < p->end; i = (i | 63) + 1) {
		uint64_t w = (c->labels[i / 64] & ~c->starts[i / 64]) >> i % 64;

		if (p->end - i < 64)
			w &= (1ull << (p->end - i)) - 1;
		if (w)
			return true;
	}
	return p->is_broken;
}

void fl_code_link(struct fl_code *c, size_t range, uint32_t target)
{
	c->parts[range].has_links = 1;
	if (c->n_links == c->room_links) {
		c->is_lost = true;
		return;
	}
	c->links[c->n_links++] = (struct fl_link){ (uint32_t)range, target };
}

/* ---- one range ----------------------------------------------------------- */

struct reader {
	struct fl_code *c;
	struct fl_part *p;
	size_t range, pad;		/* the first pad that may still matter */
	uint32_t from, to;		/* the range, as offsets */
	uint32_t kills;			/* since the last step */
	uint32_t behind;		/* the last instruction that goes elsewhere */
	bool has_pads;			/* all of its landing pads are known */
	fl_regs paged;			/* registers that page[] is known of */
	fl_regs stale;			/* of these, written since */
	fl_regs fresh;			/* ... loaded since code last went elsewhere */
	uintptr_t page[FL_ARCH_REGS];
};

static void emit(struct reader *r, uint32_t at, uint8_t op, unsigned int reg, uint32_t v)
{
	struct fl_code *c = r->c;

	if (c->n_steps == c->room_steps) {
		c->is_lost = true;
		return;
	}
	c->steps[c->n_steps++] = (struct fl_step){
		.at = at, .v = v, .kills = r->kills, .op = op, .reg = reg,
	};
	r->kills = 0;
}

/* A branch, or an exception, may land at `to`. */
static void land(struct reader *r, uint32_t to)
{
	if (to == FL_NOWHERE)
		return;
	fl_set_bit(r->c->labels, to);
	if (to - r->from >= r->to - r->from)
		fl_code_link(r->c, r->range, to);
}

/* What stands behind an instruction is a block of its own. */
static void begin_block(struct reader *r, uint32_t at)
{
	if (at < r->c->hi - r->c->lo)
		fl_set_bit(r->c->labels, at);
}

/* ... and is not gone on to. */
static void leave(struct reader *r, uint32_t behind)
{
	begin_block(r, behind);
	r->behind = behind;
}

void fl_code_expose(struct fl_code *c, uint32_t at)
{
	if (fl_bit(c->entries, at))
		return;
	fl_set_bit(c->labels, at);
	fl_set_bit(c->entries, at);
	fl_reach_judge(&c->reach, c->lo + at);
}

/* ---- loads --------------------------------------------------------------- */

static void take_address(struct reader *r, unsigned int reg, uint32_t at, uintptr_t a)
{
	const struct fl_module *m = r->c->m;
	uint32_t v = fl_code_offset(r->c, a);

	if (v != FL_NOWHERE) {
		fl_code_expose(r->c, v);
		emit(r, at, FL_STEP_CODE, reg, v);
		return;
	}
	if (r->c->is_fixed && a - m->lo >= m->hi - m->lo)
		a += m->bias;
	if (a - m->lo < m->hi - m->lo && a - m->lo < FL_NOWHERE)
		emit(r, at, FL_STEP_DATA, reg, (uint32_t)(a - m->lo));
	else
		r->kills |= 1u << reg;
}

/* Part of an address: a page, or what a sum adds to one. A sum's page is that of the page
 * instruction that was read last: if both make an address of code, the address is known to
 * code, whatever the register held on other paths; except where the register was written since,
 * and nobody jumps to what is between. A part that makes no address of text is not followed. */
static void take_part(struct reader *r, const struct fl_insn *i, uint32_t at)
{
	enum { FAR = 1 << FL_SUM_BITS };
	bool is_page = i->cls == FL_INSN_LOAD_PAGE;
	bool is_known = (r->paged & ~r->stale) >> i->source & 1;
	uint32_t to = FL_NOWHERE;

	if (!is_page && is_known)
		to = fl_code_offset(r->c, r->page[i->source] + i->target);
	if (is_page) {
		r->fresh |= ~r->paged & 1u << i->reg;
		r->paged |= 1u << i->reg;
		r->stale &= ~(1u << i->reg);
		r->page[i->reg] = i->target;
	}
	if (is_page && i->target + FAR > r->c->lo && i->target < r->c->hi) {
		emit(r, at, FL_STEP_PAGE, i->reg, (uint32_t)(i->target - r->c->lo));
	} else if (to != FL_NOWHERE) {
		fl_code_expose(r->c, to);
		emit(r, at, FL_STEP_SUM, i->reg,
		     (uint32_t)i->source << FL_SUM_BITS | (uint32_t)i->target);
	} else {
		r->kills |= 1u << i->reg;
	}
}

/* What a pointer holds for good is as good as a constant. Another module's function
 * is known by the pointer, which is empty in a file that was laid out. */
static void take_pointer(struct reader *r, unsigned int reg, uint32_t at, uintptr_t pointer)
{
	const struct fl_module *m = r->c->m;
	uintptr_t v;

	if (pointer - m->lo >= FL_NOWHERE || !fl_obj_is_constant(m, pointer, sizeof v)) {
		r->kills |= 1u << reg;
		return;
	}
	memcpy(&v, (const void *)pointer, sizeof v);
	if (v - m->lo < m->hi - m->lo || (v && r->c->is_fixed))
		take_address(r, reg, at, v);
	else
		emit(r, at, FL_STEP_POINTER, reg, (uint32_t)(pointer - m->lo));
}

/* ---- the frame ----------------------------------------------------------- */

static void lose_stack(struct reader *r, uint32_t at, uint32_t kills)
{
	r->kills |= kills;
	emit(r, at, FL_STEP_LOST, 0, 0);
}

static void take_frame(struct reader *r, const struct fl_insn *i, uint32_t at)
{
	static const uint8_t ops[] = {
		[FL_INSN_LOAD_FRAME] = FL_STEP_LOAD, [FL_INSN_STORE_FRAME] = FL_STEP_STORE,
		[FL_INSN_FRAME_ADDRESS] = FL_STEP_FRAME, [FL_INSN_SMASH] = FL_STEP_SMASH,
	};
	unsigned int by = i->source == FL_ARCH_SP ? 0 : FL_STEP_BY_FP;

	if (i->cls == FL_INSN_FRAME_ADDRESS ? i->reg != FL_ARCH_SP && i->reg != FL_ARCH_FP :
	    i->cls == FL_INSN_LOAD_FRAME && !(FOLLOWED >> i->reg & 1))
		r->kills |= 1u << i->reg;
	else if (i->cls == FL_INSN_SMASH && i->reg == FL_ANYWHERE)
		lose_stack(r, at, i->writes);
	else
		emit(r, at, ops[i->cls], i->reg | by, (uint32_t)i->target);
	if (i->cls == FL_INSN_SMASH)
		r->kills |= i->writes;
}

/* ---- branches ------------------------------------------------------------ */

static uint8_t form_of(const struct fl_insn *i)
{
	switch (i->cls) {
	case FL_INSN_CALL:
		return FL_FORM_CALL;
	case FL_INSN_JUMP:
		return FL_FORM_JUMP;
	case FL_INSN_CALL_POINTER:
		return i->opcode_at ? FL_FORM_NONE : FL_FORM_CALL_POINTER;
	case FL_INSN_JUMP_POINTER:
		return i->opcode_at ? FL_FORM_NONE : FL_FORM_JUMP_POINTER;
	}
	return FL_FORM_NONE;
}

struct fl_site fl_code_site(const struct fl_insn *i, uintptr_t at, enum fl_hook h)
{
	struct fl_site s = {
		.at = at, .kind = h == FL_HOOK_ENTER ? FL_ENTRY : FL_EXIT,
		.form = form_of(i), .room = i->len,
	};

	if (s.form == FL_FORM_NONE) {
		s.refusal = FLE_UNKNOWN;
		s.datum = ((const unsigned char *)at)[i->opcode_at];
	}
	return s;
}

/* The landing pad of the call that returns to `ret`; 0: none. */
static uint32_t find_pad(struct reader *r, uint32_t ret)
{
	struct fl_code *c = r->c;

	while (r->pad < c->n_pads && c->pads[r->pad].to < ret)
		r->pad++;
	return r->pad < c->n_pads && c->pads[r->pad].from < ret ? c->pads[r->pad].pad : 0;
}

/* Behind a call, which may go on at a landing pad instead. A call into the middle of this range
 * is no call of a function: nobody knows what it does to the stack. */
static void return_here(struct reader *r, const struct fl_insn *i, uint32_t at,
			bool is_function)
{
	uint32_t ret = at + i->len, pad = find_pad(r, ret);

	if (!r->has_pads || !is_function) {
		lose_stack(r, at, ALL);
		r->kills = ALL;
	} else if (pad) {
		emit(r, at, FL_STEP_CALL, 0, pad);
		land(r, pad);
		begin_block(r, ret);
	}
	r->kills |= FL_ARCH_SCRATCH | i->writes;
}

static void take_hook(struct reader *r, const struct fl_insn *i, uint32_t at,
		      enum fl_hook h)
{
	bool is_end = i->cls == FL_INSN_JUMP || i->cls == FL_INSN_JUMP_POINTER;
	struct fl_code *c = r->c;
	const struct fl_site site = fl_code_site(i, c->lo + at, h);

	if (c->n_notes == c->room_notes) {
		c->is_lost = true;
		return;
	}
	c->notes[c->n_notes] = (struct fl_note){
		.at = at, .range = (uint32_t)r->range, .room = site.room, .form = site.form,
		.source = FL_STEP_LOST, .kind = site.kind, .opcode = (uint8_t)site.datum,
	};
	c->notes[c->n_notes].step = (uint32_t)c->n_steps;
	emit(r, at, is_end ? FL_STEP_END : FL_STEP_HOOK, 0, (uint32_t)c->n_notes++);
	if (is_end)
		leave(r, at + i->len);
	else
		return_here(r, i, at, true);
}

static void take_jump(struct reader *r, const struct fl_insn *i, uint32_t at, uint32_t to)
{
	r->kills |= i->writes;
	if (i->cls == FL_INSN_BRANCH) {
		emit(r, at, FL_STEP_BRANCH, 0, to);
	} else if (i->cls == FL_INSN_JUMP && !i->target) {
		emit(r, at, FL_STEP_SWITCH, 0, 0);
		r->p->has_switch = 1;
	} else {
		emit(r, at, to == FL_NOWHERE ? FL_STEP_END : FL_STEP_JUMP, 0, to);
	}
	land(r, to);
	if (i->cls == FL_INSN_BRANCH)
		begin_block(r, at + i->len);
	else
		leave(r, at + i->len);
}

static void take_branch(struct reader *r, const struct fl_insn *i, uint32_t at)
{
	bool is_call = i->cls == FL_INSN_CALL || i->cls == FL_INSN_CALL_POINTER;
	bool is_direct = i->target && i->cls != FL_INSN_CALL_POINTER &&
			 i->cls != FL_INSN_JUMP_POINTER;
	uint32_t to = is_direct ? fl_code_offset(r->c, i->target) : FL_NOWHERE;
	bool is_inside = to - r->from < r->to - r->from;
	enum fl_hook h;

	if (to != FL_NOWHERE && is_call)
		fl_code_expose(r->c, to);
	else if (to != FL_NOWHERE && !is_inside && !fl_bit(r->c->entries, to) &&
		 !fl_reach_hook(&r->c->reach, i))
		fl_reach_judge(&r->c->reach, i->target);
	h = is_inside ? FL_HOOK_NONE : fl_reach_hook(&r->c->reach, i);
	if (h)
		take_hook(r, i, at, h);
	else if (is_call)
		return_here(r, i, at, !is_inside || to == r->from);
	else
		take_jump(r, i, at, to);
}

/* ---- every instruction --------------------------------------------------- */

static void take(struct reader *r, const struct fl_insn *i, uint32_t at)
{
	switch (i->cls) {
	case FL_INSN_CALL: case FL_INSN_CALL_POINTER: case FL_INSN_JUMP:
	case FL_INSN_JUMP_POINTER: case FL_INSN_BRANCH:
		take_branch(r, i, at);
		break;
	case FL_INSN_RET: case FL_INSN_STOP:
		emit(r, at, FL_STEP_END, 0, FL_NOWHERE);
		leave(r, at + i->len);
		break;
	case FL_INSN_LOAD_ADDRESS:
		r->kills |= i->writes & ~(1u << i->reg);	/* of two in a row */
		take_address(r, i->reg, at, i->target);
		break;
	case FL_INSN_LOAD_PAGE: case FL_INSN_SUM:
		take_part(r, i, at);
		break;
	case FL_INSN_LOAD_POINTER:
		r->kills |= i->writes & ~(1u << i->reg);
		take_pointer(r, i->reg, at, i->target);
		break;
	case FL_INSN_MOVE:
		if (FOLLOWED >> i->reg & 1)
			emit(r, at, FL_STEP_MOVE, i->reg, i->source);
		else
			r->kills |= 1u << i->reg;
		break;
	case FL_INSN_POP:
		emit(r, at, FL_STEP_POP, i->reg, 0);
		break;
	case FL_INSN_PUSH:
		emit(r, at, FL_STEP_PUSH, i->reg, 0);
		break;
	case FL_INSN_LEAVE:
		emit(r, at, FL_STEP_LEAVE, 0, 0);
		r->kills |= 1u << FL_ARCH_FP;
		break;
	case FL_INSN_ALIGN:
		emit(r, at, FL_STEP_ALIGN, 0, 0);
		break;
	default:
		take_frame(r, i, at);
	}
}

/* Code may go on into the range after this one. What was written since the last step is noted
 * in one step more. */
static void run_on(struct reader *r, uint32_t at)
{
	if (r->kills)
		emit(r, at - 1, FL_STEP_LOST, 0, 0);
	fl_code_link(r->c, r->range, at);
}

static int note_pad(void *arg, uintptr_t from, uintptr_t to, uintptr_t pad)
{
	struct fl_code *c = arg;
	uint32_t at = fl_code_offset(c, pad);

	if (at == FL_NOWHERE || c->n_pads == c->room_pads)
		return FLE_TRUNCATED;
	c->pads[c->n_pads++] = (struct fl_pad){ (uint32_t)(from - c->lo),
						(uint32_t)(to - c->lo), at };
	return 0;
}

static bool read_pads(struct fl_code *c, const struct fl_range *r)
{
	c->n_pads = 0;
	return !r->lsda || (r->lsda != FL_OBJ_UNKNOWN &&
			    !fl_obj_pads(c->m, r->lsda, r->start, r->end, note_pad, c));
}

/* The registers that it writes, except with pages. */
static uint32_t written(const struct fl_insn *i)
{
	if (i->cls == FL_INSN_CALL || i->cls == FL_INSN_CALL_POINTER)
		return FL_ARCH_SCRATCH;
	return i->cls == FL_INSN_LOAD_PAGE ? 0 : i->writes;
}

/* A page that is overwritten before code goes elsewhere has come to nobody else. While no
 * register has a page there is nothing to forget: `stale` is asked of those that have one, and
 * whoever loads a page takes the register out of it. */
static void forget_pages(struct reader *r, const struct fl_insn *i)
{
	fl_regs gone = r->fresh & written(i);

	r->stale |= written(i);
	r->paged &= ~gone;
	switch (i->cls) {
	case FL_INSN_CALL: case FL_INSN_CALL_POINTER: case FL_INSN_JUMP:
	case FL_INSN_JUMP_POINTER: case FL_INSN_BRANCH:
		r->fresh = 0;
		break;
	default:
		r->fresh &= ~gone;
	}
}

void fl_code_skip(struct fl_code *c, size_t range)
{
	c->parts[range] = (struct fl_part){
		.owner = (uint32_t)range, .next = FL_NOWHERE, .targets = FL_NOWHERE,
		.end = (uint32_t)(c->ranges.r[range].start - c->lo),
	};
}

void fl_code_read(struct fl_code *c, size_t range)
{
	const struct fl_range *span = &c->ranges.r[range];
	struct fl_part *p = &c->parts[range];
	struct reader r = {
		.c = c, .p = p, .range = range, .has_pads = read_pads(c, span),
		.from = (uint32_t)(span->start - c->lo), .to = (uint32_t)(span->end - c->lo),
	};
	size_t left = fl_text_bytes(c->m, span->start);
	uint32_t at = r.from;
	struct fl_insn i;

	*p = (struct fl_part){
		.first = (uint32_t)c->n_steps, .note = (uint32_t)c->n_notes,
		.owner = (uint32_t)range, .next = FL_NOWHERE, .targets = FL_NOWHERE,
	};
	fl_set_bit(c->labels, at);
	for (; at < r.to; at += i.len, left -= i.len) {
		fl_arch_decode_two(&i, (const unsigned char *)c->lo + at, left, c->lo + at);
		if (!i.len) {
			p->is_broken = 1;
			break;
		}
		fl_set_bit(c->starts, at);
		if (r.stale && fl_bit(c->labels, at))
			r.stale = 0;
		if (i.writes >> FL_ARCH_SP & 1)
			lose_stack(&r, at, i.writes);
		else if (i.cls == FL_INSN_OTHER || i.cls == FL_INSN_NOP)
			r.kills |= i.writes;
		else
			take(&r, &i, at);
		if (r.paged)
			forget_pages(&r, &i);
	}
	p->end = at < r.to ? at : r.to;
	if (at == r.to && r.behind != at && !span->is_frame && range + 1 < c->ranges.n &&
	    span[1].start == span->end)
		run_on(&r, at);
	p->n = (uint32_t)c->n_steps - p->first;
	p->n_notes = (uint32_t)c->n_notes - p->note;
}

/* ---- set-up -------------------------------------------------------------- */

static void find_span(struct fl_code *c)
{
	size_t n = 0;

	c->lo = UINTPTR_MAX;
	for (size_t i = 0; i < c->m->n_ph; i++) {
		const Elf64_Phdr *p = &c->m->ph[i];
		uintptr_t a = c->m->bias + p->p_vaddr;

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
			continue;
		n++;
		if (a < c->lo)
			c->lo = a;
		if (a + p->p_memsz > c->hi)
			c->hi = a + p->p_memsz;
	}
	c->is_whole = n == 1;
	c->is_fixed = c->m->laid_out && c->m->file.eh->e_type == ET_EXEC;
}

/* Room for those of which there may be many: bytes of code for each. */
enum { STEP_BYTES = 4, NOTE_BYTES = 8, LINK_BYTES = 16, TARGET_BYTES = 16, PAD_BYTES = 8 };

#define MAP(field, n) ((field) = fl_scratch_open((n) * sizeof *(field)))
#define FULL(field, n) ((field) = fl_scratch_full((n) * sizeof *(field)))

static bool map_all(struct fl_code *c, size_t n)
{
	size_t words = n / 64 + 2;

	c->room_steps = n / STEP_BYTES + 64;
	c->room_notes = n / NOTE_BYTES + 1;
	c->room_links = n / LINK_BYTES + 1;
	c->room_targets = n / TARGET_BYTES + 1;
	c->room_pads = n / PAD_BYTES + 1;
	return FULL(c->labels, words) && FULL(c->entries, words) && FULL(c->starts, words) &&
	       MAP(c->switched, words) && MAP(c->steps, c->room_steps) &&
	       MAP(c->notes, c->room_notes) && MAP(c->links, c->room_links) &&
	       MAP(c->targets, c->room_targets) && MAP(c->pads, c->room_pads) &&
	       FULL(c->parts, c->ranges.n);
}

/* 0 with no ranges: nothing to decode. */
int fl_code_open(struct fl_code *c, const struct fl_module *m)
{
	int err = fl_ranges_open(&c->ranges, m);

	c->m = m;
	find_span(c);
	if (err || !c->ranges.n)
		return err;
	if (c->hi - c->lo >= FL_NOWHERE)
		return -EFBIG;
	return map_all(c, c->hi - c->lo) ? 0 : -ENOMEM;
}

#define UNMAP(field, n) fl_scratch_close((field), (n) * sizeof *(field))

void fl_code_close(struct fl_code *c)
{
	size_t words = (c->hi - c->lo) / 64 + 2;

	UNMAP(c->labels, words);
	UNMAP(c->entries, words);
	UNMAP(c->starts, words);
	UNMAP(c->switched, words);
	UNMAP(c->steps, c->room_steps);
	UNMAP(c->notes, c->room_notes);
	UNMAP(c->links, c->room_links);
	UNMAP(c->targets, c->room_targets);
	UNMAP(c->pads, c->room_pads);
	UNMAP(c->parts, c->ranges.n);
	fl_ranges_close(&c->ranges);
}
