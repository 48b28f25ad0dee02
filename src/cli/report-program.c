/*
 * report-program.c - functions of the programs of a process tree that a pattern names.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

struct of_program {
	int column;
	const char *pattern;
};

static const char *path_of_cell(uint64_t cell)
{
	return cell == FLICK_NONE ? "" : (const char *)(uintptr_t)cell;
}

static bool is_of_program(const void *arg, const uint64_t *row)
{
	const struct of_program *p = arg;

	return fl_path_matches(path_of_cell(row[p->column]), p->pattern, strlen(p->pattern));
}

/* A line that no program matches, with the one whose file's name is nearest. */
static void say_no_program(const struct flick_rows *r, const struct of_program *p)
{
	const char **names = calloc(r->n_rows + 1, sizeof(*names)), *near = NULL;

	for (size_t i = 0; names && i < r->n_rows; i++)
		names[i] = fl_base_name(path_of_cell(r->cells[i * r->n_columns +
							      (size_t)p->column]));
	if (names && r->n_rows)
		near = fl_nearest(p->pattern, names, r->n_rows);
	fl_say("no program of this recording matches `%s`%s%s%s; -a %s has all", p->pattern,
	       near ? "; did you mean `" : "", near ? near : "", near ? "`?" : "",
	       FL_PROGRAMS);
	free(names);
}

int fl_report_program(struct fl_sheet *s, const char *pattern)
{
	struct flick_rows *r = s->result;
	struct of_program program = { fl_sheet_column(r, "program"), pattern };
	const size_t n = r->n_rows;

	if (program.column < 0 || r->columns[program.column].type != FLICK_COL_TEXT) {
		/* It is a damaged recording. */
		fl_say("this recording does not tell its functions' programs");
		return -1;
	}
	if (fl_sheet_keep(s, is_of_program, &program))
		return 0;
	r->n_rows = n;			/* for their names */
	say_no_program(r, &program);
	return -1;
}
