/*
 * lock.c - a lock between the threads of a process, by futex.
 *
 * States: 0 free, 1 held, 2 held and perhaps awaited (Drepper, "Futexes are
 * tricky", 2011, section 5). The waiter that gets it leaves 2 behind, at worst
 * one wake too many.
 */
#include "os/os.h"

enum { FREE, HELD, AWAITED, WAIT_US = 100000 };

void fl_os_lock(uint32_t *lock, uint64_t *signals)
{
	uint32_t expected = FREE;

	fl_os_signals_block(signals);
	if (__atomic_compare_exchange_n(lock, &expected, HELD, false, /* (A) pairs with (B) */
					__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	/* (A) pairs with (B) */
	while (__atomic_exchange_n(lock, AWAITED, __ATOMIC_ACQUIRE))
		fl_os_futex_wait(lock, AWAITED, WAIT_US);
}

void fl_os_unlock(uint32_t *lock, const uint64_t *signals)
{
	/* (B) pairs with (A) */
	uint32_t was = __atomic_exchange_n(lock, FREE, __ATOMIC_RELEASE);

	if (was == AWAITED)
		fl_os_futex_wake(lock, 1);
	fl_os_signals_restore(signals);
}
