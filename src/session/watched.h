/*
 * watched.h - private to session/: how much accesses and paths tell of (watched.c).
 */
#ifndef FL_WATCHED_H
#define FL_WATCHED_H

#include "session/session.h"

/* How much of the program is told of by accesses and paths (watched.c), by samples of each
 * function; goes into s->watched. 0 or -ENOMEM. */
bool fl_watched_is_asked(const struct fl_session *);
int fl_watched_look(struct fl_session *, const uint64_t *samples, uint32_t n);

#endif
