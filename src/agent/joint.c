/*
 * joint.c - the agent of a second recorder, in a process that one records.
 *
 * Hides that it comes in by a thread of its own (attach.c), as the first recorder may have, and
 * finds all of flick's there. It gets a region that it alone reads (channel/other.c), is asked
 * about sites after the first recorder, and is the owner of the probes when that has gone. What
 * watches the first recorder (watch.c) watches it, too.
 *
 * PROTOCOL	the thread that comes in	who watches
 *		join, ask, arm
 *		there = region		(A)	load there		(B)
 *						its reader lives: what it wishes (control.c)
 *						else leave, there = NULL, has_left = 1
 *
 * (A) pairs with (B): who finds the region finds it joined.
 *
 * FAILURE	Its reader dies while it is asked: nothing is wanted, and the watch ends it. The
 *	first reader dies: each probe is off for that recorder alone. Both are dead: all ends as
 *	with one.
 */
#include "agent.h"
#include "os/os.h"

static struct fl_region *region;	/* that is asked; W with the negotiation's lock */
static struct fl_region *there;		/* that is watched; NULL: none */
static bool is_joined;			/* since before that; W with the negotiation's lock */

static int begin_second(void)
{
	int err = fl_joint_open((enum fl_action)region->session[0].action);

	if (!err)
		store_relaxed(&is_joined, true);
	FL_POINT("joint.begun");
	return err;
}

static void end_second(void)
{
	fl_joint_close();
	FL_POINT("joint.closed");
	fl_other_close();
	store_relaxed(&is_joined, false);
}

/* When its reader wants nothing, the second recorder leaves. */
static void ask_second(uint32_t from, enum fl_moment moment)
{
	if (!fl_channel_reader_lives())		/* else it has been armed for the first */
		fl_probes_commit(from, moment);
	fl_joint_show(from);
	if (fl_agent_ask(region, 0) == FL_PHASE_QUIT || !fl_shm_reader_lives(region)) {
		store_relaxed(&region->detach, 1);
		return;
	}
	FL_POINT("joint.answered");
	fl_joint_want(fl_shm_sites(region), region->max_sites, from, moment);
	FL_POINT("joint.wanted");
	fl_joint_show(from);
	FL_POINT("joint.told");
}

static const struct fl_owner joint = {
	.found = ask_second, .join = begin_second, .leave = end_second,
};

/* An action that needs more than an event of each probe is for the first recorder alone. */
static int may_join(const struct fl_region *m, const struct fl_region *first)
{
	uint32_t action = m->session[0].action;

	if (first->weaves || m->weaves ||
	    (action != FL_ACT_COUNT && action != FL_ACT_TIME))
		return FLE_JOINT;
	return 0;
}

int fl_joint_attach(const char *given, struct fl_region *first)
{
	struct fl_region *m;
	int err = fl_other_open(given, &m);

	if (err)
		return err;
	region = m;
	FL_POINT("joint.opened");
	err = may_join(m, first);
	if (!err)
		err = fl_watch_start(first);
	if (!err)
		err = fl_agent_join_second(&joint);
	if (err)
		fl_other_undo(m);
	else
		store_release(&there, m);		/* (A) pairs with (B) */
	FL_POINT("joint.there");
	return err;
}

bool fl_joint_is_there(void)
{
	return load_relaxed(&is_joined);
}

/* When a module is loaded again, its rows say what is wanted. */
static void note_wanted(struct fl_region *m, uint32_t n)
{
	const uint8_t *staged = fl_shm_staged(m);

	for (uint32_t i = 0; i < n; i++)
		if (staged[i] && staged[i] < FL_N_STAGES)
			store_relaxed(&fl_shm_sites(m)[i].wanted,
				      staged[i] == FL_STAGE_OFF ? FL_UNWANTED : FL_WANTED);
}

static void heed_wish(struct fl_region *m)
{
	struct fl_change_box *box = &m->session[0].change;
	/* (D) pairs with (A) in session/change/change.c */
	uint32_t wish = load_acquire(&box->wish), n;
	int err;

	if (wish == box->done)
		return;
	n = box->n < m->max_sites ? box->n : m->max_sites;
	err = fl_joint_change(fl_shm_staged(m), n, box);
	if (err == -EAGAIN)
		return;
	if (!err)
		note_wanted(m, n);
	fl_joint_show(0);
	box->error = err;
	/* (E) pairs with (D) in session/change/change.c */
	store_release(&box->done, wish);
	fl_shm_doorbell(m);
}

void fl_joint_turn(void)
{
	struct fl_region *m = load_acquire(&there);	/* (B) pairs with (A) */

	if (!m)
		return;
	if (fl_shm_reader_lives(m) && !load_relaxed(&m->detach)) {
		heed_wish(m);
		return;
	}
	FL_POINT("joint.leaving");
	store_relaxed(&m->session[0].ended_tsc, fl_arch_ticks());
	fl_agent_leave_second();
	/* ordering: none other, nobody else watches */
	store_release(&there, NULL);
	FL_POINT("joint.left");
	store_relaxed(&m->has_left, 1);
}
