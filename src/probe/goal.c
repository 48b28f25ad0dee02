/*
 * goal.c - what is wanted of a probe, and what it may become.
 *
 * Hides how many things that are wanted of one probe become one byte of text and one
 * dispatch word. Everybody sets bits: a session wants the probe, somebody holds it off.
 * converge() alone makes text and dispatch word as these bits say. When text may be stored
 * to at all is switch.c's.
 *
 * MOVES	of a probe in this process
 *	state		text			a wish is	may become
 *	others		another process's	refused		found refused gone
 *	found		as it was		refused		armed calling muted
 *							refused gone
 *	armed		`off` or `on`		made so		yielded gone ended
 *	calling		as it was		noted		gone ended
 *	muted		a harmless instruction	refused		found refused gone
 *	yielded		as it was, or the	noted		armed refused gone
 *			program's				ended
 *	refused		as it was		refused		refused gone
 *	gone		not there		gone		found refused
 *	ended		`off`, or as it was	refused		gone
 *
 * PROTOCOL	of a wish, from any thread	of who holds off, and of the thaw
 *	wants = 1 or 0				has the switches' lock
 *	load holds				holds |= or &= its bit
 *	store text, unless it is frozen		load wants
 *	  (a sequence: switch.c)		store text, unless it is frozen
 *	frozen: is deferred, and made so	frozen: is deferred
 *	  at the thaw
 * INVARIANT
 *	1 A probe is on when a session wants it and nobody holds it off. A hold of a single
 *	  probe is for the first session alone.
 *	2 While nothing is frozen, and nobody is switching, text of an armed probe is as (1)
 *	  says, except of one whose calls may be of other functions (serves): its text stays on
 *	  for these, and its dispatch word is the idle one while (1) says off.
 *	3 `armed` of a switch is not 0 only in state ARMED.
 * WHY
 *	1 It is said in one place, text_of().
 *	2 A thread that changes a bit converges after that. When two threads change bits of one
 *	  probe at one time, one of them without the lock, text may follow one and the bits the
 *	  other. But a wish without the lock and a hold never meet: only a recorder holds single
 *	  probes off, and beside a recorder a program wishes with the lock (second.c). What
 *	  holds all off keeps text frozen meanwhile (end.c).
 *	3 A move out of ARMED takes `armed` away, and `armed` is not set before text is armed.
 *	All moves of all states with all bits are walked through by tests/unit/goal.c.
 */
#include "glue.h"
#include "goal.h"
#include "joint.h"
#include "patch/patch.h"
#include "period.h"
#include "second.h"
#include "switch.h"

#define TO(state) (1u << FL_PROBE_##state)

static const struct move {
	uint16_t next;			/* states that may come, a bit each */
	uint8_t told;			/* what the reader is told: enum fl_site_state */
	int16_t answer;			/* of a wish: 0, it is noted */
} moves[FL_N_PROBE_STATES] = {
	[FL_PROBE_OTHERS] = { TO(FOUND) | TO(REFUSED) | TO(GONE), FL_SITE_OTHERS, FLE_REFUSED },
	[FL_PROBE_FOUND] = { TO(ARMED) | TO(CALLING) | TO(MUTED) | TO(REFUSED) | TO(GONE),
			     FL_SITE_FOUND, FLE_REFUSED },
	[FL_PROBE_ARMED] = { TO(YIELDED) | TO(GONE) | TO(ENDED), FL_SITE_READY, 0 },
	[FL_PROBE_CALLING] = { TO(GONE) | TO(ENDED), FL_SITE_READY, 0 },
	[FL_PROBE_MUTED] = { TO(FOUND) | TO(REFUSED) | TO(GONE), FL_SITE_READY, FLE_REFUSED },
	[FL_PROBE_YIELDED] = { TO(ARMED) | TO(REFUSED) | TO(GONE) | TO(ENDED),
			       FL_SITE_READY, 0 },
	[FL_PROBE_REFUSED] = { TO(REFUSED) | TO(GONE), FL_SITE_REFUSED, FLE_REFUSED },
	[FL_PROBE_GONE] = { TO(FOUND) | TO(REFUSED), FL_SITE_GONE, FLE_GONE },
	[FL_PROBE_ENDED] = { TO(GONE), FL_SITE_READY, FLE_REFUSED },
};

bool fl_goal_may(enum fl_probe_state from, enum fl_probe_state to)
{
	return moves[from].next & 1u << to;
}

uint8_t fl_goal_told(enum fl_probe_state state)
{
	return moves[state].told;
}

int fl_goal_answer(enum fl_probe_state state)
{
	return moves[state].answer;
}

/* A thread that finds a probe neither armed nor in a state that notes wishes looks at `armed`
 * again: so `armed` is set before the state, and taken away after it. For a probe that was
 * never armed no page of switches and goals is written or read. */
void fl_goal_move(uint32_t id, enum fl_probe_state to)
{
	struct fl_probe *p = &fl_table.probes[id];
	enum fl_probe_state from = p->state;

	FL_MUST(fl_goal_may(from, to));
	store_release(&p->state, (uint8_t)to);		/* (B) pairs with (A) in late.c */
	if (from == FL_PROBE_ARMED)
		/* ordering: none other, behind the state */
		store_release(&fl_table.switches[id].armed, 0);
	if (!moves[from].answer && moves[to].answer)
		store_relaxed(&fl_goal_of(id)->wants, 0);
	/* ordering: none to pair with, the reader is told by other means */
	store_release(&fl_table.sites[id].state, moves[to].told);
}

/* ---- what bits say ------------------------------------------------------------------ */

/* Only entries ask who called; between windows they count. A point is no call, and is counted
 * where calls are timed. */
enum fl_action fl_goal_action(uint32_t id)
{
	enum fl_action action = fl_table.session->action;
	bool is_entry = fl_table.sites[id].kind == FL_ENTRY;
	bool is_point = fl_table.sites[id].kind == FL_AT_POINT;

	if (is_point && (action == FL_ACT_SAMPLE || action == FL_ACT_WINDOW))
		return FL_ACT_COUNT;
	if (action == FL_ACT_SAMPLE && fl_table.sites[id].provider == FL_PROVIDER_PLT)
		return FL_ACT_COUNT;
	if (action == FL_ACT_SAMPLE && !is_entry)
		return FL_ACT_AFTER;
	if (action != FL_ACT_WINDOW)
		return action;
	if (!is_entry)
		return FL_ACT_TIME;
	return fl_table.between ? FL_ACT_COUNT : action;
}

/* Text of a probe that serves other functions stays on for these, though nobody wants the probe
 * or its own function is seldom. */
static inline enum fl_state text_of(uint32_t id, uint8_t wants)
{
	const struct fl_switch *s = &fl_table.switches[id];

	if ((wants & FL_SESSION && !fl_goal_holds(id)) ||
	    (wants & FL_SECOND && !load_relaxed(&fl_table.holds)))
		return FL_ON;
	if (!s->serves || fl_table.holds)
		return FL_OFF;
	return s->is_entry || !(wants & FL_SESSION) ? FL_ON : FL_OFF;
}

static bool is_both_ones(const struct fl_probe *p)
{
	return fl_table.had_joint || (fl_table.had_second && !fl_probe_is_body(p));
}

/* Where a second session has been, a probe that the first one does not want at this moment
 * leads to what asks the first one's bits, although text is off: a thread may still be in the
 * glue, because the probe was on for the second one alone. Only recorders have bodies. */
static enum fl_action action_of_both(uint32_t id, enum fl_action first)
{
	if (!is_both_ones(&fl_table.probes[id]))
		return first;
	if (first == FL_ACT_TIME && fl_goal_is_on(id) && fl_joint_times(id))
		return FL_ACT_TWICE;
	return fl_goal_is_second_on(id) || !fl_goal_is_on(id) ? FL_ACT_BOTH : first;
}

static __attribute__((noinline)) void converge_word(uint32_t id,
						    enum fl_action action)
{
	if (fl_table.switches[id].serves && !fl_goal_is_on(id) && !fl_goal_is_second_on(id))
		fl_glue_idle(&fl_table.probes[id]);
	else
		fl_glue_direct(&fl_table.probes[id], fl_table.had_second ?
			       action_of_both(id, action) : action);
}

/* Text and dispatch word become what the bits say. A word that does not depend on the bits was
 * set with the action. The caller says how text is stored to. */
static inline enum fl_flipped converge(uint32_t id, uint8_t wants, enum fl_flip_when when,
				       fl_switch_storing *store)
{
	enum fl_state to = text_of(id, wants);

	FL_POINT("goal.converging");
	if (fl_table.switches[id].serves && !fl_table.holds)
		converge_word(id, fl_goal_of(id)->action);
	return store(id, to, when);
}

static uint8_t wants_of(uint32_t id)
{
	return load_relaxed(&fl_goal_of(id)->wants);
}

/* ---- with the switches' lock -------------------------------------------------------- */

static fl_switch_storing *storing(void)
{
	return fl_switches_are_frozen() ? fl_switch_store_later : fl_switch_store_locked;
}

/* Nobody looks at the word of a probe whose text is `off`. Where two sessions may want a probe
 * its word says whose it is, and says so before text does. */
static void converge_locked(uint32_t id, enum fl_flip_when when, fl_switch_storing *store)
{
	if (fl_table.had_second && fl_table.probes[id].go)
		converge_word(id, fl_goal_of(id)->action);
	if (fl_table.switches[id].armed)
		converge(id, wants_of(id), when, store);
}

static uint32_t set_holds(uint32_t id, uint8_t holds)
{
	struct fl_switch *s = &fl_table.switches[id];
	bool was_on = fl_goal_is_on(id);

	if (s->holds != holds)
		store_relaxed(&s->holds, holds);
	converge_locked(id, FL_FLIP_IF_OTHER, storing());
	return was_on != fl_goal_is_on(id);
}

uint32_t fl_goal_hold(uint32_t id, enum fl_hold who)
{
	return set_holds(id, fl_table.switches[id].holds | (uint8_t)who);
}

uint32_t fl_goal_let(uint32_t id, enum fl_hold who)
{
	return set_holds(id, fl_table.switches[id].holds & (uint8_t)~who);
}

/* All bits that its text may depend on. */
static uint32_t bits_of(uint32_t id)
{
	return (uint32_t)fl_goal_holds(id) << 8 | load_relaxed(&fl_goal_of(id)->wants);
}

/* A thread that wants the probe otherwise sets bits first, and stores to text then. */
void fl_goal_follow(uint32_t id)
{
	uint32_t bits;

	do {
		bits = bits_of(id);
		converge_locked(id, FL_FLIP_ALWAYS, fl_switch_store_locked);
		/* ordering: none other; the store to text before the load */
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
	} while (bits != bits_of(id));
}

/* Do bodies tell, with no call recorded beside? */
static bool tells_alone(uint32_t weaves)
{
	return weaves && !(weaves & FL_WEAVE_CALLS);
}

static uint8_t holds_at_first(uint32_t id)
{
	return (fl_table.first_ended ? FL_HOLD_READER : 0) |
	       (fl_table.between && !fl_kind_counts(fl_table.sites[id].kind) ?
		FL_HOLD_WINDOW : 0) |
	       fl_period_holds(id) |
	       (fl_sample_holds(id) ? FL_HOLD_SELDOM : 0) |
	       (tells_alone(fl_table.shm->weaves) ? FL_HOLD_WOVEN : 0);
}

/* Its library may have been unloaded since it was armed last, and epochs have begun. */
static void direct_as_its_function(uint32_t id)
{
	const struct fl_function *f = &fl_table.functions[fl_table.probes[id].function];
	enum fl_action action = fl_period_action(f);

	if (fl_goal_of(id)->action != action)
		fl_goal_direct(id, action);
}

/* Text goes from the old bytes by `off` to `on`. Nobody else switches the probe before it is
 * published as armed. */
void fl_goal_begin(uint32_t id, enum fl_probe_state to)
{
	struct fl_switch *s = &fl_table.switches[id];
	bool is_armed = to == FL_PROBE_ARMED;

	*s = (struct fl_switch){
		.is_entry = fl_table.sites[id].kind == FL_ENTRY,
		.serves = is_armed && fl_table.probes[id].asks && !fl_table.session->own,
		.holds = holds_at_first(id),
	};
	store_relaxed(&fl_goal_of(id)->wants,
		      !fl_table_wants(id) || fl_table.is_staging ? 0 :
		      fl_table.session->own ? FL_ALONE : FL_SESSION);
	if (s->is_entry && fl_table.session->action == FL_ACT_SAMPLE)
		direct_as_its_function(id);
	if (is_armed) {
		fl_switch_prepare(id);
		if (fl_table.had_second)
			converge_word(id, fl_goal_of(id)->action);
		converge(id, wants_of(id), FL_FLIP_IF_OTHER, fl_switch_store_first);
		fl_switch_publish(id);
	}
	fl_goal_move(id, to);
}

void fl_goal_resume(uint32_t id)
{
	fl_switch_prepare(id);
	fl_switch_publish(id);
	fl_goal_move(id, FL_PROBE_ARMED);
	fl_goal_follow(id);
}

void fl_goal_lead(uint32_t id)
{
	const struct fl_probe *p = &fl_table.probes[id];

	if (p->go)
		fl_glue_direct(p, is_both_ones(p) ? FL_ACT_BOTH : FL_ACT_STAGED);
}

void fl_goal_show(uint32_t id)
{
	fl_switch_store_locked(id, FL_ON, FL_FLIP_IF_OTHER);
}

/* A probe that nobody wants goes on to lead to what asks: a thread may still be in its glue. */
void fl_goal_settle(uint32_t id)
{
	if (fl_goal_is_wanted(id))
		fl_goal_direct(id, fl_goal_of(id)->action);
	converge_locked(id, FL_FLIP_IF_OTHER, fl_switch_store_locked);
}

void fl_goal_show_own(uint32_t id)
{
	if (fl_table.had_second && fl_table.probes[id].go)
		converge_word(id, fl_goal_of(id)->action);
	if (fl_table.switches[id].armed)
		fl_goal_show(id);
}

void fl_goal_settle_own(uint32_t id)
{
	converge_locked(id, FL_FLIP_IF_OTHER, fl_switch_store_locked);
}

void fl_goal_hold_all(enum fl_hold who)
{
	store_relaxed(&fl_table.holds, fl_table.holds | (uint8_t)who);
	store_relaxed(&fl_table.handles, 0);
}

void fl_goal_make_off(uint32_t id)
{
	if (fl_table.switches[id].armed)
		converge(id, wants_of(id), FL_FLIP_IF_OTHER, fl_switch_store_locked);
}

/* ---- wishes ------------------------------------------------------------------------- */

/* The word is set first: a thread that finds the action set need not look at the word. */
void fl_goal_direct(uint32_t id, enum fl_action action)
{
	if (!fl_table.probes[id].go)
		return;
	converge_word(id, action);
	store_release(&fl_goal_of(id)->action, (uint8_t)action);	/* (C) pairs with (D) */
}

int fl_goal_wish_second(uint32_t id, enum fl_state to)
{
	struct fl_goal *g = fl_goal_of(id);
	bool has = fl_table.is_joint || fl_probe_site(id);
	int err = has ? moves[fl_table.probes[id].state].answer : FLE_GONE;

	if (err)
		return err;
	if (to == FL_ON && !fl_table.is_joint)
		fl_handler_default(id);
	/* (M) pairs with (A) in second.c */
	store_release(&g->wants, (uint8_t)(to == FL_ON ? g->wants | FL_BESIDE_RECORDER :
							 g->wants & ~FL_BESIDE_RECORDER));
	converge_locked(id, FL_FLIP_IF_OTHER, storing());
	return 0;
}

int fl_probe_action(uint32_t id, enum fl_action action)
{
	if (id >= fl_table.n)
		return FLE_NOPROBE;
	if (load_acquire(&fl_goal_of(id)->action) != action &&	/* (D) pairs with (C) */
	    !fl_table.had_second)		/* where what is bound is called */
		fl_goal_direct(id, action);
	return 0;
}

/* A probe that gets another handler while it is on is not stored to: the byte that is there
 * already would cost the cores that execute it as much as a new one, some hundred cycles
 * each. */
static inline __attribute__((always_inline)) enum fl_flipped wish(uint32_t id,
								  enum fl_state to)
{
	uint8_t *wants = &fl_goal_of(id)->wants, now = to == FL_ON ? FL_ALONE : 0;
	bool is_new = load_relaxed(wants) != now;

	store_relaxed(wants, now);
	return converge(id, now, is_new ? FL_FLIP_ALWAYS : FL_FLIP_IF_OTHER, fl_switch_store);
}

/* A probe that is not armed is switched by data alone, is armed again later, or is refused. */
static int wish_unarmed(uint32_t id, enum fl_state to)
{
	int err = moves[load_relaxed(&fl_table.probes[id].state)].answer;

	if (!err)
		store_relaxed(&fl_goal_of(id)->wants, to == FL_ON ? FL_ALONE : 0);
	return err;
}

/* The rare cases: text is frozen or not this process's, or the probe is not armed. */
static __attribute__((noinline)) int wish_at_length(uint32_t id, enum fl_state to)
{
	const uint8_t *armed = &fl_table.switches[id].armed;
	enum fl_flipped how;
	int err;

	if (fl_table.had_second)
		return fl_second_switch(id, to);
	do {
		while (load_acquire(armed)) {	/* (L) pairs with (K) in switch.c */
			if (!fl_switches_may_store())
				return -EPERM;
			how = wish(id, to);
			if (how == FL_FLIPPED)
				return 0;
			FL_POINT("switch.flipped");
			if (how == FL_FLIP_HELD)
				fl_switch_defer(id);
			if (how == FL_FLIP_HELD && !fl_switches_wait_for_arming())
				return 0;
			/* ordering: none other. The wish before the load of `armed`: who has
			 * armed it by now sees a wish that is not stored again */
			__atomic_thread_fence(__ATOMIC_SEQ_CST);
		}
		err = wish_unarmed(id, to);
		/* ordering: none other, the wish before the load */
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
	} while (load_relaxed(armed));
	return err;
}

/* Nearly all switches are one store, which has a function of its own for its speed. */
int fl_probe_switch(uint32_t id, int state)
{
	if (id >= fl_table.n)
		return FLE_NOPROBE;
	/* (L) pairs with (K) in switch.c */
	if (load_acquire(&fl_table.switches[id].armed) == FL_ARMED_FLIP &&
	    fl_switching.is_short && wish(id, state) == FL_FLIPPED)
		return 0;
	return wish_at_length(id, state);
}

bool fl_probe_is_on(uint32_t id)
{
	return id < fl_table.n && fl_probe_is_switched(id) && fl_goal_is_on(id);
}

/* A large set spends most of its time here. */
static uint32_t wish_all(const uint8_t *goal, uint32_t n)
{
	bool is_frozen = fl_switches_are_frozen();
	uint32_t switched = 0;

	for (uint32_t id = 0; id < n; id++) {
		uint8_t wants;

		if (!goal[id] || (!fl_table.switches[id].armed &&
				  !fl_probe_is_switched(id)))
			continue;
		wants = goal[id] == FL_ON ? FL_ALONE : 0;
		store_relaxed(&fl_goal_of(id)->wants, wants);
		if (is_frozen)
			converge(id, wants, FL_FLIP_ALWAYS, fl_switch_store_later);
		else
			converge(id, wants, FL_FLIP_ALWAYS, fl_switch_store_locked);
		switched++;
	}
	return switched;
}

uint32_t fl_goals_wish(const uint8_t *goal, uint32_t n)
{
	uint32_t switched = 0;

	if (!fl_table.had_second)
		return wish_all(goal, n);
	for (uint32_t id = 0; id < n; id++)
		switched += goal[id] && !fl_goal_wish_second(id, goal[id]);
	return switched;
}
