/*
 * table.h - what the exporters share.
 */
#ifndef FL_REPORT_TABLE_H
#define FL_REPORT_TABLE_H

#include "report/report.h"

/* The first column of a type, or -1. */
int fl_sheet_typed(const struct flick_rows *, enum flick_column_type);
/* The text of a cell that has one; "-" where it is not known. */
const char *fl_sheet_text(const struct fl_sheet *, size_t column, uint64_t cell);
/* Begin and end what has a colour. */
#define FL_BOLD "\x1b[1m"
#define FL_DIM "\x1b[2m"
#define FL_PLAIN "\x1b[m"
/* That of a time, so that long ones stand out; "" for those below a millisecond. */
const char *fl_colour_of(uint64_t ns);
#define FL_SHARE "self%"		/* what FL_SHOWN_SHARE is called */
#define FL_SHARE_OF_PATHS "share"	/* ... of paths */
#define FL_SHARE_OF_TOTALS "total%"	/* ... of stacks */
/* What a column is called: `calls` may be samples, or estimates. */
const char *fl_sheet_title(const struct fl_sheet *, size_t column);
bool fl_sheet_is_text(const struct flick_rows *, size_t column);
/* Calls of a row that are more than were counted, or times that few calls carry? */
bool fl_sheet_is_estimate(const struct fl_sheet *, size_t row, size_t column);
/* And may its number of calls be off by a quarter: by twice its standard error? */
bool fl_sheet_is_rough(const struct fl_sheet *, size_t row, size_t column);
/* A sum of times in which there are calls that had not ended? */
bool fl_sheet_is_open(const struct fl_sheet *, size_t row, size_t column);
/* Its key. */
const char *fl_sheet_share_key(const struct fl_sheet *);
/* In percent of all self times, or calls of paths; below 0: not known. */
double fl_sheet_share(const struct fl_sheet *, size_t row);
/* Was it asked for by its name? */
bool fl_sheet_is_asked(const struct fl_sheet *, size_t column);
/* 0, or not known, in all rows. */
bool fl_sheet_is_nothing(const struct fl_sheet *, size_t column);
/* What `-` and `~` in the columns shown mean, a line a reason; how many. */
enum { FL_LEGEND_MOST = 20 };
size_t fl_legend_make(const struct fl_sheet *, const char *lines[FL_LEGEND_MOST]);
/* Cut to `most` columns, 0: not at all; then as wide as `width`. */
void fl_print_padded(FILE *, const char *text, int width, size_t most);
/* Names come from files and may hold any byte: how many the UTF-8 character at
 * `text` has, or 0: it is none, and FL_NO_CHARACTER stands for the byte. */
size_t fl_character(const char *text);
#define FL_NO_CHARACTER "\xef\xbf\xbd"	/* U+FFFD */
/* The character that has these `n` bytes; one that nobody sees, or that a terminal
 * obeys, is not to be printed. */
uint32_t fl_code_point(const char *text, size_t n);
bool fl_is_printable(uint32_t code);
/* fl_print_plain() of the first character of a text that has one; its bytes. */
size_t fl_print_character(FILE *, const char *text, size_t *columns);
/* A cell of FL_COL_CHANGE, and back. */
static inline int64_t fl_change_value(uint64_t cell)
{
	return cell & 1 ? -(int64_t)(cell >> 1) - 1 : (int64_t)(cell >> 1);
}

static inline uint64_t fl_change_cell(int64_t v)
{
	return v < 0 ? ((uint64_t)-(v + 1) << 1) + 1 : (uint64_t)v << 1;
}

/* A time as uftrace prints it, ten characters wide: "  1.204 us". */
void fl_text_time(char out[32], uint64_t ns);
/* By function, NULL where nothing has to be told apart. */
const char *const *fl_modules_texts(const struct fl_modules *);
/* A cell for another program: a number plainly, a text by put_text(). */
void fl_sheet_put_cell(FILE *, const struct fl_sheet *, size_t column, size_t row,
		       void (*put_text)(FILE *, const char *), const char *unknown);
/* For each name the first one that is equal, as index. 0 or -ENOMEM. */
int fl_names_first(const char *const *names, size_t n, uint32_t *first);
/* Is it one of fl_sheet_add_modules()? */
bool fl_sheet_is_module(const struct fl_sheet *, size_t column);
/* The name of a function cell; "?" where a damaged store has none. */
const char *fl_sheet_function(const struct fl_sheet *, uint64_t index);

#endif
