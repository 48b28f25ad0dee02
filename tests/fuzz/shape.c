/*
 * shape.c - code that somebody made, in functions that tables for unwinding tell of: what is
 * said of it must hold, whatever it is. made.h says what the input is.
 */
#include "made.h"

static bool is_step(const struct fl_shape *s, uintptr_t at)
{
	for (uint32_t i = 0; i < s->n_steps; i++)
		if (s->steps[i].at == at && s->steps[i].kind != FL_SHAPE_END)
			return s->steps[i].is_target;
	return false;
}

static void check_shape(const struct fl_shape *s)
{
	const struct fl_shape_step *last = NULL;
	uint32_t n = 0;

	MUST(s->n_parts && s->n_parts <= FL_SHAPE_PARTS && s->window >= 1);
	for (uint32_t i = 0; i < s->n_steps; i++) {
		const struct fl_shape_step *p = &s->steps[i];

		MUST(p->part < s->n_parts && p->at >= s->parts[p->part].start &&
		     p->at + p->len <= s->parts[p->part].end);
		MUST(!last || last->part < p->part ||
		     (last->part == p->part && last->at + last->len <= p->at));
		if (p->kind == FL_SHAPE_JUMP || p->kind == FL_SHAPE_BRANCH)
			MUST(is_step(s, p->target) && s->steps[p->to].at == p->target);
		MUST(p->kind == FL_SHAPE_END || fl_shape_bytes(s, p));
		n += p->at >= s->entry && p->at < s->entry + 5;
		last = p;
	}
	MUST(s->covered <= n);
}

static int see_site(void *arg, const struct fl_site *s)
{
	uintptr_t *last = arg;

	MUST(s->at >= *last);
	*last = s->at;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct fl_outline o;
	struct fl_module m;
	uintptr_t last = 0;

	if (open_made(&m, &o, data, n)) {
		for (size_t i = 0; i < o.n; i++) {
			struct fl_shape s = { .steps = steps, .room = ROOM };
			uint64_t datum;

			if (!fl_shape_of(&s, &o, o.extents[i].start, &datum))
				check_shape(&s);
		}
		fl_outline_close(&o);
	}
	fl_providers[FL_PROVIDER_BODY]->scan(&m, see_site, &last);
	return 0;
}
