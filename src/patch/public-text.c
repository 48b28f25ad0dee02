/*
 * public-text.c - flick/patch.h: which pages may be stored to.
 *
 * Hides the list of ranges that were made writable for the caller, and the rights
 * that they had before. Each range lies in one mapping. A range that is writable
 * anyway is not in the list.
 */
#include <sys/mman.h>

#include "fork.h"
#include "os/os.h"
#include "public.h"

enum { N_RANGES = 256 };

static struct range {
	uintptr_t lo, hi;		/* whole pages; lo == hi: free */
	int prot;
} ranges[N_RANGES];
static struct fl_lock lock = { .rank = FL_LOCK_RANGES };

struct request {
	uintptr_t lo, hi;		/* pages still to be looked at */
	int err;
};

static void list_lock(uint64_t *signals)
{
	fl_fork_enter_own();
	fl_os_lock(&lock, signals);
}

static void list_unlock(const uint64_t *signals)
{
	fl_os_unlock(&lock, signals);
	fl_fork_leave_own();
}

static int remember(uintptr_t lo, uintptr_t hi, int prot)
{
	for (size_t i = 0; i < N_RANGES; i++) {
		if (ranges[i].lo != ranges[i].hi)
			continue;
		ranges[i] = (struct range){ lo, hi, prot };
		return 0;
	}
	return -ENOSPC;
}

static int open_part(uintptr_t lo, uintptr_t hi, int prot)
{
	int err = prot & PROT_WRITE ? 0 : fl_text_open(lo, hi, FL_TEXT_CALLER);

	return err || prot & PROT_WRITE ? err : remember(lo, hi, prot);
}

/* Mappings come in ascending order and must leave no hole. */
static int open_mapping(void *arg, const struct fl_mapping *m)
{
	struct request *r = arg;
	uintptr_t hi = m->hi < r->hi ? m->hi : r->hi;

	if (m->hi <= r->lo)
		return 0;
	r->err = m->lo > r->lo ? -EFAULT : open_part(r->lo, hi, m->prot);
	r->lo = hi;
	return r->err || r->lo == r->hi;
}

static void close_ranges(uintptr_t lo, uintptr_t hi)
{
	for (size_t i = 0; i < N_RANGES; i++) {
		struct range *r = &ranges[i];

		if (r->lo == r->hi || r->lo < lo || r->hi > hi)
			continue;
		fl_text_close(r->lo, r->hi, FL_TEXT_CALLER);
		r->hi = r->lo;
	}
}

int flick_text_writable(const void *at, size_t n)
{
	uintptr_t lo = fl_round_down((uintptr_t)at, FL_PAGE);
	uintptr_t hi = fl_round_up((uintptr_t)at + n, FL_PAGE);
	struct request r = { .lo = lo, .hi = hi };
	uint64_t signals;
	int err = fl_text_choose(NULL);

	if (err)
		return err;
	list_lock(&signals);
	if (!fl_os_mappings(open_mapping, &r))
		r.err = -EFAULT;
	if (r.err)
		close_ranges(lo, r.lo);
	list_unlock(&signals);
	return r.err;
}

int flick_text_restore(const void *at, size_t n)
{
	uint64_t signals;

	list_lock(&signals);
	close_ranges(fl_round_down((uintptr_t)at, FL_PAGE),
		     fl_round_up((uintptr_t)at + n, FL_PAGE));
	list_unlock(&signals);
	return 0;
}

/* ---- may a place be stored to? ----------------------------------------- */

static bool in_list(uintptr_t lo, uintptr_t hi)
{
	for (size_t i = 0; i < N_RANGES; i++)
		if (lo >= ranges[i].lo && hi <= ranges[i].hi)
			return true;
	return false;
}

static int check_mapping(void *arg, const struct fl_mapping *m)
{
	struct request *r = arg;

	if (m->hi <= r->lo)
		return 0;
	if (m->lo > r->lo)
		r->err = -EFAULT;
	else if (!(m->prot & PROT_WRITE))
		r->err = FLE_READONLY;
	r->lo = m->hi;
	return r->err || r->lo >= r->hi;
}

/* The kernel (5.14 and later) tells by madvise(), without a look through all mappings.
 * That faults the pages in, but they are going to be written anyway. */
static bool is_writable(uintptr_t at, size_t n)
{
	uintptr_t lo = fl_round_down(at, FL_PAGE);

	return fl_os_advise((void *)lo, at + n - lo, MADV_POPULATE_WRITE) == 0;
}

static int look_through(uintptr_t at, size_t n)
{
	struct request r = { .lo = at, .hi = at + n };

	return fl_os_mappings(check_mapping, &r) ? r.err : -EFAULT;
}

int fl_text_view(uintptr_t at, size_t n, intptr_t *view)
{
	uint64_t signals;
	bool known;

	*view = 0;
	if (is_writable(at, n))
		return 0;
	list_lock(&signals);
	known = in_list(at, at + n);
	if (known)
		*view = fl_text_shift(at);
	list_unlock(&signals);
	return known ? 0 : look_through(at, n);
}
