/*
 * places.c - where in functions samples stood: result `places`.
 *
 * An address is one of the function's file, also of samples in its second body, and 0 where it
 * is not known: in code that is in no file, and in bodies of processes that had ended.
 */
#include "session/samples/inner.h"
#include "session/samples/profile.h"

static const struct flick_column columns[] = {
	{ "address", FLICK_COL_COUNT },
	{ "function", FLICK_COL_FUNCTION },
	{ "self_ns", FLICK_COL_NS },
	{ "samples", FLICK_COL_COUNT },
};

int fl_places_fill(struct fl_session *s, const struct fl_pc *pcs,
		   const struct fl_place *places, size_t n_places)
{
	struct flick_rows *of = &s->sampled[FL_R_PLACES];
	int err = fl_joined_begin(of, columns, FL_N_OF, n_places);

	for (size_t i = 0; !err && i < n_places; i++) {
		const struct fl_pc *pc = &pcs[places[i].pc];

		fl_joined_add(of, pc->is_vague || !places[i].at ? 0 :
			      places[i].at + (uint64_t)pc->ahead, pc, &places[i]);
	}
	if (!err)
		fl_joined_join(of);
	return err;
}
