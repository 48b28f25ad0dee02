/*
 * outline-into.c - others lead into a function behind its first instruction, or it leads into
 * them.
 *
 * C libraries have a mempcpy() that goes on in memcpy(), behind what sets the return value
 * there. In such a function a jump at the entry would cover what others come to. But where NOPs
 * that nobody else has stand in front of it, a shorter jump leads back to them, which covers
 * one instruction alone, and a jump that stands there leads to the body (PAD_BEFORE has a like
 * one). Code that comes through these NOPs comes to the entry: to be led to the body is the
 * same. So it does not matter if the function before goes on there.
 */
#include "outline-pass.h"

/* ---- into others ----------------------------------------------------------- */

/* Extent `k` must leave as by a jump to a start: flags are dead there, nothing lies below the
 * stack pointer, and that is where it was at the entry, at the address that is returned to, so
 * nothing but returns has to do with the stack. What comes then is the other function's. */
bool fl_outline_may_go_into(const struct pass *p, uint32_t k, uintptr_t to)
{
	const struct fl_extent *all = p->o->extents;
	bool may = fl_outline_sets_flags(p, to);

	for (uint32_t e = all[k].owner; e != FL_EXTENT_NONE && may; e = all[e].next) {
		size_t left;
		const unsigned char *code = fl_file_text(p->m, all[e].start, &left);
		struct fl_needs n;
		struct fl_insn i;

		may = code;
		for (uintptr_t at = all[e].start; at < all[e].end && may; at += i.len) {
			const unsigned char *c = code + (at - all[e].start);

			fl_arch_decode(&i, c, left - (at - all[e].start), at);
			fl_arch_needs(&n, c, i.len);
			may = i.len &&
			      (i.cls == FL_INSN_RET ||
			       (!n.calls && n.stack_known && !n.grows && !n.touched));
		}
	}
	return may;
}

/* ---- into it --------------------------------------------------------------- */

/* The first byte of [from, to) that a branch leads to; `to`: none. */
static uintptr_t first_target(const struct pass *p, uintptr_t from, uintptr_t to)
{
	while (from < to && !fl_bit(p->targets, from - p->lo))
		from++;
	return from;
}

/* May a jump stand so far before the entry of extent `k`? Code that comes there comes to the
 * entry, as long as it comes to an instruction's start; the bytes are nobody's data. The file's
 * bytes lie in words as those in memory do; where the jump will lead is not known yet. */
static bool may_stand_before(const struct pass *p, uint32_t k, size_t before)
{
	enum { NEAR = 64 };
	uintptr_t entry = fl_extent_entry(&p->o->extents[k]), at = entry - before;
	uintptr_t end = at + FL_ARCH_PAD_BYTES;
	size_t left;
	const unsigned char *code = fl_file_text(p->m, at, &left);
	uintptr_t from = (uintptr_t)code + FL_ARCH_BRANCH_BYTES;
	struct fl_plan_in in = {
		.at = (uintptr_t)code + before, .form = FL_FORM_BODY_BEFORE,
		.room = FL_ARCH_SITE_MAX - FL_ARCH_PAD_BYTES, .before = (uint8_t)before,
		.on = from + NEAR, .off = from + NEAR + FL_ARCH_CALL_BYTES,
	};
	struct fl_patch patch;
	uint64_t datum;

	if (!code || left < before + in.room || fl_arch_plan(&patch, &in, &datum) ||
	    !fl_outline_begins(p, k, at) || first_target(p, at + 1, end) < end)
		return false;
	for (uintptr_t a = at; a < end; a++)
		if (fl_bit(p->named, a - p->lo))
			return false;
	return true;
}

/* For an entry that can have no jump of the usual length: how far before it one may stand, to
 * which the entry's first instruction leads; 0: none may. Only code outside leads to that
 * instruction, which is a call. No function has the bytes between, nor has another one's
 * jump. */
static uint8_t find_before(const struct pass *p, uint32_t k)
{
	const struct fl_extent *x = &p->o->extents[k], *last = x;
	uintptr_t entry = fl_extent_entry(x), from = p->lo;
	size_t left;
	const unsigned char *code = fl_file_text(p->m, entry, &left);
	struct fl_insn first;

	fl_arch_decode(&first, code, code ? left : 0, entry);
	if (!first.len || entry + first.len > x->end ||
	    first_target(p, x->start, entry + first.len) < entry + first.len)
		return 0;
	while (last > p->o->extents && (last == x || last->kind == FL_EXTENT_OTHER))
		last--;
	if (last->kind != FL_EXTENT_OTHER && last != x)
		from = last->end > fl_extent_entry(last) + FL_ARCH_PAD_BYTES ? last->end :
		       fl_extent_entry(last) + FL_ARCH_PAD_BYTES;
	for (size_t n = FL_ARCH_PAD_BYTES; n <= FL_ARCH_BEFORE_MAX && entry - n >= from; n++)
		if (may_stand_before(p, k, n))
			return (uint8_t)n;
	return 0;
}

/* Does code come, in the original, to what a jump at the entry covers? Then one may stand
 * before the entry. */
void fl_outline_judge_entry(struct pass *p, uint32_t k)
{
	const uint16_t switched = X_SWITCH | X_SHORT_FIRST;
	struct fl_extent *x = &p->o->extents[k];
	bool is_entered = x->flags & X_ENTERED &&
			  (x->flags & X_LOOPS || (x->flags & switched) == switched);

	if (x->refusal || (!is_entered && !(x->flags & X_INTO)))
		return;
	x->before = find_before(p, k) & 15;
	if (!x->before)
		fl_refuse(x, FLE_INTO, first_target(p, x->start, fl_extent_entry(x) +
						    FL_ARCH_PAD_BYTES));
}
