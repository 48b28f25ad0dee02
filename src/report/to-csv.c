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

static void print_cell(FILE *to, const struct fl_sheet *s, size_t c, size_t row)
{
	const struct flick_rows *r = s->result;
	uint64_t v = c < r->n_columns ? r->cells[row * r->n_columns + c] : 0;

	if (c == FL_SHOWN_SHARE && fl_sheet_share(s, row) >= 0)
		fprintf(to, "%.2f", fl_sheet_share(s, row));
	if (c == FL_SHOWN_SHARE || v == FLICK_NONE)
		return;
	if (fl_sheet_is_text(s->result, c))
		print_quoted(to, fl_sheet_text(s, c, v));
	else if ((int)s->result->columns[c].type >= FL_COL_CHANGE)
		fprintf(to, "%lld", (long long)fl_change_value(v));
	else
		fprintf(to, "%llu", (unsigned long long)v);
}

static void write_csv(FILE *to, const struct fl_sheet *sheet)
{
	struct fl_sheet s = *sheet;

	if (!s.n_shown)
		fl_sheet_show(&s, false);
	for (size_t i = 0; i < s.n_shown; i++)
		fprintf(to, "%s%s", i ? "," : "", fl_sheet_title(&s, s.shown[i]));
	fputs("\r\n", to);
	for (size_t row = 0; row < s.result->n_rows; row++) {
		for (size_t i = 0; i < s.n_shown; i++) {
			if (i)
				fputc(',', to);
			print_cell(to, &s, s.shown[i], row);
		}
		fputs("\r\n", to);
	}
}

const struct fl_exporter fl_exporter_csv = {
	.name = "csv",
	.about = "comma-separated values, times in nanoseconds",
	.write = write_csv,
};
