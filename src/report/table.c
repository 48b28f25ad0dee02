/*
 * table.c - what every way of showing rows shares: order, columns, characters,
 * exporters.
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

int fl_sheet_column(const struct flick_rows *r, const char *name)
{
	for (size_t c = 0; c < r->n_columns; c++)
		if (!strcmp(r->columns[c].name, name))
			return (int)c;
	return -1;
}

uint64_t fl_sheet_sum(const struct flick_rows *r, const char *name)
{
	int c = fl_sheet_column(r, name);
	uint64_t sum = 0;

	for (size_t i = 0; c >= 0 && i < r->n_rows; i++) {
		uint64_t v = r->cells[i * r->n_columns + (size_t)c];

		sum += v == FLICK_NONE ? 0 : v;
	}
	return sum;
}

const char *fl_sheet_title(const struct fl_sheet *s, size_t column)
{
	const char *name = column == FL_SHOWN_SHARE ? fl_sheet_share_key(s) :
			   s->result->columns[column].name;

	if (!s->name || strcmp(name, "calls"))
		return name;
	if (s->sampled)			/* all of them, or those that were timed */
		return fl_sheet_column(s->result, "sampled") < 0 ? "samples" : name;
	/* Between windows all calls of a function are counted, but not by caller. */
	return s->estimated && strcmp(s->name, "latency") ? "estimated_calls" : name;
}

const char *fl_sheet_function(const struct fl_sheet *s, uint64_t index)
{
	const char *name = index < s->n_functions ? s->functions[index] : NULL;

	return name ? name : "?";
}

bool fl_sheet_has_numbers(const struct flick_rows *r, const char *name)
{
	int c = fl_sheet_column(r, name);

	return c >= 0 && (r->columns[c].type == FLICK_COL_COUNT ||
			  r->columns[c].type == FLICK_COL_NS);
}

bool fl_sheet_is_text(const struct flick_rows *r, size_t column)
{
	return r->columns[column].type == FLICK_COL_FUNCTION ||
	       r->columns[column].type == FLICK_COL_TEXT;
}

const char *fl_sheet_text(const struct fl_sheet *s, size_t column, uint64_t cell)
{
	const bool is_function = s->result->columns[column].type == FLICK_COL_FUNCTION;

	if (cell == FLICK_NONE)		/* in a tree: what stands above is not known */
		return is_function && fl_sheet_typed(s->result, FLICK_COL_PARENT) >= 0 ?
		       "[...]" : "-";
	return is_function ? fl_sheet_function(s, cell) : (const char *)(uintptr_t)cell;
}

int fl_sheet_typed(const struct flick_rows *r, enum flick_column_type type)
{
	for (size_t c = 0; c < r->n_columns; c++)
		if (r->columns[c].type == type)
			return (int)c;
	return -1;
}

void fl_sheet_free(struct fl_sheet *s)
{
	free(s->depth);
	s->depth = NULL;
	free(s->result->cells);
	s->result->cells = NULL;
	free(s->added);
	s->added = NULL;
	fl_modules_free(s->modules);
	s->modules = NULL;
}

/* ---- cells for other programs -------------------------------------------------- */

void fl_sheet_put_cell(FILE *to, const struct fl_sheet *s, size_t c, size_t row,
		       void (*put_text)(FILE *, const char *), const char *unknown)
{
	const struct flick_rows *r = s->result;
	const double share = c == FL_SHOWN_SHARE ? fl_sheet_share(s, row) : -1;
	uint64_t v = c < r->n_columns ? r->cells[row * r->n_columns + c] : FLICK_NONE;

	if (share >= 0)
		fprintf(to, "%.2f", share);
	else if (v == FLICK_NONE)
		fputs(unknown, to);
	else if (fl_sheet_is_text(r, c))
		put_text(to, fl_sheet_text(s, c, v));
	else if ((int)r->columns[c].type >= FL_COL_CHANGE)
		fprintf(to, "%lld", (long long)fl_change_value(v));
	else
		fprintf(to, "%llu", (unsigned long long)v);
}

/* ---- order ------------------------------------------------------------------- */

#define MAX_KEYS 16

/* Rows that are equal by the keys asked for are ordered by total time, self time, calls, and
 * then by name. Texts go up, numbers down, but for the spans of a histogram. */
struct order {
	const struct fl_sheet *sheet;
	struct key {
		size_t column;
		bool is_text, is_change, goes_up;
	} keys[MAX_KEYS];
	size_t n;
};

static int compare_numbers(const struct key *k, uint64_t u, uint64_t v)
{
	if (u == v)
		return 0;
	if (u == FLICK_NONE || v == FLICK_NONE)
		return u == FLICK_NONE ? 1 : -1;
	if (k->is_change) {			/* the larger change is first, up or down */
		u = u / 2 + u % 2;
		v = v / 2 + v % 2;
	}
	return u == v ? 0 : (u > v) != k->goes_up ? -1 : 1;
}

/* Numbers within texts, as of lines and of a pool's threads, are in their order. */
static int compare_rows(const void *x, const void *y, void *arg)
{
	const struct order *o = arg;
	const uint64_t *a = x, *b = y;
	int order = 0;

	for (const struct key *k = o->keys; !order && k < o->keys + o->n; k++) {
		uint64_t u = a[k->column], v = b[k->column];

		if (!k->is_text)
			order = compare_numbers(k, u, v);
		else if (u != v)
			order = strverscmp(fl_sheet_text(o->sheet, k->column, u),
					   fl_sheet_text(o->sheet, k->column, v));
	}
	return order;
}

static bool add_key(struct order *o, int column)
{
	const struct flick_rows *r = o->sheet->result;

	if (column >= 0 && o->n < MAX_KEYS)
		o->keys[o->n++] = (struct key){ (size_t)column,
			fl_sheet_is_text(r, (size_t)column),
			(int)r->columns[column].type >= FL_COL_CHANGE, false };
	return column >= 0;
}

static bool add_keys(struct order *o, const char *names)
{
	char name[64];
	bool known = true;

	while (known && *names) {
		size_t n = strcspn(names, ",");

		snprintf(name, sizeof(name), "%.*s", (int)n, names);
		known = add_key(o, fl_sheet_column(o->sheet->result, name));
		names += n + (names[n] == ',');
	}
	return known && o->n;
}

/* Each function's spans beside one another, also of functions of one name, the short ones
 * first. */
static void add_spans(struct order *o)
{
	int function = fl_sheet_column(o->sheet->result, "function");
	int from = fl_sheet_column(o->sheet->result, "from_ns");

	if (fl_sheet_column(o->sheet->result, "below_ns") < 0)
		return;
	if (add_key(o, function))
		o->keys[o->n - 1].is_text = false;
	if (add_key(o, from))
		o->keys[o->n - 1].goes_up = true;
}

/* ---- trees --------------------------------------------------------------------- */

/* Rows as a tree: the first child and the next sibling of each, as index + 1. */
struct kin {
	uint32_t first, next, parent;
};

/* Siblings keep the order of the rows; a row whose parent is missing becomes a root. Returns
 * the first root. */
static uint32_t link_rows(const struct flick_rows *r, struct kin *kin, uint32_t *row_of)
{
	int id = fl_sheet_typed(r, FLICK_COL_ID);
	int parent = fl_sheet_typed(r, FLICK_COL_PARENT);
	uint32_t roots = 0;

	for (size_t i = 0; i < r->n_rows; i++)
		if (r->cells[i * r->n_columns + id] < r->n_rows)
			row_of[r->cells[i * r->n_columns + id]] = (uint32_t)i + 1;
	for (size_t i = r->n_rows; i-- > 0;) {
		uint64_t p = r->cells[i * r->n_columns + parent];
		uint32_t above = p < r->n_rows ? row_of[p] : 0;
		uint32_t *list = above ? &kin[above - 1].first : &roots;

		kin[i].parent = above;
		kin[i].next = *list;
		*list = (uint32_t)i + 1;
	}
	return roots;
}

/* Copy the rows, each before the rows below it in the tree. Circles in a damaged tree cannot
 * be reached from a root and are left out. */
static size_t walk(const struct fl_sheet *s, const struct kin *kin, uint32_t at,
		   uint64_t *cells)
{
	const struct flick_rows *r = s->result;
	const size_t bytes = r->n_columns * sizeof(*cells);
	uint32_t depth = 0;
	size_t n = 0;

	while (at) {
		memcpy(cells + n * r->n_columns, r->cells + (at - 1) * r->n_columns, bytes);
		s->depth[n++] = depth;
		if (kin[at - 1].first) {
			at = kin[at - 1].first;
			depth++;
			continue;
		}
		while (at && !kin[at - 1].next) {
			at = kin[at - 1].parent;
			depth--;
		}
		at = at ? kin[at - 1].next : 0;
	}
	return n;
}

static bool arrange_tree(struct fl_sheet *s)
{
	struct flick_rows *r = s->result;
	uint64_t *cells = malloc((r->n_rows * r->n_columns + 1) * sizeof(*cells));
	struct kin *kin = calloc(r->n_rows + 1, sizeof(*kin));
	uint32_t *row_of = calloc(r->n_rows + 1, sizeof(*row_of));

	free(s->depth);
	s->depth = malloc((r->n_rows + 1) * sizeof(*s->depth));
	if (cells && kin && row_of && s->depth) {
		r->n_rows = walk(s, kin, link_rows(r, kin, row_of), cells);
		memcpy(r->cells, cells, r->n_rows * r->n_columns * sizeof(*cells));
	}
	free(row_of);
	free(kin);
	free(cells);
	return cells && kin && row_of && s->depth;
}

bool fl_sheet_sort(struct fl_sheet *s, const char *names)
{
	struct flick_rows *r = s->result;
	struct order o = { .sheet = s };

	if (!add_keys(&o, names))
		return false;
	add_spans(&o);
	add_key(&o, fl_sheet_column(r, "total_ns"));
	add_key(&o, fl_sheet_column(r, "self_ns"));
	add_key(&o, fl_sheet_column(r, "calls"));
	for (size_t c = 0; c < r->n_columns; c++)
		if (fl_sheet_is_text(r, c))
			add_key(&o, (int)c);
	if (r->n_rows)
		qsort_r(r->cells, r->n_rows, r->n_columns * sizeof(*r->cells), compare_rows,
			&o);
	return r->n_rows == 0 || fl_sheet_typed(r, FLICK_COL_ID) < 0 ||
	       fl_sheet_typed(r, FLICK_COL_PARENT) < 0 || arrange_tree(s);
}

/* ---- characters ------------------------------------------------------------------ */

size_t fl_character(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t n = s[0] < 0x80 ? 1 : s[0] >= 0xc2 && s[0] < 0xe0 ? 2 :
		   s[0] >= 0xe0 && s[0] < 0xf0 ? 3 : s[0] >= 0xf0 && s[0] < 0xf5 ? 4 : 0;

	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] >= 0xa0) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] >= 0x90))
		return 0;			/* too long a form, half a pair, too large */
	return n;
}

uint32_t fl_code_point(const char *text, size_t n)
{
	static const uint8_t marks[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
	uint32_t code = (uint8_t)*text ^ marks[n];

	for (size_t i = 1; i < n; i++)
		code = code << 6 | ((uint8_t)text[i] & 0x3f);
	return code;
}

bool fl_is_printable(uint32_t code)
{
	static const struct {
		uint32_t first, last;
	} others[] = {
		{ 0, 0x1f }, { 0x7f, 0x9f },		/* controls */
		{ 0x61c, 0x61c }, { 0x200b, 0x200f },	/* directions, nothing at all */
		{ 0x2028, 0x202e }, { 0x2060, 0x206f },	/* ends of lines, directions */
		{ 0xfe00, 0xfe0f }, { 0xfeff, 0xfeff }, { 0xfff9, 0xfffb },
		{ 0xfffe, 0xffff }, { 0xe0000, 0xe0fff },
	};

	for (size_t i = 0; i < ARRAY_LEN(others) && code >= others[i].first; i++)
		if (code <= others[i].last)
			return false;
	return true;
}

size_t fl_print_character(FILE *to, const char *text, size_t *columns)
{
	size_t n = fl_character(text);

	if (n && fl_is_printable(fl_code_point(text, n))) {
		*columns += 1;
		if (to)
			fwrite(text, 1, n, to);
		return n;
	}
	*columns += 4;
	if (to)
		fprintf(to, "\\x%02x", (uint8_t)*text);
	return 1;
}

/* Nearly all names are ASCII: runs of ASCII are written as a whole. */
size_t fl_print_plain(FILE *to, const char *text)
{
	size_t columns = 0, n;

	while (*text) {
		for (n = 0; text[n] >= ' ' && text[n] < 0x7f; n++)
			;
		if (n && to)
			fwrite(text, 1, n, to);
		columns += n;
		text += n;
		if (*text)
			text += fl_print_character(to, text, &columns);
	}
	return columns;
}

enum { LEAST = 16, DOTS = 3 };		/* columns of a text that is cut, and of what says so */

size_t fl_print_cut(FILE *to, const char *text, size_t most)
{
	size_t columns = 0;

	most = most && most < LEAST ? LEAST : most;
	if (!most || fl_print_plain(NULL, text) <= most)
		return fl_print_plain(to, text);
	for (size_t next = 0; *text; columns = next) {
		size_t n = fl_print_character(NULL, text, &next);

		if (next > most - DOTS)
			break;
		next = columns;
		fl_print_character(to, text, &next);
		text += n;
	}
	if (to)
		fputs("...", to);
	return columns + DOTS;
}

/* The same, cut in front. */
static size_t print_end(FILE *to, const char *text, size_t most)
{
	const size_t whole = fl_print_plain(NULL, text);
	size_t before = 0;

	most = most && most < LEAST ? LEAST : most;
	if (!most || whole <= most)
		return fl_print_plain(to, text);
	while (whole - before > most - DOTS)
		text += fl_print_character(NULL, text, &before);
	fputs("...", to);
	return DOTS + fl_print_plain(to, text);
}

static void fill_up(FILE *to, size_t used, int width)
{
	if (used < (size_t)width)
		fprintf(to, "%*s", width - (int)used, "");
}

void fl_print_padded(FILE *to, const char *text, int width, size_t most)
{
	fill_up(to, fl_print_cut(to, text, most), width);
}

void fl_print_place(FILE *to, const char *text, int width, size_t most)
{
	fill_up(to, print_end(to, text, most), width);
}
