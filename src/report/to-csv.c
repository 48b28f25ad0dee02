/*
 * to-csv.c - comma-separated values (RFC 4180), every column; unknown is empty. Of a
 * name only what can be printed is, so a row is a line.
 */
#include <string.h>

#include "report/table.h"

/* What a spreadsheet would take for a formula is made none, as OWASP proposes: names
 * of functions do not begin so, but for those of some that want to. */
static bool is_formula(const char *text)
{
	return *text && strchr("=+-@", *text);
}

static void print_quoted(FILE *to, const char *text)
{
	const char *quote = strpbrk(text, ",\"") ? "\"" : "";
	size_t columns = 0;

	fputs(quote, to);
	if (is_formula(text))
		fputc('\'', to);
	while (*text) {
		if (*text == '"')
			fputc('"', to);
		text += fl_print_character(to, text, &columns);
	}
	fputs(quote, to);
}

static void print_cell(FILE *to, const struct fl_sheet *s, size_t c, uint64_t v)
{
	if (v == FLICK_NONE)
		return;
	if (fl_sheet_is_text(s->result, c))
		print_quoted(to, fl_sheet_text(s, c, v));
	else if ((int)s->result->columns[c].type >= FL_COL_CHANGE)
		fprintf(to, "%lld", (long long)fl_change_value(v));
	else
		fprintf(to, "%llu", (unsigned long long)v);
}

static void write_csv(FILE *to, const struct fl_sheet *s)
{
	const struct flick_rows *r = s->result;

	for (size_t c = 0; c < r->n_columns; c++)
		fprintf(to, "%s%s", c ? "," : "", fl_sheet_title(s, c));
	fputs("\r\n", to);
	for (size_t i = 0; i < r->n_rows; i++) {
		for (size_t c = 0; c < r->n_columns; c++) {
			if (c)
				fputc(',', to);
			print_cell(to, s, c, r->cells[i * r->n_columns + c]);
		}
		fputs("\r\n", to);
	}
}

const struct fl_exporter fl_exporter_csv = {
	.name = "csv",
	.about = "comma-separated values, times in nanoseconds",
	.write = write_csv,
};
