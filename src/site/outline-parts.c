/*
 * outline-parts.c - which ranges are parts of a function, and of which.
 */
#include <string.h>

#include "outline-pass.h"

/* ---- parts that look like functions -------------------------------------- */

/* An address in data. If it is of no function's start, a switch's table may have it. */
static void note_datum(struct pass *p, uintptr_t a)
{
	struct fl_extent *x;
	size_t t;

	if (a - p->lo >= p->hi - p->lo)
		return;
	fl_note_named(p, a);
	t = fl_is_head(p, a) || !fl_bit(p->o->starts, a - p->lo) ? p->o->n :
		fl_outline_find(p->o, a);
	if (t == p->o->n)
		return;
	x = &p->o->extents[t];
	fl_set_bit(p->targets, a - p->lo);
	if (fl_extent_covers(x, a))
		x->flags |= X_INTO;
}

static int note_value(void *arg, uintptr_t pointer, uint32_t type, const char *name,
		      uintptr_t value)
{
	(void)pointer;
	(void)type;
	(void)name;
	note_datum(arg, value);
	return 0;
}

static int note_function(void *arg, const char *name, uint64_t value, uint64_t size)
{
	struct pass *p = arg;

	(void)name;
	(void)size;
	fl_note_named(p, p->m->bias + value);
	return 0;
}

/* A program at a fixed address has the addresses of its functions in words of data, which some
 * linkers put into one segment with the code. */
static void note_words(struct pass *p)
{
	for (size_t i = 0; i < p->m->n_ph; i++) {
		const Elf64_Phdr *ph = &p->m->ph[i];
		uint64_t word;

		if (ph->p_type != PT_LOAD)
			continue;		/* nobody has looked where it is */
		for (size_t at = -ph->p_vaddr % 8; at + 8 <= ph->p_filesz; at += 8) {
			memcpy(&word, p->m->file.bytes + ph->p_offset + at, sizeof word);
			if (ph->p_flags & PF_X)
				fl_note_named(p, p->m->bias + word);
			else
				note_datum(p, p->m->bias + word);
		}
	}
}

/* Compilers align functions and pad what is before, and do neither with cold parts. An extent
 * that jumps into a function's middle is a part all the same. */
static bool is_set_apart(const struct pass *p, const struct fl_extent *x)
{
	enum { ALIGNED = 16 };
	bool is_first = x == p->o->extents || x[-1].kind == FL_EXTENT_OTHER ||
			x[-1].flags & X_STUB;	/* of its section: that is no padding */
	uintptr_t gap = is_first ? 0 : x->start - x[-1].end;

	if (!gap || gap >= ALIGNED || (x->start - p->m->bias) % ALIGNED)
		return false;
	for (uint32_t i = 0; i < x->n_left; i++) {
		uint32_t to = p->o->lefts[x->left + i].to;

		if (to && !fl_is_head(p, p->o->lo + to))
			return false;
	}
	return true;
}

/* Is it a function by the tables alone, and nobody names its address? */
static bool is_unnamed(const struct pass *p, const struct fl_extent *x)
{
	return x->kind == FL_EXTENT_FUNCTION && x->fde && !x->refusal && !(x->flags & X_STUB) &&
	       !fl_bit(p->named, x->start - p->lo) &&
	       !fl_bit(p->named, fl_extent_entry(x) - p->lo);
}

/* Note who jumps to the start of what may be a part. `next` has that meanwhile; its own index:
 * several do. */
static void note_source(struct pass *p, uint32_t k, uintptr_t to)
{
	struct fl_outline *o = p->o;
	size_t t = fl_is_head(p, to) ? fl_outline_find(o, to) : o->n;
	struct fl_extent *x = &o->extents[t];

	if (t == o->n || o->extents[k].kind != FL_EXTENT_FUNCTION || !is_unnamed(p, x) ||
	    is_set_apart(p, x))
		return;
	x->next = x->next == FL_EXTENT_NONE || x->next == k ? k : (uint32_t)t;
}

/* Each jump that leaves an extent: each(pass, extent, to). */
static void each_jump(struct pass *p, void (*each)(struct pass *, uint32_t, uintptr_t))
{
	const struct fl_outline *o = p->o;

	for (uint32_t k = 0; k < o->n; k++)
		for (uint32_t i = 0; i < o->extents[k].n_left; i++)
			if (o->lefts[o->extents[k].left + i].to)
				each(p, k, o->lo + o->lefts[o->extents[k].left + i].to);
}

static void note_target(struct pass *p, uint32_t k, uintptr_t to)
{
	(void)k;
	if (fl_is_head(p, to))
		fl_note_named(p, to);
}

/* What another extent jumps into, and nobody to its start, is a part however it is laid out. */
static void note_entered(struct pass *p, uint32_t k, uintptr_t to)
{
	size_t t = fl_is_head(p, to) ? p->o->n : fl_outline_find(p->o, to);

	if (t != p->o->n && t != k && is_unnamed(p, &p->o->extents[t]))
		p->o->extents[t].next = k;
}

/*
 * To the tables, a cold part that has no frame looks like a function, but flags may be live
 * where it begins. An extent is a part of a function if that alone jumps to it, nobody calls
 * it, and its address stands nowhere, unless it is laid out as functions are: then nothing but
 * one tail call leads there. If it is a part for all that, its body is still sound: no flag,
 * register or red zone is taken for dead that its code does not prove so.
 *
 * What nothing leads to, and is not laid out as functions are, is come to in its middle, or by
 * a switch's table of distances, which may lead to any place in it; or it is never run. Of what
 * is laid out so, a table of distances between functions may have the address.
 */
void fl_outline_find_hidden(struct pass *p)
{
	struct fl_outline *o = p->o;

	if (!p->m->file.bytes)
		return;
	if (p->is_fixed)
		note_words(p);
	fl_obj_relocs(p->m, note_value, p);
	fl_obj_functions(&p->m->file, note_function, p);
	each_jump(p, note_source);
	each_jump(p, note_target);
	each_jump(p, note_entered);
	for (uint32_t k = 0; k < o->n; k++) {
		struct fl_extent *x = &o->extents[k];

		if ((x->next != FL_EXTENT_NONE && x->next != k) ||
		    (is_unnamed(p, x) && !is_set_apart(p, x))) {
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
	size_t t = fl_is_head(p, to) ? p->o->n : fl_outline_find(p->o, to);

	if (t == p->o->n || x[t].kind == FL_EXTENT_OTHER || from->kind == FL_EXTENT_OTHER)
		return;
	if (x[t].kind == FL_EXTENT_PART || (from->kind == FL_EXTENT_PART && to != x[t].start))
		join(p->o, k, (uint32_t)t);
}

void fl_outline_join_parts(struct pass *p)
{
	struct fl_outline *o = p->o;

	for (uint32_t k = 0; k < o->n; k++)
		for (uint32_t i = 0; i < o->extents[k].n_left; i++) {
			const struct fl_leaving *l = &o->lefts[o->extents[k].left + i];

			if (l->to)
				link_jump(p, k, o->lo + l->to);
		}
}

/* Functions get lists of their parts, ascending; parts without a function are nobody's. */
void fl_outline_list_parts(struct fl_outline *o)
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
