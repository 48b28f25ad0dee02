/*
 * last.h - private to session/: the events of the last seconds (last.c).
 */
#ifndef FL_LAST_H
#define FL_LAST_H

#include "analysis/analysis.h"

struct fl_last;
/* Keeps so many ticks, in so many bytes at most. The view says what probes are; it grows.
 * NULL: no memory. */
struct fl_last *fl_last_open(const struct fl_view *, uint64_t ticks, uint64_t bytes);
/* 0 or -ENOMEM. */
int fl_last_put(struct fl_last *, const struct fl_batch *);
int fl_last_thread_end(struct fl_last *, uint32_t thread);
/* Write all that is kept to a sink: for each thread first the calls that were open where its
 * events begin, so that callers are known, then events as they came. */
void fl_last_write(const struct fl_last *, const struct fl_sink *);
/* How many ticks were kept where there was no room for more; 0: there was room. */
uint64_t fl_last_short(const struct fl_last *);
void fl_last_close(struct fl_last *);	/* NULL is fine */

#endif
