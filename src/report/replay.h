/*
 * replay.h - what dumps of a trace share.
 */
#ifndef FL_REPORT_REPLAY_H
#define FL_REPORT_REPLAY_H

#include "report/report.h"

/* One analysis on a trace; `rows` may be NULL. As a dumper's write. */
int fl_replay(const char *dir, const struct fl_view *, const struct fl_use *,
	      struct flick_rows *rows, char why[FL_WHY]);

#endif
