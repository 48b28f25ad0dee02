/*
 * columns.c - which columns of a sheet are shown, and in which order.
 *
 * A person is shown the columns that say something, a program all; either may ask for others.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "report/table.h"

/* The columns of a latency that a person is shown, in this order; FL_SHARE is made of
 * self_ns. */
static const char *const latency_shown[] = { "total_ns", "self_ns", FL_SHARE, "calls",
					     "avg_ns", "p50_ns", "p99_ns", "unknown",
					     "sampled", "given_up", "counted", NULL };
/* The same for results that samples of stacks tell. */
static const char *const stacks_shown[] = { "total_ns", FL_SHARE, "self_ns", "samples", NULL };
static const char *const callers_shown[] = { "total_ns", FL_SHARE, "samples", NULL };
static const char *const programs_shown[] = { "self_ns", FL_SHARE, "runs", NULL };
static const char *const by_thread_shown[] = { "self_ns", FL_SHARE, "samples", "tid", NULL };
static const char *const functions_shown[] = { "self_ns", FL_SHARE, "samples", NULL };
static const char *const places_shown[] = { "self_ns", FL_SHARE, "samples", "address", NULL };
/* Columns of any result of flick's own that are shown where a row has more than 0 of them. */
static const char *const shown_if_any[] = { "unknown", "unsure", "sampled", "open" };

#define RAW "raw_"	/* raw_X is column X as it was measured */

static bool is_in(const char *name, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(list[i], name))
			return true;
	return false;
}

static bool is_all(const struct flick_rows *r, size_t c, uint64_t cell)
{
	for (size_t i = 0; i < r->n_rows; i++)
		if (r->cells[i * r->n_columns + c] != cell)
			return false;
	return true;
}

static const char *cell_text(uint64_t cell)
{
	return cell == FLICK_NONE ? "" : (const char *)(uintptr_t)cell;
}

static bool is_one_text(const struct flick_rows *r, size_t c)
{
	for (size_t i = 1; i < r->n_rows; i++)
		if (strcmp(cell_text(r->cells[c]), cell_text(r->cells[i * r->n_columns + c])))
			return false;
	return true;
}

/* Is the row's total made not of the average but of samples of stacks? Of so many that chance
 * matters less, and of most that may have stood in its calls? Else the error is more than the
 * average. */
static bool is_of_stacks(const struct fl_sheet *s, const uint64_t *cell)
{
	int stacks = fl_sheet_column(s->result, "stack_samples");

	return stacks >= 0 && cell[stacks] != FLICK_NONE;
}

static bool are_enough(const struct fl_sheet *s, const uint64_t *cell)
{
	enum { ENOUGH = 11 };
	int stacks = fl_sheet_column(s->result, "stack_samples");
	int error = fl_sheet_column(s->result, "avg_error_ns");
	int average = fl_sheet_column(s->result, "avg_ns");

	return cell[stacks] >= ENOUGH &&
	       (error < 0 || average < 0 || cell[error] == FLICK_NONE ||
		cell[average] == FLICK_NONE || cell[error] <= cell[average]);
}

bool fl_sheet_lacks_stacks(const struct fl_sheet *s, size_t row)
{
	const uint64_t *cell = s->result->cells + row * s->result->n_columns;

	return is_of_stacks(s, cell) && !are_enough(s, cell);
}

/* May the cell, an average or made of one, be off by a third by chance? */
static bool is_scattered(const struct fl_sheet *s, const uint64_t *cell, size_t column)
{
	static const char *const of_average[] = { "total_ns", "avg_ns", "sum_ns" };
	int error, average;

	if (cell[column] == FLICK_NONE ||
	    (!strcmp(s->result->columns[column].name, "total_ns") && is_of_stacks(s, cell) &&
	     are_enough(s, cell)) ||
	    !is_in(s->result->columns[column].name, of_average, ARRAY_LEN(of_average)))
		return false;
	error = fl_sheet_column(s->result, "avg_error_ns");
	average = fl_sheet_column(s->result, "avg_ns");
	return error >= 0 && average >= 0 && cell[error] != FLICK_NONE &&
	       cell[average] != FLICK_NONE && cell[error] > cell[average] * 0.3;
}

bool fl_sheet_is_nothing(const struct fl_sheet *s, size_t c)
{
	const struct flick_rows *r = s->result;

	if (c >= r->n_columns)
		return false;
	for (size_t i = 0; i < r->n_rows; i++)
		if (r->cells[i * r->n_columns + c] + 1 > 1)
			return false;
	return true;
}

bool fl_sheet_is_estimate(const struct fl_sheet *s, size_t row, size_t column)
{
	const uint64_t *cell = s->result->cells + row * s->result->n_columns;
	int counted;

	if (!s->name)
		return false;
	if (strcmp(s->result->columns[column].name, "calls"))
		return is_scattered(s, cell, column);
	counted = fl_sheet_column(s->result, "counted");
	return counted >= 0 && cell[counted] != FLICK_NONE && cell[column] > cell[counted];
}

bool fl_sheet_is_open(const struct fl_sheet *s, size_t row, size_t column)
{
	const char *name = s->result->columns[column].name;
	const uint64_t *cell = s->result->cells + row * s->result->n_columns;
	int open;

	if (!s->name || cell[column] == FLICK_NONE ||
	    (strcmp(name, "total_ns") && strcmp(name, "sum_ns")))
		return false;
	open = fl_sheet_column(s->result, "open");
	return open >= 0 && fl_sheet_column(s->result, "total_ns") >= 0 &&
	       cell[open] != FLICK_NONE && cell[open];
}

bool fl_sheet_is_part(const struct fl_sheet *s, size_t row, size_t column)
{
	const uint64_t *cell = s->result->cells + row * s->result->n_columns;
	int switched = s->name ? fl_sheet_column(s->result, "switched") : -1;

	return switched >= 0 && cell[switched] != FLICK_NONE && cell[switched] &&
	       !strcmp(s->result->columns[column].name, "calls");
}

bool fl_sheet_is_rough(const struct fl_sheet *s, size_t row, size_t column)
{
	const uint64_t *cell = s->result->cells + row * s->result->n_columns;
	int error;

	if (!fl_sheet_is_estimate(s, row, column) ||
	    strcmp(s->result->columns[column].name, "calls"))
		return false;
	error = fl_sheet_column(s->result, "calls_error");
	return error >= 0 && cell[error] != FLICK_NONE && cell[error] > cell[column] / 8;
}

static bool are_estimated(const struct fl_sheet *s)
{
	int calls = fl_sheet_column(s->result, "calls");

	for (size_t i = 0; calls >= 0 && i < s->result->n_rows; i++)
		if (fl_sheet_is_estimate(s, i, (size_t)calls))
			return true;
	return false;
}

/* Were so many of a function's timed calls given up that its average is affected? */
static bool are_given_up(const struct fl_sheet *s)
{
	int given_up = fl_sheet_column(s->result, "given_up");
	int timed = fl_sheet_column(s->result, "sampled");

	for (size_t i = 0; given_up >= 0 && timed >= 0 && i < s->result->n_rows; i++) {
		const uint64_t *cell = s->result->cells + i * s->result->n_columns;

		if (cell[given_up] != FLICK_NONE && cell[timed] != FLICK_NONE &&
		    cell[given_up] > cell[timed] / 20)
			return true;
	}
	return false;
}

static bool is_of_paths(const struct fl_sheet *s)
{
	return s->name && !strcmp(s->name, "paths");
}

/* The list of columns to show of a sheet of numbers with shares; NULL: all. */
static const char *const *shown_of(const struct fl_sheet *s)
{
	static const struct {
		const char *name;
		const char *const *shown;
	} lists[] = { { "latency", latency_shown }, { "stacks", stacks_shown },
		      { "callers", callers_shown }, { "programs", programs_shown },
		      { "program_functions", functions_shown },
		      { "by_thread", by_thread_shown },
		      { "thread_functions", functions_shown },
		      { "places", places_shown } };

	for (size_t i = 0; s->name && i < ARRAY_LEN(lists); i++)
		if (!strcmp(s->name, lists[i].name))
			return lists[i].shown;
	return NULL;
}

static bool is_of_totals(const struct fl_sheet *s)
{
	const char *const *shown = shown_of(s);

	return shown == stacks_shown || shown == callers_shown;
}

const char *fl_sheet_shared(const struct fl_sheet *s)
{
	return is_of_paths(s) ? "calls" : is_of_totals(s) ? "total_ns" :
	       "self_ns";
}

const char *fl_sheet_share_key(const struct fl_sheet *s)
{
	return is_of_paths(s) ? FL_SHARE_OF_PATHS :
	       is_of_totals(s) ? FL_SHARE_OF_TOTALS : FL_SHARE;
}

double fl_sheet_share(const struct fl_sheet *s, size_t row)
{
	int of = fl_sheet_column(s->result, fl_sheet_shared(s));
	uint64_t v = of < 0 ? FLICK_NONE :
		     s->result->cells[row * s->result->n_columns + (size_t)of];

	return v == FLICK_NONE || !s->whole ? -1 : 100 * (double)v / (double)s->whole;
}

bool fl_sheet_is_module(const struct fl_sheet *s, size_t column)
{
	return column < s->result->n_columns &&
	       column + s->n_modules >= s->result->n_columns;
}

bool fl_sheet_is_asked(const struct fl_sheet *s, size_t column)
{
	return s->asked >> (column < 63 ? column : 63) & 1;
}

static void note_asked(struct fl_sheet *s, size_t column)
{
	s->asked |= 1ull << (column < 63 ? column : 63);
}

/* ---- what is shown when nothing is asked for ---------------------------------------- */

static bool is_hidden(const struct flick_rows *r, size_t c)
{
	return r->columns[c].type == FLICK_COL_ID || r->columns[c].type == FLICK_COL_PARENT;
}

/* Does column `c` say anything to a person? */
static bool is_telling(const struct fl_sheet *s, size_t c)
{
	const struct flick_rows *r = s->result;
	const char *name = r->columns[c].name;

	if (is_hidden(r, c))
		return false;
	if (fl_sheet_is_module(s, c))
		return s->has_twins;
	if (!s->name)
		return true;
	if (!strncmp(name, RAW, strlen(RAW)) || !strcmp(name, "sum_ns"))
		return false;
	if (shown_of(s) == functions_shown && r->columns[c].type == FLICK_COL_TEXT &&
	    (!strcmp(name, "program") || !strcmp(name, "thread")))
		return !is_one_text(r, c);
	if (shown_of(s) == places_shown && r->columns[c].type == FLICK_COL_FUNCTION)
		return !r->n_rows || !is_all(r, c, r->cells[c]);
	if (shown_of(s) == places_shown && !strcmp(name, "code"))
		return !is_one_text(r, c) || (r->n_rows && *cell_text(r->cells[c]));
	if (!strcmp(name, "counted"))
		return are_estimated(s);
	if (!strcmp(name, "given_up"))
		return are_given_up(s);
	if (is_in(name, shown_if_any, ARRAY_LEN(shown_if_any)))
		return !fl_sheet_is_nothing(s, c);
	return strcmp(name, "self_ns") || !is_all(r, c, FLICK_NONE);
}

/* 0: times, 1: numbers, 2: texts. */
static int rank_of(const struct flick_rows *r, size_t c)
{
	if (fl_sheet_is_text(r, c))
		return 2;
	return r->columns[c].type == FLICK_COL_COUNT ||
	       (int)r->columns[c].type == FL_COL_CHANGE;
}

static bool is_shown(const struct fl_sheet *s, size_t c)
{
	return memchr(s->shown, (int)c, s->n_shown) != NULL;
}

/* Each column is shown once. */
static void show(struct fl_sheet *s, size_t c)
{
	if (!is_shown(s, c) && s->n_shown < FL_MAX_SHOWN)
		s->shown[s->n_shown++] = (uint8_t)c;
}

static void show_list(struct fl_sheet *s, const char *const *name)
{
	for (; *name; name++) {
		int c = fl_sheet_column(s->result, *name);

		if (!strcmp(*name, FL_SHARE) && s->whole &&
		    fl_sheet_column(s->result, fl_sheet_shared(s)) >= 0)
			show(s, FL_SHOWN_SHARE);
		else if (c >= 0 && is_telling(s, (size_t)c))
			show(s, (size_t)c);
	}
}

static void show_rank(struct fl_sheet *s, int rank)
{
	for (size_t c = 0; c < s->result->n_columns; c++)
		if (rank_of(s->result, c) == rank && is_telling(s, c))
			show(s, c);
}

/* Times, then numbers: people know this order from other tools. */
static void show_numbers(struct fl_sheet *s)
{
	if (shown_of(s)) {
		show_list(s, shown_of(s));
		return;
	}
	show_rank(s, 0);
	if (is_of_paths(s) && s->whole) {
		show(s, (size_t)fl_sheet_column(s->result, "calls"));
		show(s, FL_SHOWN_SHARE);
	}
	show_rank(s, 1);
}

/* Modules, and then names, which are cut to the room that is left in a line. */
static void show_texts(struct fl_sheet *s)
{
	for (size_t c = s->result->n_columns - s->n_modules; c < s->result->n_columns; c++)
		if (is_telling(s, c))
			show(s, c);
	show_rank(s, 2);
}

void fl_sheet_show(struct fl_sheet *s)
{
	s->n_shown = 0;
	show_numbers(s);
	show_texts(s);
}

void fl_sheet_show_all(struct fl_sheet *s)
{
	s->n_shown = 0;
	for (size_t c = 0; c < s->result->n_columns; c++)
		show(s, c);
}

/* ---- what was asked for ------------------------------------------------------------ */

enum { KEY_LONGEST = 60, KEY_ROOM = KEY_LONGEST + sizeof("_ns") };

static int column_called(const struct fl_sheet *s, char name[KEY_ROOM])
{
	static const struct {
		const char *key, *column;
	} others[] = { { "call", "calls" }, { "samples", "calls" }, { "func", "function" } };
	int c;

	if (!strcmp(name, fl_sheet_share_key(s)))
		return s->whole ? FL_SHOWN_SHARE : -1;
	c = fl_sheet_column(s->result, name);
	for (size_t i = 0; c < 0 && i < ARRAY_LEN(others); i++)
		if (!strcmp(name, others[i].key))
			c = fl_sheet_column(s->result, others[i].column);
	if (c < 0)
		c = fl_sheet_column(s->result, strcat(name, "_ns"));
	return c;
}

/* A key, or what stands above the column in a table: `Given up`. */
int fl_sheet_key(const struct fl_sheet *s, const char *key, size_t n)
{
	char name[KEY_ROOM] = "", title[KEY_ROOM];
	int c;

	snprintf(name, sizeof(name), "%.*s", n < KEY_LONGEST ? (int)n : KEY_LONGEST, key);
	for (size_t i = 0; i < sizeof(title); i++)
		title[i] = (char)(name[i] == ' ' ? '_' : tolower((unsigned char)name[i]));
	c = column_called(s, name);
	return c == -1 ? column_called(s, title) : c;
}

void fl_sheet_keys(const struct fl_sheet *s, char *out, size_t room)
{
	const struct flick_rows *r = s->result;
	size_t n = 0;

	for (size_t c = 0; c < r->n_columns && n < room; c++) {
		const char *name = r->columns[c].name, *unit = strstr(name, "_ns");

		n += (size_t)snprintf(out + n, room - n, "%s%.*s", n ? ", " : "",
				      unit ? (int)(unit - name) : 64, name);
	}
}

static bool is_word(const char *key, size_t n, const char *word)
{
	return n == strlen(word) && !strncmp(key, word, n);
}

static bool show_key(struct fl_sheet *s, const char *key, size_t n)
{
	const bool all = is_word(key, n, "all");
	int c = fl_sheet_key(s, key, n);

	if (all)
		s->asked = UINT64_MAX;
	for (size_t i = 0; all && i < s->result->n_columns; i++)
		if (!is_hidden(s->result, i) && rank_of(s->result, i) < 2)
			show(s, i);
	if (c >= 0) {
		show(s, (size_t)c);
		note_asked(s, (size_t)c);
	}
	return c >= 0 || all || is_word(key, n, "none");
}

/* The texts that were not asked for stand behind the columns that were. `+a,+b` is `+a,b`. */
const char *fl_sheet_choose(struct fl_sheet *s, const char *keys)
{
	const bool also = *keys == '+';

	s->n_shown = 0;
	if (also)
		show_numbers(s);
	while (*keys) {
		size_t n;

		keys += also && *keys == '+';
		n = strcspn(keys, ",");

		if (!show_key(s, keys, n))
			return keys;
		keys += n + (keys[n] == ',');
	}
	show_texts(s);
	return NULL;
}

void fl_sheet_show_also(struct fl_sheet *s, size_t column)
{
	struct fl_sheet texts = *s;
	size_t i = 0;

	note_asked(s, column);
	if (is_shown(s, column))
		return;
	while (i < s->n_shown && (s->shown[i] == FL_SHOWN_SHARE ||
				  !fl_sheet_is_text(s->result, s->shown[i])))
		i++;
	s->n_shown = i;
	show(s, column);
	for (; i < texts.n_shown; i++)
		show(s, texts.shown[i]);
}

/* ---- times as they were measured ------------------------------------------------- */

bool fl_rows_make_raw(struct flick_rows *r)
{
	bool any = false;

	for (size_t c = 0; c < r->n_columns; c++) {
		const char *name = r->columns[c].name;
		int to = strncmp(name, RAW, strlen(RAW)) ? -1 :
			 fl_sheet_column(r, name + strlen(RAW));

		if (to < 0 || r->columns[c].type != FLICK_COL_NS ||
		    r->columns[to].type != FLICK_COL_NS)
			continue;
		any = true;
		for (size_t i = 0; i < r->n_rows; i++) {
			uint64_t *row = r->cells + i * r->n_columns;

			row[to] = row[c] == FLICK_NONE ? row[to] : row[c];
		}
	}
	return any;
}

/* ---- more columns --------------------------------------------------------------------- */

bool fl_sheet_add_texts(struct fl_sheet *s, const char *name, int of,
			const char *const *texts)
{
	struct flick_rows *r = s->result;
	const size_t n = r->n_columns, bytes = n * sizeof(*r->cells);
	uint64_t *cells = malloc((r->n_rows * (n + 1) + 1) * sizeof(*cells));
	struct flick_column *columns = malloc((n + 1) * sizeof(*columns));

	if (!cells || !columns || of < 0) {
		free(cells);
		free(columns);
		return false;
	}
	memcpy(columns, r->columns, n * sizeof(*columns));
	columns[n] = (struct flick_column){ name, FLICK_COL_TEXT };
	for (size_t i = 0; i < r->n_rows; i++) {
		uint64_t *row = cells + i * (n + 1);
		uint64_t f = r->cells[i * n + (size_t)of];
		const char *text = f < s->n_functions ? texts[f] : NULL;

		memcpy(row, r->cells + i * n, bytes);
		row[n] = text ? (uintptr_t)text : FLICK_NONE;
	}
	free(r->cells);
	free(s->added);
	s->added = columns;
	*r = (struct flick_rows){ columns, n + 1, cells, r->n_rows };
	return true;
}
