/*
 * text-asked.c - what the program asks for its pages, while flick stores to some.
 *
 * Hides that the program's mprotect() passes through here (agent/protect.c), and which
 * calls of mprotect() need to.
 *
 * INVARIANT	A page that is stored to at its own address stays writable, whatever the
 *	program's mprotect() asks for it.
 * WHY	All addresses of an area, or of one about to be made, lie in `reach` before flick
 *	looks at the rights of its pages. A call for a page in `reach` takes the lock of
 *	areas, so the call knows which pages are open, and asks for these with PROT_WRITE,
 *	or not at all. What the loader has just mapped (fl_text_told()) the program has not
 *	got, so it has asked nothing for it.
 *	A call that looked before `reach` grew is counted in `asking`, and waited for. Raw
 *	system calls, and the C library's own, pass by: docs/GUEST.md.
 */
#include <sys/mman.h>

#include "text.h"

/* There are several ranges, so that memory between two modules is in none. W under the lock. */
enum { RANGES = 32 };
static struct { uintptr_t lo, hi; } reach[RANGES];	/* each grows */
static uint32_t n_reach;
static uint64_t asking;				/* threads that look at it */

bool fl_text_reaches(uintptr_t lo, uintptr_t hi)
{
	const uint32_t n = load_acquire(&n_reach);	/* (C) pairs with (D) */

	for (uint32_t i = 0; i < n; i++)
		if (load_relaxed(&reach[i].lo) < hi && lo < load_relaxed(&reach[i].hi))
			return true;
	return false;
}

static bool is_reached(const struct fl_area *a)
{
	for (uint32_t i = 0; i < n_reach; i++)
		if (reach[i].lo <= a->lo && a->hi <= reach[i].hi)
			return true;
	return false;
}

/* Not for ever: a thread that left the program's mprotect() by a jump stays counted. */
static void wait_for_askers(void)
{
	enum { PAUSE_US = 50, PATIENCE_US = 20000 };

	for (int us = 0; fl_os_count(&asking) && us < PATIENCE_US; us += PAUSE_US)
		fl_os_sleep_us(PAUSE_US);
}

/* When no range is left, the last one grows to take the area in. */
bool fl_text_reach_out(const struct fl_area *a)
{
	const uint32_t i = n_reach < RANGES ? n_reach : RANGES - 1;
	const bool is_new = n_reach < RANGES;

	if (is_reached(a))
		return false;
	if (is_new || a->lo < reach[i].lo)
		store_relaxed(&reach[i].lo, a->lo);
	if (a->hi > reach[i].hi)
		store_relaxed(&reach[i].hi, a->hi);
	store_release(&n_reach, i + 1);			/* (D) pairs with (C) */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);	/* ordering: (D) pairs with (C) */
	wait_for_askers();
	return true;
}

/* Ask for pages that are not in reach: 0 or -errno; 1: they are in reach. */
static int ask_apart(uintptr_t lo, size_t n, int prot, int pkey)
{
	int err = 1;

	fl_os_count_by(&asking, 1);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);	/* ordering: (C) pairs with (D) */
	if (!fl_text_reaches(lo, lo + n)) {			/* (C) pairs with (D) */
		FL_POINT("text.apart");
		err = fl_os_protect_for(lo, n, prot, pkey);
	}
	fl_os_count_by(&asking, -1);			/* (C) pairs with (D) */
	return err;
}

/* Ask for pages of an area that are all open or all not, and wanted alike. A system that
 * forbids pages to be writable and executable at once refuses such pages what they have
 * already: that is no error if the program asks for nothing new. */
static int ask_alike(struct fl_area *a, uintptr_t lo, uintptr_t hi, int prot, int pkey)
{
	const bool keeps = fl_area_is_open(a, lo) && !a->view;
	int err = fl_os_protect_for(lo, hi - lo, keeps ? prot | PROT_WRITE : prot, pkey);

	if (err && !(keeps && pkey < 0 && err == -EACCES && prot == *fl_area_wanted(a, lo)))
		return err;
	__builtin_memset(fl_area_wanted(a, lo), prot & (PROT_READ | PROT_WRITE | PROT_EXEC),
			 (hi - lo) / FL_PAGE);
	return 0;
}

/* The first address from `lo` on, below `hi`, that is in an area; else `hi`. */
static uintptr_t next_area(uintptr_t lo, uintptr_t hi)
{
	for (const struct fl_area *a = fl_areas; a; a = a->next)
		if (a->hi > lo && a->lo < hi)
			hi = a->lo > lo ? a->lo : lo;
	return hi;
}

static int ask_parts(uintptr_t lo, uintptr_t hi, int prot, int pkey)
{
	int err = 0;

	for (uintptr_t end; lo < hi && !err; lo = end) {
		struct fl_area *a = fl_area_of(lo);

		end = a ? fl_area_alike(a, lo, a->hi < hi ? a->hi : hi) : next_area(lo, hi);
		err = a ? ask_alike(a, lo, end, prot, pkey) :
			  fl_os_protect_for(lo, end - lo, prot, pkey);
	}
	return err;
}

int fl_text_protect(uintptr_t lo, size_t n, int prot, int pkey)
{
	uintptr_t hi = fl_round_up(lo + n, FL_PAGE);
	uint64_t signals;
	int err;

	if (lo % FL_PAGE || hi <= lo)
		return fl_os_protect_for(lo, n, prot, pkey);
	err = ask_apart(lo, hi - lo, prot, pkey);
	if (err <= 0)
		return err;
	fl_os_lock(&fl_text_lock, &signals);
	err = ask_parts(lo, hi, prot, pkey);
	fl_os_unlock(&fl_text_lock, &signals);
	return err;
}
