/* motion.h - whose a place is while its bytes change. Private to patch/. */
#ifndef FL_MOTION_H
#define FL_MOTION_H

#include "patch.h"

/* Claim one place; false: another has it. */
static inline bool fl_motion_take(struct fl_patch *p)
{
	const union fl_motion one = { .one = 1 };
	uint32_t nobody = 0;

	/* (A) pairs with (C): what the last owner did is done. (A) pairs with (B) in
	 * motion.c */
	return __atomic_compare_exchange_n(&p->motion.any, &nobody, one.any, false,
					   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* Give it up. */
static inline void fl_motion_leave(struct fl_patch *p)
{
	/* (C) pairs with (A); (C) pairs with (E) in motion.c */
	store_release(&p->motion.one, 0);
}

/* The same for a place that fl_motion_take_all() has claimed. */
static inline void fl_motion_leave_of(struct fl_patch *p)
{
	if (load_relaxed(&p->motion.one))
		fl_motion_leave(p);
	else
		/* (C) pairs with (A); (C) pairs with (D) in motion.c */
		store_release(&p->motion.set, 0);
}

/* Claim `n` places, from the first on, until one belongs to somebody else: how many. */
size_t fl_motion_take_all(const struct fl_change *, size_t n);

/* In fork's child, where no other thread is. */
void fl_motion_in_child(void);

#endif
