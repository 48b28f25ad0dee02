/* handshake.h - every other thread runs a handler once. Private to patch/. */
#ifndef FL_HANDSHAKE_H
#define FL_HANDSHAKE_H

#include <signal.h>

#include "round.h"

enum { FL_FOR_EVER = -1 };

/* Memory and rights, once. 0 or -errno. */
int fl_handshake_open(void);
/* Interrupt whom `who` says by SIGTRAP. On return each of them has executed a
 * serialising instruction since the call. 0,
 * FLE_TRAPBLOCK or -ETIMEDOUT after `timeout_us`, -errno when /proc cannot be
 * read. One caller at a time: under the lock of sync.c. */
int fl_handshake(enum fl_who who, int64_t timeout_us);
/* Does some thread keep SIGTRAP blocked while it runs? 0, FLE_TRAPBLOCK. */
int fl_handshake_ready(void);
/* In the handler: was that all there was to it? */
bool fl_handshake_answer(const siginfo_t *, void *ucontext);
/* No signal of ours is on its way. */
bool fl_handshake_is_settled(void);

#endif
