/*
 * readers.h - private to session/: the threads that drain rings (readers.c).
 */
#ifndef FL_READERS_H
#define FL_READERS_H

#include "session/session.h"

/* The session's own thread, and as many others as the options say. 0 or -errno. */
int fl_readers_open(struct fl_session *);
/* From hold to release no reader looks up what the analyses look up. */
void fl_readers_hold(struct fl_readers *);
void fl_readers_release(struct fl_readers *);
/* Probes of functions that `of` marks went off: fl_run_forget() of all readers' runs. */
void fl_readers_forget(struct fl_session *, uint64_t at, const unsigned char *of, uint32_t n);
/* Readers take nothing more until the target is gone. */
void fl_readers_stop(struct fl_readers *);
/* The target is gone: readers drain the rest and end; what they found goes into the first
 * one's run. 0 or the first error of a reader. */
int fl_readers_finish(struct fl_readers *);
void fl_readers_close(struct fl_readers *);	/* and their runs; NULL is fine */
/* Ask them to deliver what was counted so far. Have all? */
void fl_readers_ask(struct fl_readers *);
bool fl_readers_answered(const struct fl_readers *);
/* Deliver all that was recorded before, except counts of a budget; waits for other readers, up
 * to ten milliseconds. For the session's thread. */
void fl_readers_gather(struct fl_session *);
/* A listener is told what the analyses of all readers are told, except counts of a budget.
 * Each reader is a thread, and has its own numbers for the target's threads. listen: 0 or
 * -ENOMEM; part: `arg` is told nothing more. Both are for held readers. */
struct fl_listener {
	void *arg;
	void (*feed)(void *arg, uint32_t reader, const struct fl_batch *);
	void (*count)(void *arg, uint32_t reader, uint32_t thread, uint32_t probe, uint64_t n);
	void (*thread_end)(void *arg, uint32_t reader, uint32_t thread, uint64_t alive);
};
int fl_readers_listen(struct fl_readers *, const struct fl_listener *);
void fl_readers_part(struct fl_readers *, const void *arg);
/* Events that all but the first have delivered so far. */
uint64_t fl_readers_delivered(const struct fl_readers *);

#endif
