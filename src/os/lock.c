/*
 * lock.c - a lock between the threads of a process, by futex.
 *
 * States: 0 free, 1 held, 2 held and perhaps awaited (Drepper, "Futexes are
 * tricky", 2011, section 5). The waiter that gets it leaves 2 behind, at worst
 * one wake too many.
 */
#include "os/os.h"

enum { FREE, HELD, AWAITED, WAIT_US = 100000 };

/* Signals are blocked when it succeeds, and as they were when it does not. */
static bool try_lock(uint32_t *lock, uint32_t mark, uint64_t *signals)
{
	uint32_t expected = FREE;

	fl_os_signals_block(signals);
	/* (A) pairs with (B) */
	if (__atomic_compare_exchange_n(lock, &expected, mark, false,
					__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return true;
	fl_os_signals_restore(signals);
	return false;
}

bool fl_os_trylock(uint32_t *lock, uint64_t *signals)
{
	return try_lock(lock, HELD, signals);
}

/* A waiter's signals are open: the holder may wait for every thread to answer
 * one (patch/handshake.c). */
void fl_os_lock(uint32_t *lock, uint64_t *signals)
{
	if (try_lock(lock, HELD, signals))
		return;
	do {
		uint32_t held = HELD;

		/* ordering: none, the lock is taken in try_lock() */
		__atomic_compare_exchange_n(lock, &held, AWAITED, false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
		fl_os_futex_wait(lock, AWAITED, WAIT_US);
	} while (!try_lock(lock, AWAITED, signals));
}

void fl_os_unlock(uint32_t *lock, const uint64_t *signals)
{
	/* (B) pairs with (A) */
	if (__atomic_exchange_n(lock, FREE, __ATOMIC_RELEASE) == AWAITED)
		fl_os_futex_wake(lock, 1);
	fl_os_signals_restore(signals);
}
