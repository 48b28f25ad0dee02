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
/* Begin and end text with a colour. */
#define FL_BOLD "\x1b[1m"
#define FL_DIM "\x1b[2m"
#define FL_PLAIN "\x1b[m"
/* The colour of a time, so that long times stand out; "" below a millisecond. */
const char *fl_colour_of(uint64_t ns);
#define FL_SHARE "self%"		/* the key of FL_SHOWN_SHARE */
#define FL_SHARE_OF_PATHS "share"	/* ... of paths */
#define FL_SHARE_OF_TOTALS "total%"	/* ... of stacks */
/* The name under which a column is shown: `calls` may be samples, or estimates. */
const char *fl_sheet_title(const struct fl_sheet *, size_t column);
bool fl_sheet_is_text(const struct flick_rows *, size_t column);
/* Is the cell a number of calls of which not all were counted, or a time that few calls
 * make up most of? */
bool fl_sheet_is_estimate(const struct fl_sheet *, size_t row, size_t column);
/* Is the row's total of few samples of stacks, or may many more have stood in its calls? */
bool fl_sheet_lacks_stacks(const struct fl_sheet *, size_t row);
/* May such a number of calls be off by a quarter, if it is off by twice its standard error? */
bool fl_sheet_is_rough(const struct fl_sheet *, size_t row, size_t column);
/* Is the cell a number of calls that were told for a part of the time? */
bool fl_sheet_is_part(const struct fl_sheet *, size_t row, size_t column);
/* Is the cell a sum of times that has calls in it that had not ended? */
bool fl_sheet_is_open(const struct fl_sheet *, size_t row, size_t column);
/* The key of the sheet's FL_SHOWN_SHARE. */
const char *fl_sheet_share_key(const struct fl_sheet *);
/* The share of a row, in percent of fl_sheet.whole; below 0: not known. */
double fl_sheet_share(const struct fl_sheet *, size_t row);
/* Was the column asked for by its name? */
bool fl_sheet_is_asked(const struct fl_sheet *, size_t column);
/* Is the column 0, or not known, in all rows? */
bool fl_sheet_is_nothing(const struct fl_sheet *, size_t column);
/* Say what `-`, `~` and `>` in the shown columns mean, a line a reason. Returns how many. */
enum { FL_LEGEND_MOST = 24 };
size_t fl_legend_make(const struct fl_sheet *, const char *lines[FL_LEGEND_MOST]);
/* Print a text cut to `most` columns (0: not cut), filled up with spaces to `width`; and
 * FILE:LINE, of which the end matters. */
void fl_print_padded(FILE *, const char *text, int width, size_t most);
void fl_print_place(FILE *, const char *text, int width, size_t most);
/* How many bytes the UTF-8 character at `text` has. Names come from files and may hold any
 * byte; 0: there is no character, and FL_NO_CHARACTER stands for the byte. */
size_t fl_character(const char *text);
#define FL_NO_CHARACTER "\xef\xbf\xbd"	/* U+FFFD */
/* The character that has these `n` bytes. */
uint32_t fl_code_point(const char *text, size_t n);
/* Not printable is a character that nobody sees, or that a terminal obeys. */
bool fl_is_printable(uint32_t code);
/* fl_print_plain() of the first character of a text that has one. Returns its bytes. */
size_t fl_print_character(FILE *, const char *text, size_t *columns);
/* The value of a cell of FL_COL_CHANGE; and the cell of a value. */
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
/* The text that names a function's module; by function, NULL where it is not known. */
const char *const *fl_modules_texts(const struct fl_modules *);
/* Write a cell for another program: a number in digits, a text by put_text(). */
void fl_sheet_put_cell(FILE *, const struct fl_sheet *, size_t column, size_t row,
		       void (*put_text)(FILE *, const char *), const char *unknown);
/* fl_insn_text() of an ELF address of a file. Blocks for reading. */
char *fl_insn_text_in(struct fl_insn_texts *, const char *path, uint64_t at);
/* For each name the index of the first name that equals it. 0 or -ENOMEM. */
int fl_names_first(const char *const *names, size_t n, uint32_t *first);
/* Did fl_sheet_add_modules() add the column? */
bool fl_sheet_is_module(const struct fl_sheet *, size_t column);
/* The name of a function cell; "?" where a damaged store has none. */
const char *fl_sheet_function(const struct fl_sheet *, uint64_t index);

#endif
