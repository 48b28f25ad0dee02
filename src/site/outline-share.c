/*
 * outline-share.c - all code of a module is read, by several threads where CPUs are idle.
 *
 * Hides the slices. Each thread reads a row of extents and notes what they say in memory of its
 * own; in the order of slices that is what one thread would have noted.
 *
 * INVARIANT	The outline is the same, whoever has read which slice.
 * WHY		The reader of an extent writes its flags, its refusal and its bits of `starts`,
 *		`plain` and `targets`, whose words are its slice's alone: a slice begins in a
 *		word of its own. What an extent says of others goes into `others`, and whom it
 *		names into `named`, both its slice's. What else is read is constant meanwhile:
 *		where extents are and of which kind, heads, askers.
 * FAILURE	Without memory, or threads, there are fewer slices.
 */
#include <string.h>

#include "os/os.h"
#include "outline-pass.h"

enum {
	WORTH = 1 << 18,	/* bytes of text; to read them takes ten times a thread */
	WORD_BITS = 64
};

struct slice {
	struct pass pass;
	struct fl_outline outline;	/* the module's, except what leaves this slice */
	size_t first, end;		/* extents */
	uint32_t id;
	int tid;
};

/* The first extent, at `at` or later, where another slice may begin. */
static size_t find_border(const struct pass *p, size_t from, uintptr_t at)
{
	const struct fl_outline *o = p->o;
	size_t k = from + 1;

	while (k < o->n && (o->extents[k].start < at ||
			    (o->extents[k].start - p->lo) / WORD_BITS ==
			    (o->extents[k - 1].end - 1 - p->lo) / WORD_BITS))
		k++;
	return k;
}

/* Lay out where it notes what leaves and who is called. Each byte of text may say one of it at
 * most, so there is room from where the slice's first byte has its own. */
static bool lay_slice(struct slice *t, const struct pass *p, uint32_t k)
{
	uintptr_t offset = p->o->extents[t->first].start - p->lo;

	t->outline = *p->o;
	t->outline.lefts += offset;
	t->outline.n_lefts = 0;
	t->pass = *p;
	t->pass.o = &t->outline;
	t->pass.calls += offset / FL_ARCH_PAD_BYTES + k;
	t->pass.n_calls = 0;
	if (k)
		t->pass.named = fl_scratch_full(fl_map_bytes(p));
	t->pass.others = fl_scratch_open((p->o->n + 1) * sizeof *p->others);
	return t->pass.named && t->pass.others;
}

static void close_slice(struct slice *t, const struct pass *p)
{
	if (t->pass.named != p->named)
		fl_scratch_close(t->pass.named, fl_map_bytes(p));
	fl_scratch_close(t->pass.others, (p->o->n + 1) * sizeof *p->others);
}

/* How many slices there are; 0: there is no memory. The last one ends with the module. */
static uint32_t lay_slices(struct slice slices[FL_OUTLINE_SLICES], const struct pass *p)
{
	const struct fl_outline *o = p->o;
	uint32_t want = p->hi - p->lo < WORTH ? 1 : 1 + fl_os_spare.n, n = 0;
	uintptr_t step;
	size_t first = 0;

	want = want < FL_OUTLINE_SLICES ? want : FL_OUTLINE_SLICES;
	step = (p->hi - p->lo) / want;
	while (n < want && first < o->n) {
		struct slice *t = &slices[n];

		*t = (struct slice){ .first = first, .end = o->n };
		if (!lay_slice(t, p, n)) {
			close_slice(t, p);
			break;
		}
		n++;
		if (n < want)
			t->end = find_border(p, first, p->lo + n * step);
		first = t->end;
	}
	if (n)
		slices[n - 1].end = o->n;
	return n;
}

static int read_slice(void *arg)
{
	struct slice *t = arg;

	for (size_t i = t->first; i < t->end; i++)
		fl_outline_read_extent(&t->pass, &t->outline.extents[i]);
	return 0;
}

/* Put what it has said behind what the slices before it have said. */
static void join_slice(struct pass *p, const struct slice *t)
{
	struct fl_outline *o = p->o;

	for (size_t i = t->first; i < t->end; i++)
		o->extents[i].left += (uint32_t)o->n_lefts;
	memmove(o->lefts + o->n_lefts, t->outline.lefts,
		t->outline.n_lefts * sizeof *o->lefts);
	o->n_lefts += t->outline.n_lefts;
	memmove(p->calls + p->n_calls, t->pass.calls, t->pass.n_calls * sizeof *p->calls);
	p->n_calls += t->pass.n_calls;
	for (size_t i = 0; i < fl_map_bytes(p) / sizeof *p->named; i++)
		p->named[i] |= t->pass.named[i];
	for (size_t i = 0; i < o->n; i++)
		if (t->pass.others[i].why)
			fl_refuse(&o->extents[i], t->pass.others[i].why,
				  t->pass.others[i].at);
}

int fl_outline_read_code(struct pass *p)
{
	struct slice slices[FL_OUTLINE_SLICES];
	uint32_t n = lay_slices(slices, p);

	for (uint32_t k = 1; k < n; k++)
		slices[k].tid = fl_os_helper_start(read_slice, &slices[k], &slices[k].id);
	for (uint32_t k = 0; k < n; k++)
		if (slices[k].tid <= 0)
			read_slice(&slices[k]);
	for (uint32_t k = 0; k < n; k++)
		if (slices[k].tid > 0)
			fl_os_helper_join(slices[k].tid, &slices[k].id);
	for (uint32_t k = 0; k < n; k++) {
		join_slice(p, &slices[k]);
		close_slice(&slices[k], p);
	}
	return n || !p->o->n ? 0 : -ENOMEM;
}
