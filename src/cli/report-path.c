/*
 * report-path.c - flick report --path: what a recording's paths of a number are.
 *
 * A number is its function's own, so several functions may have it: the one that has gone it
 * most often is shown, and more of them where rows are asked for.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "cli/cli.h"

struct shown {
	struct fl_symbols *symbols;
	const struct fl_home *homes;
	const struct fl_sheet *sheet;
	uint32_t number, rows;
};

static uint64_t value_in(const struct shown *p, size_t row, const char *column)
{
	const struct flick_rows *r = p->sheet->result;

	return r->cells[row * r->n_columns + (size_t)fl_sheet_column(r, column)];
}

/* A damaged recording may not have them. */
static bool has_columns(const struct flick_rows *r)
{
	int function = fl_sheet_column(r, "function");

	return function >= 0 && r->columns[function].type == FLICK_COL_FUNCTION &&
	       fl_sheet_column(r, "path") >= 0 && fl_sheet_column(r, "calls") >= 0;
}

static int show_row(const struct shown *p, size_t row)
{
	uint64_t function = value_in(p, row, "function"), calls = value_in(p, row, "calls");
	const struct fl_home *home = &p->homes[function];
	int err;

	fl_print_plain(stdout, p->sheet->functions[function]);
	printf(": path %u, %" PRIu64 " call%s, %.2f %% of all\n", p->number, calls,
	       calls == 1 ? "" : "s", 100 * (double)calls / (double)p->sheet->whole);
	err = fl_list_path(p->symbols, home->path, home->at, p->number);
	if (err == -ENOENT)
		fl_say("%s: it has no path %u: it is not the file that was recorded",
		       home->path, p->number);
	else if (err)
		fl_say("%s: %s", home->path, fl_reason(err));
	return err ? FL_EXIT_FAILED : FL_EXIT_WELL;
}

static int show_rows(const struct shown *p)
{
	int status = FL_EXIT_WELL;
	uint32_t n = 0;

	for (size_t i = 0; status == FL_EXIT_WELL && i < p->sheet->result->n_rows; i++) {
		if (value_in(p, i, "path") != p->number ||
		    value_in(p, i, "function") >= p->sheet->n_functions || n++ >= p->rows)
			continue;
		if (n > 1)
			putchar('\n');
		status = show_row(p, i);
	}
	if (!n) {
		fl_say("no path %u was gone", p->number);
		return FL_EXIT_FAILED;
	}
	if (n > p->rows)
		fl_say("%u more functions have a path %u (-n %u)", n - p->rows, p->number, n);
	return status;
}

int fl_report_path(struct fl_store *store, const struct fl_sheet *sheet, uint32_t number,
		   uint32_t rows)
{
	struct shown p = { .sheet = sheet, .number = number, .rows = rows ? rows : 1 };
	char why[FL_WHY];
	int status;

	if (!sheet->name || strcmp(sheet->name, "paths") || !has_columns(sheet->result)) {
		fl_say("--path is of a recording of paths: flick record -a paths");
		return FL_EXIT_USAGE;
	}
	if (fl_store_homes(store, &p.homes, why)) {
		fl_say("%s", why);
		return FL_EXIT_FAILED;
	}
	if (fl_symbols_open(&p.symbols)) {
		fl_say("out of memory");
		return FL_EXIT_FAILED;
	}
	status = show_rows(&p);
	fl_symbols_close(p.symbols);
	return status;
}
