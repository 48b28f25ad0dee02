/*
 * frame.c - where in its frame a function reads and writes.
 *
 * Hides the stack pointer and the frame pointer: how far each is from where the
 * stack pointer was when the function began, at every step, on all paths to it;
 * or that nobody can say. Few bodies are asked for that.
 *
 * WHY	A location is known when all paths agree on the pointer it is reckoned from. An
 *	aligned stack pointer begins a frame of its own, as far from the old one as nobody
 *	knows. A body that never takes the stack pointer's address into the frame pointer
 *	has none: what is reckoned from it is not of the frame. At a landing pad the
 *	frame pointer is the call's, and the stack pointer the frame's own, without what
 *	was pushed for the call: known only where profiling functions are called with it,
 *	since these take nothing from the stack.
 */
#include "cyg.h"

enum { NEW_FRAME = 1 << 28 };		/* an aligned stack pointer */

/* ---- the stack pointer --------------------------------------------------- */

static bool is_known(int32_t v)
{
	return v != FL_FRAME_UNKNOWN;
}

static int32_t add(int32_t v, int64_t n)
{
	int64_t sum = v + n;

	return is_known(v) && sum > -NEW_FRAME / 2 && sum < 2 * (int64_t)NEW_FRAME ?
		(int32_t)sum : FL_FRAME_UNKNOWN;
}

/* The stack pointer is aligned; only one place of a body may say by how much. */
static int32_t align(struct fl_body *b, const struct fl_step *s)
{
	if (b->aligned_at == FL_NOWHERE)
		b->aligned_at = s->at;
	return b->aligned_at == s->at ? NEW_FRAME : FL_FRAME_UNKNOWN;
}

static void move_pointers(struct fl_step *s, int32_t *sp, int32_t *fp)
{
	int32_t from = s->op == FL_STEP_MOVE ?
		s->v == FL_ARCH_SP ? *sp : s->v == FL_ARCH_FP ? *fp : FL_FRAME_UNKNOWN :
		s->op == FL_STEP_FRAME ? s->where : FL_FRAME_UNKNOWN;

	if ((s->reg & FL_STEP_REG) == FL_ARCH_SP)
		*sp = from;
	if ((s->reg & FL_STEP_REG) == FL_ARCH_FP)
		*fp = from;
}

/* Pass one step: note where in the frame it reads or writes. */
static void pass_step(struct fl_body *b, struct fl_step *s, int32_t *sp, int32_t *fp)
{
	bool by_fp = s->reg & FL_STEP_BY_FP;

	if (s->kills >> FL_ARCH_FP & 1)
		*fp = FL_FRAME_UNKNOWN;
	switch (s->op) {
	case FL_STEP_PUSH:
		s->where = *sp = add(*sp, -8);
		break;
	case FL_STEP_POP:
		s->where = *sp;
		*sp = add(*sp, 8);
		move_pointers(s, sp, fp);
		break;
	case FL_STEP_LEAVE:
		*sp = add(*fp, 8);
		break;
	case FL_STEP_ALIGN:
		*sp = align(b, s);
		break;
	case FL_STEP_LOST:
		*sp = FL_FRAME_UNKNOWN;
		break;
	case FL_STEP_LOAD: case FL_STEP_STORE: case FL_STEP_SMASH: case FL_STEP_FRAME:
		s->where = by_fp && !b->has_fp ? FL_FRAME_OTHER :
			add(by_fp ? *fp : *sp, (int32_t)s->v);
		if (s->op == FL_STEP_LOAD || s->op == FL_STEP_FRAME)
			move_pointers(s, sp, fp);
		break;
	case FL_STEP_CODE: case FL_STEP_DATA: case FL_STEP_POINTER: case FL_STEP_MOVE:
	case FL_STEP_PAGE: case FL_STEP_SUM:
		move_pointers(s, sp, fp);
		break;
	case FL_STEP_HOOK:
		if (!is_known(b->hook_sp) || (is_known(*sp) && *sp > b->hook_sp))
			b->hook_sp = *sp;
		break;
	}
}

static int32_t meet(int32_t a, int32_t b)
{
	return a == b ? a : FL_FRAME_UNKNOWN;
}

/* Block `i` is come to with these pointers. */
static void arrive(struct fl_body *b, uint32_t i, int32_t sp, int32_t fp)
{
	struct fl_block *k = &b->blocks[i];

	if (k->flags & FL_BLOCK_SEEN) {
		sp = meet(k->sp, sp);
		fp = meet(k->fp, fp);
		if (sp == k->sp && fp == k->fp)
			return;
	}
	k->sp = sp;
	k->fp = fp;
	k->flags |= FL_BLOCK_SEEN;
	if (!(k->flags & FL_BLOCK_QUEUED))
		b->queue[b->n_queue++] = i;
	k->flags |= FL_BLOCK_QUEUED;
}

/* At a landing pad the stack pointer is the frame's, without what was pushed for
 * the call; where profiling functions are called nothing is. */
static void arrive_at_pad(struct fl_body *b, uint32_t pad, int32_t sp, int32_t fp)
{
	arrive(b, pad, sp == b->hook_sp ? sp : FL_FRAME_UNKNOWN, fp);
}

static void arrive_from_switch(struct fl_body *b, uint32_t to)
{
	const struct fl_block *all = &b->blocks[b->n_blocks - 1];

	arrive(b, to, all->sp, all->fp);
}

static void pass_block(struct fl_body *b, uint32_t i, bool pads)
{
	struct fl_block *k = &b->blocks[i];
	int32_t sp = k->sp, fp = k->fp;

	for (uint32_t s = k->first; s < k->end; s++)
		pass_step(b, &b->c->steps[s], &sp, &fp);
	if (i == b->n_blocks - 1)
		fl_body_targets(b, arrive_from_switch);
	else if (k->taken != FL_NOWHERE && !(b->blocks[k->taken].flags & FL_BLOCK_PAD))
		arrive(b, k->taken, sp, fp);
	else if (k->taken != FL_NOWHERE && pads)
		arrive_at_pad(b, k->taken, sp, fp);
	if (k->flags & FL_BLOCK_FALLS)
		arrive(b, i + 1, sp, fp);
}

static void pass_queue(struct fl_body *b, bool pads)
{
	while (b->n_queue) {
		uint32_t i = b->queue[--b->n_queue];

		b->blocks[i].flags &= ~FL_BLOCK_QUEUED;
		pass_block(b, i, pads);
	}
}

/* Does the frame pointer point into the frame, anywhere? */
static bool makes_fp(const struct fl_body *b)
{
	for (uint32_t i = 0; i + 1 < b->n_blocks; i++)
		for (uint32_t k = b->blocks[i].first; k < b->blocks[i].end; k++) {
			const struct fl_step *s = &b->c->steps[k];

			if ((s->reg & FL_STEP_REG) == FL_ARCH_FP && (s->op == FL_STEP_FRAME ||
			    (s->op == FL_STEP_MOVE && s->v == FL_ARCH_SP)))
				return true;
		}
	return false;
}

/* Pass all without exceptions first: that tells where profiling functions are called. */
static void find_pointers(struct fl_body *b)
{
	uint32_t n = b->n_blocks;

	b->has_fp = makes_fp(b);
	for (uint32_t i = 0; i < n; i++)
		if (b->blocks[i].flags & FL_BLOCK_ROOT)
			arrive(b, i, fl_part_start(b->c, &b->c->parts[b->blocks[i].part]) ==
			       b->blocks[i].at ? 0 : FL_FRAME_UNKNOWN, FL_FRAME_UNKNOWN);
	pass_queue(b, false);
	for (uint32_t i = 0; i < n; i++)
		if (b->blocks[i].taken != FL_NOWHERE && (b->blocks[i].flags & FL_BLOCK_SEEN) &&
		    (b->blocks[b->blocks[i].taken].flags & FL_BLOCK_PAD))
			pass_block(b, i, true);
	pass_queue(b, true);
}

/* ---- what blocks change -------------------------------------------------- */

/* A bit for each word of 8 bytes that [where, where + n) touches. */
static uint64_t hash_of(int32_t where, uint64_t n)
{
	uint64_t bits = 0;

	if (where == FL_FRAME_OTHER)
		return 0;
	if (!is_known(where) || n >= 512)
		return ~0ull;
	for (uint64_t k = 0; k < n; k += 8)
		bits |= 1ull << (((uint32_t)where + k) / 8 % 64);
	return bits | 1ull << (((uint32_t)where + n - 1) / 8 % 64);
}

static uint64_t stores_of(const struct fl_step *s)
{
	switch (s->op) {
	case FL_STEP_PUSH: case FL_STEP_STORE:
		return hash_of(s->where, 8);
	case FL_STEP_SMASH:
		return hash_of(s->where, 1ull << (s->reg & FL_STEP_REG));
	case FL_STEP_LOST:
		return ~0ull;
	}
	return 0;
}

void fl_body_frame(struct fl_body *b)
{
	find_pointers(b);
	for (uint32_t i = 0; i < b->n_blocks; i++)
		for (uint32_t s = b->blocks[i].first; s < b->blocks[i].end; s++)
			b->blocks[i].stores |= stores_of(&b->c->steps[s]);
	b->has_frame = true;
}
