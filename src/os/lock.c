/*
 * lock.c - locks between the threads of a process, by futex, and counts of threads.
 *
 * States: 0 free, 1 held, 2 held and perhaps awaited (Drepper, "Futexes are
 * tricky", 2011, section 5). The waiter that gets it leaves 2 behind, at worst
 * one wake too many.
 *
 * Hides that both end with the process. A child that has a copy of its memory (fork,
 * a bare clone) has the forking thread alone: whoever else held a lock or was counted
 * is not there. A child that shares the memory (vfork) has all of them. So a word
 * bears the era it was written in, and what an earlier era wrote is nothing. The era
 * stands in a page that the kernel wipes in a copy (OS15).
 *
 *	era 0 in the page	this is a copy; its first caller begins the next era
 *	`eras`			the last that was begun, in memory that is copied
 */
#include <sys/mman.h>

#include "os/os.h"

enum { FREE, HELD, AWAITED, STATES = 4, WAIT_US = 100000 };

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

/* `eras` is first: a copy of a copy that is made in between begins one of its own. */
static uint32_t begin_era(uint32_t *at)
{
	uint32_t none = 0, next = load_relaxed(&eras) + 1;

	store_relaxed(&eras, next);
	/* ordering: none, all that begin it say the same */
	return __atomic_compare_exchange_n(at, &none, next, false, __ATOMIC_RELAXED,
					   __ATOMIC_RELAXED) ? next : none;
}

static uint32_t this_era(void)
{
	uint32_t *at = load_acquire(&page);			/* (C) pairs with (D) */
	uint32_t era = at ? load_relaxed(at) : eras;

	return era ? era : begin_era(at);
}

/* ---- locks ------------------------------------------------------------------------ */

static uint32_t word_of(uint32_t state)
{
	return this_era() * STATES + state;
}

bool fl_os_is_locked(const uint32_t *lock)
{
	uint32_t word = load_relaxed(lock);

	return word % STATES != FREE && word / STATES == this_era();
}

bool fl_os_was_locked(const uint32_t *lock)
{
	return load_relaxed(lock) % STATES != FREE && !fl_os_is_locked(lock);
}

/* Signals are blocked when it succeeds, and as they were when it does not. */
static bool try_lock(uint32_t *lock, uint32_t mark, uint64_t *signals)
{
	uint32_t was;

	fl_os_signals_block(signals);
	was = load_relaxed(lock);
	/* (A) pairs with (B) */
	if ((was % STATES == FREE || was / STATES != this_era()) &&
	    __atomic_compare_exchange_n(lock, &was, word_of(mark), false,
					__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return true;
	fl_os_signals_restore(signals);
	return false;
}

bool fl_os_trylock(uint32_t *lock, uint64_t *signals)
{
	return try_lock(lock, HELD, signals);
}

bool fl_os_lock_within(uint32_t *lock, uint64_t us, uint64_t *signals)
{
	enum { PAUSE_US = 200 };
	bool got;

	while (!(got = try_lock(lock, HELD, signals)) && us > PAUSE_US) {
		fl_os_sleep_us(PAUSE_US);
		us -= PAUSE_US;
	}
	return got;
}

/* A waiter's signals are open: the holder may wait for every thread to answer
 * one (patch/handshake.c). */
void fl_os_lock(uint32_t *lock, uint64_t *signals)
{
	if (try_lock(lock, HELD, signals))
		return;
	do {
		uint32_t held = word_of(HELD);

		/* ordering: none, the lock is taken in try_lock() */
		__atomic_compare_exchange_n(lock, &held, word_of(AWAITED), false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
		fl_os_futex_wait(lock, word_of(AWAITED), WAIT_US);
	} while (!try_lock(lock, AWAITED, signals));
}

void fl_os_unlock(uint32_t *lock, const uint64_t *signals)
{
	/* (B) pairs with (A) */
	if (__atomic_exchange_n(lock, FREE, __ATOMIC_RELEASE) % STATES == AWAITED)
		fl_os_futex_wake(lock, 1);
	fl_os_signals_restore(signals);
}

/* ---- counts ----------------------------------------------------------------------- */

uint32_t fl_os_count(const uint64_t *count)
{
	/* ordering: none, the caller's */
	uint64_t word = __atomic_load_n(count, __ATOMIC_SEQ_CST);

	return word >> 32 == this_era() ? (uint32_t)word : 0;
}

/* Who was counted in an earlier era may leave in this one: its handler forked. */
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
