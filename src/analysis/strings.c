/*
 * strings.c - misses of accesses that one instruction makes in a row: rep movs, rep stos.
 *
 * An access to the line in front of its set changes nothing. So once each string's line is
 * in front, all accesses up to where a string leaves its line are passed over at once.
 */
#include "analysis/cache.h"

#include <flick/event.h>

/* A record of more bytes is of an instruction that has faulted. */
enum { MOST_BITS = 38 };

bool fl_string_of(struct fl_string *s, const struct flick_record *r)
{
	uint64_t more = r->tsc >> FLICK_STRING_MORE & 0x3ff;
	bool stores = r->tsc >> FLICK_STRING_STORE & 1;

	*s = (struct fl_string){
		.next = {
			.at = r->tsc & FLICK_STRING_ADDRESS,
			.size = 1u << (r->tsc >> FLICK_STRING_SIZE & 3),
			.kind = stores ? FL_ACCESS_STORE : FL_ACCESS_LOAD,
		},
		.n = more << 32 | r->sp, .place = fl_record_probe(r),
		.goes_down = r->tsc >> FLICK_STRING_DOWN & 1,
	};
	return s->n * s->next.size >> MOST_BITS == 0;
}

static void look_up_next(struct fl_cache *c, struct fl_string *s)
{
	uint32_t missed = fl_cache_look(c, &s->next);

	for (uint32_t k = 0; missed; k++, missed >>= 1)
		s->misses[k] += missed & 1;
}

/* Each string's `next` has been looked up. How many accesses, `next` included, can be passed
 * over, because they lie in the same one line as `next`? */
static uint64_t find_alike(const struct fl_front *f, const struct fl_string *s, size_t n)
{
	uint64_t alike = s->n;

	for (size_t k = 0; k < n; k++) {
		uint32_t at = s[k].next.at & (f->line - 1), size = s[k].next.size;
		uint64_t stay = s[k].goes_down ? at / size + 1 : (f->line - at) / size;

		if (fl_is_further(f, &s[k].next))
			return 1;
		alike = stay < alike ? stay : alike;
	}
	return alike;
}

void fl_strings_look(struct fl_cache *c, struct fl_string *s, size_t n)
{
	const struct fl_front f = fl_front_of(c);

	while (s->n) {
		uint64_t alike;

		for (size_t k = 0; k < n; k++)
			if (fl_is_further(&f, &s[k].next))
				look_up_next(c, &s[k]);
		alike = find_alike(&f, s, n);
		for (size_t k = 0; k < n; k++) {
			uint64_t bytes = alike * s[k].next.size;

			s[k].next.at += s[k].goes_down ? -bytes : bytes;
			s[k].n -= alike;
		}
	}
}
