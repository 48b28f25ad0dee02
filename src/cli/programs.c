/*
 * programs.c - the time of each program of a process tree: result `programs`.
 *
 * A sample is of the program that its process had executed last, whatever library it stood in.
 * So over all programs self times come to those of all functions. What a process did between
 * fork and exec is its parent's program's.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/profile.h"
#include "cli/mapped.h"

static const struct flick_column columns[] = {
	{ "program", FLICK_COL_TEXT },
	{ "runs", FLICK_COL_COUNT },
	{ "self_ns", FLICK_COL_NS },
	{ "samples", FLICK_COL_COUNT },
};
enum { PROGRAM, RUNS, SELF, SAMPLES, N_COLUMNS };

static uint64_t cell_of(const char *text)
{
	return (uintptr_t)text;
}

/* NULL: it has none yet. */
static uint64_t *row_of(const struct flick_rows *r, const char *program)
{
	for (size_t i = 0; i < r->n_rows; i++) {
		uint64_t *row = r->cells + i * N_COLUMNS;

		if (!strcmp((const char *)(uintptr_t)row[PROGRAM], program))
			return row;
	}
	return NULL;
}

static const char *name_of(const char *program)
{
	return *program ? program : "[unknown]";
}

int fl_programs_fill(struct fl_session *s, const struct fl_pc *pcs,
		     const struct fl_place *places, size_t n_places)
{
	size_t n;
	const struct fl_mapped_program *programs = fl_sampler_programs(s->sampler, &n);
	struct flick_rows *r = &s->programs;

	r->cells = calloc(n + 1, N_COLUMNS * sizeof(*r->cells));
	if (!r->cells)
		return -ENOMEM;
	r->columns = columns;
	r->n_columns = N_COLUMNS;
	for (; r->n_rows < n; r->n_rows++) {
		uint64_t *row = r->cells + r->n_rows * N_COLUMNS;

		row[PROGRAM] = cell_of(programs[r->n_rows].path);
		row[RUNS] = programs[r->n_rows].runs;
	}
	for (size_t i = 0; i < n_places; i++) {
		const struct fl_pc *pc = &pcs[places[i].pc];
		uint64_t *row = row_of(r, name_of(pc->program));

		if (!row) {		/* all that were executed have one */
			row = r->cells + r->n_rows++ * N_COLUMNS;
			row[PROGRAM] = cell_of(name_of(""));
			row[RUNS] = FLICK_NONE;
		}
		row[SELF] += pc->n * fl_sampler_period_ns();
		row[SAMPLES] += pc->taken;
	}
	return 0;
}
