/*
 * ctl.h - private to session/: `flick ctl` speaks with the recorder (ctl.c).
 */
#ifndef FL_CTL_H
#define FL_CTL_H

#include "session/session.h"

struct fl_ctl;
/* The same user, or root, may ask from now on: once the target runs. Where there is no place
 * for a socket nobody can ask, which only those are told who try. */
void fl_ctl_open(struct fl_session *);
/* For the session's loop: answer what has come. */
void fl_ctl_turn(struct fl_session *);
void fl_ctl_close(struct fl_session *);

/* What was said on one connection, for a fuzzer: `n` bytes as they came. */
void fl_ctl_feed(struct fl_session *, const char *bytes, size_t n, FILE *replies);

#endif
