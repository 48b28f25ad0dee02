/*
 * commit.c - make staged changes live while every thread keeps running.
 *
 * A change of one byte, or of bytes that all lie in one aligned word of a
 * single instruction, is one store (HW1, HW2). Any other passes through three
 * phases; all wide changes of a set share each phase's sync, so a commit costs
 * three syncs whether it holds one site or ten thousand.
 *
 * PROTOCOL
 *	phase	bytes at the site	a thread that arrives after the sync
 *	PARK	[park][old tail]	acts as `new`, or passes without effect
 *	TAIL	[park][new tail]	the same
 *	HEAD	[new head][new tail]	runs `new`
 *	`park` is a trap (act.c makes the thread act as `new`), or, where one
 *	exists, a head under which any tail is a harmless instruction of the
 *	same length: `test $imm32,%eax` for a call, `ret` for a tail jump. Such
 *	a site never traps, so it may be changed while threads block SIGTRAP.
 *	A row of NOPs that becomes one instruction has a trap at each of its
 *	starts. The set is published before its first trap: (A) in trap.c.
 * INVARIANT
 *	1 No core executes a tail byte while TAIL rewrites it.
 *	2 Nothing fails after the first store.
 * WHY
 *	1 Tail bytes are reached only through the head, or through an interior
 *	  start of a row of NOPs, which holds a trap. The sync that ends PARK
 *	  leaves no core with a head fetched before (OS1). A thread that is not
 *	  running may still have its program counter at an interior start, so a
 *	  row is refused while there are other threads (FLE_THREADS).
 *	  Under a harmless head the torn tail is an operand nobody uses.
 *	2 All that may fail is in verify() and fl_trap_publish().
 * FAILURE
 *	Only before PARK; then no byte has changed.
 */
#include <signal.h>

#include "os/os.h"
#include "patch.h"
#include "sync.h"
#include "tactic.h"
#include "trap.h"

/* First and last byte that differ; false when none does. */
static bool span(const struct fl_change *c, size_t *first, size_t *last)
{
	const uint8_t *a = c->patch->bytes[c->from], *b = c->patch->bytes[c->to];
	bool any = false;

	*first = *last = 0;
	for (size_t i = 0; i < c->patch->len; i++) {
		if (a[i] == b[i])
			continue;
		if (!any)
			*first = i;
		*last = i;
		any = true;
	}
	return any;
}

/* Is the instruction at the head the only one, before and after? */
static bool is_row(const struct fl_change *c)
{
	return c->patch->n_starts && (c->from == FL_OLD || c->to == FL_OLD);
}

enum fl_tactic fl_tactic_of(const struct fl_change *c)
{
	size_t first, last;

	if (!span(c, &first, &last))
		return FL_N_TACTICS;			/* nothing to do */
	if (is_row(c))
		return FL_WIDE;
	if (first == last)
		return FL_FLIP;
	if ((c->patch->at + first) / 8 == (c->patch->at + last) / 8)
		return FL_WORD;
	return FL_WIDE;
}

/* ---- what may fail -------------------------------------------------------- */

/* Flick's own thread executes no site. */
static int any_thread(void *arg, int tid)
{
	(void)arg;
	return tid != fl_os_own_thread();
}

static int blocks_trap(void *arg, int tid)
{
	uint64_t mask;
	int err;

	(void)arg;
	if (tid == fl_os_own_thread())
		return 0;
	err = fl_os_thread_blocked(tid, &mask);
	if (err)
		return err != -ESRCH && err != -ENOENT;		/* cannot tell */
	return mask >> (SIGTRAP - 1) & 1;
}

/* The C library blocks every signal for a moment around thread creation: only
 * a thread that keeps doing so is in the way. */
static bool trap_stays_blocked(void)
{
	enum { TRIES = 20, PAUSE_US = 500 };

	for (int i = 0; i < TRIES; i++) {
		if (fl_os_threads(fl_os_tid(), blocks_trap, NULL) == 0)
			return false;
		fl_os_sleep_us(PAUSE_US);
	}
	return true;
}

/* Can the set be committed under the threads there are? `traps` says whether
 * one of them may meet a trap. */
static int verify_threads(const struct fl_set *set, bool *traps, size_t *bad)
{
	*traps = false;
	if (set->quiet || !fl_os_threads(fl_os_tid(), any_thread, NULL))
		return 0;
	for (size_t i = 0; i < set->n; i++) {
		const struct fl_change *c = &set->changes[i];

		if (c->tactic != FL_WIDE || !c->patch->park_is_trap)
			continue;
		*bad = i;
		if (is_row(c) && c->from == FL_OLD)
			return FLE_THREADS;
		*traps = true;
	}
	return *traps && trap_stays_blocked() ? FLE_TRAPBLOCK : 0;
}

static int verify_bytes(const struct fl_set *set, size_t *bad)
{
	for (size_t i = 0; i < set->n; i++) {
		const struct fl_change *c = &set->changes[i];

		*bad = i;
		if (__builtin_memcmp((const void *)c->patch->at,
				     c->patch->bytes[c->from], c->patch->len))
			return FLE_CHANGED;
	}
	return 0;
}

/* Where a store to byte `i` of the window goes. */
static uintptr_t place(const struct fl_patch *p, size_t i)
{
	return p->at + (uintptr_t)p->view + i;
}

/* ---- phases --------------------------------------------------------------- */

static void write_park(const struct fl_change *c)
{
	const struct fl_patch *p = c->patch;

	fl_arch_store_byte(place(p, p->head_at), p->park);
	for (size_t i = 0; is_row(c) && i < p->n_starts; i++)
		fl_arch_store_byte(place(p, p->starts[i]), FL_ARCH_TRAP);
}

static void write_tail(const struct fl_change *c)
{
	const struct fl_patch *p = c->patch;

	for (size_t i = 0; i < p->len; i++)
		if (i != p->head_at)
			fl_arch_store_byte(place(p, i), p->bytes[c->to][i]);
}

static void write_head(const struct fl_change *c)
{
	const struct fl_patch *p = c->patch;

	fl_arch_store_byte(place(p, p->head_at), p->bytes[c->to][p->head_at]);
}

static const struct phase {
	const char *name;
	void (*write)(const struct fl_change *);
} phases[] = {
	{ "commit.park", write_park },
	{ "commit.tail", write_tail },
	{ "commit.head", write_head },
};

/* A change of one store: a byte is a word of one. */
static void store_at_once(const struct fl_change *c)
{
	const uint8_t *to = c->patch->bytes[c->to];
	size_t first, last;

	if (!span(c, &first, &last))
		return;
	if (first == last)
		fl_arch_store_byte(place(c->patch, first), to[first]);
	else
		fl_arch_store_word(place(c->patch, first), to + first, last + 1 - first);
}

/* Every change that is one store; returns how many are not. */
static size_t store_words(const struct fl_set *set)
{
	size_t wide = 0;

	for (size_t i = 0; i < set->n; i++) {
		if (set->changes[i].tactic == FL_WIDE)
			wide++;
		else
			store_at_once(&set->changes[i]);
	}
	return wide;
}

static void run_phase(const struct fl_set *set, const struct phase *ph)
{
	for (size_t i = 0; i < set->n; i++)
		if (set->changes[i].tactic == FL_WIDE)
			ph->write(&set->changes[i]);
	FL_POINT(ph->name);		/* torture tests stop here */
	fl_sync->all_cores();
}

/* Past the last possible failure. */
static void write_set(const struct fl_set *set)
{
	size_t wide = store_words(set);

	for (size_t ph = 0; wide && ph < ARRAY_LEN(phases); ph++)
		run_phase(set, &phases[ph]);
	if (!wide)
		fl_sync->all_cores();
}

int fl_set_commit(struct fl_set *set, size_t *bad)
{
	uint64_t signals;
	bool traps;
	int err = verify_bytes(set, bad);

	if (!err)
		err = verify_threads(set, &traps, bad);
	if (!err && traps)
		err = fl_trap_publish(set);
	if (err)
		return err;			/* nothing has been written */
	fl_os_signals_block(&signals);		/* we meet no trap ourselves */
	write_set(set);
	fl_os_signals_restore(&signals);
	if (traps)
		fl_trap_withdraw();
	return 0;
}

int fl_patch_open(const char *sync)
{
	return fl_sync_choose(sync);
}

void fl_patch_close(void)
{
	fl_trap_close();
}
