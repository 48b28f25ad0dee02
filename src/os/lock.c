/*
 * lock.c - locks between the threads of a process, by futex, and counts of threads.
 *
 * States: 0 free, 1 held, 2 held and perhaps awaited (Drepper, "Futexes are
 * tricky", 2011, section 5). A waiter that gets the lock stores 2, which costs at worst
 * one wake too many. A lock marked OUTSIDE is held by flick's own process. That process
 * may be killed alone (os/outside.c): then the lock is free.
 *
 * Hides that locks and counts end with the process. A child that has a copy of the memory
 * (fork, a bare clone) has the forking thread alone: no other thread that held a lock or
 * was counted is there. A child that shares the memory (vfork) has all of them. So a word
 * bears the era it was written in, and a word of an earlier era counts as 0. The era
 * stands in a page that the kernel wipes in a copy (OS15).
 *
 *	era 0 in the page	this is a copy; its first caller begins the next era
 *	`eras`			the last era that was begun, in memory that is copied
 */
#include <sys/mman.h>

#include "os/clone.h"
#include "os/os.h"

enum { FREE, HELD, AWAITED, OUTSIDE = 4, STATES = 8, WAIT_US = 100000 };

/* ---- which copy of the memory this is ------------------------------------------ */

static uint32_t *page;			/* NULL: not open, this is the first era */
static uint32_t eras = 1;

int fl_os_copies_open(void)
{
	uint32_t *none = NULL, *p;
	int err;

	if (load_acquire(&page))				/* (C) pairs with (D) */
		return 0;
	p = fl_os_map(NULL, FL_PAGE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (fl_is_err(p))
		return (int)(intptr_t)p;
	err = fl_os_advise(p, FL_PAGE, MADV_WIPEONFORK);
	*p = eras;
	/* (D) pairs with (C) */
	if (err || !__atomic_compare_exchange_n(&page, &none, p, false, __ATOMIC_RELEASE,
						__ATOMIC_RELAXED))
		fl_os_unmap(p, FL_PAGE);
	return err;
}

/* `eras` is stored first: a copy that is made between the two stores begins its own era. */
static uint32_t begin_era(uint32_t *at)
{
	uint32_t none = 0, next = load_relaxed(&eras) + 1;

	store_relaxed(&eras, next);
	/* ordering: none, all threads that begin this era store the same */
	return __atomic_compare_exchange_n(at, &none, next, false, __ATOMIC_RELAXED,
					   __ATOMIC_RELAXED) ? next : none;
}

static uint32_t this_era(void)
{
	uint32_t *at = load_acquire(&page);			/* (C) pairs with (D) */
	uint32_t era = at ? load_relaxed(at) : eras;

	return era ? era : begin_era(at);
}

/* ---- who holds what --------------------------------------------------------------- */

static struct fl_lock *ranked[FL_N_LOCKS];	/* those that have been taken */

/* No other thread stores this thread's id meanwhile. A holder from before the process was
 * copied may have had the same id: so the lock must be held in this era, too. */
static bool is_mine(const struct fl_lock *l)
{
	int tid = load_relaxed(&l->holder);

	return tid && tid == fl_os_thread_id() && fl_os_is_locked(l);
}

static bool holds_from(int rank)
{
	for (; rank < FL_N_LOCKS; rank++) {
		const struct fl_lock *l = load_relaxed(&ranked[rank]);

		if (l && is_mine(l))
			return true;
	}
	return false;
}

bool fl_os_holds_locks(void)
{
	return holds_from(FL_LOCK_ANY + 1);
}

void fl_os_lock_awaited(const struct fl_lock *l)
{
	FL_MUST(!l->rank || !holds_from(l->rank));
}

static void note_holder(struct fl_lock *l, int tid)
{
	store_relaxed(&l->holder, tid);
	if (l->rank)
		store_relaxed(&ranked[l->rank], l);
}

/* ---- locks ------------------------------------------------------------------------ */

static uint32_t word_of(uint32_t state)
{
	return this_era() * STATES + state;
}

static bool is_free(uint32_t word)
{
	return word % OUTSIDE == FREE || word / STATES != this_era() ||
	       ((word & OUTSIDE) && fl_os_outside_died());
}

bool fl_os_is_locked(const struct fl_lock *l)
{
	return !is_free(load_relaxed(&l->word));
}

bool fl_os_was_locked(const struct fl_lock *l)
{
	return load_relaxed(&l->word) % OUTSIDE != FREE && !fl_os_is_locked(l);
}

/* On success signals are blocked; else they are as they were. */
static bool try_lock(struct fl_lock *l, uint32_t mark, int tid, uint64_t *signals)
{
	uint32_t was, is = word_of(mark) | (fl_os_is_outside() ? OUTSIDE : 0);

	fl_os_signals_block(signals);
	was = load_relaxed(&l->word);
	/* (A) pairs with (B) */
	if (is_free(was) && __atomic_compare_exchange_n(&l->word, &was, is, false,
							__ATOMIC_ACQUIRE,
							__ATOMIC_RELAXED)) {
		note_holder(l, tid);
		return true;
	}
	fl_os_signals_restore(signals);
	return false;
}

bool fl_os_trylock_by(struct fl_lock *l, int tid, uint64_t *signals)
{
	return try_lock(l, HELD, tid, signals);
}

bool fl_os_lock_within(struct fl_lock *l, uint64_t us, uint64_t *signals)
{
	enum { PAUSE_US = 200 };
	bool got;

	fl_os_lock_awaited(l);
	while (!(got = try_lock(l, HELD, fl_os_thread_id(), signals)) && us > PAUSE_US) {
		fl_os_sleep_us(PAUSE_US);
		us -= PAUSE_US;
	}
	return got;
}

/* A waiter does not block its signals, because it may wait for long. It sleeps, so a holder
 * that synchronises by a signal does not wait for the waiter (patch/handshake.c). */
bool fl_os_lock_unless(struct fl_lock *l, bool (*gives_up)(void), uint64_t *signals)
{
	int tid = fl_os_thread_id();

	fl_os_lock_awaited(l);
	if (try_lock(l, HELD, tid, signals))
		return true;
	do {
		uint32_t held = load_relaxed(&l->word);
		uint32_t awaited = held - held % OUTSIDE + AWAITED;

		if (gives_up())
			return false;
		/* ordering: none, the lock is taken in try_lock() */
		if (held % OUTSIDE == HELD)
			__atomic_compare_exchange_n(&l->word, &held, awaited, false,
						    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
		if (fl_os_futex_wait(&l->word, awaited, WAIT_US) == -ETIMEDOUT)
			fl_os_outside_end_alone();	/* the holder is gone then, too */
	} while (!try_lock(l, AWAITED, tid, signals));
	return true;
}

static bool never(void)
{
	return false;
}

void fl_os_lock(struct fl_lock *l, uint64_t *signals)
{
	fl_os_lock_unless(l, never, signals);
}

void fl_os_unlock(struct fl_lock *l, const uint64_t *signals)
{
	store_relaxed(&l->holder, 0);
	/* (B) pairs with (A) */
	if (__atomic_exchange_n(&l->word, FREE, __ATOMIC_RELEASE) % OUTSIDE == AWAITED)
		fl_os_futex_wake(&l->word, 1);
	fl_os_signals_restore(signals);
}

void fl_os_lock_taken(struct fl_lock *l)
{
	store_relaxed(&l->word, word_of(HELD));
	note_holder(l, fl_os_thread_id());
}

void fl_os_lock_left(struct fl_lock *l)
{
	store_relaxed(&l->holder, 0);
	store_relaxed(&l->word, FREE);
}

/* ---- counts ----------------------------------------------------------------------- */

uint32_t fl_os_count(const uint64_t *count)
{
	/* ordering: none, the caller's */
	uint64_t word = __atomic_load_n(count, __ATOMIC_SEQ_CST);

	return word >> 32 == this_era() ? (uint32_t)word : 0;
}

/* The era is not asked: threads of an earlier copy may still be counted, too. */
bool fl_os_was_counted(const uint64_t *count)
{
	return (uint32_t)load_relaxed(count) != 0;
}

/* A thread whose handler forked was counted in an earlier era, and is counted down in this
 * one: a count of 0 stays 0. */
void fl_os_count_by(uint64_t *count, int by)
{
	uint64_t was = load_relaxed(count), is;

	do {
		uint32_t n = was >> 32 == this_era() ? (uint32_t)was : 0;

		if (!n && by < 0)
			return;
		is = (uint64_t)this_era() << 32 | (n + (uint32_t)by);
		/* ordering: none, the caller's */
	} while (!__atomic_compare_exchange_n(count, &was, is, false, __ATOMIC_SEQ_CST,
					      __ATOMIC_RELAXED));
}
