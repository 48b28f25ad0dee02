/*
 * report-only.c - rows of a result that are kept, as those of functions that patterns name:
 * [MODULE!]FUNCTION, a glob.
 *
 * A function is called by what is shown, or by its full name, as it stands there or as the
 * glob takes it; a module by its path or its file's name. A name may have a ! itself: a
 * function without a name is MODULE!0xOFFSET.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

size_t fl_sheet_keep(struct fl_sheet *s, fl_row_question *is_kept, const void *arg)
{
	struct flick_rows *r = s->result;
	size_t kept = 0;

	for (size_t i = 0; i < r->n_rows; i++) {
		const uint64_t *row = r->cells + i * r->n_columns;

		if (!is_kept(arg, row))
			continue;
		memmove(r->cells + kept * r->n_columns, row, r->n_columns * sizeof(*row));
		if (s->depth)
			s->depth[kept] = s->depth[i];
		kept++;
	}
	r->n_rows = kept;
	return kept;
}

static bool is_called(const struct fl_sheet *s, const char *glob, uint32_t function)
{
	const char *names[] = { s->functions[function], s->full[function] };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (!strcmp(names[i], glob) || fl_glob(glob, strlen(glob), names[i]))
			return true;
	return false;
}

bool fl_path_matches(const char *path, const char *glob, size_t n)
{
	const char *name = path ? fl_base_name(path) : NULL;

	return path && (fl_glob(glob, n, path) || fl_glob(glob, n, name) ||
			(strlen(name) == n && !memcmp(name, glob, n)) ||
			(strlen(path) == n && !memcmp(path, glob, n)));
}

bool fl_sheet_matches(const struct fl_sheet *s, const struct fl_home *homes,
		      const char *pattern, uint64_t function)
{
	uint32_t f = (uint32_t)function;
	struct fl_pattern p;

	if (function >= s->n_functions)
		return false;
	if (is_called(s, pattern, f))
		return true;
	return !fl_pattern_parse(&p, pattern) && p.module && p.function &&
	       is_called(s, p.function, f) &&
	       fl_path_matches(homes[f].path, p.module, p.module_len);
}

const char *fl_sheet_nearest(const struct fl_sheet *s, const char *pattern)
{
	const struct flick_rows *r = s->result;
	const char **names = calloc(r->n_rows + 1, sizeof(*names)), *near;
	int column = fl_sheet_column(r, "function");
	size_t n = 0;

	for (size_t i = 0; names && column >= 0 && i < r->n_rows; i++) {
		uint64_t f = r->cells[i * r->n_columns + (size_t)column];

		if (f < s->n_functions)
			names[n++] = s->functions[f];
	}
	near = n ? fl_nearest(pattern, names, n) : NULL;
	free(names);
	return near;
}

struct named_ones {
	const struct fl_sheet *sheet;
	const struct fl_home *homes;
	const struct fl_only *only;
	int column;			/* of functions */
};

static bool is_named_by_any(const void *arg, const uint64_t *row)
{
	const struct named_ones *n = arg;

	for (uint32_t k = 0; k < n->only->n; k++)
		if (fl_sheet_matches(n->sheet, n->homes, n->only->patterns[k], row[n->column]))
			return true;
	return false;
}

/* A line for each pattern that names no row's function. */
static void say_what_names_none(const struct named_ones *n)
{
	const struct flick_rows *r = n->sheet->result;

	for (uint32_t k = 0; k < n->only->n; k++) {
		const char *pattern = n->only->patterns[k], *near;
		size_t i = 0;

		while (i < r->n_rows &&
		       !fl_sheet_matches(n->sheet, n->homes, pattern,
					 r->cells[i * r->n_columns + (size_t)n->column]))
			i++;
		if (i < r->n_rows)
			continue;
		near = fl_sheet_nearest(n->sheet, pattern);
		fl_say("no function of %s matches `%s`%s%s%s",
		       n->sheet->name ? n->sheet->name : "this result", pattern,
		       near ? "; did you mean `" : "", near ? near : "", near ? "`?" : "");
	}
}

int fl_report_only(struct fl_store *store, struct fl_sheet *s, const struct fl_only *only)
{
	struct named_ones named = { s, NULL, only, fl_sheet_column(s->result, "function") };
	char why[FL_WHY];

	if (named.column < 0 || fl_sheet_column(s->result, "parent") >= 0) {
		fl_say("-P chooses rows of functions, and %s is %s", s->name ? s->name :
		       "this result", named.column < 0 ? "of none" :
		       "a tree (--callers FUNCTION shows who called one)");
		return -1;
	}
	if (fl_store_homes(store, &named.homes, why)) {
		fl_say("%s", why);
		return -1;
	}
	say_what_names_none(&named);
	return fl_sheet_keep(s, is_named_by_any, &named) ? 0 : -1;
}
