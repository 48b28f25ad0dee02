/*
 * to-json.c - an array of objects, one a row; unknown is null.
 */
#include <string.h>

#include "report/table.h"

/* A character that is not printable is written as \uNNNN, a large one as two halves. */
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

static void write_json(FILE *to, const struct fl_sheet *sheet)
{
	struct fl_sheet s = *sheet;

	if (!s.n_shown)
		fl_sheet_show_all(&s);
	fputs("[", to);
	for (size_t row = 0; row < s.result->n_rows; row++) {
		fputs(row ? ",\n  {" : "\n  {", to);
		for (size_t i = 0; i < s.n_shown; i++) {
			if (i)
				fputs(", ", to);
			fl_json_string(to, fl_sheet_title(&s, s.shown[i]));
			fputs(": ", to);
			fl_sheet_put_cell(to, &s, s.shown[i], row, fl_json_string, "null");
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
