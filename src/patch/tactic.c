/*
 * tactic.c - which store, or stores, make a change.
 *
 * Hides the choice: the cheapest stores of which no core can fetch a part.
 */
#include "sync.h"
#include "tactic.h"

static bool line_is_whole;		/* W fl_tactic_trust_lines(), before any patch */

void fl_tactic_trust_lines(void)
{
	line_is_whole = true;
}

/* Do the bytes that differ lie in one line, and does the widest store take as many? */
static bool is_in_line(const struct fl_patch *p, int from, int to, struct fl_span *s)
{
	const uint8_t *a = p->bytes[from], *b = p->bytes[to];
	size_t first = 0, end = p->len;

	while (a[first] == b[first])
		first++;
	while (a[end - 1] == b[end - 1])
		end--;
	*s = (struct fl_span){ (uint8_t)first, (uint8_t)(end - first) };
	return s->n <= FL_ARCH_STORE_MAX &&
	       (p->at + first) / FL_ARCH_LINE == (p->at + end - 1) / FL_ARCH_LINE;
}

/* A change that is one move without a park goes in one store, as wide as the port says. */
enum fl_tactic fl_tactic_of(const struct fl_patch *p, int from, int to,
			    struct fl_span *s)
{
	struct fl_move m[FL_ARCH_MOVES];

	if (!__builtin_memcmp(p->bytes[from], p->bytes[to], p->len))
		return FL_N_TACTICS;
	if (fl_arch_moves(p, from, to, m) == 1 && !m[0].park_bytes && !m[0].alone) {
		*s = (struct fl_span){ m[0].head_at, m[0].head_bytes };
		return s->n == sizeof(fl_unit) ? FL_FLIP : FL_WORD;
	}
	if (line_is_whole && p->starts == 1 && !p->rows && is_in_line(p, from, to, s))
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

static int check_change(const struct fl_patch *p, int from, int to)
{
	struct fl_move m[FL_ARCH_MOVES];
	struct fl_span s;
	int n;

	if (fl_tactic_of(p, from, to, &s) != FL_WIDE)
		return 0;
	n = fl_arch_moves(p, from, to, m);
	if (n < 0)
		return n;
	return fl_sync->asks && fl_holds(p, from, to) ? FLE_SIGBLOCK : 0;
}

int fl_tactic_check(const struct fl_patch *p)
{
	int err = 0;

	for (int i = 0; !err && i < FL_N_STATES * FL_N_STATES; i++)
		err = check_change(p, i / FL_N_STATES, i % FL_N_STATES);
	return err;
}

void fl_store_at_once(const struct fl_change *c)
{
	const struct fl_patch *p = c->patch;
	uintptr_t at = p->at + (uintptr_t)p->view + c->span.first;
	const uint8_t *bytes = p->bytes[c->to] + c->span.first;

	if (c->tactic == FL_FLIP || c->tactic == FL_WORD)
		fl_arch_flip(at, bytes, c->span.n);
	else if (c->tactic == FL_LINE)
		fl_arch_flip_line(at, bytes, c->span.n);
}
