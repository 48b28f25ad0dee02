/*
 * replay.h - what dumps of a trace share.
 */
#ifndef FL_REPORT_REPLAY_H
#define FL_REPORT_REPLAY_H

#include "report/report.h"

/* A part in ticks; NULL: all of it. */
struct fl_span {
	uint64_t from, until;
};
/* 0 or -1 with `why` filled. */
int fl_span_of(struct fl_span *, struct fl_store *, const struct fl_view *,
	       const struct fl_part *, char why[FL_WHY]);
/* Does a call end before it? */
bool fl_span_is_behind(const struct fl_span *, const struct flick_call *);
/* Times become those that were measured, with what probes took and threads waited for their
 * rings. */
void fl_view_make_raw(struct fl_view *);
/* One analysis on a trace; `rows` may be NULL. Of a span nothing comes behind its end, and
 * calls that end before it only to an analysis that asks for their beginnings. As a dumper's
 * write. */
int fl_replay(const char *dir, const struct fl_view *, const struct fl_use *,
	      const struct fl_span *, struct flick_rows *rows, char why[FL_WHY]);

#endif
