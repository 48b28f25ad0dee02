/*
 * text.c - a table to read, in uftrace's look.
 *
 * Hides how wide columns are, and which are left out: a column is as wide as its cells, and
 * some are dropped where a terminal has no room for all of them and for names.
 */
#include <ctype.h>
#include <string.h>

#include "report/table.h"

/* ---- times ------------------------------------------------------------------- */

struct unit {
	uint64_t below, ns;
	const char *name;
};

static const struct unit *unit_of(uint64_t ns)
{
	static const struct unit units[] = {
		{ 1000000, 1000, "us" },
		{ 1000000000, 1000000, "ms" },
		{ 60000000000, 1000000000, " s" },
		{ 3600000000000, 60000000000, " m" },
		{ UINT64_MAX, 3600000000000, " h" },
	};
	const struct unit *u = units;

	while (ns >= u->below)
		u++;
	return u;
}

static unsigned thousandths(uint64_t ns, const struct unit *u)
{
	return (unsigned)(ns % u->ns * 1000 / u->ns);
}

void fl_text_time(char out[32], uint64_t ns)
{
	const struct unit *u;

	if (ns == FLICK_NONE) {
		snprintf(out, 32, "%10s", "-");
		return;
	}
	u = unit_of(ns);
	snprintf(out, 32, "%3u.%03u %s", (unsigned)(ns / u->ns), thousandths(ns, u), u->name);
}

/* A time in four digits, as tables have it: "12.41 us". That is TIME characters, except for
 * very many hours. */
static void short_time(char out[32], uint64_t ns)
{
	static const unsigned cut[] = { 1000, 100, 10, 1 };
	const struct unit *u;
	uint64_t whole;
	int decimals;

	if (ns == FLICK_NONE) {
		strcpy(out, "-");
		return;
	}
	u = unit_of(ns);
	whole = ns / u->ns;
	decimals = whole < 10 ? 3 : whole < 100 ? 2 : whole < 1000 ? 1 : 0;
	if (decimals)
		snprintf(out, 32, "%u.%0*u %s", (unsigned)whole, decimals,
			 thousandths(ns, u) / cut[decimals], u->name);
	else
		snprintf(out, 32, "%5llu %s", (unsigned long long)whole, u->name);
}

const char *fl_colour_of(uint64_t ns)
{
	if (ns == FLICK_NONE || ns < 1000000)
		return "";
	return ns < 1000000000 ? "\x1b[33m" : "\x1b[31m";
}

static void print_change(char out[32], uint64_t cell, int type)
{
	int64_t v = fl_change_value(cell);
	char time[32];

	if (cell == FLICK_NONE) {
		snprintf(out, 32, "-");
	} else if (type == FL_COL_CHANGE) {
		snprintf(out, 32, "%+lld", (long long)v);
	} else {
		short_time(time, v < 0 ? -(uint64_t)v : (uint64_t)v);
		snprintf(out, 32, "%c%.30s", v < 0 ? '-' : '+', time + strspn(time, " "));
	}
}

/* ---- titles ------------------------------------------------------------------- */

/* Titles of columns; a column that is not here has its own name as title. */
static const struct {
	const char *column, *title;
} titles[] = {
	{ "estimated_calls", "Est. calls" }, { "sum_ns", "Sum of times" },
	{ "line", "Source" }, { FL_SHARE, "Self%" },
	{ FL_SHARE_OF_TOTALS, "Total%" },
};

/* A name that is not in the list, as a title: "total_before_ns". */
static void make_title(char out[64], const char *name)
{
	size_t n = strlen(name);

	if (n > 3 && !strcmp(name + n - 3, "_ns"))
		n -= 3;
	snprintf(out, 64, "%.*s", (int)n, name);
	out[0] = (char)toupper((unsigned char)out[0]);
	for (; *out; out++)
		if (*out == '_')
			*out = ' ';
}

static void title_of(const struct fl_sheet *s, size_t c, char out[64])
{
	const char *name = fl_sheet_title(s, c);

	make_title(out, name);
	for (size_t i = 0; i < ARRAY_LEN(titles); i++)
		if (!strcmp(titles[i].column, name))
			snprintf(out, 64, "%s", titles[i].title);
}

/* ---- layout ------------------------------------------------------------------- */

enum {
	TIME = 8, SHARE = 6,		/* columns that a cell takes */
	GAP = 2,
	MAX_WIDTH = 40, MIN_WIDTH = 16,	/* of a text that is not the last */
	NAME_WIDTH = 30,		/* that a name gets, if it is as long */
	MAX_INDENT = 40,		/* levels of a tree that are indented */
};

struct layout {
	struct fl_sheet sheet;		/* without the columns there is no room for */
	int width[FL_MAX_SHOWN];	/* of sheet.shown; 0: as long as the text is */
	size_t left;			/* columns of the terminal for the last text; 0: any */
	uint8_t dropped[FL_MAX_SHOWN];
	size_t n_dropped;
};

static bool is_text(const struct fl_sheet *s, size_t c)
{
	return c != FL_SHOWN_SHARE && fl_sheet_is_text(s->result, c);
}

static bool ends_in_text(const struct fl_sheet *s)
{
	return s->n_shown && is_text(s, s->shown[s->n_shown - 1]);
}

/* How deep a cell is indented: only a tree's functions are, not their modules and lines. */
static uint32_t depth_in(const struct fl_sheet *s, size_t c, size_t row)
{
	const struct flick_column *column = s->result->columns + c;
	bool is_place = column->type == FLICK_COL_FUNCTION || !strcmp(column->name, "function");

	return s->depth && is_place ? s->depth[row] : 0;
}

/* The width of the widest text in a column, with its indentation, but at most `most`. */
static size_t longest_of(const struct fl_sheet *s, size_t c, size_t most)
{
	const struct flick_rows *r = s->result;
	size_t longest = 0;

	for (size_t i = 0; i < r->n_rows && longest < most; i++) {
		size_t n = fl_print_plain(NULL, fl_sheet_text(s, c,
					  r->cells[i * r->n_columns + c]));

		n += 2 * (size_t)depth_in(s, c, i);
		longest = n > longest ? n : longest;
	}
	return longest < most ? longest : most;
}

/* The marks before a number. */
static const char *count_marks(const struct fl_sheet *s, size_t row, size_t c)
{
	static const char *const marks[][3] = { { "", "~", "~~" }, { ">", ">~", ">~~" } };

	return marks[fl_sheet_is_part(s, row, c)]
		    [fl_sheet_is_rough(s, row, c) ? 2 : fl_sheet_is_estimate(s, row, c)];
}

/* A number as it is printed. */
static int print_number(char out[32], const struct fl_sheet *s, size_t c, uint64_t v)
{
	const bool is_address = !strcmp(s->result->columns[c].name, "address");

	return snprintf(out, 32, is_address ? "0x%llx" : "%llu", (unsigned long long)v);
}

/* The width of a column of numbers: the largest one's digits, and the marks before it. */
static int digits_of(const struct fl_sheet *s, size_t c)
{
	const struct flick_rows *r = s->result;
	const bool is_change = (int)r->columns[c].type == FL_COL_CHANGE;
	uint64_t most = 0;
	size_t marks = is_change;
	char text[32];

	for (size_t i = 0; i < r->n_rows; i++) {
		uint64_t v = r->cells[i * r->n_columns + c];

		if (v == FLICK_NONE)
			continue;
		v = is_change ? v / 2 + v % 2 : v;
		most = v > most ? v : most;
		if (strlen(count_marks(s, i, c)) > marks)
			marks = strlen(count_marks(s, i, c));
	}
	return (int)marks + print_number(text, s, c, most);
}

/* The mark before a time. */
static const char *mark_of(const struct fl_sheet *s, size_t row, size_t c)
{
	return fl_sheet_is_open(s, row, c) ? ">" : fl_sheet_is_estimate(s, row, c) ? "~" : "";
}

static bool has_mark(const struct fl_sheet *s, size_t c)
{
	size_t i = 0;

	while (i < s->result->n_rows && !*mark_of(s, i, c))
		i++;
	return i < s->result->n_rows;
}

/* The width of a column. A text is limited here; the last one is not, see lay_out(). */
static int width_of(const struct fl_sheet *s, size_t c)
{
	char title[64];
	int width, own;

	title_of(s, c, title);
	width = (int)strlen(title);
	if (c == FL_SHOWN_SHARE)
		own = SHARE;
	else if (is_text(s, c))
		own = (int)longest_of(s, c, MAX_WIDTH);
	else if (s->result->columns[c].type == FLICK_COL_NS)
		own = TIME + has_mark(s, c);
	else if ((int)s->result->columns[c].type == FL_COL_CHANGE_NS)
		own = 1 + TIME;
	else
		own = digits_of(s, c);
	return own > width ? own : width;
}

/* The room that a line of the terminal leaves for the last column: at least 1. */
static size_t columns_left(const struct layout *l)
{
	size_t used = 0;

	for (size_t i = 0; i < l->sheet.n_shown; i++)
		used += GAP + (size_t)l->width[i];
	return !l->sheet.width ? 0 : l->sheet.width > used ? l->sheet.width - used : 1;
}

static void drop(struct layout *l, size_t i)
{
	struct fl_sheet *s = &l->sheet;

	l->dropped[l->n_dropped++] = s->shown[i];
	s->n_shown--;
	memmove(s->shown + i, s->shown + i + 1, s->n_shown - i);
	memmove(l->width + i, l->width + i + 1, (s->n_shown - i) * sizeof(*l->width));
}

/* Drop a column of flick's own that says nothing: it is 0, or not known, in all rows. */
static bool drop_nothing(struct layout *l)
{
	const struct fl_sheet *s = &l->sheet;

	for (size_t i = s->n_shown; s->name && i-- > 0;)
		if (!is_text(s, s->shown[i]) && fl_sheet_is_nothing(s, s->shown[i]) &&
		    !fl_sheet_is_asked(s, s->shown[i])) {
			drop(l, i);
			return true;
		}
	return false;
}

/* Drop the column that people need least, of those that flick knows; false: there is none. */
static bool drop_least(struct layout *l)
{
	static const char *const least[] = { "sampled", "counted", "p50_ns", "p99_ns",
					     FL_SHARE, "avg_ns", "_before" };
	const struct fl_sheet *s = &l->sheet;

	for (size_t k = 0; k < ARRAY_LEN(least); k++)
		for (size_t i = s->n_shown; i-- > 0;) {
			const char *name = s->shown[i] == FL_SHOWN_SHARE ? FL_SHARE :
					   s->result->columns[s->shown[i]].name;
			bool is_one = *least[k] == '_' ? strstr(name, least[k]) != NULL :
				      s->name && !strcmp(name, least[k]);

			if (is_one && !fl_sheet_is_asked(s, s->shown[i])) {
				drop(l, i);
				return true;
			}
		}
	return false;
}

static void shrink_texts(struct layout *l, size_t wanted)
{
	for (size_t i = 0; i + 1 < l->sheet.n_shown; i++)
		while (is_text(&l->sheet, l->sheet.shown[i]) && l->width[i] > MIN_WIDTH &&
		       columns_left(l) < wanted)
			l->width[i]--;
}

static void lay_out(struct layout *l, const struct fl_sheet *sheet)
{
	struct fl_sheet *s = &l->sheet;
	size_t wanted = 0;

	*s = *sheet;
	l->n_dropped = 0;
	for (size_t i = 0; i < s->n_shown; i++)
		l->width[i] = width_of(s, s->shown[i]);
	if (ends_in_text(s)) {
		wanted = longest_of(s, s->shown[s->n_shown - 1], NAME_WIDTH);
		l->width[s->n_shown - 1] = 0;
	}
	while (s->width && columns_left(l) < wanted && (drop_nothing(l) || drop_least(l)))
		;
	if (s->width)
		shrink_texts(l, wanted);
	l->left = columns_left(l);
}

/* ---- rows --------------------------------------------------------------------- */

static void print_text(FILE *to, const struct layout *l, size_t i, size_t row,
		       const char *text)
{
	uint32_t depth = depth_in(&l->sheet, l->sheet.shown[i], row);
	size_t left = i + 1 == l->sheet.n_shown ? l->left :
		      l->sheet.width ? (size_t)l->width[i] : 0;
	size_t indent = 2 * (size_t)depth, most;
	bool is_place = !strcmp(l->sheet.result->columns[l->sheet.shown[i]].name, "line");

	fputs("  ", to);
	if (depth > MAX_INDENT)
		indent = (size_t)fprintf(to, "%*s(%u) ", 2 * MAX_INDENT, "", depth);
	else
		fprintf(to, "%*s", (int)indent, "");
	most = left > indent ? left - indent : left != 0;
	(is_place ? fl_print_place : fl_print_padded)(to, text, l->width[i], most);
}

static void print_cell(FILE *to, const struct layout *l, size_t i, size_t row)
{
	const struct flick_rows *r = l->sheet.result;
	size_t column = l->sheet.shown[i];
	uint64_t v = r->cells[row * r->n_columns + column];
	const char *colour = "";
	char text[40];

	switch ((int)r->columns[column].type) {
	case FLICK_COL_FUNCTION:
	case FLICK_COL_TEXT:
		print_text(to, l, i, row, fl_sheet_text(&l->sheet, column, v));
		return;
	case FLICK_COL_NS:
		short_time(stpcpy(text, mark_of(&l->sheet, row, column)), v);
		colour = l->sheet.colour ? fl_colour_of(v) : "";
		break;
	case FL_COL_CHANGE:
	case FL_COL_CHANGE_NS:
		print_change(text, v, (int)r->columns[column].type);
		break;
	default:
		if (v == FLICK_NONE)
			strcpy(text, "-");
		else
			print_number(stpcpy(text, count_marks(&l->sheet, row, column)),
				     &l->sheet, column, v);
	}
	fprintf(to, "  %s%*s%s", colour, l->width[i], text, *colour ? FL_PLAIN : "");
}

static void print_share(FILE *to, const struct layout *l, size_t i, size_t row)
{
	double share = fl_sheet_share(&l->sheet, row);

	if (share < 0)
		fprintf(to, "  %*s", l->width[i], "-");
	else
		fprintf(to, "  %*.2f", l->width[i], share);
}

static void print_titles(FILE *to, const struct layout *l)
{
	static const char rule[] = "========================================";
	const struct fl_sheet *s = &l->sheet;

	fputs(s->colour ? FL_BOLD : "", to);
	for (size_t i = 0; i < s->n_shown; i++) {
		char title[64];

		title_of(s, s->shown[i], title);
		fprintf(to, is_text(s, s->shown[i]) ? "  %-*s" : "  %*s", l->width[i], title);
	}
	fprintf(to, "%s\n", s->colour ? FL_PLAIN : "");
	for (size_t i = 0; i < s->n_shown; i++)
		fprintf(to, "  %.*s", l->width[i] ? l->width[i] : 20, rule);
	fputc('\n', to);
}

static void print_row(FILE *to, const struct layout *l, size_t row)
{
	for (size_t i = 0; i < l->sheet.n_shown; i++)
		if (l->sheet.shown[i] == FL_SHOWN_SHARE)
			print_share(to, l, i, row);
		else
			print_cell(to, l, i, row);
	fputc('\n', to);
}

/* ---- what is said around rows -------------------------------------------------- */

/* Print lines, indented, each folded at the terminal's width. */
static void print_said(FILE *to, const struct fl_sheet *s, const char *text)
{
	size_t at = 0;

	fputs(s->colour ? FL_DIM : "", to);
	while (*text) {
		size_t n = strcspn(text, " \n");
		char word[512];

		snprintf(word, sizeof(word), "%.*s", (int)n, text);
		if (at && s->width && at + 1 + fl_print_plain(NULL, word) > s->width) {
			fputc('\n', to);
			at = 0;
		}
		at += (size_t)fprintf(to, at ? " " : "  ");
		at += fl_print_plain(to, word);
		text += n + strspn(text + n, " ");
		if (*text == '\n') {
			fputc(*text++, to);
			at = 0;
		}
	}
	fputs(s->colour ? FL_PLAIN "\n" : "\n", to);
}

static void print_dropped(FILE *to, const struct layout *l)
{
	char text[512] = "", title[64];
	size_t n = 0;

	for (size_t i = 0; i < l->n_dropped && n < sizeof(text); i++) {
		title_of(&l->sheet, l->dropped[i], title);
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", i ? ", " :
				      "no room here for: ", title);
	}
	if (n && n < sizeof(text))
		snprintf(text + n, sizeof(text) - n, " (-f chooses columns)");
	if (n)
		print_said(to, &l->sheet, text);
}

static void print_below(FILE *to, const struct layout *l)
{
	const char *lines[FL_LEGEND_MOST];
	size_t n = fl_legend_make(&l->sheet, lines);

	if (n || l->n_dropped)
		fputc('\n', to);
	for (size_t i = 0; i < n; i++)
		print_said(to, &l->sheet, lines[i]);
	print_dropped(to, l);
}

static void write_text(FILE *to, const struct fl_sheet *sheet)
{
	struct fl_sheet s = *sheet;
	struct layout l;

	if (!s.n_shown)
		fl_sheet_show(&s);
	lay_out(&l, &s);
	if (s.note) {
		print_said(to, &s, s.note);
		fputc('\n', to);
	}
	print_titles(to, &l);
	for (size_t row = 0; row < s.result->n_rows; row++)
		print_row(to, &l, row);
	print_below(to, &l);
}

const struct fl_exporter fl_exporter_text = {
	.name = "text",
	.about = "a table to read",
	.write = write_text,
};
