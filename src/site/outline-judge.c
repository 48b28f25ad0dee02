/*
 * outline-judge.c - which functions cannot have a second body, by what leads into them, by how
 * they begin, by the room at their entries, and by whom they call.
 */
#include "outline-pass.h"

/* ---- who leads into whom ------------------------------------------------- */

/* Extent `k` calls or jumps to `to`, which lies elsewhere and is no head. */
static void judge_into(struct pass *p, uint32_t k, uintptr_t to)
{
	struct fl_outline *o = p->o;
	size_t t = fl_outline_find(o, to);
	struct fl_extent *x = &o->extents[t], *f;
	bool is_own;

	fl_set_bit(p->targets, to - p->lo);
	if (t == o->n || x->kind == FL_EXTENT_OTHER)
		return;
	f = &o->extents[x->owner];
	is_own = o->extents[k].owner == x->owner;
	if (x == f && fl_extent_covers(x, to))
		f->flags |= is_own ? X_LOOPS : X_INTO;
	if (!is_own)
		f->flags |= X_ENTERED;
}

/* Does nothing but what fills up stand at `to`, up to where a function begins? Where compilers
 * do not optimise, they end code that does not return so. */
static bool is_before_head(struct pass *p, uintptr_t to)
{
	enum { FILLED = 16 };
	const struct fl_outline *o = p->o;
	size_t left, next = fl_rows_from(o->extents, o->n, sizeof *o->extents, to), n;
	const unsigned char *code = fl_file_text(p->m, to, &left);

	if (next == o->n || !code)
		return false;
	n = o->extents[next].start - to;
	return o->extents[next].kind == FL_EXTENT_FUNCTION &&
	       !(o->extents[next].flags & X_FLAGS) && n < FILLED && n <= left &&
	       fl_arch_is_filler(code, n, left);
}

/* A jump that leaves goes to where flags are dead. That is the start of a function that the
 * tables know, a stub of the linker's, a place where such stubs stand, or what runs on into a
 * start; or another place where they are dead. A jump to another part, or back, stays. */
static void judge_jump(struct pass *p, uint32_t k, struct fl_leaving *l)
{
	struct fl_outline *o = p->o;
	uintptr_t to = o->lo + l->to;
	bool at_head = fl_is_head(p, to);
	size_t t = at_head && o->extents[k].owner == k ? o->n : fl_outline_find(o, to);

	if (!at_head)
		judge_into(p, k, to);
	if (at_head && p->any_flags && (o->extents[fl_outline_find(o, to)].flags & X_FLAGS))
		fl_refuse(&o->extents[o->extents[k].owner], FLE_FLAGS, to);
	if (at_head && t == o->n)
		return;
	if (t == o->n || o->extents[t].kind == FL_EXTENT_OTHER) {
		if (to % FL_STUB_ALIGNED && is_before_head(p, to))
			fl_set_bit(p->targets, to - p->lo);	/* it is somebody's */
		else if (to % FL_STUB_ALIGNED)
			fl_refuse(&o->extents[o->extents[k].owner], FLE_MIDDLE, to);
		return;
	}
	if (o->extents[t].owner == o->extents[k].owner) {
		l->kind = FL_SHAPE_JUMP;
		o->extents[o->extents[t].owner].flags |= at_head ? X_LOOPS : 0;
		fl_set_bit(p->targets, to - p->lo);
	} else if (!at_head && !fl_outline_may_go_into(p, k, to)) {
		fl_refuse(&o->extents[o->extents[k].owner], FLE_MIDDLE, to);
	}
}

static void judge_all(struct pass *p)
{
	struct fl_outline *o = p->o;

	for (uint32_t k = 0; k < o->n; k++)
		for (uint32_t i = 0; i < o->extents[k].n_left; i++) {
			struct fl_leaving *l = &o->lefts[o->extents[k].left + i];

			if (l->to)
				judge_jump(p, k, l);
		}
	for (size_t i = 0; i < p->n_calls; i++)
		if (!fl_bit(p->heads, p->calls[i].to))
			judge_into(p, p->calls[i].from, o->lo + p->calls[i].to);
}

/* Find targets at which no instruction starts. */
static void find_torn(struct pass *p)
{
	struct fl_outline *o = p->o;

	for (size_t w = 0; w < (p->hi - p->lo) / 64 + 1; w++) {
		uint64_t torn = p->targets[w] & ~p->o->starts[w];

		for (; torn; torn &= torn - 1) {
			uintptr_t at = p->lo + w * 64 + (size_t)__builtin_ctzll(torn);
			size_t k = fl_outline_find(o, at);

			if (k < o->n && !(o->extents[k].flags & X_BROKEN)) {
				o->extents[k].flags |= X_TORN;
				o->extents[k].datum = at;
			}
		}
	}
}

/* ---- how they begin ------------------------------------------------------ */

/* Refuse functions that do not begin in a compiler's usual way. */
void fl_outline_judge_begins(struct pass *p)
{
	enum { MANY = 32 };		/* more than there are registers to save */

	for (size_t i = 0; i < p->o->n; i++) {
		struct fl_extent *x = &p->o->extents[i];
		size_t left, n = x->end - x->start;
		const unsigned char *code = fl_file_text(p->m, x->start, &left);

		if (x->kind != FL_EXTENT_FUNCTION || !code || left < n)
			continue;
		if (fl_arch_splits_stack(code, n))
			fl_refuse(x, FLE_SPLIT, x->start);
		if (!fl_arch_takes_flags(code + x->landing, n - x->landing, MANY))
			continue;
		fl_refuse(x, FLE_FLAGS, x->start);
		x->flags |= X_FLAGS;
		p->any_flags = true;
	}
}

/* ---- whom the tables for unwinding pass over ------------------------------ */

static bool is_function(const struct fl_extent *x)
{
	return x->kind == FL_EXTENT_FUNCTION && !(x->flags & X_STUB);
}

/* The first extent from `k` on that has rows; *calls: does one before it, without, make
 * calls? */
static size_t end_of_rowless(const struct fl_outline *o, size_t k, bool *calls)
{
	*calls = false;
	for (; k < o->n && !o->extents[k].fde; k++)
		*calls |= is_function(&o->extents[k]) && o->extents[k].flags & X_CALLS;
	return k;
}

/* In a file whose tables tell of most functions, code without rows that makes calls is a
 * runtime's own. The runtime finds such frames by the addresses that their calls return to,
 * which it does not know in a body; and it may copy that code, jumps to bodies and all (V8
 * does). So no function has a body that stands in one piece with such code. Functions that make
 * no calls, as assembly has them, may, where they stand alone. */
void fl_outline_judge_rows(struct fl_outline *o)
{
	size_t with = 0, without = 0, end;
	bool calls;

	for (size_t k = 0; k < o->n; k++)
		if (is_function(&o->extents[k]))
			*(o->extents[k].fde ? &with : &without) += 1;
	for (size_t k = 0; k < o->n && without < with; k = end + 1) {
		end = end_of_rowless(o, k, &calls);
		for (; calls && k < end; k++)
			if (is_function(&o->extents[k]))
				fl_refuse(&o->extents[k], FLE_ROWS, o->extents[k].start);
	}
}

/* ---- room at the entry --------------------------------------------------- */

/* Has it? Behind a short function there may be bytes that are nobody's. */
static bool has_room(const struct pass *p, uint32_t k)
{
	const struct fl_outline *o = p->o;
	const struct fl_extent *x = &o->extents[k];
	uintptr_t end = fl_extent_entry(x) + FL_ARCH_PAD_BYTES;
	const unsigned char *code;
	size_t left;

	if (end <= x->end)
		return true;
	if (k + 1 < o->n && o->extents[k + 1].start < end)
		return false;
	code = fl_file_text(p->m, x->end, &left);
	for (uintptr_t a = x->end; a < end && end <= p->hi; a++)
		if (fl_bit(p->named, a - p->lo) || fl_bit(p->targets, a - p->lo))
			code = NULL;		/* somebody begins there, with a NOP */
	return code && left >= end - x->end && fl_arch_is_filler(code, end - x->end, left);
}

struct padded {
	struct pass *p;
	struct fl_extent *x;
};

/* The unwinder leads to a pad as a branch of the function's own does. */
static int take_pad(void *arg, uintptr_t from, uintptr_t to, uintptr_t pad)
{
	const struct padded *w = arg;
	const struct pass *p = w->p;

	(void)from;
	(void)to;
	if (pad - p->lo >= p->hi - p->lo || !fl_bit(p->o->starts, pad - p->lo))
		return -1;
	fl_set_bit(p->targets, pad - p->lo);
	if (w->x->kind == FL_EXTENT_FUNCTION && fl_extent_covers(w->x, pad))
		w->x->flags |= X_LOOPS;
	return 0;
}

static bool has_good_pads(struct pass *p, struct fl_extent *x)
{
	struct padded w = { p, x };

	return !x->lsda || (x->lsda != FL_OBJ_UNKNOWN &&
			    !fl_obj_pads(p->m, x->lsda, x->start, x->end, take_pad, &w));
}

static void judge_part(struct pass *p, struct fl_extent *f, struct fl_extent *x)
{
	if (x->flags & (X_BROKEN | X_TORN)) {
		if (fl_shape_can_reach(p->o, f))
			f->flags |= X_READ;
		else
			fl_refuse(f, x->flags & X_BROKEN ? FLE_DATA : FLE_TORN, x->datum);
	} else if (x->flags & X_RUNS_ON) {
		fl_refuse(f, FLE_RUNSON, x->end);
	} else if (!has_good_pads(p, x)) {
		fl_refuse(f, FLE_UNWIND, x->lsda);
	}
}

/* The last word on a function, and its parts. */
static void judge_function(struct pass *p, uint32_t k)
{
	struct fl_outline *o = p->o;
	struct fl_extent *x = &o->extents[k];
	uint32_t n = 0;

	for (uint32_t i = k; i != FL_EXTENT_NONE && !x->refusal; i = o->extents[i].next, n++)
		judge_part(p, x, &o->extents[i]);
	if (n > FL_SHAPE_PARTS)
		fl_refuse(x, FLE_PARTS, n);
	if (!has_room(p, k))
		fl_refuse(x, FLE_NOSPACE, x->end - fl_extent_entry(x));
	if ((x->flags & X_LABELS) && !(x->flags & X_SWITCH))
		fl_refuse(x, FLE_INSIDE, x->start);
	fl_outline_judge_entry(p, k);
}

/* ---- who calls who asks -------------------------------------------------- */

/* Does `to` begin a function that asks? Then extent `k` asks, too, if it jumps there. */
static bool ask(struct pass *p, uint32_t k, uint32_t to, uint16_t flag)
{
	struct fl_extent *x = &p->o->extents[k];
	size_t t = fl_bit(p->heads, to) ? fl_outline_find(p->o, p->o->lo + to) : p->o->n;
	bool asked = x->flags & X_ASKS;

	if (t == p->o->n || !(p->o->extents[t].flags & X_ASKS))
		return false;
	fl_refuse(x, FLE_CALLER, p->o->lo + to);
	x->flags |= flag;
	return !asked && flag;
}

/* One round. True: another one was found that asks. */
static bool ask_all(struct pass *p)
{
	struct fl_outline *o = p->o;
	bool more = false;

	for (size_t i = 0; i < p->n_calls; i++)
		more |= ask(p, p->calls[i].from, p->calls[i].to, 0);
	for (uint32_t k = 0; k < o->n; k++)
		for (uint32_t i = 0; i < o->extents[k].n_left; i++)
			if (o->lefts[o->extents[k].left + i].to)
				more |= ask(p, k, o->lefts[o->extents[k].left + i].to,
					    X_ASKS);
	return more;
}

void fl_outline_find_askers(struct pass *p)
{
	bool any = false;

	for (uint32_t k = 0; k < p->o->n; k++)
		any |= p->o->extents[k].flags & X_ASKS;
	while (any)
		any = ask_all(p);
}

/* ---- all of it ------------------------------------------------------------ */

void fl_outline_judge(struct pass *p)
{
	judge_all(p);
	find_torn(p);
	for (uint32_t k = 0; k < p->o->n; k++) {
		struct fl_extent *x = &p->o->extents[k];

		if (x->kind == FL_EXTENT_FUNCTION)
			judge_function(p, k);
		else if (x->kind == FL_EXTENT_PART && x->owner == k)
			fl_refuse(x, FLE_NOENTRY, 0);
	}
}
