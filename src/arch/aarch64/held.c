/*
 * held.c - would an access to memory that is woven in be between exclusives?
 *
 * Hides how that is known (excl.c), and that most functions have no exclusives: for these
 * functions only the words are looked at.
 */
#include "arch/arch.h"
#include "emit.h"
#include "excl.h"

struct guarded {
	uint32_t n_parts, n;
	struct a64_part parts[FL_HELD_PARTS];
	struct a64_point points[];
};

/* Is there a load or store of the class that exclusives belong to? */
static bool has_exclusive(const struct fl_held_part *p)
{
	for (size_t k = 0; k + 4 <= p->bytes; k += 4)
		if ((a64_word(p->code + k) & 0x3f800000) == 0x08000000)
			return true;
	return false;
}

size_t fl_arch_held_bytes(const struct fl_held_part *parts, uint32_t n)
{
	size_t words = 0;
	bool has = false;

	for (uint32_t i = 0; i < n; i++) {
		has |= has_exclusive(&parts[i]);
		words += parts[i].bytes / 4;
	}
	return has && n <= FL_HELD_PARTS ?
	       sizeof(struct guarded) + words * sizeof(struct a64_point) : 0;
}

uint32_t fl_arch_held(const struct fl_held_part *parts, uint32_t n, void *memory)
{
	struct guarded *h = memory;

	h->n_parts = n;
	h->n = 0;
	for (uint32_t i = 0; i < n; i++) {
		h->parts[i] = (struct a64_part){ parts[i].start, parts[i].code,
						 (uint32_t)(parts[i].bytes / 4) };
		h->n += h->parts[i].n;
	}
	return a64_regions(h->parts, n, h->points);
}

static const struct a64_point *point_at(const struct guarded *h, uintptr_t at)
{
	uint32_t before = 0;

	for (uint32_t i = 0; i < h->n_parts; before += h->parts[i++].n)
		if (at - h->parts[i].start < 4 * (uintptr_t)h->parts[i].n)
			return &h->points[before + (at - h->parts[i].start) / 4];
	return NULL;
}

static uint64_t pair_of(const struct guarded *h, const struct a64_point *p)
{
	uint32_t load = p->load != A64_NOWHERE ? p->load : p->store;
	uint32_t store = p->store != A64_NOWHERE ? p->store : p->load;

	if (load == A64_NOWHERE)		/* a jump whose ways are not known */
		load = store = (uint32_t)(p - h->points);
	return fl_pair(a64_point_at(h->parts, load), a64_point_at(h->parts, store));
}

/* A thread that leaves by a branch does not come to the store, if that is in the function. */
static bool is_held_behind(const struct a64_point *p)
{
	return p->open[A64_LONELY] != A64_NOWHERE ||
	       (p->load == A64_NOWHERE && p->store == A64_NOWHERE);
}

bool fl_arch_is_held(const void *memory, uintptr_t at, enum fl_woven what, uint64_t *pair)
{
	const struct guarded *h = memory;
	const struct a64_point *p = point_at(h, at);

	if (!p || !p->inside || (what == FL_WOVEN_LEAVING && !is_held_behind(p)) ||
	    (what == FL_WOVEN_MOVED && !p->costs))
		return false;
	*pair = pair_of(h, p);
	return true;
}

/* ---- pairs that are rewritten -------------------------------------------------------- */

uint32_t fl_arch_rewrite_exclusives(void *memory, enum fl_exclusive how)
{
	struct guarded *h = memory;
	uint32_t left = 0;

	if (how == FL_EXCLUSIVE_CAS)
		a64_swap_pairs(h->parts, h->n_parts, h->points);
	if (how == FL_EXCLUSIVE_LSE)
		a64_join_pairs(h->parts, h->n_parts, h->points);
	for (uint32_t k = 0; k < h->n; k++)
		left += h->points[k].inside;
	return left;
}

unsigned int fl_arch_exclusive_part(const void *memory, uintptr_t at)
{
	const struct a64_point *p = point_at(memory, at);

	return p ? p->part : A64_PART_NONE;
}

size_t fl_arch_put_exclusive(unsigned char *out, struct fl_exclusive_code *p)
{
	enum { WORDS = 4 };
	uint32_t words;

	p->n_depths = 0;
	switch (p->part) {
	case A64_PART_ATOMIC:
		return a64_put_atomic(out, p->code, WORDS, &words);
	case A64_PART_DONE:
		a64_put(out, a64_movz(a64_rm(a64_word(p->code)), 0, 0));
		return 4;
	default:
		return a64_put_swap(out, p);
	}
}
