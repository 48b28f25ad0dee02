/*
 * report-by.c - functions of the programs of a process tree, or of the threads, that a pattern
 * names.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

const struct fl_by fl_bys[FL_N_BYS] = {
	{ "program", FL_PROGRAMS, FL_PROGRAM_FUNCTIONS },
	{ "thread", FL_BY_THREAD, FL_THREAD_FUNCTIONS },
};

const struct fl_by *fl_by_of(const char *result)
{
	for (size_t i = 0; result && i < FL_N_BYS; i++)
		if (!strcmp(result, fl_bys[i].all) || !strcmp(result, fl_bys[i].functions))
			return &fl_bys[i];
	return NULL;
}

struct chosen {
	const struct fl_by *by;
	const char *pattern;
	int column;
	int tid;			/* of threads, whose number names them, too; or -1 */
	int function, self, samples;
};

static const char *name_in(uint64_t cell)
{
	return cell == FLICK_NONE ? "" : (const char *)(uintptr_t)cell;
}

static bool is_chosen(const void *arg, const uint64_t *row)
{
	const struct chosen *c = arg;
	char tid[24] = "";

	if (c->tid >= 0)
		snprintf(tid, sizeof(tid), "%" PRIu64, row[c->tid]);
	return fl_path_matches(name_in(row[c->column]), c->pattern, strlen(c->pattern)) ||
	       !strcmp(tid, c->pattern);
}

/* ---- threads of one name ----------------------------------------------------------- */

/* A pool's threads have one name, and do the same: a function there is one row, whose tid is
 * not known. 0 or -ENOMEM. */
static int join_threads(struct flick_rows *r, const struct chosen *c)
{
	struct fl_hash by_name = { 0 };
	uint32_t kept = 0;
	int err = 0;

	for (size_t i = 0; i < r->n_rows && !err; i++) {
		const uint64_t *row = r->cells + i * r->n_columns;
		const char *name = name_in(row[c->column]);
		uint32_t hash = fl_hash_text((uint32_t)row[c->function], name), at = hash, item;
		uint64_t *other = NULL;

		while (!other && (item = fl_hash_next(&by_name, hash, &at))) {
			other = r->cells + (item - 1) * r->n_columns;
			if (other[c->function] != row[c->function] ||
			    strcmp(name_in(other[c->column]), name))
				other = NULL;
		}
		if (other) {
			other[c->self] += row[c->self];
			other[c->samples] += row[c->samples];
			other[c->tid] = FLICK_NONE;
		} else {
			memmove(r->cells + kept * r->n_columns, row,
				r->n_columns * sizeof(*row));
			err = fl_hash_put(&by_name, hash, ++kept);
		}
	}
	fl_hash_free(&by_name);
	r->n_rows = err ? r->n_rows : kept;
	return err;
}

/* ---- what is shown ------------------------------------------------------------------ */

/* A line that none matches, with the one whose name is nearest. */
static void say_none(const struct flick_rows *r, const struct chosen *c)
{
	const char **names = calloc(r->n_rows + 1, sizeof(*names)), *near = NULL;

	for (size_t i = 0; names && i < r->n_rows; i++) {
		names[i] = name_in(r->cells[i * r->n_columns + (size_t)c->column]);
		names[i] = c->tid < 0 ? fl_base_name(names[i]) : names[i];
	}
	if (names && r->n_rows)
		near = fl_nearest(c->pattern, names, r->n_rows);
	fl_say("no %s of this recording matches `%s`%s%s%s; -a %s has all", c->by->what,
	       c->pattern, near ? "; did you mean `" : "", near ? near : "", near ? "`?" : "",
	       c->by->all);
	free(names);
}

int fl_report_by(struct fl_sheet *s, const struct fl_by *by, const char *pattern)
{
	struct flick_rows *r = s->result;
	struct chosen c = { by, pattern, fl_sheet_column(r, by->what),
			    fl_sheet_column(r, "tid"), fl_sheet_column(r, "function"),
			    fl_sheet_column(r, "self_ns"), fl_sheet_column(r, "samples") };
	const size_t n = r->n_rows;

	if (c.column < 0 || r->columns[c.column].type != FLICK_COL_TEXT ||
	    c.function < 0 || !fl_sheet_has_numbers(r, "self_ns") ||
	    !fl_sheet_has_numbers(r, "samples")) {
		/* It is a damaged recording. */
		fl_say("this recording does not tell its functions' %ss", by->what);
		return -1;
	}
	if (fl_sheet_keep(s, is_chosen, &c))
		return c.tid < 0 ? 0 : join_threads(r, &c);
	r->n_rows = n;			/* for their names */
	say_none(r, &c);
	return -1;
}
