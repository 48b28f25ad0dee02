/*
 * lsda.c - where exceptions of a body's calls land: the original's table, with the body's
 * addresses.
 *
 *	base of the pads | types: how, where they end | sites: how, bytes | sites | actions
 *
 * A site here is a run of instructions, with its landing pad and its first action. Runs and
 * pads are the body's. Actions are copied. They name types by number, counted from where the
 * types end. The types stay where they are, because an entry of a type may be a distance from
 * itself. Where the types end is written as a distance modulo 2^64, in ten bytes.
 *
 * Pads are counted from where the table's code begins, and no base is written, as compilers do
 * it: D's runtime ends a program whose tables have one. But a pad of 0 means no pad, so a base
 * must lie in front of all pads. Where one stands before the code, as that of another part of
 * the function may, a base is written: the address of the lowest pad less 1.
 */
#include "copy/unwind.h"

enum { WHOLE_LEB = 10, ACTIONS_MOST = 1 << 20 };

/* Follow a site's actions: *end becomes at least the end of the last one in memory. */
static void reach_actions(struct fl_lsda *l, uint64_t action, size_t *end, uint32_t *steps)
{
	size_t room = (size_t)(l->actions.end - l->actions.p);
	uint64_t at = action - 1;
	int64_t by = action ? 1 : 0;

	while (by && !l->sites.is_bad) {
		struct fl_in in = l->actions;
		const unsigned char *link;

		l->sites.is_bad |= at > room || ++*steps > ACTIONS_MOST;
		if (l->sites.is_bad)
			return;
		in.p += at;
		fl_in_sleb(&in);		/* which type */
		link = in.p;
		by = fl_in_sleb(&in);		/* to the next action of this site */
		l->sites.is_bad |= in.is_bad;
		if ((size_t)(in.p - l->actions.p) > *end)
			*end = (size_t)(in.p - l->actions.p);
		at = (uint64_t)(link - l->actions.p) + (uint64_t)by;
	}
}

/* ---- addresses in the body ------------------------------------------------------------- */

/* Where the instruction at `at` stands in the body; 0: it is not there. */
static uintptr_t place_of(const struct fl_unwind_body *b, uintptr_t at)
{
	for (uint32_t i = 0; i < b->n; i++) {
		const struct fl_unwind_piece *p = &b->pieces[i];
		uint32_t row = p->kind == FL_PIECE_BODY ? fl_unwind_row_of(p, at) : p->n;

		if ((row < p->n && p->rows[row].at == at) ||
		    (row && p->kind == FL_PIECE_BODY &&
		     fl_unwind_is_inside(&p->rows[row - 1], at)))
			return fl_unwind_place(p, at);
	}
	return 0;
}

/* Give a call site the body's addresses. False: its pad is not in the body. */
static bool move_site(struct fl_call_site *s, const struct fl_unwind_body *b,
		      const struct fl_unwind_piece *p)
{
	s->from = fl_unwind_place(p, s->from);
	s->to = fl_unwind_place(p, s->to);
	if (!s->pad || s->from == s->to)
		return true;
	s->pad = place_of(b, s->pad);
	return s->pad;
}

/* ---- write ------------------------------------------------------------------------------ */

/* What all call sites together need. survey() also checks that they ascend. */
struct survey {
	uintptr_t lowest;		/* pad */
	size_t action_bytes;
};

static bool survey(struct fl_lsda l, const struct fl_unwind_body *b,
		   const struct fl_unwind_piece *p, struct survey *to)
{
	struct fl_call_site s;
	uintptr_t last = 0;
	uint32_t steps = 0;

	*to = (struct survey){ .lowest = UINTPTR_MAX };
	while (fl_lsda_next(&l, &s)) {
		if (s.from < last)
			return false;
		last = s.to;
		reach_actions(&l, s.action, &to->action_bytes, &steps);
		if (!move_site(&s, b, p))
			return false;
		if (s.pad && s.from != s.to && s.pad < to->lowest)
			to->lowest = s.pad;
	}
	return !l.sites.is_bad;
}

static void put_call_sites(struct fl_out *o, struct fl_lsda l,
			   const struct fl_unwind_body *b, const struct fl_unwind_piece *p,
			   uintptr_t base)
{
	unsigned char *begin = fl_out_begin(o);
	struct fl_call_site s;

	while (fl_lsda_next(&l, &s)) {
		move_site(&s, b, p);
		if (s.from == s.to)
			continue;
		fl_out_uleb(o, s.from - p->start);
		fl_out_uleb(o, s.to - s.from);
		fl_out_uleb(o, s.pad ? s.pad - base : 0);
		fl_out_uleb(o, s.action);
	}
	fl_out_end(o, begin);
}

int fl_lsda_write(struct fl_out *o, const struct fl_fde *f, const struct fl_unwind_body *b,
		  const struct fl_unwind_piece *p)
{
	struct survey found;
	struct fl_lsda l;
	uintptr_t base;

	if (!fl_lsda_open(&l, f->m, f->lsda, f->start, f->end) ||
	    (l.type_how != FL_PE_OMIT && (l.type_how & FL_PE_BASE) > FL_PE_PCREL) ||
	    !survey(l, b, p, &found))
		return FLE_UNWIND;
	base = found.lowest > p->start ? p->start : found.lowest - 1;
	fl_out_u8(o, base == p->start ? FL_PE_OMIT : FL_PE_PCREL | FL_PE_SDATA4);
	if (base != p->start)
		fl_out_offset(o, base);
	fl_out_u8(o, l.type_how);
	if (l.type_how != FL_PE_OMIT)
		fl_out_wide_leb(o, l.types - ((uintptr_t)o->p + WHOLE_LEB), WHOLE_LEB);
	fl_out_u8(o, FL_PE_ULEB);
	put_call_sites(o, l, b, p, base);
	fl_out_bytes(o, l.actions.p, found.action_bytes);
	return 0;
}
