/*
 * report-program.c - functions of the programs of a process tree that a pattern names.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static const char *path_at(const struct flick_rows *r, size_t row, int column)
{
	uint64_t cell = r->cells[row * r->n_columns + (size_t)column];

	return cell == FLICK_NONE ? "" : (const char *)(uintptr_t)cell;
}

/* A line that no program matches, with the one whose file's name is nearest. */
static void say_no_program(const struct flick_rows *r, int column, const char *pattern)
{
	const char **names = calloc(r->n_rows + 1, sizeof(*names)), *near = NULL;

	for (size_t i = 0; names && i < r->n_rows; i++)
		names[i] = fl_base_name(path_at(r, i, column));
	if (names && r->n_rows)
		near = fl_nearest(pattern, names, r->n_rows);
	fl_say("no program of this recording matches `%s`%s%s%s; -a %s has all", pattern,
	       near ? "; did you mean `" : "", near ? near : "", near ? "`?" : "",
	       FL_PROGRAMS);
	free(names);
}

int fl_report_program(struct fl_sheet *s, const char *pattern)
{
	struct flick_rows *r = s->result;
	const size_t bytes = r->n_columns * sizeof(*r->cells);
	int column = fl_sheet_column(r, "program");
	size_t kept = 0;

	if (column >= 0 && r->columns[column].type != FLICK_COL_TEXT)
		column = -1;			/* a damaged recording */
	for (size_t i = 0; column >= 0 && i < r->n_rows; i++)
		if (fl_path_matches(path_at(r, i, column), pattern, strlen(pattern)))
			memmove(r->cells + kept++ * r->n_columns,
				r->cells + i * r->n_columns, bytes);
	if (column < 0)
		fl_say("this recording does not tell its functions' programs");
	else if (!kept)
		say_no_program(r, column, pattern);
	else
		r->n_rows = kept;
	return kept ? 0 : -1;
}
