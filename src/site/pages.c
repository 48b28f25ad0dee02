/*
 * pages.c - what is named by an instruction that makes the address of a page only.
 *
 * Hides that the rest of the address is in another instruction, which may stand anywhere
 * behind it: code is followed on all its ways, as long as the register may have the page.
 *
 * INVARIANT  Each address that code makes of the page is told, or it is said that not all is.
 * WHY	A compiler adds to a register that it has put a page into, or loads or stores through
 *	it, at a constant distance. Code that does anything else with it, or has more ways
 *	than are remembered, is not understood. Calls lose the page, or keep it: no function is
 *	given one. Where a jump through a register or an exception may lead is not known
 *	here, so all of the function's instructions count then.
 */
#include "shape.h"

enum { WAYS = 512 };

struct walk {
	const struct fl_outline *o;
	uintptr_t page;
	unsigned int reg;
	fl_page_name *name;
	void *arg;
	uintptr_t ways[WAYS];		/* where code is followed from */
	size_t n;
	bool is_lost;
};

static void add_way(struct walk *w, uintptr_t at)
{
	for (size_t i = 0; i < w->n; i++)
		if (w->ways[i] == at)
			return;
	w->is_lost |= w->n == WAYS;
	if (w->n < WAYS)
		w->ways[w->n++] = at;
}

/* True: the instruction does with the page what is understood, or nothing. */
static bool tell_use(const struct walk *w, const unsigned char *code)
{
	uintptr_t offset;
	enum fl_paged how = fl_arch_paged(code, w->reg, &offset);

	if (how == FL_PAGED_FORMED || how == FL_PAGED_ACCESSED)
		w->name(w->arg, w->page + offset, how);
	return how != FL_PAGED_OTHERWISE;
}

/* Whoever uses the register in this range may use the page. */
static void tell_range(const struct walk *w, const struct fl_extent *x)
{
	struct fl_insn i;
	size_t left;
	const unsigned char *code = fl_file_text(w->o->m, x->start, &left);

	for (uintptr_t at = x->start; code && at < x->end; at += i.len, code += i.len) {
		fl_arch_decode_flow(&i, code, x->end - at, at);
		if (!i.len)
			return;
		tell_use(w, code);
	}
}

/* Note where code goes on from the instruction. False: not behind it. */
static bool follow_on(struct walk *w, const struct fl_extent *x, const struct fl_insn *i)
{
	switch (i->cls) {
	case FL_INSN_JUMP: case FL_INSN_BRANCH:
		if (i->target)
			add_way(w, i->target);
		else
			tell_range(w, x);
		return i->cls == FL_INSN_BRANCH;
	case FL_INSN_CALL: case FL_INSN_CALL_POINTER:
		if (x->lsda)
			tell_range(w, x);
		return true;
	case FL_INSN_RET: case FL_INSN_STOP: case FL_INSN_JUMP_POINTER:
		return false;
	default:
		return true;
	}
}

static void follow(struct walk *w, uintptr_t at)
{
	size_t k = fl_outline_find(w->o, at), left;
	const unsigned char *code = fl_file_text(w->o->m, at, &left);
	const struct fl_extent *x = &w->o->extents[k];
	struct fl_insn i;

	if (k == w->o->n)
		return;
	for (; code && at < x->end; at += i.len, code += i.len) {
		fl_arch_decode_flow(&i, code, x->end - at, at);
		if (!i.len)
			return;
		w->is_lost |= !tell_use(w, code);
		if (w->is_lost || i.writes >> w->reg & 1 || !follow_on(w, x, &i))
			return;
	}
}

bool fl_page_follow(const struct fl_outline *o, const struct fl_insn *page, uintptr_t at,
		    fl_page_name *name, void *arg)
{
	struct walk w = { .o = o, .page = page->target, .reg = page->reg, .name = name,
			  .arg = arg };

	add_way(&w, at + page->len);
	for (size_t i = 0; i < w.n && !w.is_lost; i++)
		follow(&w, w.ways[i]);
	return !w.is_lost;
}
