/*
 * claim.h - which bytes of text are whose. Private to patch/ but for
 * fl_claim() and its like, see patch.h.
 */
#ifndef FL_CLAIM_H
#define FL_CLAIM_H

#include "patch.h"

/* fl_patch.claimed: by a probe, or by the place of flick/patch.h it lies in. */
enum { FL_CLAIM_NONE, FL_CLAIM_PROBE, FL_CLAIM_PLACE };

/* Is this very memory claimed? It may hold anything. The claims are locked. */
bool fl_is_claimed(const struct fl_patch *);

/* As fl_claim_alone(), by a place of flick/patch.h. */
int fl_claim_place(struct fl_patch *);

/* In fork's child, alone: is any place of flick/patch.h claimed; each that is claimed. */
bool fl_claims_have_places(void);
void fl_claims_each(void (*each)(struct fl_patch *));
/* There, of a place of flick/patch.h: was a thread storing to it that is not here?
 * Whose turn it was is settled. public.c */
bool fl_place_is_cut(struct fl_patch *);

#endif
