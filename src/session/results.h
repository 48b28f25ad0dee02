/*
 * results.h - private to session/: what a session has found, and what it says of that.
 */
#ifndef FL_RESULTS_H
#define FL_RESULTS_H

#include "session/session.h"

/* The rows of analysis `name`; NULL: there are none. */
struct flick_rows *fl_session_result(struct fl_session *, const char *name);
/* Rows that say how often functions were called (`function`, `calls`); NULL: there are none. */
const struct flick_rows *fl_session_calls(struct fl_session *);
/* Rows of all analyses (analyses.c); what cannot be had is said. */
void fl_session_make_results(struct fl_session *);
/* Was the program left alone on purpose? Its events until it noticed are not called lost. */
bool fl_session_is_left(const struct fl_session *);
/* A site as it is now, every index within its table. */
struct fl_shm_site fl_session_site(const struct fl_session *, uint32_t i);
/* Does it stand for a function that has, or could not have, a second body? */
static inline bool fl_is_function(const struct fl_shm_site *s)
{
	return s->provider == FL_PROVIDER_BODY && s->kind == FL_ENTRY;
}
/* Is `i` an exit of the function as it is whose entry is `entry`? FL_NO_ROW is no entry. */
bool fl_session_is_leave_of(const struct fl_session *, uint32_t i, uint32_t entry);
/* Why site `i` is not there, as of now; 0: it is. An exit of a function as it is has its
 * entry's refusal. Sites are asked for in order, because the entry comes before its exits;
 * *entry keeps the last one, and is FL_NO_ROW at first. */
int fl_session_refusal(const struct fl_session *, uint32_t i, uint32_t *entry);
/* Say what became of the target, what is missing and why (tell.c). */
void fl_session_tell(struct fl_session *);
/* The target has ended, at `now` ticks: the rate that windows came to (rate.c). */
void fl_rate_measure(struct fl_session *, uint64_t now);
/* /tmp/perf-PID.map, if it was asked for (perf-map.c). The target has ended. */
void fl_perf_map_write(struct fl_session *);

#endif
