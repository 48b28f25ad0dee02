/*
 * joined.c - functions by what samples are told apart by: program, thread or address.
 */
#include <stdlib.h>
#include <string.h>

#include "session/samples/inner.h"
#include "session/samples/profile.h"

static int by_whose_and_function(const void *x, const void *y)
{
	const uint64_t *a = x, *b = y;
	int column = a[FL_OF_WHOSE] != b[FL_OF_WHOSE] ? FL_OF_WHOSE : FL_OF_FUNCTION;

	return a[column] < b[column] ? -1 : a[column] > b[column];
}

void fl_joined_sort(struct flick_rows *r)
{
	qsort(r->cells, r->n_rows, r->n_columns * sizeof(*r->cells), by_whose_and_function);
}

void fl_joined_join(struct flick_rows *r)
{
	size_t kept = 0;

	fl_joined_sort(r);
	for (size_t i = 0; i < r->n_rows; i++) {
		const uint64_t *row = r->cells + i * r->n_columns;
		uint64_t *last = kept ? r->cells + (kept - 1) * r->n_columns : NULL;

		if (last && !by_whose_and_function(last, row)) {
			last[FL_OF_SELF] += row[FL_OF_SELF];
			last[FL_OF_SAMPLES] += row[FL_OF_SAMPLES];
		} else {
			memmove(r->cells + kept++ * r->n_columns, row,
				r->n_columns * sizeof(*row));
		}
	}
	r->n_rows = kept;
}

int fl_joined_begin(struct flick_rows *r, const struct flick_column *columns, size_t n_columns,
		    size_t n_rows)
{
	r->cells = calloc(n_rows + 1, n_columns * sizeof(*r->cells));
	r->columns = columns;
	r->n_columns = n_columns;
	return r->cells ? 0 : -ENOMEM;
}

uint64_t *fl_joined_add(struct flick_rows *r, uint64_t whose, const struct fl_pc *pc,
			const struct fl_place *place)
{
	uint64_t *row = r->cells + r->n_rows++ * r->n_columns;

	row[FL_OF_WHOSE] = whose;
	row[FL_OF_FUNCTION] = place->function;
	row[FL_OF_SELF] = pc->n * fl_sampler_period_ns();
	row[FL_OF_SAMPLES] = pc->taken;
	return row;
}
