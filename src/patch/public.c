/*
 * public.c - flick/patch.h: places of the caller's own.
 *
 * Hides that a place is a claimed patch, and that an asynchronous switch is a
 * set of one change that lies in the place itself.
 */
#include "claim.h"
#include "fork.h"
#include "motion.h"
#include "os/os.h"
#include "public.h"
#include "sync.h"
#include "tactic.h"

int flick_patch_open(const char *sync)
{
	return fl_patch_open(sync);
}

const char *flick_patch_sync(void)
{
	return fl_patch_sync_name();
}

void flick_patch_barrier(void)
{
	if (!fl_sync)
		return;				/* nothing can have been patched */
	fl_fork_enter_own();
	fl_patch_sync();
	fl_fork_leave_own();
}

/* ---- taking a place and giving it up ----------------------------------- */

/* Choose how to switch between off and on, once and for all. */
static void choose_tactic(struct fl_patch *p)
{
	struct fl_span s = { 0, sizeof(fl_unit) };
	enum fl_tactic tactic = fl_tactic_of(p, FL_OFF, FL_ON, &s);

	/* where on and off are the same bytes any store will do */
	p->tactic = tactic == FL_N_TACTICS ? FL_FLIP : tactic;
	p->flip_at = s.first;
	p->flip_bytes = s.n;
	fl_patch_note_flip(p);
}

/* Commit a change of this place alone. */
static int change(struct fl_place *l, int from, int to)
{
	struct fl_change c;
	struct fl_set set = { .changes = &c, .room = 1 };
	size_t bad;

	fl_set_stage(&set, &l->patch, from, to);
	return c.tactic == FL_N_TACTICS ? 0 : fl_set_commit(&set, &bad);
}

/* Claim the place, whose plan is made, and give it the bytes of `state`. */
static int take_place(struct fl_place *l, int state)
{
	struct fl_patch *p = &l->patch;
	int err = fl_text_view(p->at, p->len, &p->view);

	if (!err)
		err = fl_tactic_check(p);
	if (err)
		return err;
	choose_tactic(p);
	fl_fork_enter_own();
	err = fl_claim_place(p);
	if (!err) {
		p->state = (uint8_t)state;
		err = change(l, FL_OLD, state);
		if (err)
			fl_unclaim_alone(p);
	}
	fl_fork_leave_own();
	return err;
}

/* May the memory become a place? A place that is still in the list of claims must not be
 * overwritten. */
static int check_fresh(struct fl_place *l)
{
	uint64_t signals;
	bool taken;

	if (!fl_sync)
		return FLE_UNOPENED;
	fl_fork_enter_own();
	fl_claims_lock(&signals);
	taken = fl_is_claimed(&l->patch);
	fl_claims_unlock(&signals);
	fl_fork_leave_own();
	if (!taken)
		*l = (struct fl_place){ 0 };
	return taken ? FLE_OVERLAP : 0;
}

int flick_patch_init(struct flick_patch *h, void *at, const void *on, size_t n)
{
	struct fl_place *l = fl_place_of(h);
	intptr_t view;
	int err = check_fresh(l);

	if (!err)
		err = fl_text_view((uintptr_t)at, n, &view);
	if (!err)
		err = fl_arch_plan_insn(&l->patch, (uintptr_t)at, on, n);
	return err ? err : take_place(l, FL_OFF);
}

int flick_call_init(struct flick_patch *h, void *at, const void *target,
		    unsigned int flags)
{
	struct fl_place *l = fl_place_of(h);
	intptr_t view;
	int err = flags & ~(unsigned int)FLICK_FLAGS_DEAD ? FLE_OPTION : check_fresh(l);
	bool was_nop;

	if (!err)
		err = fl_text_view((uintptr_t)at, 1, &view);
	if (!err)
		err = fl_arch_plan_call(&l->patch, (uintptr_t)at, (uintptr_t)target,
					flags & FLICK_FLAGS_DEAD ? FL_FLAGS_DEAD :
					FL_FLAGS_LIVE, &was_nop);
	return err ? err : take_place(l, was_nop ? FL_OFF : FL_ON);
}

/* Begun by flick_patch_start() and not finished. */
bool fl_place_is_begun(const struct fl_place *l)
{
	return load_acquire(&l->turn) & 3;		/* (B) pairs with (B) */
}

int flick_patch_release(struct flick_patch *h)
{
	struct fl_place *l = fl_place_of(h);
	int err;

	if (l->patch.claimed != FL_CLAIM_PLACE)
		return -EINVAL;
	if (fl_place_is_begun(l))
		return FLE_BUSY;
	fl_fork_enter_own();
	err = change(l, l->patch.state, FL_OLD);
	if (!err)
		fl_unclaim_alone(&l->patch);
	fl_fork_leave_own();
	return err;
}

/* ---- in steps ------------------------------------------------------------ */

/* Must signals be blocked during the switch? A handler of this thread might come to a place
 * where the thread holds others, and would wait there for the code that it interrupted. */
static bool must_block(const struct fl_patch *p)
{
	return fl_holds(p, FL_OFF, FL_ON);
}

static void enter(const struct fl_place *l, uint64_t *signals)
{
	if (must_block(&l->patch))
		fl_os_signals_block(signals);
	fl_fork_enter_own();
}

static void leave(const struct fl_place *l, const uint64_t *signals)
{
	fl_fork_leave_own();
	if (must_block(&l->patch))
		fl_os_signals_restore(signals);
}

/*
 * Whose turn it is, in one word, so that a round ends, and its place is free for the
 * next, in one store:
 *	REST	nobody switches: start makes it STEPPED
 *	PENDING	between two steps: finish makes it STEPPED
 *	STEPPED	a thread is at it: other threads get an error
 * The round's number goes up when the round ends. A thread that finishes a round of its
 * own names that round, and so never steps a later one. STEPPED bears the number of its
 * thread, because that thread may be gone in fork's child.
 */
enum turn { REST, PENDING, STEPPED };

static uint64_t turn_of(enum turn t, uint32_t round)
{
	return (t == STEPPED ? (uint64_t)fl_fork_self() << 32 : 0) | round << 2 | (uint32_t)t;
}

static uint32_t round_in(uint64_t turn)
{
	return (uint32_t)turn >> 2;
}

static uint32_t round_of(const struct fl_place *l)
{
	return round_in(load_relaxed(&l->turn));
}

static bool take_turn(struct fl_place *l, enum turn from, uint32_t round)
{
	uint64_t turn = turn_of(from, round);

	/* (B) pairs with (B): whoever stepped last is done with the set. */
	return __atomic_compare_exchange_n(&l->turn, &turn, turn_of(STEPPED, round), false,
					   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static void leave_turn(struct fl_place *l, enum turn to, uint32_t round)
{
	store_release(&l->turn, turn_of(to, round));	/* (B) pairs with (B) */
}

/* Begin the set. If it holds threads, go on until the last byte is stored: nobody might ever
 * call finish, and threads would be held till then. */
static int begin_first(struct fl_place *l)
{
	size_t bad;
	int err = fl_set_begin(&l->set, &bad);

	while (!err && must_block(&l->patch) && !fl_set_stored(&l->set)) {
		fl_set_wait(&l->set);
		fl_set_step(&l->set);
	}
	return err;
}

static int begin_set(struct fl_place *l, int to)
{
	size_t bad;
	int err;

	l->set = (struct fl_set){ .changes = &l->change, .room = 1 };
	fl_set_stage_switch(&l->set, &l->patch, to);
	err = fl_set_take(&l->set, &bad);
	if (!err && l->change.from != to)
		return begin_first(l);
	fl_set_abandon(&l->set);
	l->set.n = 0;				/* an error, or nothing to change */
	return err;
}

/* Begin round *mine, which is over once the place has another number. */
static int start(struct fl_place *l, int to, uint32_t *mine)
{
	uint32_t round = round_of(l);
	int err;

	FL_POINT("place.looked");
	if (!take_turn(l, REST, round))
		return FLE_BUSY;
	FL_POINT("place.taken");
	err = begin_set(l, to);
	leave_turn(l, err ? REST : PENDING, round);
	*mine = round;
	return err;
}

enum patience { POLL, BLOCK };

/* Make the ticket pass; false if only time can do that, and `patience` is POLL. */
static bool pass(const struct fl_place *l, enum patience patience)
{
	if (patience == POLL && !fl_set_passed(&l->set) && fl_patch_sync_waits())
		return false;
	fl_set_wait(&l->set);
	return true;
}

/* 0 when the last byte is stored. */
static int step(struct fl_place *l, enum patience patience)
{
	if (!l->set.n || fl_set_stored(&l->set))
		return 0;
	if (!pass(l, patience))
		return -EAGAIN;
	fl_set_step(&l->set);
	return fl_set_stored(&l->set) ? 0 : -EAGAIN;
}

/* 0 when round `round` is over, whoever ended it. */
static int finish(struct fl_place *l, uint32_t round, enum patience patience)
{
	/* (B) pairs with (B): if another thread has ended the round, we see what it did */
	uint64_t turn = load_acquire(&l->turn);
	int err;

	if (round_in(turn) != round || turn == turn_of(REST, round))
		return 0;
	if (!take_turn(l, PENDING, round))
		return -EAGAIN;
	err = step(l, patience);
	leave_turn(l, err ? PENDING : REST, err ? round : round + 1);
	return err;
}

int flick_patch_start(struct flick_patch *h, enum flick_state to)
{
	struct fl_place *l = fl_place_of(h);
	uint64_t signals = 0;
	uint32_t round;
	int err;

	if (l->patch.claimed != FL_CLAIM_PLACE)
		return -EINVAL;
	enter(l, &signals);
	err = start(l, fl_state_of(to), &round);
	leave(l, &signals);
	return err;
}

int flick_patch_finish(struct flick_patch *h)
{
	struct fl_place *l = fl_place_of(h);
	uint64_t signals = 0;
	int err;

	if (l->patch.claimed != FL_CLAIM_PLACE)
		return -EINVAL;
	enter(l, &signals);
	err = finish(l, round_of(l), POLL);
	leave(l, &signals);
	return err;
}

/* ---- switching ----------------------------------------------------------- */

/* One store, while the place is ours. */
static int switch_at_once(struct fl_patch *p, int to)
{
	if (!fl_motion_take(p))
		return FLE_BUSY;
	FL_POINT("place.claimed");
	if (p->state != to)
		fl_patch_flip(p, to);
	p->state = (uint8_t)to;
	fl_motion_leave(p);
	return 0;
}

/* Another thread may finish our round, and begin the next: ours is over then. */
static int switch_in_steps(struct fl_place *l, int to)
{
	uint32_t round;
	int err = start(l, to, &round);

	while (!err && finish(l, round, BLOCK))
		fl_arch_pause();
	return err;
}

/* Apart, so that a switch in one store needs no stack frame. */
__attribute__((noinline))
static int switch_wide(struct fl_place *l, int to)
{
	uint64_t signals = 0;
	int err;

	enter(l, &signals);
	err = switch_in_steps(l, to);
	leave(l, &signals);
	return err;
}

int flick_patch_switch(struct flick_patch *h, enum flick_state to)
{
	struct fl_place *l = fl_place_of(h);

	if (l->patch.claimed != FL_CLAIM_PLACE)
		return -EINVAL;
	if (l->patch.tactic != FL_WIDE)
		return switch_at_once(&l->patch, fl_state_of(to));
	return switch_wide(l, fl_state_of(to));
}

/* A switch in one store was made, or not: the text tells. False: no state has these bytes. */
static bool is_settled(struct fl_patch *p)
{
	const uint8_t *now = (const uint8_t *)p->at;

	for (int state = FL_N_STATES; state-- > 0;)
		if (!__builtin_memcmp(now, p->bytes[state], p->len)) {
			p->state = (uint8_t)state;
			p->motion.any = 0;
			return true;
		}
	return false;
}

bool fl_place_is_cut(struct fl_patch *p)
{
	struct fl_place *l = (struct fl_place *)p;
	bool is_own = l->turn == turn_of(STEPPED, round_of(l));
	bool is_pending = (l->turn & 3) == PENDING;

	if ((l->turn & 3) && !is_own && !is_pending)
		leave_turn(l, REST, round_of(l) + 1);
	if (is_own || (is_pending && l->set.n_taken))
		return false;
	return p->motion.any && !is_settled(p);
}

/* ---- what it is -------------------------------------------------------- */

enum flick_state flick_patch_state(const struct flick_patch *h)
{
	const struct fl_patch *p = &((const struct fl_place *)h)->patch;

	return p->state == FL_ON ? FLICK_ON : FLICK_OFF;
}

const char *flick_patch_tactic(const struct flick_patch *h)
{
	return fl_tactic_names[((const struct fl_place *)h)->patch.tactic];
}

static const char *why(const struct fl_patch *p)
{
	switch (p->tactic) {
	case FL_FLIP:
		return "one byte changes";
	case FL_WORD:
		return "the bytes that change lie in one aligned word of 8";
	case FL_LINE:
		return "the bytes that change lie in one cache line, and this "
		       "machine has been seen to fetch a store to one whole";
	default:
		return must_block(p)
			? "the bytes that change cross a boundary of 8; threads "
			  "that come by meanwhile wait there"
			: "the bytes that change cross a boundary of 8; threads "
			  "that come by meanwhile jump over them";
	}
}

void flick_patch_why(const struct flick_patch *h, char *text, size_t n)
{
	const char *w = why(&((const struct fl_place *)h)->patch);
	size_t i = 0;

	for (; i + 1 < n && w[i]; i++)
		text[i] = w[i];
	if (n)
		text[i] = '\0';
}
