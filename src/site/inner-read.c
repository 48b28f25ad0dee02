/*
 * inner-read.c - reads the functions that some addresses stand in, and no others.
 *
 * To decode all text of a large program takes longer than many a run of it. Hides which
 * ranges may be one function with those that hold an address.
 *
 * INVARIANT  A range that cyg.c would put together with one that holds an address is read.
 * WHY	Ranges are put together where one branches into another, which is no function. What
 *	a range that was read branches to is read as well. What branches into it, and is not
 *	branched to, is a part that the compiler split off, and is named for its function, with
 *	".cold" behind: ranges of one name are read together. A range that no symbol names may
 *	be a part of any function, so where one is met all ranges are read.
 */
#include <string.h>

#include "cyg.h"

/* Whose name is not in the filter is nobody's; who is in it by chance is read in vain. */
enum { FILTER_BITS = 1 << 16 };

struct wanted {
	struct fl_code *c;
	uint64_t *ranges;		/* a bit a range: it is read, or will be */
	uint64_t *starts;		/* a bit a byte of text: where such a range begins */
	uint64_t *symbols;		/* ... where a symbol stands */
	uint64_t names[FILTER_BITS / 64];	/* of such ranges */
	bool all;			/* a range has no name */
};

static uint32_t begin_of(const struct wanted *w, size_t range)
{
	return fl_part_start(w->c, &w->c->parts[range]);
}

static void will_read(struct wanted *w, size_t range)
{
	fl_set_bit(w->ranges, range);
	fl_set_bit(w->starts, begin_of(w, range));
}

static void want_addresses(struct wanted *w, const uintptr_t *at, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t offset = fl_code_offset(w->c, at[i]);
		size_t range = offset == FL_NOWHERE ? w->c->ranges.n :
						      fl_code_range(w->c, offset);

		if (range < w->c->ranges.n)
			will_read(w, range);
	}
}

/* ---- names ----------------------------------------------------------------------- */

struct stem {
	size_t bit;			/* in the filter: a function's, and of its parts */
	bool is_part;
};

static struct stem stem_of(const char *name)
{
	static const char suffix[] = ".cold";
	uint64_t h = 0;

	for (; *name && (*name != '.' || strncmp(name, suffix, sizeof suffix - 1)); name++)
		h = (h ^ (unsigned char)*name) * 0x9e3779b97f4a7c15ull;
	return (struct stem){ h >> 32 & (FILTER_BITS - 1), *name != 0 };
}

static int meet_name(void *arg, const char *name, uint64_t value, uint64_t size)
{
	struct wanted *w = arg;
	uint32_t at = fl_code_offset(w->c, w->c->m->bias + value);

	(void)size;
	if (at == FL_NOWHERE)
		return 0;
	fl_set_bit(w->symbols, at);
	if (fl_bit(w->starts, at))
		fl_set_bit(w->names, stem_of(name).bit);
	return 0;
}

/* Functions are known before all their callers are read. */
static int want_name(void *arg, const char *name, uint64_t value, uint64_t size)
{
	struct wanted *w = arg;
	uint32_t at = fl_code_offset(w->c, w->c->m->bias + value);
	struct stem stem = stem_of(name);
	size_t range;

	(void)size;
	if (at == FL_NOWHERE)
		return 0;
	if (!stem.is_part)
		fl_code_expose(w->c, at);
	if (!fl_bit(w->names, stem.bit))
		return 0;
	range = fl_code_range(w->c, at);
	if (range < w->c->ranges.n)
		will_read(w, range);
	return 0;
}

static void want_parts(struct wanted *w)
{
	struct fl_code *c = w->c;

	fl_obj_functions(&c->m->file, meet_name, w);
	fl_obj_functions(&c->m->file, want_name, w);
	for (size_t i = 0; i < c->ranges.n; i++)
		w->all |= fl_bit(w->ranges, i) && !fl_bit(w->symbols, begin_of(w, i));
}

/* ---- reading --------------------------------------------------------------------- */

/* Branches lead from one range to the next; the row of links grows meanwhile. */
static void read_linked(struct wanted *w)
{
	struct fl_code *c = w->c;

	for (size_t i = 0; i < c->n_links && !w->all; i++) {
		size_t to = fl_code_range(c, c->links[i].target);
		uint32_t start;

		if (to == c->ranges.n || fl_bit(w->ranges, to))
			continue;
		start = begin_of(w, to);
		if (start == c->links[i].target && fl_bit(c->entries, start))
			continue;			/* a tail call of a function */
		w->all = !fl_bit(w->symbols, start);
		will_read(w, to);
		fl_code_read(c, to);
	}
}

static void read_all(struct wanted *w, const uintptr_t *at, size_t n)
{
	struct fl_code *c = w->c;

	want_addresses(w, at, n);
	want_parts(w);
	for (size_t i = 0; i < c->ranges.n; i++)
		fl_code_skip(c, i);
	for (size_t i = 0; i < c->ranges.n; i++)
		if (w->all || fl_bit(w->ranges, i))
			fl_code_read(c, i);
	if (w->all)
		return;
	read_linked(w);
	for (size_t i = 0; i < c->ranges.n; i++)
		if (w->all && !fl_bit(w->ranges, i))
			fl_code_read(c, i);
}

int fl_inner_read(struct fl_code *c, const uintptr_t *at, size_t n)
{
	size_t text = ((c->hi - c->lo) / 64 + 2) * 8, ranges = (c->ranges.n / 64 + 1) * 8;
	struct wanted w = {
		.c = c, .ranges = fl_scratch_open(ranges),
		.starts = fl_scratch_open(text), .symbols = fl_scratch_full(text),
	};
	bool is_room = w.ranges && w.starts && w.symbols;

	if (is_room)
		read_all(&w, at, n);
	fl_scratch_close(w.ranges, ranges);
	fl_scratch_close(w.starts, text);
	fl_scratch_close(w.symbols, text);
	return is_room ? 0 : -ENOMEM;
}
