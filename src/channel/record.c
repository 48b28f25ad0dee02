/*
 * record.c - what a reader knows of records, and how it passes over the rest.
 *
 * READER code: it stays out of the target. flick/event.h says what a record is.
 */
#include "channel/channel.h"

static uint64_t belonging(const struct flick_record *r)
{
	return fl_record_type(r) & FLICK_TYPE_LONG ? r->sp : 0;
}

struct fl_known_records fl_records_known(const struct flick_record *r, size_t n,
					 uint64_t *rest)
{
	struct fl_known_records k = { .from = *rest < n ? *rest : n };
	size_t at = k.from;

	*rest -= k.from;
	for (; at < n && fl_record_type(&r[at]) >= FLICK_N_TYPES; at = k.from) {
		uint64_t more = belonging(&r[at]), here = n - at - 1;

		k.passed++;
		*rest = more > here ? more - here : 0;
		k.from = at + 1 + (more < here ? more : here);
	}
	for (; at < n && fl_record_type(&r[at]) < FLICK_N_TYPES; at++)
		k.events += fl_is_event(&r[at]);
	k.n = at - k.from;
	return k;
}

/* The highest bit tells an access. The AND of so many words says whether all are accesses. */
enum { AT_ONCE = 8 };

static size_t count_accesses(const uint64_t *words, size_t n)
{
	size_t at = 0;

	for (; n - at >= AT_ONCE; at += AT_ONCE) {
		uint64_t all = FL_ACCESS_WORD;

		for (size_t i = 0; i < AT_ONCE; i++)
			all &= words[at + i];
		if (!all)
			break;
	}
	while (at < n && words[at] & FL_ACCESS_WORD)
		at++;
	return at;
}

struct fl_run_of_words fl_records_run(const uint64_t *words, size_t n, uint64_t rest)
{
	struct fl_run_of_words w = { .are_accesses = !rest && n && words[0] & FL_ACCESS_WORD };
	uint64_t left = n / 2;

	if (w.are_accesses) {
		w.n = count_accesses(words, n);
		return w;
	}
	while (left && (rest || !(words[w.n] & FL_ACCESS_WORD))) {
		const struct flick_record *r = (const void *)&words[w.n];
		uint64_t passed = rest ? (rest < left ? rest : left) : 1;

		rest = rest ? rest - passed : belonging(r);
		left -= passed;
		w.n += 2 * passed;
	}
	return w;
}
