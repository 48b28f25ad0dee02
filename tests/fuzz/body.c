/*
 * body.c - second bodies of code that somebody made: whatever it is, what is built of it is
 * code from end to end, its branches lead to instructions of it or to where the original's
 * led, and its places and tables lie in it. made.h says what the input is.
 */
#include "made.h"

#include "copy/build.h"
#include "copy/copy.h"
#include "../unit/nothing-woven.h"

enum { CODE = 1 << 20, DATA = 1 << 21, LOOK = 32 };

static struct fl_copies copies;
static struct fl_ground_block empty;	/* the block, before there was anything in it */
static unsigned char starts[CODE];

/* One block for all inputs: near memory is never given back. */
static void empty_block(const struct fl_module *m)
{
	struct fl_ground_block *b = &copies.blocks[0];

	if (!empty.near.code) {
		fl_unwind_serve();
		if (fl_near_alloc(&empty.near, FL_NEAR_TO(m->lo, m->hi), CODE, DATA) ||
		    fl_unwind_open(&empty.unwind, (uintptr_t)empty.near.code,
				   (uintptr_t)empty.near.code + CODE,
				   empty.near.data + DATA / 2, DATA / 2))
			abort();
		empty.data_used = FL_JIT_BYTES;
	} else {
		const unsigned char *frames = empty.unwind.next;

		memset(empty.near.code, 0, b->used);
		memset(empty.near.data, 0, b->data_used);
		memset(empty.near.data + DATA / 2 + 8, 0, 4);	/* how many the table has */
		memset(empty.unwind.next, 0, (size_t)(b->unwind.next - frames));
	}
	copies.lo = m->lo;
	copies.hi = m->hi;
	copies.n = 1;
	*b = empty;
}

static bool is_inside(const struct fl_copy *c, uintptr_t at)
{
	return at - c->code < c->n_code;
}

/* An original's address: its branch may lead there. */
static bool is_originals(const struct fl_shape *s, uintptr_t at)
{
	for (uint32_t i = 0; i < s->n_steps; i++)
		if (s->steps[i].target == at || s->steps[i].at + s->steps[i].len == at)
			return true;
	return false;
}

static void check_branch(const struct fl_shape *s, const struct fl_copy *c,
			 const struct fl_insn *i)
{
	if (i->cls != FL_INSN_JUMP && i->cls != FL_INSN_BRANCH && i->cls != FL_INSN_CALL)
		return;
	if (i->target && is_inside(c, i->target))
		MUST(starts[i->target - c->code]);
	else if (i->target && i->cls != FL_INSN_CALL)
		MUST(is_originals(s, i->target));
}

static void walk(const struct fl_shape *s, const struct fl_copy *c, bool check)
{
	const unsigned char *code = (const unsigned char *)c->on;
	uintptr_t end = c->code + c->n_code;
	unsigned char window[LOOK] = { 0 };
	struct fl_insn i;

	for (uintptr_t at = c->on; at < end; at += i.len, code += i.len) {
		memcpy(window, code, end - at < LOOK ? end - at : LOOK);
		fl_arch_decode(&i, window, LOOK, at);
		MUST(i.len && i.len <= end - at);
		starts[at - c->code] = 1;
		if (check)
			check_branch(s, c, &i);
	}
}

static void check_body(const struct fl_shape *s, const struct fl_copy *c)
{
	uintptr_t end = c->code + c->n_code, entry = s->entry + FL_ARCH_BRANCH_BYTES;

	for (uint32_t i = 0; i < s->n_steps; i++)
		MUST((s->steps[i].kind != FL_SHAPE_JUMP &&
		      s->steps[i].kind != FL_SHAPE_BRANCH) ||
		     s->steps[s->steps[i].to].at == s->steps[i].target);
	MUST(c->code >= (uintptr_t)empty.near.code && c->n_code <= CODE &&
	     end <= (uintptr_t)empty.near.code + CODE);
	MUST(is_inside(c, c->on) && c->off == c->on + FL_ARCH_BRANCH_BYTES);
	MUST((c->on - entry) >> 8 == (c->off - entry) >> 8);
	memset(starts, 0, c->n_code);
	walk(s, c, false);
	walk(s, c, true);
	MUST(starts[c->off - c->code]);
	for (uint32_t i = 0; i < c->n_places; i++) {
		MUST(!i || c->places[i - 1].at < c->places[i].at);
		MUST(c->places[i].offset < c->n_code && starts[c->places[i].offset]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct fl_outline o;
	struct fl_module m;
	bool is_open = open_made(&m, &o, data, n);

	empty_block(&m);
	for (size_t i = 0; is_open && i < o.n; i++) {
		struct fl_shape s = { .steps = steps, .room = ROOM };
		struct fl_copy c;
		uint64_t datum;

		if (!fl_shape_of(&s, &o, o.extents[i].start, &datum) &&
		    !fl_copy_build(&copies, &s, &c, &datum))
			check_body(&s, &c);
	}
	if (is_open)
		fl_outline_close(&o);
	MUST(copies.n == 1);
	return 0;
}
