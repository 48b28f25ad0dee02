/* handshake.h - every other thread runs a handler once. Private to patch/. */
#ifndef FL_HANDSHAKE_H
#define FL_HANDSHAKE_H

#include "round.h"

enum { FL_FOR_EVER = -1 };

/* Get memory and check rights, once. 0 or -errno. */
int fl_handshake_open(void);
/* Interrupt the threads of `who` by FL_SYNC_SIGNAL. On return each of them has executed a
 * serialising instruction since the call. 0,
 * FLE_SIGBLOCK or -ETIMEDOUT after `timeout_us`, -errno when /proc cannot be
 * read. One caller at a time: under the lock of sync.c. */
int fl_handshake(enum fl_who who, int64_t timeout_us);
/* FLE_SIGBLOCK if some thread keeps that signal blocked while it runs; else 0 or -errno. */
int fl_handshake_ready(void);
/* Called in the handler, whoever sent the signal. */
void fl_handshake_answer(void);
/* Called when the signal went to no handler of the program's: let a system call that was
 * interrupted go on. */
void fl_handshake_call_again(void *ucontext);

#endif
