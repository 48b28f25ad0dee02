/*
 * outline.c - what a module's code is made of: which functions can have a second body?
 *
 * Hides what must be known of all code before one function can be moved: which ranges
 * are functions and which are parts of them, who jumps where, whose code asks who called
 * it. The file's bytes are decoded once, in order: memory may hold a debugger's traps.
 *
 * INVARIANT  Of a function that is not refused all that executes lies in its parts, and
 *	is understood; no code of the module's leads into the bytes that a jump at its
 *	entry covers, but its own, which will be in its body.
 * WHY	Direct branches are all seen: every range that any table knows is decoded, and
 *	so are the gaps between, where what looks like a branch counts. What jumps through
 *	a register or memory reaches starts of functions, landing pads, and in the
 *	function itself targets of switches: fl_shape.displaced (shape.c) is for those.
 */
#include <string.h>

#include "shape.h"

struct pass {
	struct fl_outline *o;
	const struct fl_module *m;
	uintptr_t lo, hi;
	/* a bit a byte of text: */
	uint64_t *heads;		/* functions' starts, and entries behind their pads */
	uint64_t *named;		/* what is called, or its address written somewhere */
	uint64_t *starts;		/* of instructions */
	uint64_t *targets;		/* of direct branches into what is no head */
	struct call {
		uint32_t from, to;	/* an extent, and what it calls */
	} *calls;			/* direct ones that leave it */
	size_t n_calls, room_calls;
	struct fl_askers askers;
	bool is_fixed;			/* it names addresses without relocations */
	bool any_flags;			/* an extent is X_FLAGS */
};

/* ---- one range ----------------------------------------------------------- */

static void note_named(struct pass *p, uintptr_t a)
{
	if (a - p->lo < p->hi - p->lo)
		fl_set_bit(p->named, a - p->lo);
}

static void leave(struct pass *p, struct fl_extent *x, const struct fl_insn *i,
		  uintptr_t at, enum fl_shape_kind kind)
{
	bool is_direct = kind == FL_SHAPE_TAIL || kind == FL_SHAPE_BRANCH_OUT;
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

/* Does a stub of the linker's lead to a function that asks who called? */
static int leads_to_asker(const struct pass *p, uintptr_t to)
{
	size_t left;
	const unsigned char *code = fl_file_text(p->m, to, &left);

	return code ? fl_asks(&p->askers, fl_arch_stub(code, left, to)) : 0;
}

static bool is_head(const struct pass *p, uintptr_t a)
{
	return a - p->lo < p->hi - p->lo && fl_bit(p->heads, a - p->lo);
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

/* Who ends in a jump to one that asks who called asks that, too. */
static void meet_asker(struct fl_extent *x, const struct fl_insn *i, uintptr_t at, int why)
{
	if (!why)
		return;
	if (!(x->flags & X_STUB))	/* who is asked finds its caller there */
		fl_refuse(x, why, at);
	if (i->cls != FL_INSN_CALL && i->cls != FL_INSN_CALL_POINTER)
		x->flags |= X_ASKS;
}

/* Assemblers may know what flags a function leaves: what is at its exits changes them. */
static void judge_behind(struct pass *p, const struct fl_insn *i, const unsigned char *code,
			 size_t left, uintptr_t at)
{
	size_t k;

	if (i->cls != FL_INSN_CALL || !i->target ||
	    !fl_arch_takes_flags(code + i->len, left - i->len, 1))
		return;
	k = fl_outline_find(p->o, i->target);
	if (k < p->o->n)
		fl_refuse(&p->o->extents[k], FLE_FLAGS, at);
}

/* A direct call or jump. Into itself: its first bytes will not be there. */
static void take_direct(struct pass *p, struct fl_extent *x, const struct fl_insn *i,
			uintptr_t at)
{
	bool is_call = i->cls == FL_INSN_CALL, is_own_head;

	if (i->target - x->start >= x->end - x->start) {
		if (p->askers.n && !is_head(p, i->target))
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
		x->flags |= i->target || i->cls == FL_INSN_CALL ? 0 : X_SWITCH;
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

/* An address of its own function: who reads its first bytes finds the jump there; who gives
 * away where its middle is gets jumps there, in the original. */
static void name_own(struct fl_extent *x, uintptr_t address, uintptr_t at,
		     enum fl_paged how)
{
	if (how == FL_PAGED_FORMED && address - x->start > x->landing)
		x->flags |= X_LABELS;
	else if (how == FL_PAGED_ACCESSED && address - fl_extent_entry(x) < FL_ARCH_PAD_BYTES)
		fl_refuse(x, FLE_OWNBYTES, at);
}

/* It may be its own first bytes, or a function that asks. Who forms an address in another
 * function's middle jumps there, or looks there for what has trapped. */
static void take_address(void *arg, uintptr_t address, enum fl_paged how)
{
	struct name *n = arg;
	struct pass *p = n->p;
	struct fl_outline *o = p->o;
	size_t k = is_head(p, address) ? o->n : fl_outline_find(o, address);

	note_named(p, address);
	if (address - n->x->start < n->x->end - n->x->start)
		name_own(n->x, address, n->at, how);
	else if (how == FL_PAGED_FORMED && k < o->n && !(address % sizeof(fl_unit)) &&
		 o->extents[k].kind != FL_EXTENT_OTHER && address != o->extents[k].start)
		fl_refuse(&o->extents[k], FLE_INSIDE, n->at);
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
			fl_refuse(&o->extents[k], FLE_INSIDE, n->at);
	}
}

/* Does somebody's code lie there, or where a function is that asks? */
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
		note_named(p, address);
	else
		take_address(&n, address, full.cls == FL_INSN_LOAD_ADDRESS ?
			  FL_PAGED_FORMED : FL_PAGED_ACCESSED);
}

/* The last bytes of an instruction may be an address. */
static void note_immediate(struct pass *p, const unsigned char *end)
{
	uint32_t v;

	memcpy(&v, end - sizeof v, sizeof v);
	note_named(p, p->m->bias + v);
}

/* Where an instruction may not be the last one, as it goes on behind it. */
static bool may_end(const struct fl_insn *i)
{
	return i->cls == FL_INSN_JUMP || i->cls == FL_INSN_JUMP_POINTER ||
	       i->cls == FL_INSN_RET || i->cls == FL_INSN_STOP || i->cls == FL_INSN_CALL ||
	       i->cls == FL_INSN_CALL_POINTER;
}

static void read_extent(struct pass *p, struct fl_extent *x)
{
	size_t left;
	const unsigned char *code = fl_file_text(p->m, x->start, &left);
	uintptr_t at = x->start;
	bool ends = false;
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
		fl_set_bit(p->starts, at - p->lo);
		if (i.cls != FL_INSN_OTHER)
			take(p, x, &i, at);
		judge_behind(p, &i, code, left, at);
		if (i.operand_at)
			take_operand(p, x, &i, at, code);
		else if (p->is_fixed && i.len > sizeof(uint32_t))
			note_immediate(p, code + i.len);
		if (at == fl_extent_entry(x) && i.len < FL_ARCH_PAD_BYTES)
			x->flags |= X_SHORT_FIRST;
		if (i.cls != FL_INSN_NOP)
			ends = may_end(&i);
	}
	if (!ends)
		x->flags |= X_RUNS_ON;
}

/* ---- parts that look like functions -------------------------------------- */

static int note_value(void *arg, uintptr_t pointer, uint32_t type, const char *name,
		      uintptr_t value)
{
	(void)pointer;
	(void)type;
	(void)name;
	note_named(arg, value);
	return 0;
}

static int note_function(void *arg, const char *name, uint64_t value, uint64_t size)
{
	struct pass *p = arg;

	(void)name;
	(void)size;
	note_named(p, p->m->bias + value);
	return 0;
}

/* A program at a fixed address has its functions' in words of data. */
static void note_words(struct pass *p)
{
	for (size_t i = 0; i < p->m->n_ph; i++) {
		const Elf64_Phdr *ph = &p->m->ph[i];
		uint64_t word;

		/* of others nobody has looked where they are */
		if (ph->p_type != PT_LOAD || (ph->p_flags & PF_X))
			continue;
		for (size_t at = -ph->p_vaddr % 8; at + 8 <= ph->p_filesz; at += 8) {
			memcpy(&word, p->m->file.bytes + ph->p_offset + at, sizeof word);
			note_named(p, p->m->bias + word);
		}
	}
}

static bool may_be_part(const struct pass *p, const struct fl_extent *x)
{
	return x->kind == FL_EXTENT_FUNCTION && x->fde && !x->refusal && !(x->flags & X_STUB) &&
	       !fl_bit(p->named, x->start - p->lo) &&
	       !fl_bit(p->named, fl_extent_entry(x) - p->lo);
}

/* Who jumps to the start of what may be a part? `next` has that meanwhile; its own index:
 * several do. */
static void note_source(struct pass *p, uint32_t k, uintptr_t to)
{
	struct fl_outline *o = p->o;
	size_t t = is_head(p, to) ? fl_outline_find(o, to) : o->n;
	struct fl_extent *x = &o->extents[t];

	if (t == o->n || o->extents[k].kind != FL_EXTENT_FUNCTION || !may_be_part(p, x))
		return;
	x->next = x->next == FL_EXTENT_NONE || x->next == k ? k : (uint32_t)t;
}

/*
 * A cold part of a function that has no frame there looks like a function to the tables, but
 * flags may be live where it begins. What one function jumps to, that nobody calls, and
 * whose address stands nowhere, is a part of that function; so is a function that is
 * called by nothing but one tail call.
 */
static void find_hidden(struct pass *p)
{
	struct fl_outline *o = p->o;

	if (!p->m->file.bytes)
		return;
	if (p->is_fixed)
		note_words(p);
	fl_obj_relocs(p->m, note_value, p);
	fl_obj_functions(&p->m->file, note_function, p);
	for (uint32_t k = 0; k < o->n; k++)
		for (uint32_t i = 0; i < o->extents[k].n_left; i++)
			if (o->lefts[o->extents[k].left + i].to)
				note_source(p, k, o->lo +
					    o->lefts[o->extents[k].left + i].to);
	for (uint32_t k = 0; k < o->n; k++) {
		struct fl_extent *x = &o->extents[k];

		if (x->next != FL_EXTENT_NONE && x->next != k) {
			x->kind = FL_EXTENT_PART;
			fl_clear_bit(p->heads, x->start - p->lo);
			fl_clear_bit(p->heads, fl_extent_entry(x) - p->lo);
		}
		x->next = FL_EXTENT_NONE;
	}
}

/* ---- who is whose -------------------------------------------------------- */

/* The first part of what `k` belongs to, as far as is known. */
static uint32_t root_of(struct fl_outline *o, uint32_t k)
{
	while (o->extents[k].owner != k) {
		uint32_t up = o->extents[k].owner;

		o->extents[k].owner = o->extents[up].owner;
		k = up;
	}
	return k;
}

/* A part and what jumps to it, or where it jumps to, are one function. */
static void join(struct fl_outline *o, uint32_t a, uint32_t b)
{
	struct fl_extent *x, *y;

	a = root_of(o, a);
	b = root_of(o, b);
	x = &o->extents[a];
	y = &o->extents[b];
	if (a == b)
		return;
	if (x->kind == FL_EXTENT_PART) {
		x->owner = b;
	} else if (y->kind == FL_EXTENT_PART) {
		y->owner = a;
	} else {
		fl_refuse(x, FLE_SHARED, y->start);
		fl_refuse(y, FLE_SHARED, x->start);
	}
}

/* A jump from extent `k` to `to`, outside of it. */
static void link_jump(struct pass *p, uint32_t k, uintptr_t to)
{
	struct fl_extent *x = p->o->extents, *from = &x[k];
	size_t t = is_head(p, to) ? p->o->n : fl_outline_find(p->o, to);

	if (t == p->o->n || x[t].kind == FL_EXTENT_OTHER || from->kind == FL_EXTENT_OTHER)
		return;
	if (x[t].kind == FL_EXTENT_PART || (from->kind == FL_EXTENT_PART && to != x[t].start))
		join(p->o, k, (uint32_t)t);
}

static void link_all(struct pass *p)
{
	struct fl_outline *o = p->o;

	for (uint32_t k = 0; k < o->n; k++)
		for (uint32_t i = 0; i < o->extents[k].n_left; i++) {
			const struct fl_leaving *l = &o->lefts[o->extents[k].left + i];

			if (l->to)
				link_jump(p, k, o->lo + l->to);
		}
}

/* Functions have lists of their parts, ascending; parts without one are nobody's. */
static void list_parts(struct fl_outline *o)
{
	for (uint32_t k = (uint32_t)o->n; k--;) {
		struct fl_extent *x = &o->extents[k], *f = &o->extents[root_of(o, k)];

		if (f == x)
			continue;
		x->owner = (uint32_t)(f - o->extents);
		x->next = f->next;
		f->next = k;
		f->flags |= x->flags & (X_SWITCH | X_LOOPS);
		if (x->refusal)
			fl_refuse(f, x->refusal, x->datum);
	}
}

/* ---- who leads into whom ------------------------------------------------- */

/* Extent `k` calls or jumps to `to`, which lies elsewhere and is no head. */
static void judge_into(struct pass *p, uint32_t k, uintptr_t to)
{
	struct fl_outline *o = p->o;
	size_t t = fl_outline_find(o, to);
	struct fl_extent *x = &o->extents[t], *f;
	bool is_own;

	if (t == o->n || x->kind == FL_EXTENT_OTHER)
		return;
	f = &o->extents[x->owner];
	is_own = o->extents[k].owner == x->owner;
	fl_set_bit(p->targets, to - p->lo);
	if (x == f && to - x->start < (size_t)x->landing + FL_ARCH_PAD_BYTES) {
		if (is_own)
			f->flags |= X_LOOPS;
		else
			fl_refuse(f, FLE_INTO, to);
	}
	if (!is_own)
		f->flags |= X_ENTERED;
}

/* Does nothing but what fills up stand there, up to where a function begins? Compilers end
 * what does not return so, where they do not optimise. */
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

/* A jump that leaves goes to a function's start, where flags are dead: one of the tables
 * knows, a stub of the linker's, what stands where such do, or what runs on into one. One
 * that goes to another part, or back, stays. */
enum { STUB_ALIGNED = 8 };

static void judge_jump(struct pass *p, uint32_t k, struct fl_leaving *l)
{
	struct fl_outline *o = p->o;
	uintptr_t to = o->lo + l->to;
	bool at_head = is_head(p, to);
	size_t t = at_head && o->extents[k].owner == k ? o->n : fl_outline_find(o, to);

	if (!at_head)
		judge_into(p, k, to);
	if (at_head && p->any_flags && (o->extents[fl_outline_find(o, to)].flags & X_FLAGS))
		fl_refuse(&o->extents[o->extents[k].owner], FLE_FLAGS, to);
	if (at_head && t == o->n)
		return;
	if (t == o->n || o->extents[t].kind == FL_EXTENT_OTHER) {
		if (to % STUB_ALIGNED && is_before_head(p, to))
			fl_set_bit(p->targets, to - p->lo);	/* it is somebody's */
		else if (to % STUB_ALIGNED)
			fl_refuse(&o->extents[o->extents[k].owner], FLE_MIDDLE, to);
		return;
	}
	if (o->extents[t].owner == o->extents[k].owner) {
		l->kind = FL_SHAPE_JUMP;
		o->extents[o->extents[t].owner].flags |= at_head ? X_LOOPS : 0;
	} else if (!at_head) {
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

/* Targets that are no starts. */
static void find_torn(struct pass *p)
{
	struct fl_outline *o = p->o;

	for (size_t w = 0; w < (p->hi - p->lo) / 64 + 1; w++) {
		uint64_t torn = p->targets[w] & ~p->starts[w];

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

/* Where that is no compiler's usual way. */
static void judge_begins(struct pass *p)
{
	enum { A_FEW = 4 };

	for (size_t i = 0; i < p->o->n; i++) {
		struct fl_extent *x = &p->o->extents[i];
		size_t left, n = x->end - x->start;
		const unsigned char *code = fl_file_text(p->m, x->start, &left);

		if (x->kind != FL_EXTENT_FUNCTION || !code || left < n)
			continue;
		if (fl_arch_splits_stack(code, n))
			fl_refuse(x, FLE_SPLIT, x->start);
		if (!fl_arch_takes_flags(code + x->landing, n - x->landing, A_FEW))
			continue;
		fl_refuse(x, FLE_FLAGS, x->start);
		x->flags |= X_FLAGS;
		p->any_flags = true;
	}
}

/* ---- room at the entry --------------------------------------------------- */

/* What stands behind a short function and is nobody's. */
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

static int check_pad(void *arg, uintptr_t from, uintptr_t to, uintptr_t pad)
{
	const struct pass *p = arg;

	(void)from;
	(void)to;
	return pad - p->lo >= p->hi - p->lo || !fl_bit(p->starts, pad - p->lo);
}

static bool has_good_pads(struct pass *p, const struct fl_extent *x)
{
	return !x->lsda || (x->lsda != FL_OBJ_UNKNOWN &&
			    !fl_obj_pads(p->m, x->lsda, x->start, x->end, check_pad, p));
}

static void judge_part(struct pass *p, struct fl_extent *f, const struct fl_extent *x)
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
	if ((x->flags & X_ENTERED) && ((x->flags & X_LOOPS) ||
	    (x->flags & (X_SWITCH | X_SHORT_FIRST)) == (X_SWITCH | X_SHORT_FIRST)))
		fl_refuse(x, FLE_INTO, fl_extent_entry(x));
}

static void judge_functions(struct pass *p)
{
	for (uint32_t k = 0; k < p->o->n; k++) {
		struct fl_extent *x = &p->o->extents[k];

		if (x->kind == FL_EXTENT_FUNCTION)
			judge_function(p, k);
		else if (x->kind == FL_EXTENT_PART && x->owner == k)
			fl_refuse(x, FLE_NOENTRY, 0);
	}
}

/* ---- who calls who asks -------------------------------------------------- */

/* Does `to` begin a function that asks? Then so does extent `k`, if it jumps there. */
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

static void find_askers(struct pass *p)
{
	bool any = false;

	for (uint32_t k = 0; k < p->o->n; k++)
		any |= p->o->extents[k].flags & X_ASKS;
	while (any)
		any = ask_all(p);
}

/* ---- open and close ------------------------------------------------------ */

static void find_span(struct pass *p)
{
	p->lo = UINTPTR_MAX;
	for (size_t i = 0; i < p->m->n_ph; i++) {
		const Elf64_Phdr *ph = &p->m->ph[i];
		uintptr_t a = p->m->bias + ph->p_vaddr;

		if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X))
			continue;
		if (a < p->lo)
			p->lo = a;
		if (a + ph->p_memsz > p->hi)
			p->hi = a + ph->p_memsz;
	}
}

static void set_extent(struct pass *p, struct fl_extent *x, const struct fl_range *r)
{
	size_t left;
	const unsigned char *code = fl_file_text(p->m, r->start, &left);

	*x = (struct fl_extent){
		.start = r->start, .end = r->end, .fde = r->fde,
		.lsda = r->is_frame ? r->lsda : 0, .owner = (uint32_t)(x - p->o->extents),
		.next = FL_EXTENT_NONE,
		.kind = r->is_gap ? FL_EXTENT_OTHER : FL_EXTENT_FUNCTION,
	};
	if (code && !r->is_gap)
		x->landing = (uint8_t)fl_arch_landing(code, left);
	if (x->landing >= x->end - x->start)
		x->landing = 0;
}

static void set_heads(struct pass *p)
{
	for (size_t i = 0; i < p->o->n; i++) {
		const struct fl_extent *x = &p->o->extents[i];

		if (x->kind != FL_EXTENT_FUNCTION)
			continue;
		fl_set_bit(p->heads, x->start - p->lo);
		fl_set_bit(p->heads, fl_extent_entry(x) - p->lo);
	}
}

static bool map_all(struct pass *p, size_t n)
{
	size_t words = n / 64 + 2;
	struct fl_outline *o = p->o;

	o->room_lefts = n + 1;
	p->room_calls = n / FL_ARCH_PAD_BYTES + 1;
	p->heads = fl_scratch_full(words * sizeof *p->heads);
	p->named = fl_scratch_full(words * sizeof *p->named);
	p->starts = fl_scratch_full(words * sizeof *p->starts);
	p->targets = fl_scratch_full(words * sizeof *p->targets);
	p->calls = fl_scratch_open(p->room_calls * sizeof *p->calls);
	o->lefts = fl_scratch_open(o->room_lefts * sizeof *o->lefts);
	o->extents = fl_scratch_full(o->room * sizeof *o->extents);
	return p->heads && p->named && p->starts && p->targets && p->calls && o->lefts &&
	       o->extents;
}

/* ---- stubs --------------------------------------------------------------- */

/* Where those are that are asked for. */
struct stubs {
	struct section {
		uintptr_t lo, hi;
		size_t step;		/* bytes of one, a power of two */
	} in[3];
	size_t n;
};

static struct stubs find_stubs(const struct fl_module *m)
{
	static const char *const names[] = { ".plt", ".plt.sec", ".plt.got" };
	struct stubs s = { .n = 0 };
	Elf64_Shdr sh;

	for (size_t i = 0; i < ARRAY_LEN(names) && fl_site_wants_stubs(m); i++)
		if (fl_obj_section(&m->file, names[i], &sh))
			s.in[s.n++] = (struct section){
				m->bias + sh.sh_addr, m->bias + sh.sh_addr + sh.sh_size,
				sh.sh_entsize == STUB_ALIGNED ? STUB_ALIGNED : 2 * STUB_ALIGNED,
			};
	return s;
}

/* The first place from `a` on where a stub may begin, and how many bytes it has; none: 0. */
static uintptr_t next_stub(const struct stubs *s, uintptr_t a, size_t *step)
{
	uintptr_t next = 0;

	for (const struct section *in = s->in; in < s->in + s->n; in++) {
		uintptr_t at = a <= in->lo ? in->lo :
			       in->lo + fl_round_up(a - in->lo, in->step);

		if (at >= in->hi || in->hi - at < in->step || (next && at >= next))
			continue;
		next = at;
		*step = in->step;
	}
	return next;
}

/* Where the stub's jump ends that begins at `a`; 0: none does. */
static uintptr_t stub_end(const struct pass *p, uintptr_t a, size_t step)
{
	size_t left, skip;
	const unsigned char *code = fl_file_text(p->m, a, &left);
	struct fl_insn i;

	if (!code || left < step)
		return 0;
	skip = fl_arch_landing(code, step);
	fl_arch_decode(&i, code + skip, step - skip, a + skip);
	return i.cls == FL_INSN_JUMP_POINTER ? a + skip + i.len : 0;
}

/* A range of the linker's that has stubs is these, and what is between them. Its rows for
 * unwinders hold in a stub's body, too: where they ask for the pc it is how far that is into
 * 16 bytes, 11 being behind a push; a body begins at such a place, and its jump soon behind. */
static void set_extents(struct pass *p, const struct fl_range *r, const struct stubs *s)
{
	struct fl_range rest = *r;
	struct fl_outline *o = p->o;
	uintptr_t a = r->start, end;
	size_t step;

	for (; (a = next_stub(s, a, &step)) && a < r->end; a += step) {
		end = stub_end(p, a, step);
		if (!end || end > r->end)
			continue;
		rest.end = a;
		if (rest.end > rest.start)
			set_extent(p, &o->extents[o->n++], &rest);
		set_extent(p, &o->extents[o->n],
			   &(struct fl_range){ .start = a, .end = end, .fde = r->fde });
		o->extents[o->n++].flags = X_STUB;
		rest = (struct fl_range){ .start = end, .is_gap = 1 };
	}
	rest.end = r->end;
	if (rest.end > rest.start)
		set_extent(p, &o->extents[o->n++], &rest);
}

static void read_all(struct pass *p, const struct fl_ranges *ranges, const struct stubs *stubs)
{
	struct fl_outline *o = p->o;

	for (size_t i = 0; i < ranges->n; i++)
		set_extents(p, &ranges->r[i], stubs);
	fl_refuse_by_tables(o, &p->askers);
	set_heads(p);
	for (size_t i = 0; i < o->n; i++)
		read_extent(p, &o->extents[i]);
	find_askers(p);
	find_hidden(p);
	link_all(p);
	judge_begins(p);
	list_parts(o);
	judge_all(p);
	find_torn(p);
	judge_functions(p);
}

int fl_outline_read(struct fl_outline *o, const struct fl_module *m)
{
	struct pass p = { .o = o, .m = m };
	struct fl_ranges ranges;
	struct stubs stubs = find_stubs(m);
	int err = fl_ranges_open(&ranges, m);

	find_span(&p);
	p.is_fixed = m->file.bytes && m->file.eh->e_type == ET_EXEC;
	*o = (struct fl_outline){ .m = m, .lo = p.lo, .room = ranges.n };
	for (size_t i = 0; i < stubs.n; i++)
		o->room += 2 * (stubs.in[i].hi - stubs.in[i].lo) / stubs.in[i].step + 1;
	if (!err && ranges.n && p.hi - p.lo >= UINT32_MAX)
		err = -EFBIG;
	if (!err && ranges.n) {
		size_t bytes = ((p.hi - p.lo) / 64 + 2) * sizeof *p.heads;

		err = map_all(&p, p.hi - p.lo) ? 0 : -ENOMEM;
		if (!err)
			read_all(&p, &ranges, &stubs);
		fl_scratch_close(p.heads, bytes);
		fl_scratch_close(p.named, bytes);
		fl_scratch_close(p.starts, bytes);
		fl_scratch_close(p.targets, bytes);
		fl_scratch_close(p.calls, p.room_calls * sizeof *p.calls);
	}
	fl_ranges_close(&ranges);
	if (!err)
		err = fl_refuse_monitors(o);
	if (err)
		fl_outline_close(o);
	return err;
}

void fl_outline_close(struct fl_outline *o)
{
	fl_scratch_close(o->lefts, o->room_lefts * sizeof *o->lefts);
	fl_scratch_close(o->extents, o->room * sizeof *o->extents);
	*o = (struct fl_outline){ 0 };
}

size_t fl_outline_find(const struct fl_outline *o, uintptr_t a)
{
	size_t n = fl_rows_from(o->extents, o->n, sizeof *o->extents, a);

	return n && a < o->extents[n - 1].end ? n - 1 : o->n;
}
