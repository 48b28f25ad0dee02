/*
 * programs.c - the time of each program of a process tree, and of its functions: results
 * `programs` and `program_functions`.
 *
 * A sample is of the program that its process had executed last, whatever library it stood in.
 * So over all programs self times come to those of all functions. What a process did between
 * fork and exec is its parent's program's.
 */
#include <stdlib.h>
#include <string.h>

#include "session/samples/inner.h"
#include "session/samples/profile.h"

static const struct flick_column columns[] = {
	{ "program", FLICK_COL_TEXT },
	{ "runs", FLICK_COL_COUNT },
	{ "self_ns", FLICK_COL_NS },
	{ "samples", FLICK_COL_COUNT },
};
enum { PROGRAM, RUNS, SELF, SAMPLES, N_COLUMNS };

static const struct flick_column function_columns[] = {
	{ "program", FLICK_COL_TEXT },
	{ "function", FLICK_COL_FUNCTION },
	{ "self_ns", FLICK_COL_NS },
	{ "samples", FLICK_COL_COUNT },
};

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

/* All programs that were executed have rows, and one more may get one: what is not known. The
 * first process of samples that begin before its program was flick's, which is no run. */
static int begin_rows(struct fl_session *s)
{
	size_t n;
	const struct fl_mapped_program *programs = fl_sampler_programs(s->sampler, &n);
	struct flick_rows *r = &s->sampled[FL_R_PROGRAMS];

	if (fl_joined_begin(r, columns, N_COLUMNS, n + 1))
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		uint64_t *row = r->cells + r->n_rows * N_COLUMNS;

		row[PROGRAM] = cell_of(programs[i].path);
		row[RUNS] = programs[i].runs - (i == 0 && s->launch.is_closed);
		r->n_rows += row[RUNS] != 0;
	}
	return 0;
}

static uint64_t *get_row(struct flick_rows *r, const char *program)
{
	uint64_t *row = row_of(r, name_of(program));

	row = row ? row : row_of(r, name_of(""));
	if (!row) {
		row = r->cells + r->n_rows++ * N_COLUMNS;
		row[PROGRAM] = cell_of(name_of(""));
		row[RUNS] = FLICK_NONE;
	}
	return row;
}

/* A process has its program's text by one pointer mostly: so rows are given their programs, by
 * names, a pointer at a time. A program has one text then. */
static void add_to_programs(struct flick_rows *programs, struct flick_rows *of)
{
	uint64_t last = 0, *program = NULL;

	fl_joined_sort(of);
	for (size_t i = 0; i < of->n_rows; i++) {
		uint64_t *row = of->cells + i * FL_N_OF;

		if (!program || row[FL_OF_WHOSE] != last) {
			last = row[FL_OF_WHOSE];
			program = get_row(programs, (const char *)(uintptr_t)last);
		}
		row[FL_OF_WHOSE] = program[PROGRAM];
		program[SELF] += row[FL_OF_SELF];
		program[SAMPLES] += row[FL_OF_SAMPLES];
	}
}

int fl_programs_fill(struct fl_session *s, const struct fl_pc *pcs,
		     const struct fl_place *places, size_t n_places)
{
	struct flick_rows *of = &s->sampled[FL_R_PROGRAM_FUNCTIONS];

	if (fl_joined_begin(of, function_columns, FL_N_OF, n_places) || begin_rows(s))
		return -ENOMEM;
	for (size_t i = 0; i < n_places; i++)
		fl_joined_add(of, cell_of(pcs[places[i].pc].program), &pcs[places[i].pc],
			      &places[i]);
	add_to_programs(&s->sampled[FL_R_PROGRAMS], of);
	fl_joined_join(of);
	return 0;
}
