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
enum { OF_PROGRAM, OF_FUNCTION, OF_SELF, OF_SAMPLES, N_FUNCTION_COLUMNS };

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

/* All programs that were executed have rows, and one more may get one: what is not known. */
static int begin_rows(struct fl_session *s)
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

static int by_program_and_function(const void *x, const void *y)
{
	const uint64_t *a = x, *b = y;
	int column = a[OF_PROGRAM] != b[OF_PROGRAM] ? OF_PROGRAM : OF_FUNCTION;

	return a[column] < b[column] ? -1 : a[column] > b[column];
}

/* Each function that was sampled in a program gets one row there. */
static void join_rows(struct flick_rows *r)
{
	const size_t bytes = N_FUNCTION_COLUMNS * sizeof(*r->cells);
	size_t kept = 0;

	qsort(r->cells, r->n_rows, bytes, by_program_and_function);
	for (size_t i = 0; i < r->n_rows; i++) {
		const uint64_t *row = r->cells + i * N_FUNCTION_COLUMNS;
		uint64_t *last = kept ? r->cells + (kept - 1) * N_FUNCTION_COLUMNS : NULL;

		if (last && !by_program_and_function(last, row)) {
			last[OF_SELF] += row[OF_SELF];
			last[OF_SAMPLES] += row[OF_SAMPLES];
		} else {
			memmove(r->cells + kept++ * N_FUNCTION_COLUMNS, row, bytes);
		}
	}
	r->n_rows = kept;
}

/* A process has its program's text by one pointer mostly: so rows are given their programs, by
 * names, a pointer at a time. A program has one text then. */
static void add_to_programs(struct flick_rows *programs, struct flick_rows *of)
{
	const size_t bytes = N_FUNCTION_COLUMNS * sizeof(*of->cells);
	uint64_t last = 0, *program = NULL;

	qsort(of->cells, of->n_rows, bytes, by_program_and_function);
	for (size_t i = 0; i < of->n_rows; i++) {
		uint64_t *row = of->cells + i * N_FUNCTION_COLUMNS;

		if (!program || row[OF_PROGRAM] != last) {
			last = row[OF_PROGRAM];
			program = get_row(programs, (const char *)(uintptr_t)last);
		}
		row[OF_PROGRAM] = program[PROGRAM];
		program[SELF] += row[OF_SELF];
		program[SAMPLES] += row[OF_SAMPLES];
	}
}

int fl_programs_fill(struct fl_session *s, const struct fl_pc *pcs,
		     const struct fl_place *places, size_t n_places)
{
	struct flick_rows *of = &s->program_functions;

	of->cells = calloc(n_places + 1, N_FUNCTION_COLUMNS * sizeof(*of->cells));
	if (!of->cells || begin_rows(s))
		return -ENOMEM;
	of->columns = function_columns;
	of->n_columns = N_FUNCTION_COLUMNS;
	for (size_t i = 0; i < n_places; i++) {
		const struct fl_pc *pc = &pcs[places[i].pc];
		uint64_t *row = of->cells + of->n_rows++ * N_FUNCTION_COLUMNS;

		row[OF_PROGRAM] = cell_of(pc->program);
		row[OF_FUNCTION] = places[i].function;
		row[OF_SELF] = pc->n * fl_sampler_period_ns();
		row[OF_SAMPLES] = pc->taken;
	}
	add_to_programs(&s->programs, of);
	join_rows(of);
	return 0;
}
