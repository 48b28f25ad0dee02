/*
 * commit.c - make staged changes live while every thread keeps running.
 *
 * A change of one byte, or of bytes that all lie in one aligned word of a
 * single instruction, is one store (HW1, HW2). Any other change is wide, and passes
 * through three phases. All wide changes of a set share each phase's sync, so a commit
 * costs three syncs whether the set holds one place or ten thousand. Sets that are
 * committed at the same time share syncs too (sync.c).
 *
 * PROTOCOL
 *	phase	bytes at the place	a thread that arrives after the sync
 *	PARK	[park][old tail]	passes, or waits
 *	TAIL	[park][new tail]	the same
 *	HEAD	[new head][new tail]	runs `new`
 *	A stretch is a part of the place that a thread may enter without the rest. Each
 *	stretch goes through these phases by itself (arch.h), so a place may have several
 *	parks and heads. `park` is a head under which any tail is harmless: an
 *	instruction that has the tail as its operand, a return where a jump left, or a
 *	short jump over the tail where a thread misses nothing by that. At places of
 *	flick/patch.h a thread may miss something: then the park is a jump to itself, and
 *	threads wait there. No thread ever traps: the kernel kills a thread that blocks
 *	SIGTRAP (OS12).
 *	Changes of one store are made in HEAD, with one exception. Where a place's head
 *	leads to another stretch of the place, the head becomes old again in PARK, before
 *	the stretch is parked (`early`).
 *	A place belongs to the commit that claimed it (motion.c).
 * INVARIANT
 *	1 No core executes a tail byte while TAIL rewrites it.
 *	2 Nothing fails after TAIL has begun; until then all can be put back.
 *	3 When two commits want one place, one gets FLE_BUSY and changes nothing.
 *	4 A thread that stands inside a place, for however long, or returns into
 *	  it, goes on with a whole instruction, which leads it out.
 *	5 A thread that is held is let go.
 * WHY
 *	1 Tail bytes are reached only through the head of their stretch. The sync
 *	  that ends PARK leaves no core with a head fetched before (OS1). Under a
 *	  harmless head the torn tail is an operand nobody uses.
 *	2 All that may fail is in fl_set_take() and verify(), before the first store. A
 *	  head that was parked by one store goes back to the old head by one store, and
 *	  the old tail is still there.
 *	3 motion.c, INVARIANT 1.
 *	4 The thread stands at the start of a stretch, where it finds, whenever it goes
 *	  on, the old head, the park or the new head: to the protocol it is a thread
 *	  that arrives. Only a row of instructions in the old bytes has more
 *	  instructions than stretches: begin leaves such a place alone while there are
 *	  other threads (FLE_THREADS), and commit holds them then. The same goes for a
 *	  place whose row is at an inner start, once any such place has got its old
 *	  bytes back: a thread that returned may be in the middle of the row.
 *	5 The committer runs no code of the program's while it holds threads: signals
 *	  are blocked, and a set that holds is begun and ended in one call. The
 *	  committer waits for syncs alone, and for nothing that a held thread has.
 * FAILURE
 *	Only before TAIL; then every byte is as it was. A bare clone in the middle of a
 *	commit makes a child in which nobody lets threads go; fork()'s child puts the old
 *	bytes back (fork.c). A held thread of real-time priority may share its only core
 *	with the committer: it keeps the committer off as long as the kernel lets it.
 */
#include <signal.h>

#include "calibration.h"
#include "claim.h"
#include "fork.h"
#include "halt.h"
#include "motion.h"
#include "os/os.h"
#include "patch.h"
#include "sync.h"
#include "tactic.h"
#include "text.h"

enum phase { PARK, TAIL, HEAD, DONE };

static bool is_wide(const struct fl_change *c)
{
	return c->tactic == FL_WIDE;
}

/* Some place with a row at an inner start has got its old bytes back. */
static bool has_inner_rows;		/* W any commit */

void fl_set_note_inner(const struct fl_change *c)
{
	if (c->to == FL_OLD && c->patch->rows & FL_ROW_INSIDE)
		store_relaxed(&has_inner_rows, true);
}

/* May a thread stand in the old bytes where `off` and `on` have no instruction? Or would a
 * thread be held that has to answer a sync meanwhile? */
static bool is_row(const struct fl_change *c)
{
	uint8_t rows = FL_ROW | (load_relaxed(&has_inner_rows) ? FL_ROW_INSIDE : 0);

	return c->from == FL_OLD &&
	       (c->patch->rows & rows ||
		(fl_sync->asks && fl_holds(c->patch, FL_OLD, c->to)));
}

void fl_set_abandon(struct fl_set *set)
{
	while (set->n_taken > 0)
		fl_motion_leave_of(set->changes[--set->n_taken].patch);
	set->any_wide = set->any_row = false;
}

/* ---- what may fail ----------------------------------------------------- */

/* Flick's own thread executes no site. A thread that is about to end executes none either:
 * the kernel lists it for some time after it was joined (OS24). */
static int any_thread(void *arg, int tid)
{
	struct fl_process_status s;
	int err = fl_os_process_status(tid, &s);

	(void)arg;
	if (tid == fl_os_own_thread() || err == -ENOENT || err == -ESRCH)
		return 0;
	return err || !s.ends;
}

/* Is there no other thread that might stand in old bytes? The list has an emulator's own
 * threads, too, which run nothing of the program's. While the C library has started no
 * thread, all others are the emulator's. */
extern char __libc_single_threaded __attribute__((weak));

static bool is_alone(void)
{
	if (fl_text_way->emulated && &__libc_single_threaded && __libc_single_threaded)
		return true;
	return !fl_os_threads(fl_os_tid(), any_thread, NULL);
}

/* A switch in one store does not compare the bytes first: that would fetch the line from
 * the core that executes it, before the store takes it away from that core. */
static bool is_switch(const struct fl_change *c)
{
	return c->from != FL_OLD && c->to != FL_OLD && c->tactic == c->patch->tactic &&
	       !is_wide(c);
}

static void note_from(struct fl_change *c)
{
	c->from = c->patch->state;
	c->tactic = c->from == c->to ? FL_N_TACTICS : c->patch->tactic;
	if (c->from == FL_OLD || c->to == FL_OLD)	/* no switch: note its store */
		c->tactic = (uint8_t)fl_tactic_of(c->patch, c->from, c->to, &c->span);
}

static void note_moves(struct fl_wide *w, const struct fl_change *c,
		       const struct fl_move *m, int n)
{
	const struct fl_patch *p = c->patch;

	w->is_all = n == 1 && (size_t)(m->end - m->start) <= sizeof w->bytes;
	if (!w->is_all)
		return;
	w->at = p->at + (uintptr_t)p->view;
	w->move = m[0];
	__builtin_memcpy(w->bytes, p->bytes[c->to] + m->start, m->end - m->start);
}

/* A sync that asks threads to answer must not meet a held one, which may block the signal. */
static int check_wide(struct fl_set *set, size_t i)
{
	const struct fl_change *c = &set->changes[i];
	struct fl_move m[FL_ARCH_MOVES];
	int n = fl_arch_moves(c->patch, c->from, c->to, m);
	bool may_hold = set->quiet || is_row(c) || !fl_sync->asks;

	for (int k = 0; k < n; k++)
		if (m[k].holds && !may_hold)
			return FLE_SIGBLOCK;
	if (n < 0)
		return n;
	set->any_wide = true;
	if (set->wide)
		note_moves(&set->wide[i], c, m, n);
	return 0;
}

/* The place is ours. Is it as staged? Notes what the set consists of. */
static int check(struct fl_set *set, size_t i)
{
	struct fl_change *c = &set->changes[i];
	const struct fl_patch *p = c->patch;
	int err = 0;

	if (c->from == FL_AS_IT_IS)
		note_from(c);
	if (is_switch(c))
		return 0;
	if (__builtin_memcmp((const void *)p->at, p->bytes[c->from], p->len))
		return FLE_CHANGED;
	if (is_wide(c) && !set->held)
		err = check_wide(set, i);
	set->any_row |= !err && is_row(c);
	return err;
}

/* Take and check MANY places before the next ones: they stay in the cache meanwhile. */
static int take_some(struct fl_set *set, size_t *bad)
{
	enum { MANY = 256 };
	struct fl_change *c = &set->changes[set->n_taken];
	size_t n = set->n - set->n_taken < MANY ? set->n - set->n_taken : MANY;
	size_t n_ours = fl_motion_take_all(c, n), i = 0;
	int err = 0;

	for (*bad = set->n_taken; i < n_ours && !err; i++)
		err = check(set, set->n_taken + i);
	*bad += err ? i - 1 : n_ours;
	set->n_taken += (uint32_t)n_ours;
	return err || n_ours == n ? err : FLE_BUSY;
}

int fl_set_take(struct fl_set *set, size_t *bad)
{
	int err = 0;

	while (set->n_taken < set->n && !err)
		err = take_some(set, bad);
	return err;
}

static size_t first_row(const struct fl_set *set)
{
	size_t i = 0;

	while (!is_row(&set->changes[i]))
		i++;
	return i;
}

/* Can the set be committed under the threads there are? */
static int verify(const struct fl_set *set, size_t *bad)
{
	if (set->quiet)
		return 0;
	if (set->any_row && !is_alone()) {
		*bad = first_row(set);
		return FLE_THREADS;
	}
	return fl_sync_ready();
}

/* ---- phases ------------------------------------------------------------ */

/* `to`: the new bytes of a move. */
typedef void write_fn(uintptr_t at, const struct fl_move *, const uint8_t *to);

/* Write each stretch of the place that changes. */
static inline void each_move(const struct fl_set *set, size_t i, write_fn *write)
{
	const struct fl_change *c = &set->changes[i];
	const struct fl_wide *w = set->wide ? &set->wide[i] : NULL;
	const struct fl_patch *p = c->patch;
	struct fl_move m[FL_ARCH_MOVES];

	if (w && w->is_all) {
		write(w->at, &w->move, w->bytes);
		return;
	}
	for (int n = fl_arch_moves(p, c->from, c->to, m), k = 0; k < n; k++)
		write(p->at + (uintptr_t)p->view, &m[k], p->bytes[c->to] + m[k].start);
}

static void write_park(uintptr_t at, const struct fl_move *m, const uint8_t *to)
{
	if (m->early)
		fl_arch_flip(at + m->head_at, &to[m->head_at - m->start], m->head_bytes);
	else if (m->park_bytes)
		fl_arch_flip(at + m->park_at, m->park, m->park_bytes);
}

/* All bytes except the park and the head, which lie side by side or are the same bytes. */
static void write_tail(uintptr_t at, const struct fl_move *m, const uint8_t *to)
{
	size_t first = m->park_at < m->head_at ? m->park_at : m->head_at;
	size_t park_end = m->park_at + m->park_bytes, head_end = m->head_at + m->head_bytes;
	size_t end = park_end > head_end ? park_end : head_end;

	if (!m->park_bytes)
		return;
	fl_arch_store_bytes(at + m->start, to, first - m->start);
	fl_arch_store_bytes(at + end, to + (end - m->start), m->end - end);
}

static void write_head(uintptr_t at, const struct fl_move *m, const uint8_t *to)
{
	const uint8_t *bytes = &to[m->head_at - m->start];

	if (m->early)
		return;
	if (m->alone)
		fl_arch_store_bytes(at + m->head_at, bytes, m->head_bytes);
	else
		fl_arch_flip(at + m->head_at, bytes, m->head_bytes);
}

/* A set may be larger than the cache. Each pass goes the other way than the pass before,
 * because the places that came last then are still cached. Places were taken from the
 * first on, so this pass begins with the last. */
static void park_set(struct fl_set *set)
{
	for (size_t i = set->n; i-- > 0;)
		if (is_wide(&set->changes[i]))
			each_move(set, i, write_park);
	FL_POINT("commit.park");
}

static void write_tails(const struct fl_set *set)
{
	for (size_t i = 0; i < set->n; i++)
		if (is_wide(&set->changes[i]))
			each_move(set, i, write_tail);
	FL_POINT("commit.tail");
}

/* The last store of a change that is no switch in one store. */
__attribute__((noinline))
static void store_head(const struct fl_set *set, size_t i)
{
	const struct fl_change *c = &set->changes[i];

	if (is_wide(c))
		each_move(set, i, write_head);
	else
		fl_store_at_once(c);
	fl_set_note_inner(c);
}

/* The last store of a change. */
static inline void store_last(const struct fl_set *set, size_t i)
{
	const struct fl_change *c = &set->changes[i];

	if (is_switch(c))
		fl_patch_flip(c->patch, c->to);
	else
		store_head(set, i);
}

/* The place is at rest again. Until the next sync a core may still meet the old head or
 * the park, whatever is done to the place next. */
static inline void settle(const struct fl_change *c)
{
	c->patch->state = c->to;
	fl_motion_leave_of(c->patch);
}

/* A store to text that other cores execute takes long. As many such stores as the
 * processor has room for are on their way at once, if no other stores are between them.
 * Some stores of wide changes are atomic: nothing is on its way behind an atomic one. */
static void write_heads(struct fl_set *set)
{
	const size_t many = set->any_wide ? 1 : 256;

	for (size_t end = set->n, from; end > 0; end = from) {
		from = end > many ? end - many : 0;
		for (size_t i = end; i-- > from;) {
			if (i >= FL_AHEAD)
				__builtin_prefetch(set->changes[i - FL_AHEAD].patch, 1);
			store_last(set, i);
		}
		for (size_t i = end; i-- > from;)
			settle(&set->changes[i]);
	}
	set->n_taken = 0;
	set->any_row = false;
	FL_POINT("commit.head");
}

int fl_set_begin(struct fl_set *set, size_t *bad)
{
	int err = fl_sync ? fl_set_take(set, bad) : FLE_UNOPENED;

	if (!err)
		err = verify(set, bad);
	if (err) {
		fl_set_abandon(set);		/* nothing has been written */
		return err;
	}
	set->phase = set->any_wide ? PARK : HEAD;
	if (set->any_wide)
		park_set(set);
	else
		write_heads(set);
	set->ticket = fl_sync_ticket();
	return 0;
}

int fl_set_step(struct fl_set *set)
{
	switch (++set->phase) {
	case TAIL:
		write_tails(set);
		break;
	case HEAD:
		write_heads(set);
		break;
	default:
		return 0;
	}
	set->ticket = fl_sync_ticket();
	return 1;
}

void fl_set_wait(const struct fl_set *set)
{
	fl_sync_pass(set->ticket);
}

bool fl_set_passed(const struct fl_set *set)
{
	return fl_sync_passed(set->ticket);
}

bool fl_set_stored(const struct fl_set *set)
{
	return set->phase >= HEAD;
}

/* A change that no order of stores can make under running threads is made while they are
 * held. */
static int commit_held(struct fl_set *set, size_t *bad)
{
	int err;

	set->held = true;
	err = fl_set_take(set, bad);
	if (!err)
		err = fl_set_store_held(set, bad);
	set->held = false;
	fl_set_abandon(set);			/* after success nothing is taken any more */
	return err;
}

/* Signals are blocked: a handler might come to a place where this thread holds
 * others, and would wait there for the very code that it interrupted. */
int fl_set_commit(struct fl_set *set, size_t *bad)
{
	uint64_t signals;
	int err;

	fl_os_signals_block(&signals);
	err = fl_set_begin(set, bad);
	if (err == FLE_THREADS || err == FLE_STRADDLE)
		err = commit_held(set, bad);
	else if (!err)
		do
			fl_set_wait(set);
		while ((err = fl_set_step(set)) > 0);
	fl_os_signals_restore(&signals);
	return err;
}

int fl_patch_open(const char *sync)
{
	struct fl_calibration c;
	bool again = fl_sync != NULL;
	int err = fl_os_copies_open();

	if (!err)
		err = fl_sync_choose(sync);
	if (err || again)
		return err;
	if (!fl_calibration_load(&c) && c.line)
		fl_tactic_trust_lines();
	return fl_fork_open();
}

void fl_patch_close(void)
{
	if (fl_sync)
		fl_sync_close();
}
