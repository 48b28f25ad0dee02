/*
 * report-stacks.c - result `stacks`, the call tree that samples gave, and callers in it.
 *
 * The tree is shown from its roots, or turned around: below a function stand those that called
 * it, below these who called them. A sample is in such a tree once: in the outermost call of
 * the function, with that call's time, in itself and in what it called.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static uint64_t cell_in(const struct flick_rows *r, size_t row, const char *column)
{
	int c = fl_sheet_column(r, column);
	uint64_t v = c < 0 ? 0 : r->cells[row * r->n_columns + (size_t)c];

	return v == FLICK_NONE ? 0 : v;
}

/* ---- loading ------------------------------------------------------------------------- */

int fl_stacks_load(struct fl_store *store, const char *dir, struct flick_rows *rows,
		   char why[FL_WHY])
{
	char lack[256] = "it was recorded by an older flick";

	if (fl_store_value(store, "stacks", lack, sizeof(lack)) && !*lack)
		return fl_store_load(store, FL_STACKS, rows, why);
	if (fl_store_has(store, "tree") || fl_trace_exists(dir))
		return fl_why(why, dir, "has no samples of stacks, but every call: flick "
			      "report -a tree%s", fl_store_has(store, "tree") ? "" : " -r 0~");
	return fl_why(why, dir, "has no call tree: %.90s; record with -a tree or --trace",
		      lack);
}

/* ---- who called ------------------------------------------------------------------------ */

struct turned {
	const struct fl_sheet *from;
	struct fl_contexts to;
	uint32_t *way;			/* functions above a row, and its own */
	const struct fl_home *homes;	/* of functions */
	const char *glob;
};

/* Upside down, from the outermost function that is meant. How often one called itself splits
 * no row. */
static int turn_row(struct turned *t, size_t row, uint32_t depth)
{
	const struct flick_rows *r = t->from->result;
	uint32_t context = 0, meant = 0;

	while (meant <= depth &&
	       !fl_sheet_matches(t->from, t->homes, t->glob, t->way[meant]))
		meant++;
	if (meant > depth)
		return 0;
	for (uint32_t i = meant + 1; i-- > 0;) {
		if (i < meant && t->way[i] == t->way[i + 1])
			continue;
		context = fl_contexts_of(&t->to, context, t->way[i]);
		if (!context)
			return -1;
	}
	t->to.of[context - 1].ns += cell_in(r, row, "self_ns");
	t->to.of[context - 1].samples += cell_in(r, row, "self_samples");
	return 0;
}

static int turn(struct turned *t)
{
	const struct flick_rows *r = t->from->result;
	int function = fl_sheet_column(r, "function"), err = 0;

	for (size_t i = 0; i < r->n_rows && !err; i++) {
		uint32_t depth = t->from->depth[i];
		uint64_t f = r->cells[i * r->n_columns + (size_t)function];

		t->way[depth] = f == FLICK_NONE ? FLICK_NO_FUNCTION : (uint32_t)f;
		if (cell_in(r, i, "self_ns"))
			err = turn_row(t, i, depth);
	}
	return err;
}

static void say_nobody_called(const struct fl_sheet *s, const char *glob)
{
	const char *near = fl_sheet_nearest(s, glob);

	if (near)
		fl_say("no sample stood in a call of `%s`; did you mean `%s`?", glob, near);
	else
		fl_say("no sample stood in a call of `%s`", glob);
}

int fl_stacks_callers(struct fl_store *store, struct fl_sheet *s, const char *glob)
{
	struct turned t = { .from = s, .glob = glob };
	struct flick_rows rows = { 0 };
	bool is_sound = fl_sheet_column(s->result, "function") >= 0 &&
			fl_sheet_sort(s, "function") && (s->depth || !s->result->n_rows);
	char why[FL_WHY];
	int err = -1;

	if (fl_store_homes(store, &t.homes, why)) {
		fl_say("%s", why);
		return -1;
	}
	t.way = calloc(s->result->n_rows + 1, sizeof(*t.way));
	if (is_sound && t.way && !turn(&t))
		err = fl_contexts_rows(&t.to, &rows);
	if (err)
		fl_say("out of memory, or the result is damaged");
	else if (!rows.n_rows)
		say_nobody_called(s, glob);
	if (!rows.n_rows)
		err = -1;
	if (!err) {
		fl_sheet_free(s);
		s->name = FL_CALLERS;
		*s->result = rows;
	} else {
		free(rows.cells);
	}
	fl_contexts_free(&t.to);
	free(t.way);
	return err;
}

/* ---- for people -------------------------------------------------------------------------- */

struct large {
	int column;			/* of totals */
	uint64_t least;
};

static bool is_large(const void *arg, const uint64_t *row)
{
	const struct large *l = arg;
	uint64_t total = l->column < 0 ? FLICK_NONE : row[l->column];

	return (total == FLICK_NONE ? 0 : total) >= l->least;
}

/* Rows of a tree stand below who has as much or more, so what stays is a tree. Whose callers
 * are asked for is seldom most of a program: what is left out is a small part of theirs. */
size_t fl_stacks_fit(struct fl_sheet *s)
{
	enum { OF_ALL = 200 };
	const struct flick_rows *r = s->result;
	struct large large = { fl_sheet_column(r, "total_ns"),
			       fl_sheet_sum(r, "self_ns") / OF_ALL };
	size_t n = r->n_rows;

	return n - fl_sheet_keep(s, is_large, &large);
}

static void say_more(char *note, size_t room, const char *number, const char *what)
{
	size_t n = strlen(note);

	snprintf(note + n, room - n, "\n%.20s%s", number, what);
}

void fl_stacks_note(struct fl_store *store, const struct fl_sheet *s, size_t left_out,
		    char *note, size_t room)
{
	char n[256] = "?", rows[32];

	fl_store_value(store, "pc_samples", n, sizeof(n));
	snprintf(note, room, "CPU time, from %.20s samples of the program counter, with "
		 "4 KiB of their threads' stacks", n);
	if (fl_store_value(store, "stacks_completed", n, sizeof(n)) && strcmp(n, "0"))
		say_more(note, room, n, " of them are cut there, and other samples tell who "
			 "called");
	if (fl_store_value(store, "stacks_unknown", n, sizeof(n)) && strcmp(n, "0"))
		say_more(note, room, n, strcmp(s->name, FL_CALLERS) ? " are below [...]" :
			 " of all lack callers: [...] stands there");
	snprintf(rows, sizeof(rows), "%zu", left_out);
	if (left_out)
		say_more(note, room, rows, strcmp(s->name, FL_CALLERS) ?
			 " rows of less than 0.5 % are left out (--format=csv has all)" :
			 " rows of less than 0.5 % of the function's time are left out "
			 "(--format=csv has all)");
}
