/* tactic.h - how one change can be made. Private to patch/. */
#ifndef FL_TACTIC_H
#define FL_TACTIC_H

#include "patch.h"

/* What one store changes: `n` bytes of the window. */
struct fl_span { uint8_t first, n; };

/* FL_N_TACTICS: the bytes are the same already. W span, unless that or FL_WIDE. */
enum fl_tactic fl_tactic_of(const struct fl_patch *, int from, int to,
			    struct fl_span *);
/* Must threads that come by meanwhile be held, where it takes three phases? */
bool fl_holds(const struct fl_patch *, int from, int to);
/* Can any state become any other under threads? 0, FLE_STRADDLE, FLE_EXCHANGE, FLE_SIGBLOCK:
 * threads would be held, and this way to synchronise asks them. */
int fl_tactic_check(const struct fl_patch *);
/* Store what differs, in one store; the tactic is not FL_WIDE. */
void fl_store_at_once(const struct fl_patch *, int from, int to);
/* This machine has been seen to fetch any store within a line whole. */
void fl_tactic_trust_lines(void);

#endif
