/*
 * set.c - a set that the program's own session switches is one step for each thread.
 *
 * Hides that many probes go on and off by one store. Each probe has two bits of the session,
 * which say the same, and handlers ask for the bit that a global word names (inside.c). So the
 * other bit can be staged, and all of them put in force at once; then the first bit follows.
 * Probes that count, and call nothing, ask for no bit: they are switched one after the other.
 *
 * PROTOCOL	after change.c, which has the twelve steps; its model is ours
 *	 1 lock		the switches'; a turn begins (inside.c)
 *	 3 stage	of each probe of the set the bit that handlers do not go by
 *	 5 show		text of what is to be on is on: what asks calls nothing yet
 *	 6 progress W2	all threads run that text
 *	 7 switch	handles: one store	(A)
 *	 8 progress W3	nobody decides by the old bits any more
 *	 9 settle	the old bits are as the new ones; text of what nobody wants is off
 *	10 progress W4	nobody runs text that step 9 has taken away
 *
 *	a thread at a probe			who switches it meanwhile without the lock
 *	load handles		(F)		store both bits at once
 *	load wants: that bit?	(G)		store text
 *	another turn? all again
 * INVARIANT
 *	1 A thread that has called by the new bits of one probe calls by the old ones of none.
 *	2 Outside of (1) to (10) both bits are equal, whoever switches meanwhile.
 * WHY
 *	1 As in change.c: between W2 and (A) all of the set are decided by one word; before W3
 *	  ends nothing else has changed, and after it every thread loads the new word. A thread
 *	  that loads the new word sees what is staged, (F) of (A). A thread that has loaded it
 *	  and sleeps until the same bit is staged again sees that turns have begun: (G) of (C).
 *	2 Step 9 copies a bit by compare and exchange: if another thread stores both bits
 *	  meanwhile, they are copied after that store, or stay as it left them.
 * FAILURE	None: what cannot be switched is passed over. A thread that has decided by the
 *	old bits may still call when all is done, as with one probe: flick_drain() waits for it.
 */
#include "goal.h"
#include "handler.h"
#include "patch/patch.h"
#include "switch.h"

static bool is_switched(const uint8_t *goal, uint32_t id)
{
	return goal[id] && (fl_table.is_joint || fl_probe_site(id)) && fl_probe_is_switched(id);
}

/* Bit `to` of `id` becomes what bit `from` is; if `from` is 0, what `said` says. */
static void put_bit(uint32_t id, uint8_t to, uint8_t from, enum fl_state said)
{
	uint8_t *wants = &fl_goal_of(id)->wants, was = load_relaxed(wants), now;

	do
		now = (from ? was & from : said == FL_ON) ? was | to : was & (uint8_t)~to;
	/* (C) pairs with (G) in inside.c */
	while (!__atomic_compare_exchange_n(wants, &was, now, true, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED));
}

/* Does any probe of the set call a handler, after or before this switch? */
static bool has_handlers(const uint8_t *goal, uint32_t n)
{
	for (uint32_t id = 0; id < n; id++)
		if (goal[id] && load_relaxed(&fl_goal_of(id)->action) == FL_ACT_CALL)
			return true;
	return fl_table.had_second;
}

static uint32_t stage_set(const uint8_t *goal, uint32_t n, uint8_t next, bool *any_on)
{
	uint32_t switched = 0;

	for (uint32_t id = 0; id < n; id++) {
		if (!is_switched(goal, id))
			continue;
		switched++;
		if (goal[id] == FL_ON && fl_table.had_second && !fl_table.is_joint)
			fl_handler_default(id);
		put_bit(id, next, 0, goal[id]);
		if (goal[id] != FL_ON)
			continue;
		*any_on = true;
		fl_goal_show_own(id);
	}
	FL_POINT("set.shown");
	return switched;
}

static void settle_set(const uint8_t *goal, uint32_t n, uint8_t next, uint8_t old)
{
	for (uint32_t id = 0; id < n; id++) {
		if (!is_switched(goal, id))
			continue;
		put_bit(id, old, next, 0);
		fl_goal_settle_own(id);
	}
	FL_POINT("set.settled");
}

static uint32_t switch_as_one(const uint8_t *goal, uint32_t n)
{
	uint8_t both = fl_table.had_second ? FL_BESIDE_RECORDER : FL_ALONE;
	uint8_t old = fl_table.handles, next = old ^ both;
	bool any_on = false;
	uint32_t switched;

	fl_inside_begin_turn();
	switched = stage_set(goal, n, next, &any_on);
	if (any_on)
		fl_patch_sync();				/* W2 */
	store_release(&fl_table.handles, next);		/* (A) pairs with (F) in inside.c */
	FL_POINT("set.switched");
	fl_patch_sync();					/* W3 */
	settle_set(goal, n, next, old);
	return switched;
}

int fl_probes_switch_set(const uint8_t *goal, uint32_t n)
{
	uint64_t signals;
	uint32_t switched = 0;

	if (!fl_switches_may_store())
		return -EPERM;
	fl_switches_lock(&signals);
	if (!fl_table.holds)
		switched = fl_switches_are_frozen() || !has_handlers(goal, n) ?
			   fl_goals_wish(goal, n) : switch_as_one(goal, n);
	fl_switches_unlock(&signals);
	fl_patch_sync();					/* W4 */
	return (int)switched;
}
