/*
 * legend.c - what `-`, `~` and `>` mean in a table: a line for each reason that is in it.
 *
 * A cell that is not known does not say why: the reason follows from the row's other cells.
 */
#include <string.h>

#include "report/table.h"

enum reason {
	KNOWN, ESTIMATE, ROUGH, SCATTERED, FEW_STOOD, OUTERMOST, PART, OPEN, STILL_OPEN,
	NO_PROBE, UNTIMED, CUT_OFF, RECURSES, IMPOSSIBLE, BARE, PART_TOTAL, NO_TOTAL, NO_SELF,
	NO_CALLER, NO_PARENT, NOT_TOLD, NO_CALLEES, NO_LINE, ONE_SIDE,
	N_REASONS
};
_Static_assert((int)N_REASONS <= (int)FL_LEGEND_MOST, "a line each");

static const char *const sentences[N_REASONS] = {
	[ESTIMATE] = "~  to count all of these calls would have cost too much: an estimate, "
		     "from those that were counted (-a counts is exact)",
	[ROUGH] = "~~  an estimate that may be off by a quarter or more by chance (calls_error "
		  "says by how much)",
	[SCATTERED] = "~  few of the calls that were timed took most of the time: by chance "
		      "average and total may be off by a third or more (with a larger -K "
		      "more are timed)",
	[FEW_STOOD] = "~  few samples of the stack tell it, or many more may have stood in its "
		      "calls: average and total may be off by a third or more",
	[OUTERMOST] = "~  it calls itself, and few calls were timed, which have others in "
		      "them: the average may be several times too long",
	[PART] = ">  flick ctl switched its probes meanwhile: calls and average are of a part "
		 "of the time, total and self of all of it",
	[OPEN] = ">  with calls that had not ended when their thread, or the recording, did: "
		 "their time until then",
	[STILL_OPEN] = "-  no call of it had ended when its thread, or the recording, did",
	[NO_PROBE] = "-  has no probe, so no calls: only samples of the program counter met it",
	[UNTIMED] = "-  no call of it was seen from its begin to its end, so it has no times",
	[CUT_OFF] = "-  its calls outlast a window, or none of them was in one",
	[RECURSES] = "-  it calls itself: calls that lie in one another do not add up to a "
		     "total (record --all knows it)",
	[IMPOSSIBLE] = "-  the few calls that were timed were longer than the rest: by them "
		       "the total would be more than the time there was",
	[BARE] = "-  no samples tell its total: what was timed was longer than the rest, or "
		 "most processes had no probes",
	[PART_TOTAL] = "-  flick ctl switched its probes meanwhile, and no samples tell its "
		       "total",
	[NO_TOTAL] = "-  it calls itself, or by what windows saw the total would be more than "
		     "the time there was (record --all knows it)",
	[NO_SELF] = "-  no samples tell its self time",
	[NO_CALLER] = "-  it is not known who called, or nobody did",
	[NO_PARENT] = "[...]  it is not known who called what stands below",
	[NOT_TOLD] = "[...]  no sample tells who called",
	[NO_CALLEES] = "-  what it called is not known for certain",
	[NO_LINE] = "-  no debug information (compile with -g)",
	[ONE_SIDE] = "-  not in this recording, or not known there",
};

static uint64_t cell_of(const struct fl_sheet *s, size_t row, const char *name)
{
	int c = fl_sheet_column(s->result, name);

	return c < 0 ? FLICK_NONE : s->result->cells[row * s->result->n_columns + (size_t)c];
}

static bool is(const char *a, const char *b)
{
	return !strcmp(a, b);
}

/* Why a number in a result of flick's own is not known. */
static enum reason reason_of_number(const struct fl_sheet *s, size_t row, const char *name)
{
	const bool is_timed = cell_of(s, row, "avg_ns") != FLICK_NONE ||
			      cell_of(s, row, "p50_ns") != FLICK_NONE;

	if (is(s->name, "programs") || is(s->name, "program_functions") ||
	    is(s->name, "by_thread") || is(s->name, "thread_functions") ||
	    is(s->name, "places"))
		return KNOWN;
	if (cell_of(s, row, "calls") == FLICK_NONE)
		return NO_PROBE;
	if (!is_timed && cell_of(s, row, "open") != FLICK_NONE && cell_of(s, row, "open"))
		return STILL_OPEN;
	if (!is_timed)
		return s->estimated ? CUT_OFF : UNTIMED;
	if (s->estimated && is(name, "total_ns"))
		return NO_TOTAL;
	if (is(name, "total_ns") && cell_of(s, row, "switched") == 1)
		return PART_TOTAL;
	if (is(name, "total_ns") && cell_of(s, row, "sum_ns") != FLICK_NONE)
		return RECURSES;
	if (is(name, "total_ns") || is(name, "sum_ns") || is(name, "avg_ns"))
		return s->bare ? BARE : IMPOSSIBLE;
	return is(name, "self_ns") ? NO_SELF : UNTIMED;
}

static enum reason reason_of_text(const struct fl_sheet *s, size_t column)
{
	const char *name = s->result->columns[column].name;

	if (is(name, "line"))
		return NO_LINE;
	if (!s->name || fl_sheet_is_module(s, column))
		return KNOWN;
	if (fl_sheet_typed(s->result, FLICK_COL_PARENT) >= 0)
		return is(s->name, "callers") ? NOT_TOLD : NO_PARENT;
	return is(name, "caller") ? NO_CALLER : is(name, "callees") ? NO_CALLEES : KNOWN;
}

/* Why an average, or what is made of one, is marked. */
static enum reason reason_of_mark(const struct fl_sheet *s, size_t row)
{
	uint64_t sum = cell_of(s, row, "sum_ns"), avg = cell_of(s, row, "avg_ns");
	bool recurses = sum != FLICK_NONE && sum != cell_of(s, row, "total_ns");

	if (fl_sheet_lacks_stacks(s, row))
		return FEW_STOOD;
	return recurses && cell_of(s, row, "avg_error_ns") >= avg ? OUTERMOST : SCATTERED;
}

static enum reason reason_of(const struct fl_sheet *s, size_t row, size_t column)
{
	const struct flick_rows *r = s->result;
	const bool is_share = column == FL_SHOWN_SHARE;
	const char *name = is_share ? fl_sheet_shared(s) : r->columns[column].name;

	if (!is_share && fl_sheet_is_open(s, row, column))
		return OPEN;
	if (!is_share && fl_sheet_is_estimate(s, row, column))
		return is(name, "calls") ?
		       fl_sheet_is_rough(s, row, column) ? ROUGH : ESTIMATE :
		       reason_of_mark(s, row);
	if ((is_share ? cell_of(s, row, name) :
	     r->cells[row * r->n_columns + column]) != FLICK_NONE)
		return KNOWN;
	if (!is_share && fl_sheet_is_text(r, column))
		return reason_of_text(s, column);
	if (strstr(name, "_before") || strstr(name, "_after") || strstr(name, "_change"))
		return s->name ? KNOWN : ONE_SIDE;
	return s->name ? reason_of_number(s, row, name) : KNOWN;
}

size_t fl_legend_make(const struct fl_sheet *s, const char *lines[FL_LEGEND_MOST])
{
	bool is_there[N_REASONS] = { false };
	size_t n = 0;

	for (size_t row = 0; row < s->result->n_rows; row++)
		for (size_t i = 0; i < s->n_shown; i++) {
			is_there[reason_of(s, row, s->shown[i])] = true;
			is_there[PART] |= s->shown[i] != FL_SHOWN_SHARE &&
					  fl_sheet_is_part(s, row, s->shown[i]);
		}
	is_there[ESTIMATE] |= is_there[ROUGH];
	for (size_t why = ESTIMATE; why < N_REASONS; why++)
		if (is_there[why])
			lines[n++] = sentences[why];
	return n;
}
