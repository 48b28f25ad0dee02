/*
 * period.c - when calls of a function are timed, counted alone, or off.
 *
 * Hides a function's sites: which of them are its own, what its entries do, and which exits are
 * held off; and which functions wait until their calls are timed again.
 *
 * PROTOCOL	of a function
 *	timed	entries SAMPLE, exits on	K have begun, and one has
 *						ended or begins: is_off = 1	-> after
 *	after	entries AFTER, exits on		none is open: a new period	-> off
 *						an epoch of its group begins	-> timed
 *						no credit is left for exits,
 *						or its window is over: a new
 *						period				-> off
 *	off	entries COUNT, exits off	an epoch of its group begins	-> timed
 *	A timed call that lasts is let go: look-ups off, until an epoch of its group begins.
 *	An epoch of its group may begin while its library is gone. What is armed of it when that
 *	is back is as the function is by then.
 *	period	its number, and how many timed calls are open, in one word
 * INVARIANT  While a thread has a frame of a function's period it sees all of that
 *	function's entries and exits, unless the frame's call was let go.
 * WHY	A frame counts as open before `is_off` is looked at, and `is_off` is set before the
 *	period ends: so a thread that enters the new period finds the function off, until it
 *	is begun again, and pushes no frame, (E) of (F). A period ends only while no timed call
 *	is open, or when the open ones are given up: frames of older periods are never matched.
 *	A call whose thread has ended is open until then.
 *	Look-ups double what a loop of indirect jumps costs, as long as its call is timed. When
 *	a call was let go, its next such jump leads into the original, which the call leaves
 *	without an exit. Its frame is older than `let_go`: what comes above the frame shows
 *	that the call was left, and it is told as given up (sample.c).
 * FAILURE	A handler is left by siglongjmp(), or the thread ends, between the count and the
 *	frame: exits stay on as long as there is credit for them.
 */
#include "goal.h"
#include "period.h"
#include "pick.h"
#include "switch.h"

/* First of the functions whose calls are not timed, index + 1. W with the switches' lock, as
 * are the fields of fl_function that say so. */
static uint32_t off_head;
static uint32_t switch_head;		/* likewise of those that have look-ups */

/* Both lists are of one table: an earlier recorder's would lead into this one's functions. */
void fl_period_open(void)
{
	off_head = switch_head = 0;
}

static bool is_wanted_exit(uint32_t id)
{
	return !fl_table.switches[id].is_entry && fl_goal_is_wanted(id) &&
	       fl_table.sites[id].kind != FL_AT_POINT;
}

/* Set what the entries do. It is data, so no thread fetches code anew. */
static void direct_entries(const struct fl_function *f, enum fl_action action)
{
	for (uint32_t id = f->probes; id != FL_NO_PROBE; id = fl_table.next[id])
		if (fl_goal_wants_entry(id))
			fl_goal_direct(id, action);
}

/* An exit that other functions share stays on for these while this one is off. */
static bool is_own_exit(uint32_t id)
{
	return is_wanted_exit(id) && !fl_table.probes[id].is_shared;
}

/* Set `who` of all its probes that are so. How many were switched. The switches' lock is held,
 * here and below, except in fl_period_stop(). */
static uint32_t set_holds(const struct fl_function *f, bool (*is_so)(uint32_t id),
			  uint32_t (*set)(uint32_t id, enum fl_hold who), enum fl_hold who)
{
	uint32_t n = 0;

	for (uint32_t id = f->probes; id != FL_NO_PROBE; id = fl_table.next[id])
		if (is_so(id))
			n += set(id, who);
	return n;
}

static bool is_own_switch(uint32_t id)
{
	return fl_table.probes[id].form == FL_FORM_BODY_SWITCH && is_own_exit(id);
}

static uint32_t hold_exits(const struct fl_function *f)
{
	return set_holds(f, is_own_exit, fl_goal_hold, FL_HOLD_SAMPLED);
}

static uint32_t let_exits(const struct fl_function *f)
{
	return set_holds(f, is_wanted_exit, fl_goal_let, FL_HOLD_SAMPLED);
}

/* For the time between windows. */
static uint32_t hold_entries(const struct fl_function *f)
{
	return set_holds(f, fl_goal_wants_entry, fl_goal_hold, FL_HOLD_SELDOM);
}

static uint32_t let_entries(const struct fl_function *f)
{
	return set_holds(f, fl_goal_wants_entry, fl_goal_let, FL_HOLD_SELDOM);
}

/* ---- what is armed now -------------------------------------------------------------- */

enum fl_action fl_period_action(const struct fl_function *f)
{
	if (f->has_no_end || f->is_quiet)
		return FL_ACT_COUNT;
	return f->is_off ? FL_ACT_AFTER : FL_ACT_SAMPLE;
}

uint8_t fl_period_holds(uint32_t id)
{
	const struct fl_probe *p = &fl_table.probes[id];
	const struct fl_function *f = &fl_table.functions[p->function];
	enum fl_kind kind = fl_table.sites[id].kind;

	if (kind == FL_ENTRY || kind == FL_AT_POINT || p->is_shared)
		return 0;
	return (f->is_quiet ? FL_HOLD_SAMPLED : 0) |
	       (f->is_let && p->form == FL_FORM_BODY_SWITCH ? FL_HOLD_LONG : 0);
}

/* ---- who waits for the turn of its group ---------------------------------------------- */

void fl_period_list(struct fl_function *f)
{
	f->next_off = off_head;
	off_head = (uint32_t)(f - fl_table.functions) + 1;
}

void fl_period_unlist(const struct fl_function *f)
{
	uint32_t own = (uint32_t)(f - fl_table.functions) + 1, *head = &off_head;

	while (*head && *head != own)
		head = &fl_table.functions[*head - 1].next_off;
	if (*head)
		*head = f->next_off;
}

void fl_period_unlist_all(void)
{
	off_head = 0;
}

/* ---- periods -------------------------------------------------------------------------- */

/* Begin a new period, in which no call is open. False: a call is open, and is waited for. */
static bool end_period(struct fl_function *f, enum fl_open_calls open)
{
	uint64_t now = load_relaxed(&f->period);

	do {
		if (open == FL_WAIT_FOR_OPEN && (uint32_t)now)
			return false;
		if ((uint32_t)now)
			store_relaxed(&f->gave_up, fl_arch_ticks());
	/* (F) pairs with (E) in period.h */
	} while (!__atomic_compare_exchange_n(&f->period, &now,
					    (uint64_t)(fl_period_number(now) + 1) << 32, true,
					    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
	return true;
}

/* fl_period_begin() is under the same lock, so a thread that was held up in here never switches
 * off what is on again. */
void fl_period_stop(struct fl_function *f, enum fl_open_calls open)
{
	uint64_t signals;
	bool was_off;

	if (!fl_switches_try(&signals))
		return;
	FL_POINT("probe.switching");
	was_off = f->is_off;
	store_relaxed(&f->is_off, 1);
	if (!f->is_quiet)
		f->is_quiet = end_period(f, open);
	if (f->is_seldom && !fl_seldom_window.is_open && f->is_quiet)
		hold_entries(f);	/* it was timed, or its window is over */
	else
		direct_entries(f, fl_period_action(f));
	if (f->is_quiet) {
		FL_POINT("sample.ending");
		hold_exits(f);
	}
	if (!was_off && !f->is_seldom)
		fl_period_list(f);
	fl_switches_unlock(&signals);
}

/* ---- calls that last ------------------------------------------------------------------ */

void fl_period_note_switch(uint32_t id)
{
	const struct fl_probe *p = &fl_table.probes[id];
	struct fl_function *f = &fl_table.functions[p->function];

	if (p->form != FL_FORM_BODY_SWITCH || f->has_switch)
		return;
	f->has_switch = 1;
	f->next_switch = switch_head;
	switch_head = p->function + 1;
}

/* Other calls of the function are counted until its group is timed again. */
static uint32_t let_go(struct fl_function *f)
{
	f->is_let = 1;
	store_relaxed(&f->let_go, fl_arch_ticks());
	if (!f->is_off) {
		store_relaxed(&f->is_off, 1);
		direct_entries(f, FL_ACT_AFTER);
		if (!f->is_seldom)
			fl_period_list(f);
	}
	return set_holds(f, is_own_switch, fl_goal_hold, FL_HOLD_LONG);
}

bool fl_period_let_go(uint64_t now_ns, uint32_t *switched)
{
	bool any = false;

	for (uint32_t i = switch_head; i; i = fl_table.functions[i - 1].next_switch) {
		struct fl_function *f = &fl_table.functions[i - 1];

		if (f->is_quiet || f->is_let)
			continue;
		if (!(uint32_t)load_relaxed(&f->period))
			f->open_ns = 0;
		else if (!f->open_ns)
			f->open_ns = now_ns;
		else if (now_ns - f->open_ns >= FL_LASTS_US * 1000ull)
			*switched += let_go(f);
		any |= f->open_ns && !f->is_let;
	}
	return any;
}

/* ---- on again ------------------------------------------------------------------------- */

/* There is no locked instruction here: it would wait until the code of the function before has
 * come from the core that runs it. A function whose exits are on, because timed calls are open,
 * keeps its period. Otherwise only a thread that enters while the function is off changes the
 * period, for a moment. */
uint32_t fl_period_begin(struct fl_function *f)
{
	uint32_t n = 0;

	if (f->counts_alone || f->has_no_end)
		return fl_period_count(f);
	fl_pick_begin(f);
	if (f->is_let) {
		f->is_let = 0;
		f->open_ns = 0;
		n = set_holds(f, is_own_switch, fl_goal_let, FL_HOLD_LONG);
	}
	if (f->is_quiet) {
		f->is_quiet = 0;
		n += let_exits(f);
	}
	/* ordering: none, a thread that sees it late counts its call */
	store_release(&f->is_off, 0);
	direct_entries(f, FL_ACT_SAMPLE);
	return n + let_entries(f);
}

uint32_t fl_period_begin_group(uint32_t group)
{
	uint32_t *at = &off_head, n = 0;

	while (*at && !fl_table.holds) {
		struct fl_function *f = &fl_table.functions[*at - 1];

		if (fl_period_group(f) != group) {
			at = &f->next_off;
			continue;
		}
		*at = f->next_off;
		n += fl_period_begin(f);
	}
	return n;
}

uint32_t fl_period_count(struct fl_function *f)
{
	direct_entries(f, FL_ACT_COUNT);
	return let_entries(f);
}

/* A timed call that is still open when its window ends is no sample. */
uint32_t fl_period_shut(struct fl_function *f)
{
	uint32_t n;

	store_relaxed(&f->is_off, 1);
	if (!f->is_quiet)
		f->is_quiet = end_period(f, FL_GIVE_UP_OPEN);
	n = hold_entries(f);
	return n + hold_exits(f);
}

/* Another thread may have been at any step of fl_period_stop(): some of the function's sites
 * are on, or it is not on the list. Turns are under the table's lock, so all of a function that
 * is not `is_off` is on. */
void fl_period_in_child(struct fl_function *f)
{
	if ((uint32_t)f->period)
		end_period(f, FL_GIVE_UP_OPEN);
	f->gave_up = 0;			/* its parent tells of those */
	if (f->is_seldom || !f->is_off)
		return;
	f->is_quiet = 1;
	direct_entries(f, FL_ACT_COUNT);
	hold_exits(f);
	fl_period_list(f);
}
