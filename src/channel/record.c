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
