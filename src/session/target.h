/*
 * target.h - private to session/: the target's process (target.c).
 */
#ifndef FL_TARGET_H
#define FL_TARGET_H

#include "session/session.h"

/* start: 0, or -1 and a line printed; is_gone: no process is left that is recorded;
 * is_outlived: the target's children have outlived it long enough to say so; await_watcher:
 * waits until what waited beside the target has ended; release: signals are flick's own. */
int fl_target_start(struct fl_session *);
bool fl_target_is_gone(struct fl_session *);
void fl_target_note_gone(struct fl_session *);
bool fl_target_is_outlived(const struct fl_session *);
void fl_target_await_watcher(struct fl_session *);
void fl_target_release(void);

#endif
