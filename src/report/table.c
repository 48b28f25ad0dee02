/*
 * table.c - what every way of showing rows shares: order, columns, exporters.
 */
#include <stdlib.h>
#include <string.h>

#include "report/table.h"

extern const struct fl_exporter fl_exporter_text;
extern const struct fl_exporter fl_exporter_csv;
extern const struct fl_exporter fl_exporter_json;

const struct fl_exporter *const fl_exporters[] = {
	&fl_exporter_text,
	&fl_exporter_csv,
	&fl_exporter_json,
	NULL
};

int fl_sheet_column(const struct fl_result *r, const char *name)
{
	for (size_t c = 0; c < r->n_columns; c++)
		if (!strcmp(r->columns[c].name, name))
			return (int)c;
	return -1;
}

const char *fl_sheet_function(const struct fl_sheet *s, uint64_t index)
{
	const char *name = index < s->n_functions ? s->functions[index] : NULL;

	return name ? name : "?";
}

/* Qsort's comparison needs the sheet and the column; sorting is single-threaded
 * and not re-entered. */
static const struct fl_sheet *sorting;
static size_t sort_column;

static int compare_rows(const void *x, const void *y)
{
	const uint64_t *a = x, *b = y;
	uint64_t u = a[sort_column], v = b[sort_column];

	if (u != v && (u == FL_NONE || v == FL_NONE))
		return u == FL_NONE ? 1 : -1;
	if (u != v)
		return u > v ? -1 : 1;
	return strcmp(fl_sheet_function(sorting, a[0]),
		      fl_sheet_function(sorting, b[0]));
}

static int compare_names(const void *x, const void *y)
{
	const uint64_t *a = x, *b = y;

	return strcmp(fl_sheet_function(sorting, a[0]),
		      fl_sheet_function(sorting, b[0]));
}

bool fl_sheet_sort(const struct fl_sheet *s, const char *name)
{
	const struct fl_result *r = s->result;
	int column = fl_sheet_column(r, name);

	if (column < 0)
		return false;
	sorting = s;
	sort_column = (size_t)column;
	if (r->n_rows)
		qsort(r->cells, r->n_rows, r->n_columns * sizeof(*r->cells),
		      r->columns[column].type == FL_COL_FUNCTION ? compare_names :
		      compare_rows);
	return true;
}
