/*
 * fuse.c - how many calls may be counted before the reader looks again.
 *
 * The reader decides which functions are counted always by what was called in the last tenth of
 * a second (session/budget/budget.c). In the next tenth a program may call others, a hundred
 * million times: to count these would cost half of its time. So the reader gives credit, and a
 * thread asks for some at the end of each block of counts (arch: COUNT, by the sign).
 * A function for which there is none is seldom from then on, as if the reader had
 * wished it.
 *
 * PROTOCOL
 *	reader, at each look			a thread, at the end of a block
 *	credit += what may be counted		left = credit, used = the function's
 *	  until the next, up to a limit		left > used: credit - 1, used + 1
 *	round + 1				else the function is cut (seldom.c)
 *	...					a new round: used = 0
 * INVARIANT
 *	1. In a round as many blocks are counted as there is credit for, and no more except the
 *	   first of each thread and function, and one for each thread.
 *	2. A function that is called rarely is not cut, whatever others use up.
 * WHY
 *	1. A thread's first block is not asked for, because most threads and functions have no
 *	   more. Threads that see the same `left` may all take one.
 *	2. A function that has used n blocks leaves n: so none has more than half of what it
 *	   found, and one that has used none is cut only when there is nothing at all.
 * FAILURE	The reader is stopped, or gone: functions that are called often are cut.
 */
#include "table.h"

bool fl_fuse_takes(struct fl_function *f)
{
	struct fl_seldom *s = &fl_table.session->seldom;
	uint32_t round = load_relaxed(&s->round);

	if (!round)
		return true;
	if (load_relaxed(&f->round) != round) {
		store_relaxed(&f->round, round);
		store_relaxed(&f->used, 0);
	}
	if ((int32_t)load_relaxed(&s->credit) <= (int32_t)load_relaxed(&f->used))
		return false;
	__atomic_fetch_sub(&s->credit, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&f->used, 1, __ATOMIC_RELAXED);
	return true;
}
