/*
 * tactic.c - which store, or stores, make a change.
 *
 * Hides the choice: the cheapest that no core can fetch a part of.
 */
#include "tactic.h"

static bool line_is_whole;		/* W fl_tactic_open(), before any patch */

void fl_tactic_open(bool line)
{
	line_is_whole = line;
}

/* False when nothing differs. */
static bool span_of(const struct fl_patch *p, int from, int to, struct fl_span *s)
{
	const uint8_t *a = p->bytes[from], *b = p->bytes[to];
	size_t first = 0, last = p->len;

	while (first < p->len && a[first] == b[first])
		first++;
	while (last > first && a[last - 1] == b[last - 1])
		last--;
	*s = (struct fl_span){ (uint8_t)first, (uint8_t)(last - 1) };
	return first < last;
}

bool fl_is_row(const struct fl_patch *p, int from, int to)
{
	return p->n_starts && (from == FL_OLD || to == FL_OLD);
}

static bool same_block(const struct fl_patch *p, const struct fl_span *s, size_t n)
{
	return (p->at + s->first) / n == (p->at + s->last) / n;
}

enum fl_tactic fl_tactic_of(const struct fl_patch *p, int from, int to,
			    struct fl_span *s)
{
	if (!span_of(p, from, to, s))
		return FL_N_TACTICS;
	if (fl_is_row(p, from, to))
		return FL_WIDE;
	if (s->first == s->last)
		return FL_FLIP;
	if (same_block(p, s, 8))
		return FL_WORD;
	if (line_is_whole && s->last - s->first < 8 && same_block(p, s, FL_ARCH_LINE))
		return FL_LINE;
	return FL_WIDE;
}

void fl_store_at_once(const struct fl_patch *p, int from, int to)
{
	struct fl_span s;
	enum fl_tactic tactic = fl_tactic_of(p, from, to, &s);
	uintptr_t at = p->at + p->view + s.first;
	const uint8_t *bytes = p->bytes[to] + s.first;
	size_t n = s.last + 1u - s.first;

	if (tactic == FL_FLIP)
		fl_arch_store_byte(at, *bytes);
	else if (tactic == FL_WORD)
		fl_arch_store_word(at, bytes, n);
	else if (tactic == FL_LINE)
		fl_arch_store_line(at, bytes, n);
}
