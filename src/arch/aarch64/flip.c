/*
 * flip.c - the stores to text. Only patch/ may call them.
 *
 * An instruction is one aligned word, so one store of it is whole. The architecture lists
 * the instructions that may replace one another while another core executes them (HW2):
 * B, BL, NOP, BRK, SVC, HVC, SMC, ISB. The old and the new one must both be in the list. Plans
 * have no others (plan.c); each store looks once more, and stores nothing that is not in the
 * list.
 *
 * PROTOCOL	of a store that other cores execute (Arm ARM, "Concurrent modification and
 *		execution of instructions", and "Synchronization and coherency issues
 *		between data and instruction accesses")
 *	stlr	all that was stored before, and made coherent, is there before the new word
 *	dc cvau, dsb ish	the word is where fetches look		unless CTR_EL0.IDC
 *	ic ivau, dsb ish	no instruction cache holds the old word	unless CTR_EL0.DIC
 *	isb			this core fetches anew
 * INVARIANT
 *	1 A core that executes the new branch finds, where it leads, code as it was written.
 *	2 A core executes the old instruction or the new one.
 * WHY
 *	1 fl_arch_publish() has made that code coherent, and ended with a DSB, before the
 *	  store: what the Arm ARM's model forbids in MP where the message is an instruction.
 *	2 Both are in the list.
 * FAILURE
 *	None. Nobody promises how long a core goes on with the old instruction: patch/sync.h.
 */
#include "arch/arch.h"
#include "emit.h"

/* Bits of CTR_EL0. At I_LINE and D_LINE is the smallest line, in words, as a power of two. */
enum { I_LINE = 0, D_LINE = 16, IDC = 28, DIC = 29, POLICY = 14 };

static uint64_t cache_type(void)
{
	uint64_t ctr;

	__asm__("mrs %0, ctr_el0" : "=r"(ctr));
	return ctr;
}

static uintptr_t line_bytes(uint64_t ctr, int field)
{
	return (uintptr_t)4 << (ctr >> field & 15);
}

static void clean(uint64_t ctr, uintptr_t at, uintptr_t end)
{
	uintptr_t step = line_bytes(ctr, D_LINE);

	if (!(ctr >> IDC & 1))
		for (at &= -step; at < end; at += step)
			__asm__ volatile("dc cvau, %0" :: "r"(at) : "memory");
	__asm__ volatile("dsb ish" ::: "memory");
}

static void invalidate(uint64_t ctr, uintptr_t at, uintptr_t end)
{
	uintptr_t step = line_bytes(ctr, I_LINE);

	if (ctr >> DIC & 1)
		return;
	for (at &= -step; at < end; at += step)
		__asm__ volatile("ic ivau, %0" :: "r"(at) : "memory");
	__asm__ volatile("dsb ish" ::: "memory");
}

static void (*on_store)(uintptr_t at, size_t n);

bool fl_arch_on_store(void (*stored)(uintptr_t at, size_t n))
{
	on_store = stored;
	return true;
}

/* An instruction cache that is looked up by physical addresses alone holds nothing under the
 * address that another mapping gives it. */
bool fl_arch_may_alias(void)
{
	enum { PHYSICAL = 3 };

	return (cache_type() >> POLICY & 3) == PHYSICAL;
}

void fl_arch_publish(uintptr_t at, size_t n)
{
	uint64_t ctr = cache_type();

	clean(ctr, at, at + n);
	invalidate(ctr, at, at + n);
	__asm__ volatile("isb" ::: "memory");
}

static void make_seen(uintptr_t at, size_t n)
{
	fl_arch_publish(at, n);
	if (on_store)
		on_store(at, n);
}

int fl_a64_flip(uintptr_t at, fl_unit to)
{
	fl_unit old = load_relaxed((fl_unit *)at);

	if (!a64_is_exchangeable(old) || !a64_is_exchangeable(to))
		return FLE_EXCHANGE;
	/* ordering: none but fetch's: a core that executes it sees what was stored before */
	store_release((fl_unit *)at, to);
	make_seen(at, sizeof to);
	return 0;
}

void fl_arch_flip(uintptr_t at, const uint8_t *bytes, size_t n)
{
	fl_unit unit;

	if (n != sizeof unit)
		return;				/* no plan has such a move */
	__builtin_memcpy(&unit, bytes, sizeof unit);
	fl_a64_flip(at, unit);
}

/* A line is fetched word by word. */
void fl_arch_flip_line(uintptr_t at, const uint8_t *bytes, size_t n)
{
	fl_arch_flip(at, bytes, n);
}

void fl_arch_store_bytes(uintptr_t at, const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		store_relaxed((uint8_t *)at + i, bytes[i]);
	make_seen(at, n);
}
