/*
 * to-csv.c - comma-separated values (RFC 4180), every column; an unknown cell is empty. A
 * name's unprintable characters are written as \xNN, so a row is a line.
 */
#include <string.h>

#include "report/table.h"

/* Would a spreadsheet take the text for a formula? Then a ' goes before it, as OWASP
 * proposes. Names of functions begin so only if somebody wants them to. */
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

static void write_csv(FILE *to, const struct fl_sheet *sheet)
{
	struct fl_sheet s = *sheet;

	if (!s.n_shown)
		fl_sheet_show_all(&s);
	for (size_t i = 0; i < s.n_shown; i++)
		fprintf(to, "%s%s", i ? "," : "", fl_sheet_title(&s, s.shown[i]));
	fputs("\r\n", to);
	for (size_t row = 0; row < s.result->n_rows; row++) {
		for (size_t i = 0; i < s.n_shown; i++) {
			if (i)
				fputc(',', to);
			fl_sheet_put_cell(to, &s, s.shown[i], row, print_quoted, "");
		}
		fputs("\r\n", to);
	}
}

const struct fl_exporter fl_exporter_csv = {
	.name = "csv",
	.about = "comma-separated values, times in nanoseconds",
	.write = write_csv,
};
