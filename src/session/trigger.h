/*
 * trigger.h - private to session/: the flight recorder, `record --trigger` (trigger.c).
 */
#ifndef FL_TRIGGER_H
#define FL_TRIGGER_H

#include "session/session.h"

/* Where no trigger was asked for *s has none, which all of these take. open: before readers are
 * open; 0, or -1 and a line printed. is_wrong: before the program runs, or when its probes are
 * on: no function that may fire is there, nor may come, which is said. look: says that one is
 * waited for, if so. put, thread_end: in place of the trace. turn: of the session's loop;
 * true: the trigger has fired, all is written, and nothing more is recorded. end: says what
 * became of it, once results are made. needs: may a call of the function fire? */
struct fl_trigger;
int fl_trigger_open(struct fl_session *);
bool fl_trigger_is_wrong(struct fl_session *);
void fl_trigger_look(struct fl_session *);
int fl_trigger_put(struct fl_trigger *, const struct fl_batch *);
int fl_trigger_thread_end(struct fl_trigger *, uint32_t thread);
bool fl_trigger_turn(struct fl_session *);
void fl_trigger_end(struct fl_session *);
bool fl_trigger_has_fired(const struct fl_trigger *);
bool fl_trigger_needs(struct fl_session *, uint32_t function);
void fl_trigger_close(struct fl_session *);

#endif
