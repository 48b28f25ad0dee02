/*
 * word.c - the paper's word patch: blocking, and as start and finish.
 *
 * PROTOCOL (Figures 4 to 7), for a word that lies across two cache lines
 *	lock	the first byte becomes int3; whoever finds int3 has lost
 *	wait	T_max: no core has the old front with what comes next
 *	back	the bytes in the second line, one store
 *	wait	T_max: no core has the new front with the old back
 *	front	the bytes in the first line, one store, which takes int3 away
 *	A word within one line is one store and needs none of this.
 * INVARIANT (the paper's) no thread runs a front and a back of different age.
 * WHY	T_max bounds how long a core may hold what it fetched. It says nothing
 *	of how long a store may wait in the patcher's store buffer, which is why
 *	PAPER_FENCED exists: the wait then begins when the store is visible.
 * FAILURE a place that another thread holds, and the table of starts full.
 */
#include "paper.h"

#include <string.h>

static uint64_t ticks_now(void)
{
	return __builtin_ia32_rdtsc();
}

/* ordering: none in the printed form, and that is what it measures. */
static void fence_if_asked(void)
{
	if (paper_stores == PAPER_FENCED)
		__builtin_ia32_mfence();
}

static bool is_elapsed(uint64_t since)
{
	return ticks_now() - since > paper_wait_ticks;
}

static void wait_out(void)
{
	uint64_t since = ticks_now();

	while (!is_elapsed(since))
		;
}

/* One store of eight bytes, whatever the alignment. */
static void store_word(void *at, uint64_t value)
{
	__asm__ volatile("movq %1, %0" : "=m"(*(uint64_t *)at) : "r"(value)
			 : "memory");
}

static bool int3_lock(void *address)
{
	return __atomic_exchange_n((uint8_t *)address, PAPER_INT3,
				   __ATOMIC_SEQ_CST) != PAPER_INT3;
}

/* How many of the word's bytes lie in the first line: 1 to 7. */
static unsigned int front_bytes(const void *address)
{
	return PAPER_LINE - (unsigned int)((uintptr_t)address % PAPER_LINE);
}

/* Both halves are stored as the aligned word they lie in. Its other bytes stay
 * what they are: the paper wants updates disjoint within eight bytes. */
static void write_back(void *address, uint64_t value)
{
	unsigned int front = front_bytes(address);
	unsigned char *line = (unsigned char *)address + front;
	uint64_t word;

	memcpy(&word, line, sizeof(word));
	memcpy(&word, (unsigned char *)&value + front, 8 - front);
	store_word(line, word);
}

static void write_front(void *address, uint64_t value)
{
	unsigned int front = front_bytes(address);
	unsigned char *last = (unsigned char *)address + front - 8;
	uint64_t word;

	memcpy(&word, last, sizeof(word));
	memcpy((unsigned char *)&word + 8 - front, &value, front);
	store_word(last, word);
}

bool paper_patch(void *address, uint64_t value)
{
	if (!paper_straddles(address, 8)) {
		store_word(address, value);
		return true;
	}
	if (!int3_lock(address))
		return false;
	fence_if_asked();
	wait_out();
	write_back(address, value);
	fence_if_asked();
	wait_out();
	write_front(address, value);
	return true;
}

/* ---- start and finish ---------------------------------------------------- */

enum state { FINISHED, FIRST_WAIT, SECOND_WAIT };

static struct patch {
	void *address;		/* 0: free; W claim_patch(), once */
	uint64_t value;		/* these three: under lock, or by the holder */
	uint64_t since;		/* of the place's int3 before FIRST_WAIT */
	enum state state;
	bool lock;
} patches[PAPER_PATCHES];

/* The place's own entry, or the free one it may claim; 0 when full. */
static struct patch *look_up(const void *address)
{
	size_t at = (size_t)((uintptr_t)address * 0x9e3779b97f4a7c15u >> 49);

	for (size_t i = 0; i < PAPER_PATCHES; i++) {
		struct patch *p = &patches[(at + i) % PAPER_PATCHES];
		void *owner = __atomic_load_n(&p->address, __ATOMIC_ACQUIRE);

		if (!owner || owner == address)
			return p;
	}
	return 0;
}

static struct patch *claim_patch(void *address)
{
	for (;;) {
		struct patch *p = look_up(address);
		void *none = 0;

		if (!p || p->address == address ||
		    __atomic_compare_exchange_n(&p->address, &none, address,
						false, __ATOMIC_SEQ_CST,
						__ATOMIC_SEQ_CST))
			return p;
	}
}

static bool try_lock(struct patch *p)
{
	return !__atomic_test_and_set(&p->lock, __ATOMIC_ACQUIRE);
}

static void unlock(struct patch *p)
{
	__atomic_clear(&p->lock, __ATOMIC_RELEASE);
}

bool paper_start_patch(void *address, uint64_t value)
{
	struct patch *p;

	if (!paper_straddles(address, 8)) {
		store_word(address, value);
		return true;
	}
	p = claim_patch(address);
	if (!p || !int3_lock(address))
		return false;
	fence_if_asked();
	while (!try_lock(p))
		;
	p->value = value;
	p->since = ticks_now();
	p->state = FIRST_WAIT;
	unlock(p);
	return true;
}

/* One step on; true when it was the last. Under the lock. */
static bool advance(struct patch *p)
{
	if (p->state == FINISHED)
		return true;
	if (!is_elapsed(p->since))
		return false;
	if (p->state == SECOND_WAIT) {
		write_front(p->address, p->value);
		p->since = 0;
		p->state = FINISHED;
		return true;
	}
	write_back(p->address, p->value);
	fence_if_asked();
	p->since = ticks_now();
	p->state = SECOND_WAIT;
	return false;
}

bool paper_finish_patch(void *address)
{
	struct patch *p;
	bool is_done;

	if (!paper_straddles(address, 8))
		return true;
	p = look_up(address);
	if (!p || !p->address)
		return true;		/* nothing was started here */
	if (!try_lock(p))
		return false;
	is_done = advance(p);
	unlock(p);
	return is_done;
}
