/*
 * change.c - what the recorder wants of many probes changes at once, under running threads.
 *
 * After the staged breakpoints of Erlang/OTP ("Non-blocking trace setting"): what is wanted is
 * kept in two generations, and a thread does what one of them says, which a global index names.
 * There each breakpoint asks for the index, each time. Here text and dispatch words say what
 * is in force, at no cost. Only during a change do the dispatch words of those that change lead
 * to a routine that asks for the index (FL_ACT_STAGED).
 *
 * PROTOCOL	one step of the paper's a line, and what it is for
 *	 1 lock		the table's lock, the switches', the negotiation's: nobody else
 *			changes what is wanted, arms, loads or unloads
 *	 2 arm		what is new gets glue and is armed, its text `off`; if anything cannot
 *			be armed no step follows, and nothing has changed
 *	 3 stage	the generation that is not in force becomes as the one that is, except
 *			for what is staged
 *	 4 lead		dispatch words of what changes lead to what asks for the index
 *	 progress W1	who sees text `on` sees where that leads
 *	 5 show		text of what is newly wanted is on: what asks does nothing yet
 *	 6 progress W2	all threads run text of step 5, and words of step 4
 *	 7 switch	the index: one store		(A)
 *	 8 progress W3	nobody goes by the old generation any more
 *	 9 settle	text of what nobody wants is off; what is wanted is led to its action
 *	10 progress W4	nobody runs text that step 9 has taken away
 *	11 equal	the old generation becomes as the new one
 *	12 unlock	nothing is freed: glue stays (ARCHITECTURE.md)
 *
 *	A change of one probe alone has fewer steps: 4 if the probe is to be off, else 5; then
 *	W2, 7, 9, 8 and 11.
 *
 *	a thread at a probe that changes	who changes it, at step 8
 *	inside + 1				sync of all cores
 *	load the index		(B)		load inside of each slot
 *	do what its generation says		not 0: until it is, or passed has changed
 *	passed + 1, inside - 1
 *
 *	Progress is a sync of all cores (patch/sync.c): a full fence of each core, after which
 *	it fetches its instructions anew. At step 8 it is also a look at who was asking.
 * INVARIANT
 *	1 A thread that has done what the new generation says of one probe does what the
 *	  old one says of none.
 *	2 A change that fails does so before step 3, and then every probe is as it was.
 *	3 After step 8 no thread does what the old generation says, except what it has begun.
 *	4 After step 10 no thread runs text of a probe that nobody wants any more, except a
 *	  thread that stands in its glue; and that one does nothing.
 * WHY
 *	1 Before (A) no thread sees the new generation. From W2 on all that change are
 *	  decided by loads of one word, the index, and loads of one word by one thread
 *	  never go back. Between (A) and step 9 nothing else decides. From W3 on every
 *	  load of the index gives the new one, so step 9 makes direct what these loads say.
 *	  A thread decides where it loads the dispatch word, or the index. A thread that has
 *	  loaded a word before step 4, and is interrupted there, has done what the word leads
 *	  to, as the program sees it: that call comes before whatever a signal handler calls.
 *	2 Only arming fails. Probes that were armed for nothing stay armed, and off.
 *	3 (A) and (B) with the sync between: a thread that loaded the index before has `inside`
 *	  set where the look at step 8 sees it. The look waits for that thread, but no longer
 *	  than a thread may stand before its ring is read, and then counts it in n_late.
 *	4 W4. The dispatch word of such a probe goes on to lead to the routine that asks.
 *	With one probe alone: 1 Its text, its word, the index and its goal each change once.
 *	  From W2 on all threads run the text that is to be on, or go by the word that asks; so
 *	  a thread that stood in the glue before, and acts by the new index, goes on to. The
 *	  word of a probe that has been off leads to what asks. Nobody stands in the glue of a
 *	  probe that has never been on: its text alone decides. 3, 4 Progress comes behind it
 *	  all.
 * FAILURE	The maker of the change is killed: before step 7 all is as it was; behind it all
 *	is as it is to be, except that text of some probes is on without need: these ask. The
 *	locks are free (os/lock.c). The next change begins with step 3, whatever the other
 *	generation holds. A thread stays between `inside + 1` and `- 1` for good, because a
 *	handler was left by siglongjmp(): the thread counts as late if it never asks again.
 * All of it is in tests/model/commit.pml, with a twin for each of the four waits.
 */
#include "arm.h"
#include "goal.h"
#include "os/os.h"
#include "period.h"
#include "second.h"
#include "switch.h"

/* The change that is being made; with all locks. All that is staged lies in [first_staged,
 * n_staged): each step goes through these, and few of very many may be staged. */
static const uint8_t *staged;
static uint32_t first_staged, n_staged;

/* Is none of the eight from `from` on staged? */
static bool are_none(uint32_t from)
{
	uint64_t eight;

	__builtin_memcpy(&eight, staged + from, sizeof eight);
	return !eight;
}

static bool is_staged(uint32_t id)
{
	return staged[id] && staged[id] < FL_N_STAGES;
}

/* The next one from `id` on that is staged. */
static uint32_t next_staged(uint32_t id)
{
	while (id < n_staged && !is_staged(id))
		id += id + 8 <= n_staged && are_none(id) ? 8 : 1;
	return id;
}
#define EACH_STAGED(id) \
	(uint32_t id = first_staged; id < n_staged; id = next_staged(id + 1))

static void begin_staged(const uint8_t *of, uint32_t n)
{
	staged = of;
	n_staged = n < fl_table.n ? n : fl_table.n;
	first_staged = next_staged(0);
	while (n_staged > first_staged && !is_staged(n_staged - 1))
		n_staged -= n_staged >= first_staged + 8 && are_none(n_staged - 8) ? 8 : 1;
}

static bool is_to_be_on(uint32_t id)
{
	return id < n_staged && (staged[id] == FL_STAGE_ON || staged[id] == FL_STAGE_COUNT);
}

/* False for a probe of a module that is unloaded, or of an image before an exec: what is wanted
 * of it is only noted, and becomes so when the module is loaded again. */
static bool is_there(uint32_t id)
{
	return fl_table.probes[id].state != FL_PROBE_GONE &&
	       fl_table.probes[id].state != FL_PROBE_OTHERS;
}

static struct fl_function *own_function(uint32_t id)
{
	return &fl_table.functions[fl_table.probes[id].function];
}

/* ---- a thread ------------------------------------------------------------------------- */

void fl_change_hit(uint32_t id, uint32_t sp)
{
	struct fl_slot *slot = fl_channel_slot();
	const struct fl_goal *g;

	if (slot) {
		store_relaxed(&slot->inside, slot->inside + 1);
		/* ordering: none other, the sync of step 8 is the fence */
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
	}
	g = fl_goal_of(id);
	FL_POINT("change.asked");
	if (load_relaxed(&g->wants) & FL_SESSION && !fl_goal_holds(id))
		fl_second_first(id, load_relaxed(&g->action), 0, sp);
	if (slot) {
		/* (F) pairs with (E): who sees it passed sees what it did */
		store_release(&slot->passed, slot->passed + 1);
		/* (F) pairs with (E) */
		store_release(&slot->inside, slot->inside - 1);
	}
}

/* ---- thread progress ------------------------------------------------------------------ */

/* Wait until each thread that was asking has done so. How many threads are late. */
static uint32_t await_passed(void)
{
	enum { PAUSE_US = 20, PATIENCE_US = 100000 };
	uint32_t n = load_relaxed(&fl_table.shm->n_slots_used), late = 0;
	uint64_t us = 0;

	fl_patch_sync();
	for (uint32_t i = 0; i < n && i < fl_table.shm->n_slots; i++) {
		const struct fl_slot *s = fl_shm_slot(fl_table.shm, i);
		uint32_t passed = load_acquire(&s->passed);	/* (E) pairs with (F) */
		bool asks = true;

		while (asks && us < PATIENCE_US) {
			/* (E) pairs with (F) */
			asks = load_acquire(&s->inside) &&
			       load_relaxed(&s->state) == FL_SLOT_LIVE &&
			       load_acquire(&s->passed) == passed;	/* (E) pairs with (F) */
			if (asks)
				fl_os_sleep_us(PAUSE_US);
			us += asks ? PAUSE_US : 0;
		}
		late += asks && load_relaxed(&s->inside);
	}
	return late;
}

/* ---- 2: what may fail ----------------------------------------------------------------- */

/* Arm what is to be on and is not armed yet. It is off. */
static void arm_new(void)
{
	uint32_t first = FL_NO_PROBE;

	for EACH_STAGED(id) {
		if (!is_to_be_on(id) || fl_probe_is_switched(id) || !is_there(id))
			continue;
		if (!fl_table.rows[id].wanted)
			store_relaxed(&fl_table.rows[id].wanted, FL_WANTED);
		first = id < first ? id : first;
	}
	if (first == FL_NO_PROBE)
		return;
	fl_arm_unmute(is_to_be_on);
	fl_table.is_staging = true;
	fl_arm_from(first, FL_RUNNING);
	fl_table.is_staging = false;
	fl_table_publish(first);
}

/* How many could not be armed. If there are any, those that were armed stay so, and off. */
static uint32_t give_up_if_refused(void)
{
	uint32_t n = 0;

	for EACH_STAGED(id)
		n += is_to_be_on(id) && !fl_probe_is_switched(id) && is_there(id);
	if (!n)
		return 0;
	for EACH_STAGED(id)
		if (is_to_be_on(id) && !fl_goal_is_wanted(id) && is_there(id))
			store_relaxed(&fl_table.rows[id].wanted, FL_UNWANTED);
	return n;
}

/* ---- 3 to 11 -------------------------------------------------------------------------- */

static struct fl_goal *next_goal(uint32_t id)
{
	return &fl_goals_next()[id];
}

/* Next goals of [first, end), rounded to multiples of four, become as those in force. */
static void make_equal(uint32_t first, uint32_t end)
{
	const uint8_t *from = (const uint8_t *)fl_goal_of(0);
	uint8_t *to = (uint8_t *)next_goal(0);
	size_t at = first / 4 * 8;

	_Static_assert(sizeof(struct fl_goal) * 4 == 8, "four at a time");
	for (; at < end * sizeof(struct fl_goal); at += 8) {
		uint64_t a, b;

		__builtin_memcpy(&a, from + at, 8);
		__builtin_memcpy(&b, to + at, 8);
		if (a != b)
			__builtin_memcpy(to + at, &a, 8);
	}
}

/* Entries of a sampled function count at first. Its exits are off, and so are entries that wait
 * for a window. Its period begins when all is settled. */
static void stage_on(uint32_t id)
{
	struct fl_switch *s = &fl_table.switches[id];
	struct fl_goal *g = next_goal(id);
	uint8_t holds = s->holds & (uint8_t)~(FL_HOLD_SAMPLED | FL_HOLD_SELDOM);

	store_relaxed(&g->wants, g->wants | FL_SESSION);
	if (fl_table.session->action != FL_ACT_SAMPLE ||
	    fl_table.sites[id].kind == FL_AT_POINT)
		return;
	store_relaxed(&g->action, s->is_entry ? FL_ACT_COUNT : FL_ACT_AFTER);
	if (s->is_entry)
		fl_sample_returns(id);
	if (!s->is_entry)
		holds |= FL_HOLD_SAMPLED;
	else if (own_function(id)->is_seldom && !fl_seldom_window.is_open)
		holds |= FL_HOLD_SELDOM;
	store_relaxed(&s->holds, holds);
}

static void stage_all(void)
{
	make_equal(0, fl_table.n);
	if (fl_table.session->action == FL_ACT_SAMPLE)
		fl_period_unlist_all();		/* settle_sampled() lists them again */
	for EACH_STAGED(id) {
		if (!is_to_be_on(id))
			store_relaxed(&next_goal(id)->wants,
				      next_goal(id)->wants & (uint8_t)~FL_SESSION);
		else if (!fl_goal_is_wanted(id) && is_there(id))
			stage_on(id);
	}
	FL_POINT("change.staged");
}

static bool is_changed(uint32_t id)
{
	return fl_probe_is_switched(id) && fl_goal_of(id)->wants != next_goal(id)->wants;
}

static uint32_t count_changed(uint32_t *n_on)
{
	uint32_t n = 0;

	for EACH_STAGED(id) {
		*n_on += is_changed(id) && is_to_be_on(id);
		n += is_changed(id);
	}
	return n;
}

static void lead_changed(void)
{
	for EACH_STAGED(id)
		if (is_changed(id))
			fl_goal_lead(id);
	FL_POINT("change.led");
}

static void show_changed(void)
{
	for EACH_STAGED(id)
		if (is_to_be_on(id) && is_changed(id) && !fl_goal_holds(id))
			fl_goal_show(id);
	FL_POINT("change.shown");
}

/* The function's period becomes as is wanted now. */
static void settle_function(struct fl_function *f, enum fl_stage stage)
{
	bool wants_any = false;

	for (uint32_t id = f->probes; id != FL_NO_PROBE; id = fl_table.next[id])
		wants_any |= fl_goal_is_wanted(id);
	f->counts_alone = stage == FL_STAGE_COUNT || (stage == FL_STAGE_OFF && wants_any &&
						      f->counts_alone);
	fl_period_shut(f);
	if (wants_any)
		fl_sample_wanted(f);
}

/* A function's entries come before its exits in the table, and exits of a function that is only
 * counted are staged off: so an exit does not undo what its entry says. */
static void settle_sampled(void)
{
	const struct fl_function *last = NULL;

	for EACH_STAGED(id) {
		struct fl_function *f = own_function(id);

		if (f != last || is_to_be_on(id))
			settle_function(f, staged[id]);
		last = f;
	}
	fl_period_unlist_all();			/* looking for each takes longer, if many are */
	for (uint32_t i = fl_table.n_functions; i-- > 0;) {
		struct fl_function *f = &fl_table.functions[i];

		if (f->is_off && !f->is_seldom && !f->counts_alone)
			fl_period_list(f);
	}
}

static void settle_changed(void)
{
	for EACH_STAGED(id) {
		bool on = is_to_be_on(id);

		if (on != (bool)load_relaxed(&fl_table.rows[id].wanted))
			store_relaxed(&fl_table.rows[id].wanted, on ? FL_WANTED : FL_UNWANTED);
		fl_goal_settle(id);
	}
	if (fl_table.session->action == FL_ACT_SAMPLE)
		settle_sampled();
	FL_POINT("change.settled");
}

/* There are two generations. */
static void switch_generation(struct fl_change_box *box)
{
	box->switched = fl_arch_ticks();
	/* ordering: none other, (A) and (B) are told apart by syncs */
	store_release(&fl_table.in_force, fl_goals_next());
	FL_POINT("change.switched");
}

/* Steps 4 to 10. */
static void change_together(struct fl_change_box *box, uint32_t n_on)
{
	lead_changed();
	if (n_on)
		fl_patch_sync();				/* W1 */
	show_changed();
	fl_patch_sync();					/* W2 */
	switch_generation(box);
	box->n_late = await_passed();				/* W3 */
	box->passed = fl_arch_ticks();
	settle_changed();
	if (n_on < box->n_switched)
		fl_patch_sync();				/* W4 */
}

/* A probe that goes on is not led: it has been off, and leads to what asks, or was never on. */
static void change_one(struct fl_change_box *box, uint32_t n_on)
{
	if (n_on)
		show_changed();
	else
		lead_changed();
	fl_patch_sync();					/* W2 */
	switch_generation(box);
	settle_changed();
	box->n_late = await_passed();				/* W3, and W4 */
	box->passed = fl_arch_ticks();
}

static int change_locked(struct fl_change_box *box)
{
	uint32_t n_on = 0;

	if (fl_table.holds)
		return FLE_GONE;
	if (fl_switches_are_frozen())
		return -EAGAIN;
	arm_new();
	box->n_refused = give_up_if_refused();
	if (box->n_refused)
		return FLE_REFUSED;
	stage_all();
	box->n_switched = count_changed(&n_on);
	if (box->n_switched > 1)
		change_together(box, n_on);
	else
		change_one(box, n_on);
	make_equal(first_staged, n_staged);
	box->generation++;
	return 0;
}

int fl_probes_change(const uint8_t *of, uint32_t n, struct fl_change_box *box)
{
	uint64_t signals, inner;

	fl_table_lock(&signals);
	fl_switches_lock(&inner);
	begin_staged(of, n);
	box->n_switched = box->n_refused = box->n_late = 0;
	box->begun = fl_arch_ticks();
	box->error = change_locked(box);
	box->ended = fl_arch_ticks();
	fl_switches_unlock(&inner);
	fl_table_unlock(&signals);
	return box->error;
}
