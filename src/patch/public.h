/*
 * public.h - what flick/patch.h calls a place. Private to patch/.
 */
#ifndef FL_PUBLIC_H
#define FL_PUBLIC_H

#include "flick/patch.h"
#include "patch.h"

/* A place. It lies in the caller's struct flick_patch. */
struct fl_place {
	struct fl_patch patch;
	struct fl_change change;	/* of `set`, which flick_patch_start() began */
	struct fl_set set;
	uint64_t turn;			/* of its round, and the round's number; atomic */
};
_Static_assert(sizeof(struct fl_place) <= sizeof(struct flick_patch),
	       "struct flick_patch is ABI");

static inline int fl_state_of(enum flick_state s)
{
	return s == FLICK_ON ? FL_ON : FL_OFF;
}

/* Has flick_patch_start() begun a switch that nobody has finished? */
bool fl_place_is_begun(const struct fl_place *);

static inline struct fl_place *fl_place_of(struct flick_patch *p)
{
	return (struct fl_place *)p;
}

/* Are the `n` bytes at `at` writable? 0 and the view to store through, -EFAULT or
 * FLE_READONLY. public-text.c */
int fl_text_view(uintptr_t at, size_t n, intptr_t *view);

#endif
