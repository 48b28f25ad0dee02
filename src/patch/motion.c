/*
 * motion.c - whose a place is while its bytes change.
 *
 * Hides the claim. An atomic access to a place costs four times what its switch does. So a
 * place has two marks, side by side in one word. `one` is the mark of a thread that moves a
 * few places. `set` is the mark of a set of many, which makes its marks by plain stores,
 * with one fence for many marks.
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
 *	2 When several threads want one place, and no other, one of them gets it.
 *	3 The owner of a place sees all that the last owner did.
 *	4 Nobody waits.
 * WHY
 *	1 `one` against `set`: if (A) reaches memory before the store of `set`, then (E),
 *	  which is behind the fence, sees (A). If (A) comes after that store, (A) finds the
 *	  word taken. The word is the sum of both marks, whoever stores a part of it (HW14).
 *	  Set against set: only one set stores marks at a time. It finds the other's marks,
 *	  because these were in memory before `claiming` was 0 again. `one` against `one`:
 *	  (A) is atomic.
 *	2 A thread that loses by (A) has found the mark of an owner, or of a set that asks.
 *	  That set gets the place, unless (E) finds `one`: then the thread that stored
 *	  `one` has the place. This does not hold for a set of several places, which gives
 *	  all of them up when it loses at one.
 *	3 (A) and (E) acquire what (C) of a `one` released; (A) and (D) that of a set.
 *	4 `claiming` is tried, not waited for.
 * FAILURE
 *	None. A copy of the process by bare clone may find `claiming` 1 for ever: its sets
 *	claim one place after the other. (The child of a fork: patch/fork.c.)
 */
#include "motion.h"

enum { FEW = 4 };		/* atomic accesses; as many cost more than the fence */

static uint32_t claiming;

static size_t take_each(const struct fl_change *c, size_t n)
{
	size_t i = 0;

	while (i < n && fl_motion_take(c[i].patch))
		i++;
	return i;
}

/* Marks places until it meets a mark; a place that is in the set twice has our own. */
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
