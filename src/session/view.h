/*
 * view.h - private to session/: what analyses are told of the target (view.c).
 */
#ifndef FL_VIEW_H
#define FL_VIEW_H

#include "session/session.h"

/* What analyses are told of the target (view.c). open: once there is a region. */
void fl_view_open(struct fl_session *);
void fl_view_close(struct fl_session *);

#endif
