/*
 * to-json.c - an array of objects, one a row; unknown is null.
 */
#include <string.h>

#include "report/table.h"

/* As a number, in JSON's halves, where it is not to be printed. */
static void put_character(FILE *to, const char *text, size_t n)
{
	uint32_t code = fl_code_point(text, n);

	if (fl_is_printable(code))
		fwrite(text, 1, n, to);
	else if (code < 0x10000)
		fprintf(to, "\\u%04x", code);
	else
		fprintf(to, "\\u%04x\\u%04x", 0xd7c0 + (code >> 10), 0xdc00 | (code & 0x3ff));
}

void fl_json_string(FILE *to, const char *text)
{
	size_t n;

	fputc('"', to);
	for (; *text; text += n ? n : 1) {
		n = fl_character(text);
		if (n == 0)
			fputs(FL_NO_CHARACTER, to);
		else if (*text == '"' || *text == '\\')
			fprintf(to, "\\%c", *text);
		else
			put_character(to, text, n);
	}
	fputc('"', to);
}

static void print_cell(FILE *to, const struct fl_sheet *s, size_t c, size_t row)
{
	const struct flick_rows *r = s->result;
	const double share = c == FL_SHOWN_SHARE ? fl_sheet_share(s, row) : -1;
	uint64_t v = c < r->n_columns ? r->cells[row * r->n_columns + c] : FLICK_NONE;

	fl_json_string(to, fl_sheet_title(s, c));
	fputs(": ", to);
	if (share >= 0)
		fprintf(to, "%.2f", share);
	else if (v == FLICK_NONE)
		fputs("null", to);
	else if (fl_sheet_is_text(s->result, c))
		fl_json_string(to, fl_sheet_text(s, c, v));
	else if ((int)s->result->columns[c].type >= FL_COL_CHANGE)
		fprintf(to, "%lld", (long long)fl_change_value(v));
	else
		fprintf(to, "%llu", (unsigned long long)v);
}

static void write_json(FILE *to, const struct fl_sheet *sheet)
{
	struct fl_sheet s = *sheet;

	if (!s.n_shown)
		fl_sheet_show(&s, false);
	fputs("[", to);
	for (size_t row = 0; row < s.result->n_rows; row++) {
		fputs(row ? ",\n  {" : "\n  {", to);
		for (size_t i = 0; i < s.n_shown; i++) {
			if (i)
				fputs(", ", to);
			print_cell(to, &s, s.shown[i], row);
		}
		fputc('}', to);
	}
	fputs("\n]\n", to);
}

const struct fl_exporter fl_exporter_json = {
	.name = "json",
	.about = "an array of objects, times in nanoseconds",
	.write = write_json,
};
