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

/* The change is one move without a park: what differs goes in one store. */
static bool is_one_store(const struct fl_patch *p, int from, int to)
{
	struct fl_move m[FL_ARCH_MOVES];

	return fl_arch_moves(p, from, to, m) == 1 && !m[0].park_bytes;
}

static bool is_in_line(const struct fl_patch *p, const struct fl_span *s)
{
	return line_is_whole && s->last - s->first < 8 &&
	       (p->at + s->first) / FL_ARCH_LINE == (p->at + s->last) / FL_ARCH_LINE;
}

enum fl_tactic fl_tactic_of(const struct fl_patch *p, int from, int to,
			    struct fl_span *s)
{
	if (!span_of(p, from, to, s))
		return FL_N_TACTICS;
	if (is_one_store(p, from, to))
		return s->first == s->last ? FL_FLIP : FL_WORD;
	if (p->starts == 1 && !p->rows && is_in_line(p, s))
		return FL_LINE;
	return FL_WIDE;
}

bool fl_holds(const struct fl_patch *p, int from, int to)
{
	struct fl_move m[FL_ARCH_MOVES];
	int n = fl_arch_moves(p, from, to, m);

	while (n > 0 && !m[n - 1].holds)
		n--;
	return n > 0;
}

static int check_change(const struct fl_patch *p, int from, int to, bool may_hold)
{
	struct fl_move m[FL_ARCH_MOVES];
	struct fl_span s;

	if (fl_tactic_of(p, from, to, &s) != FL_WIDE)
		return 0;
	if (fl_arch_moves(p, from, to, m) < 0)
		return FLE_STRADDLE;
	return !may_hold && fl_holds(p, from, to) ? FLE_SIGBLOCK : 0;
}

int fl_tactic_check(const struct fl_patch *p, bool may_hold)
{
	int err = 0;

	for (int i = 0; !err && i < FL_N_STATES * FL_N_STATES; i++)
		err = check_change(p, i / FL_N_STATES, i % FL_N_STATES, may_hold);
	return err;
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
