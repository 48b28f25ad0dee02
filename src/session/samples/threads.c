/*
 * threads.c - the time of each thread that was sampled, and of functions there: results
 * `by_thread` and `thread_functions`.
 *
 * Over all threads self times come to those of all functions. A recording of one thread has
 * neither result, as both would say what `latency` does.
 */
#include <stdlib.h>

#include "session/samples/inner.h"
#include "session/samples/profile.h"

static const struct flick_column columns[] = {
	{ "thread", FLICK_COL_TEXT },
	{ "tid", FLICK_COL_COUNT },
	{ "self_ns", FLICK_COL_NS },
	{ "samples", FLICK_COL_COUNT },
};
enum { NAME, TID, SELF, SAMPLES, N_COLUMNS };

static const struct flick_column function_columns[] = {
	{ "thread", FLICK_COL_TEXT },
	{ "function", FLICK_COL_FUNCTION },
	{ "self_ns", FLICK_COL_NS },
	{ "samples", FLICK_COL_COUNT },
	{ "tid", FLICK_COL_COUNT },
};
enum { OF_TID = FL_N_OF, N_FUNCTION_COLUMNS };

/* Rows of one thread stand in a row. */
static int add_up(struct flick_rows *threads, const struct flick_rows *of)
{
	uint64_t *thread = NULL;

	if (fl_joined_begin(threads, columns, N_COLUMNS, of->n_rows))
		return -ENOMEM;
	for (size_t i = 0; i < of->n_rows; i++) {
		const uint64_t *row = of->cells + i * N_FUNCTION_COLUMNS;

		if (!thread || thread[NAME] != row[FL_OF_WHOSE]) {
			thread = threads->cells + threads->n_rows++ * N_COLUMNS;
			thread[NAME] = row[FL_OF_WHOSE];
			thread[TID] = row[OF_TID];
		}
		thread[SELF] += row[FL_OF_SELF];
		thread[SAMPLES] += row[FL_OF_SAMPLES];
	}
	return 0;
}

/* Each thread has a name of its own, in its place: so a name's place stands for its thread. */
int fl_threads_fill(struct fl_session *s, const struct fl_pc *pcs,
		    const struct fl_place *places, size_t n_places)
{
	struct flick_rows *threads = &s->sampled[FL_R_BY_THREAD];
	struct flick_rows *of = &s->sampled[FL_R_THREAD_FUNCTIONS];
	int err = fl_joined_begin(of, function_columns, N_FUNCTION_COLUMNS, n_places);

	for (size_t i = 0; !err && i < n_places; i++) {
		const struct fl_sampled_thread *t = pcs[places[i].pc].thread;

		fl_joined_add(of, (uintptr_t)t->name, &pcs[places[i].pc], &places[i])[OF_TID] =
			(uint64_t)t->tid;
	}
	if (!err) {
		fl_joined_join(of);
		err = add_up(threads, of);
	}
	if (threads->n_rows <= 1)
		threads->n_columns = of->n_columns = 0;
	return err;
}
