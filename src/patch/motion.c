/*
 * motion.c - whose a place is while its bytes change.
 *
 * Hides the claim. An atomic access to each place costs four times what its switch does.
 * So a place has two marks, side by side in one word: `one`, of who moves a few places,
 * and `set`, of a set of many, which marks by plain stores, many for one fence.
 *
 * PROTOCOL
 *	few					a set, MANY places at a time
 *	compare and exchange the		claiming: from 0 to 1, or as a few
 *	word: both 0, then one = 1	(A)	each: set == 0 ? (D) set = 1 : lost
 *	store to text, state			fence				(B)
 *	one = 0				(C)	each: one == 0 ? (E) ours : lost
 *						set = 0 again where it has lost
 *						claiming = 0
 *						store to text, state
 *						set = 0				(C)
 * INVARIANT
 *	1 A place has one owner at a time.
 *	2 Of those that want one place at a time, and no other, one gets it.
 *	3 Its owner sees all that the last one did.
 *	4 Nobody waits.
 * WHY
 *	1 Of one and set: (A) is done in memory before the store of `set` is, and then (E),
 *	  which is behind the fence, sees it; or after it, and then it finds the word
 *	  taken. The word is the sum of both marks, whoever stores a part of it (HW14).
 *	  Of two sets: only one stores marks at a time, and it finds the other's, as these
 *	  were in memory before `claiming` was 0 again. Of two ones: (A) is atomic.
 *	2 Who loses by (A) has found a mark of an owner, or of a set that asks. That set
 *	  gets the place, unless (E) finds `one`: then that one has it. A set that
 *	  loses at one of its places has none.
 *	3 (A) and (E) acquire what (C) released; so does (D), of a set.
 *	4 `claiming` is tried, not waited for.
 * FAILURE
 *	None. A copy of the process by bare clone may find `claiming` 1 for ever: its sets
 *	claim one place after the other. (Of a fork's: patch/fork.c.)
 */
#include "motion.h"

enum { FEW = 4 };		/* so many atomic accesses cost more than the fence */

static uint32_t claiming;

static size_t take_each(const struct fl_change *c, size_t n)
{
	size_t i = 0;

	while (i < n && fl_motion_take(c[i].patch))
		i++;
	return i;
}

/* A place that is in the set twice has our own mark. */
static size_t mark(const struct fl_change *c, size_t n)
{
	size_t i = 0;

	/* (D) pairs with (C) in motion.h */
	for (; i < n && !load_acquire(&c[i].patch->motion.set); i++)
		store_relaxed(&c[i].patch->motion.set, 1);
	return i;
}

static size_t take_marked(const struct fl_change *c, size_t n)
{
	size_t n_marked = mark(c, n), n_ours = 0;

	FL_POINT("motion.marking");
	__atomic_thread_fence(__ATOMIC_SEQ_CST);	/* (B) pairs with (A) in motion.h */
	/* (E) pairs with (C) in motion.h */
	while (n_ours < n_marked && !load_acquire(&c[n_ours].patch->motion.one))
		n_ours++;
	for (size_t i = n_ours; i < n_marked; i++)
		store_relaxed(&c[i].patch->motion.set, 0);
	return n_ours;
}

size_t fl_motion_take_all(const struct fl_change *c, size_t n)
{
	/* (F) pairs with (F): the marks of the last set are in memory */
	if (n < FEW || __atomic_exchange_n(&claiming, 1, __ATOMIC_ACQUIRE))
		return take_each(c, n);
	n = take_marked(c, n);
	store_release(&claiming, 0);			/* (F) pairs with (F) */
	return n;
}

void fl_motion_in_child(void)
{
	store_relaxed(&claiming, 0);
}
