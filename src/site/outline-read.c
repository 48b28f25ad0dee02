/*
 * outline-read.c - what a range's instructions say: where they begin, what they jump to, whom
 * they call, which addresses they name.
 */
#include <string.h>

#include "outline-pass.h"

static void leave(struct pass *p, struct fl_extent *x, const struct fl_insn *i,
		  uintptr_t at, enum fl_shape_kind kind)
{
	bool is_direct = kind == FL_SHAPE_TAIL || kind == FL_SHAPE_BRANCH_OUT ||
			 kind == FL_SHAPE_RUNS_ON;
	struct fl_outline *o = p->o;
	uintptr_t to = is_direct ? i->target - p->lo : 0;

	if (to >= p->hi - p->lo) {
		fl_refuse(x, FLE_MIDDLE, at);
		return;
	}
	o->lefts[o->n_lefts++] = (struct fl_leaving){
		(uint32_t)(at - p->lo), (uint32_t)to, i->len, kind,
	};
	x->n_left++;
}

/* Another extent may be read by another thread just now: what is said of it first counts. */
static void refuse_other(struct pass *p, size_t k, int why, uintptr_t at)
{
	if (!p->others[k].why)
		p->others[k] = (struct said){ at, why };
}

/* Does a stub of the linker's lead to a function that asks who called? */
static int leads_to_asker(const struct pass *p, uintptr_t to)
{
	size_t left, n;
	const unsigned char *code = fl_file_text(p->m, to, &left);

	return code ? fl_asks(&p->askers, fl_arch_stub(code, left, to, &n)) : 0;
}

static void call_out(struct pass *p, struct fl_extent *x, uintptr_t to)
{
	if (to - p->lo >= p->hi - p->lo)
		return;
	p->calls[p->n_calls++] = (struct call){
		(uint32_t)(x - p->o->extents), (uint32_t)(to - p->lo),
	};
	fl_set_bit(p->named, to - p->lo);
}

/* A function that ends in a jump to one that asks who called asks that, too. */
static void meet_asker(struct fl_extent *x, const struct fl_insn *i, uintptr_t at, int why)
{
	if (!why)
		return;
	if (!(x->flags & X_STUB))	/* what asks finds its caller behind that */
		fl_refuse(x, why, at);
	if (i->cls != FL_INSN_CALL && i->cls != FL_INSN_CALL_POINTER)
		x->flags |= X_ASKS;
}

/* Assembly may know what flags a function leaves: what is at its exits changes them. It gives
 * back the stack first, perhaps. Behind a function that never returns another block may begin,
 * with flags that are not its: so a few of these functions are refused, too. */
static void judge_behind(struct pass *p, const struct fl_insn *i, const unsigned char *code,
			 size_t left, uintptr_t at)
{
	enum { NEAR = 4 };
	size_t k;

	if (i->cls != FL_INSN_CALL || !i->target ||
	    !fl_arch_takes_flags(code + i->len, left - i->len, NEAR))
		return;
	k = fl_outline_find(p->o, i->target);
	if (k < p->o->n)
		refuse_other(p, k, FLE_FLAGS, at);
}

/* Assembly may jump through a word that lies where a call of glue puts its return address. */
static void judge_jump(struct fl_extent *x, const struct fl_insn *i, const unsigned char *code,
		       uintptr_t at)
{
	struct fl_operands word;

	if (i->cls == FL_INSN_JUMP && !i->target && fl_arch_operands(&word, code, i, at) &&
	    word.n == 1 && word.of[0].base == FL_ARCH_SP && word.of[0].target < 0)
		fl_refuse(x, FLE_UNKNOWN, at);
}

/* A direct call or jump. If it leads into its own extent, the first bytes there change. */
static void take_direct(struct pass *p, struct fl_extent *x, const struct fl_insn *i,
			uintptr_t at)
{
	bool is_call = i->cls == FL_INSN_CALL, is_own_head;

	if (i->target - x->start >= x->end - x->start) {
		if (p->askers.n && !fl_is_head(p, i->target))
			meet_asker(x, i, at, leads_to_asker(p, i->target));
		if (is_call)
			call_out(p, x, i->target);
		else
			leave(p, x, i, at, i->cls == FL_INSN_JUMP ? FL_SHAPE_TAIL :
			      FL_SHAPE_BRANCH_OUT);
		return;
	}
	is_own_head = i->target == x->start || i->target == fl_extent_entry(x);
	fl_set_bit(p->targets, i->target - p->lo);
	if (is_call)
		fl_set_bit(p->named, i->target - p->lo);
	if (is_call && !is_own_head)
		fl_refuse(x, FLE_INSIDE, at);
	else if (!is_call && x->kind == FL_EXTENT_FUNCTION &&
		 i->target - x->start < (size_t)x->landing + FL_ARCH_PAD_BYTES)
		x->flags |= X_LOOPS;
}

static void take(struct pass *p, struct fl_extent *x, const struct fl_insn *i,
		 uintptr_t at)
{
	switch (i->cls) {
	case FL_INSN_CALL: case FL_INSN_JUMP: case FL_INSN_BRANCH:
		if (i->target)
			take_direct(p, x, i, at);
		else if (i->cls == FL_INSN_JUMP)
			leave(p, x, i, at, FL_SHAPE_SWITCH);
		x->flags |= i->cls == FL_INSN_CALL ? X_CALLS : i->target ? 0 : X_SWITCH;
		break;
	case FL_INSN_CALL_POINTER:
		x->flags |= X_CALLS;
		break;
	case FL_INSN_JUMP_POINTER:
		leave(p, x, i, at, FL_SHAPE_TAIL_POINTER);
		break;
	case FL_INSN_RET:
		leave(p, x, i, at, FL_SHAPE_RET);
		break;
	}
}

/* What an instruction of `x` at `at` names: it makes the address, or accesses what lies there,
 * or does nothing. */
struct name {
	struct pass *p;
	struct fl_extent *x;
	uintptr_t at;
	const struct fl_insn *i;
};

/* It names an address of its own extent. Code that reads its first bytes finds the jump there;
 * code that gives away where its middle is gets jumps there, in the original. */
static void name_own(struct fl_extent *x, uintptr_t address, uintptr_t at,
		     enum fl_paged how)
{
	if (how == FL_PAGED_FORMED && address - x->start > x->landing)
		x->flags |= X_LABELS;
	else if (how == FL_PAGED_ACCESSED && address - fl_extent_entry(x) < FL_ARCH_PAD_BYTES)
		fl_refuse(x, FLE_OWNBYTES, at);
}

/* The address may be of its own first bytes, or of a function that asks. Code that forms an
 * address in another function's middle jumps there, or looks there for what has trapped. */
static void take_address(void *arg, uintptr_t address, enum fl_paged how)
{
	struct name *n = arg;
	struct pass *p = n->p;
	struct fl_outline *o = p->o;
	size_t k = fl_is_head(p, address) ? o->n : fl_outline_find(o, address);

	fl_note_named(p, address);
	if (address - n->x->start < n->x->end - n->x->start)
		name_own(n->x, address, n->at, how);
	else if (how == FL_PAGED_FORMED && k < o->n && !(address % sizeof(fl_unit)) &&
		 o->extents[k].kind != FL_EXTENT_OTHER && address != o->extents[k].start)
		refuse_other(p, k, FLE_INSIDE, n->at);
	if (p->askers.n)
		meet_asker(n->x, n->i, n->at, fl_asks(&p->askers, address));
}

/* Any address of the page may be formed, or loaded from. */
static void name_page(struct name *n, uintptr_t page)
{
	struct fl_outline *o = n->p->o;
	size_t k = fl_rows_from(o->extents, o->n, sizeof *o->extents, page);

	take_address(n, page, FL_PAGED_FORMED);
	for (size_t i = 0; i < n->p->askers.n; i++)
		if (n->p->askers.at[i] - page < FL_ARCH_PAGE)
			meet_asker(n->x, n->i, n->at, n->p->askers.why[i]);
	for (k -= k && o->extents[k - 1].end > page;
	     k < o->n && o->extents[k].start < page + FL_ARCH_PAGE; k++) {
		take_address(n, o->extents[k].start, FL_PAGED_FORMED);
		if (o->extents[k].kind != FL_EXTENT_OTHER)
			refuse_other(n->p, k, FLE_INSIDE, n->at);
	}
}

/* Does somebody's code lie in the page, or a pointer to a function that asks? */
static bool is_page_of_code(const struct pass *p, uintptr_t page)
{
	const struct fl_outline *o = p->o;
	size_t k = fl_rows_from(o->extents, o->n, sizeof *o->extents,
				page + FL_ARCH_PAGE - 1);

	for (size_t i = 0; i < p->askers.n; i++)
		if (p->askers.at[i] - page < FL_ARCH_PAGE)
			return true;
	for (; k && o->extents[k - 1].end > page; k--)
		if (o->extents[k - 1].kind != FL_EXTENT_OTHER)
			return true;
	return false;
}

static void take_operand(struct pass *p, struct fl_extent *x, const struct fl_insn *i,
			 uintptr_t at, const unsigned char *code)
{
	struct name n = { p, x, at, i };
	struct fl_insn full;
	uintptr_t address;

	if (i->cls == FL_INSN_LOAD_PAGE) {
		if (is_page_of_code(p, i->target) &&
		    !fl_page_follow(p->o, i, at, take_address, &n))
			name_page(&n, i->target);
		return;
	}
	address = fl_arch_operand(i, code, at);
	full.cls = FL_INSN_OTHER;
	if (address - p->lo < p->hi - p->lo)
		fl_arch_decode(&full, code, i->len, at);
	if (full.cls == FL_INSN_NOP)
		fl_note_named(p, address);
	else
		take_address(&n, address, full.cls == FL_INSN_LOAD_ADDRESS ?
			  FL_PAGED_FORMED : FL_PAGED_ACCESSED);
}

/* Classes of instructions that may stand last: all others go on to what is behind. */
enum {
	ENDING = 1 << FL_INSN_JUMP | 1 << FL_INSN_JUMP_POINTER | 1 << FL_INSN_RET |
		 1 << FL_INSN_STOP | 1 << FL_INSN_CALL | 1 << FL_INSN_CALL_POINTER
};

/* Does it go on, over NOPs at most, to where a function starts? `last`: the class of the
 * instruction that it ends with, NOPs apart. Only after a branch, taken or not, is the rest
 * sure to be come to. The entry's jump must not cover what the body goes on to. */
static bool runs_into_next(struct pass *p, struct fl_extent *x, uint8_t last)
{
	const struct fl_extent *next = x + 1, *end = p->o->extents + p->o->n;
	struct fl_insn i;
	size_t left;

	while (next < end && next->kind == FL_EXTENT_OTHER)	/* nobody's: NOPs, or not */
		next++;
	if (next == end || next->kind != FL_EXTENT_FUNCTION ||
	    x->kind != FL_EXTENT_FUNCTION || last != FL_INSN_BRANCH ||
	    x->end - fl_extent_entry(x) < FL_ARCH_PAD_BYTES)
		return false;
	for (uintptr_t at = x->end; at < next->start; at += i.len) {
		const unsigned char *code = fl_file_text(p->m, at, &left);

		fl_arch_decode(&i, code, code ? left : 0, at);
		if (!i.len || i.cls != FL_INSN_NOP)
			return false;
	}
	leave(p, x, &(struct fl_insn){ .target = next->start }, x->end, FL_SHAPE_RUNS_ON);
	return true;
}

void fl_outline_read_extent(struct pass *p, struct fl_extent *x)
{
	size_t left;
	const unsigned char *code = fl_file_text(p->m, x->start, &left);
	uintptr_t at = x->start;
	uint8_t last = FL_INSN_OTHER;
	uint64_t wide;
	uint32_t word;
	struct fl_insn i;

	x->left = (uint32_t)p->o->n_lefts;
	if (!code || left < x->end - x->start) {
		fl_refuse(x, FLE_NOFILE, x->start);
		return;
	}
	for (; at < x->end; at += i.len, code += i.len, left -= i.len) {
		fl_arch_decode_flow(&i, code, left, at);
		if (!i.len || i.len > x->end - at) {
			x->flags |= X_BROKEN;
			x->datum = at;
			if (x->kind != FL_EXTENT_OTHER)
				return;
			i = (struct fl_insn){ .len = 1 };	/* data, then code? */
		}
		fl_set_bit(p->o->starts, at - p->lo);
		if (i.cls == FL_INSN_OTHER && !i.operand_at) {
			fl_set_bit(p->o->plain, at - p->lo);
		} else {
			take(p, x, &i, at);
			judge_jump(x, &i, code, at);
			judge_behind(p, &i, code, left, at);
		}
		if (i.operand_at) {
			take_operand(p, x, &i, at, code);
		} else if (p->is_fixed && i.len > sizeof word) {	/* an address? */
			memcpy(&word, code + i.len - sizeof word, sizeof word);
			fl_note_named(p, p->m->bias + word);
			if (i.len > sizeof wide) {
				memcpy(&wide, code + i.len - sizeof wide, sizeof wide);
				fl_note_named(p, p->m->bias + wide);
			}
		}
		if (at == fl_extent_entry(x) && i.len < FL_ARCH_PAD_BYTES)
			x->flags |= X_SHORT_FIRST;
		if (i.cls != FL_INSN_NOP)
			last = i.cls;
	}
	if (!(ENDING >> last & 1) && !runs_into_next(p, x, last))
		x->flags |= X_RUNS_ON;
}

/* ---- what is asked later -------------------------------------------------- */

bool fl_outline_sets_flags(const struct pass *p, uintptr_t to)
{
	enum { A_FEW = 4 };
	size_t left;
	const unsigned char *code = fl_file_text(p->m, to, &left);
	struct fl_insn i;

	for (int n = 0; code && n < A_FEW; n++, code += i.len, left -= i.len, to += i.len) {
		fl_arch_decode(&i, code, left, to);
		if (i.cls == FL_INSN_RET)
			return true;
		if (!i.len || (i.cls >= FL_INSN_CALL && i.cls <= FL_INSN_BRANCH))
			return false;
		switch (fl_arch_flags_use(code, i.len)) {
		case FL_FLAGS_SET:
			return true;
		case FL_FLAGS_READ:
			return false;
		case FL_FLAGS_LEFT:
			break;
		}
	}
	return false;
}

bool fl_outline_begins(const struct pass *p, uint32_t k, uintptr_t at)
{
	enum { SHORT = 64 };
	uintptr_t a = k ? p->o->extents[k - 1].end : p->lo;
	struct fl_insn i;
	size_t left;

	if (a > at)
		return fl_bit(p->o->starts, at - p->lo);
	for (; a < at && at - a < SHORT; a += i.len) {
		const unsigned char *code = fl_file_text(p->m, a, &left);

		if (!fl_arch_decode_flow(&i, code, code ? left : 0, a))
			return false;
	}
	return a == at;
}
