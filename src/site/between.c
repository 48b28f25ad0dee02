/*
 * between.c - sites that compilers left between a load-exclusive and its store-exclusive.
 *
 * What a probe does accesses memory, and so does the way to it: the store-exclusive would fail
 * each time, and the program try again for ever. Compilers expand their atomics late, so it
 * takes somebody's assembly, and a function of C between its parts, or a pad that is the entry
 * of what a caller's load has opened.
 *
 * Most modules have no exclusives outside of a few helpers, so ranges that have none are
 * asked no further. Sites come ascending: what was found of one range serves the next site.
 */
#include "scan.h"

/* Is there any in the module's code? */
static bool has_exclusives(const struct fl_module *m)
{
	for (size_t i = 0; i < m->n_ph; i++) {
		const Elf64_Phdr *p = &m->ph[i];
		uintptr_t start = m->bias + p->p_vaddr;
		struct fl_held_part all = { start, (const unsigned char *)start,
					    fl_text_bytes(m, start) };

		if (p->p_type == PT_LOAD && p->p_flags & PF_X && fl_arch_held_bytes(&all, 1))
			return true;
	}
	return false;
}

int fl_between_open(struct fl_between *b, const struct fl_module *m)
{
	*b = (struct fl_between){ .range = SIZE_MAX };
	return has_exclusives(m) ? fl_ranges_open(&b->ranges, m) : 0;
}

static void close_held(struct fl_between *b)
{
	fl_scratch_close(b->held, b->bytes);
	b->held = NULL;
	b->bytes = 0;
}

void fl_between_close(struct fl_between *b)
{
	close_held(b);
	fl_ranges_close(&b->ranges);
}

/* Find what is held where in the range. -ENOMEM: nobody knows. */
static int open_held(struct fl_between *b, size_t range)
{
	const struct fl_range *r = &b->ranges.r[range];
	struct fl_held_part part = { r->start, (const unsigned char *)r->start,
				     r->end - r->start };

	close_held(b);
	b->range = range;
	b->bytes = fl_arch_held_bytes(&part, 1);
	if (!b->bytes)
		return 0;
	b->held = fl_scratch_open(b->bytes);
	if (!b->held)
		return -ENOMEM;
	if (!fl_arch_held(&part, 1, b->held))
		close_held(b);
	return 0;
}

int fl_between(struct fl_between *b, uintptr_t at, uint64_t *pair)
{
	size_t range = b->ranges.n ? fl_ranges_find(&b->ranges, at) : 0;
	int err = 0;

	if (range == b->ranges.n || at < b->ranges.r[range].start)
		return 0;
	if (range != b->range)
		err = open_held(b, range);
	if (err)
		return err;
	return b->held && fl_arch_is_held(b->held, at, FL_WOVEN_BEFORE, pair) ?
	       FLE_EXCLUSIVE : 0;
}
