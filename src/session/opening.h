/*
 * opening.h - private to session/: the kernel's events of a program that begins (opening.c).
 */
#ifndef FL_OPENING_H
#define FL_OPENING_H

#include "session/session.h"

/* The kernel's samples and switches of a target that was just begun (opening.c). begin: they
 * are opened while the target starts; go: the target waits for its first answer, and is told
 * of from there on; end: waits until they are open, or there are none. end may come at any
 * time, and go begins with it. */
void fl_opening_begin(struct fl_session *);
void fl_opening_go(struct fl_session *);
void fl_opening_end(struct fl_session *);
/* All of this for a child that is to become a program that will ask nothing (struct fl_launch,
 * before). */
int fl_opening_before(void *session, int pid);

#endif
