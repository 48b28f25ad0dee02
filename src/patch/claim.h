/*
 * claim.h - which bytes of text are whose. Private to patch/; fl_claim() and its
 * like are in patch.h.
 */
#ifndef FL_CLAIM_H
#define FL_CLAIM_H

#include "patch.h"

/* fl_patch.claimed: by a probe, or by the place of flick/patch.h that the patch lies in. */
enum { FL_CLAIM_NONE, FL_CLAIM_PROBE, FL_CLAIM_PLACE };

/* Is this very memory claimed? It may hold anything. The claims are locked. */
bool fl_is_claimed(const struct fl_patch *);

/* The same as fl_claim_alone(), for a place of flick/patch.h. */
int fl_claim_place(struct fl_patch *);

/* In fork's child, which has one thread: is any place of flick/patch.h claimed? Then: call
 * `each` for every claimed patch, whoever claimed it. */
bool fl_claims_have_places(void);
void fl_claims_each(void (*each)(struct fl_patch *));
/* In fork's child: was a thread that the child does not have storing to this place of
 * flick/patch.h? The call also ends the turn of such a thread. public.c */
bool fl_place_is_cut(struct fl_patch *);

#endif
