/*
 * attach.h - private to session/: a session with a process that runs already.
 */
#ifndef FL_ATTACH_H
#define FL_ATTACH_H

#include "session/session.h"

/* The session's process, which runs already (attach.c). check: can it be had?
 * 0, or -1 and a line printed; s->launch and the options' argv are as of a
 * program to start. start: asks the agent in; likewise. has_left: the process
 * has gone, or flick has left it; end: flick is to leave it. close: NULL is fine. */
int fl_attach_check(struct fl_session *);
int fl_attach_start(struct fl_session *);
bool fl_attach_has_left(struct fl_session *);
void fl_attach_tell_refused(const struct fl_session *);	/* by what another flick does */
bool fl_attach_has_begun(struct fl_session *);	/* its probes are as they are wanted */
bool fl_attach_is_unwatched(const struct fl_session *);	/* what changes probes was killed */
bool fl_attach_has_failed(const struct fl_session *);	/* it was said why */
void fl_attach_end(struct fl_session *);
void fl_attach_close(struct fl_attached *);

/* Wait for a thread that is in the loader, before the process is touched: 0, or -errno;
 * -ECANCELED where the wait was ended, which was said (attach-wait.c). is_kept_out: a thread
 * came there while flick's own was on its way in, and the wait was ended, which was said. */
int fl_attach_await_loader(struct fl_session *);
bool fl_attach_is_kept_out(struct fl_session *);

#endif
