/* tactic.h - how one change can be made. Private to patch/. */
#ifndef FL_TACTIC_H
#define FL_TACTIC_H

#include "patch.h"

/* FL_N_TACTICS: the bytes are the same already. Writes the span, unless it returns
 * FL_N_TACTICS or FL_WIDE. */
enum fl_tactic fl_tactic_of(const struct fl_patch *, int from, int to,
			    struct fl_span *);
/* Must threads that come by be held while the change goes through its three phases? */
bool fl_holds(const struct fl_patch *, int from, int to);
/* Can each state become any other one under threads? 0, FLE_STRADDLE, FLE_EXCHANGE, or
 * FLE_SIGBLOCK: threads would be held, and the chosen way to synchronise asks them. */
int fl_tactic_check(const struct fl_patch *);
/* Store the bytes that differ, in one store, if the tactic is one. */
void fl_store_at_once(const struct fl_change *);
/* This machine has been seen to fetch any store within a line whole. */
void fl_tactic_trust_lines(void);

#endif
