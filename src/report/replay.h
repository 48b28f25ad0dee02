/*
 * replay.h - what dumps of a trace share.
 */
#ifndef FL_REPORT_REPLAY_H
#define FL_REPORT_REPLAY_H

#include "report/report.h"

/* A part of a trace, in ticks; NULL: the whole trace. */
struct fl_span {
	uint64_t from, until;
};
/* 0 or -1 with `why` filled. */
int fl_span_of(struct fl_span *, struct fl_store *, const struct fl_view *,
	       const struct fl_part *, char why[FL_WHY]);
/* Does a call end before the span? */
bool fl_span_is_behind(const struct fl_span *, const struct flick_call *);
/* From now on times are those that were measured: the probes' own time and the waits of
 * threads for their rings stay in them. */
void fl_view_make_raw(struct fl_view *);
/* Run one analysis on a trace; `rows` may be NULL. With a span no event behind its end is
 * given, and a call that ends before it only to an analysis that has `enter`. Returns as a
 * dumper's write does. */
int fl_replay(const char *dir, const struct fl_view *, const struct fl_use *,
	      const struct fl_span *, struct flick_rows *rows, char why[FL_WHY]);

#endif
