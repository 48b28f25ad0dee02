/*
 * map.c - memory of flick's own, out of the program's way.
 *
 * Hides where this memory lies. The kernel would put it next to the libraries, where it
 * would take the addresses that branches reach from their code: glue must lie there, and
 * so must libraries that the program loads later. So a mapping without an address of its
 * own goes APART below flick's code, one mapping below the other.
 *
 * A program may have locked all that it will map (mlockall(), MCL_FUTURE), perhaps before flick
 * came to it. The kernel would then fill a mapping of gigabytes at once, although little of it
 * is used. The kernel fills no mapping that may not be touched: so a large mapping begins as
 * PROT_NONE, is unlocked, and gets its permissions then.
 *
 * A mapping as large as a huge page begins where a huge page may, so that it can consist of
 * huge pages.
 */
#include <sys/mman.h>

#include "os/clone.h"
#include "os/os.h"
#include "os/syscall.h"

#define APART (1ull << 36)		/* 64 GiB: far beyond a branch, and room to grow */
#define SPAN (1ull << 43)		/* addresses that were unmapped there are used again */
#define LEAP (1ull << 35)		/* over addresses that are in use */
#define LOW_CODE (1ull << 46)		/* apart from a program that lies at the bottom */
enum { TRIES = 6, LARGE = 1 << 18, HUGE = 1 << 21 };

static uint64_t used;			/* of SPAN again and again, from its top; atomic */

static uintptr_t top(void)
{
	uintptr_t code = fl_round_down((uintptr_t)top, FL_PAGE);

	return code > APART + 2 * SPAN ? code - APART : LOW_CODE;
}

/* An address for `n` bytes, which no other caller gets until SPAN is through. */
static uintptr_t next_apart(size_t n)
{
	size_t align = n < HUGE ? FL_PAGE : HUGE, room = n < HUGE ? n : n + HUGE;
	/* ordering: none, a number */
	uint64_t end = __atomic_add_fetch(&used, room, __ATOMIC_RELAXED);

	return fl_round_up(top() - (end % SPAN < room ? room : end % SPAN), align);
}

/* A kernel before 5.14 has no MADV_POPULATE_WRITE: there each page faults once. */
void fl_os_expect(void *at, size_t n)
{
	uintptr_t lo = fl_round_down((uintptr_t)at, FL_PAGE), hi = (uintptr_t)at + n;
	uintptr_t first = fl_round_up(lo, HUGE), last = fl_round_down(hi, HUGE);

	if (first < last)
		fl_os_advise((void *)first, last - first, MADV_HUGEPAGE);
	fl_os_advise((void *)lo, hi - lo, MADV_POPULATE_WRITE);
}

static bool begins_untouched(size_t n, int prot)
{
	return n >= LARGE && prot == (PROT_READ | PROT_WRITE);
}

static long map(uintptr_t at, size_t n, int prot, int flags, int fd, uint64_t offset)
{
	bool is_large = begins_untouched(n, prot);
	long got = SYS_OR_FAULT(mmap, SYS_mmap, at, n, is_large ? PROT_NONE : prot, flags, fd,
				offset), err;

	if (!is_large || fl_is_err((void *)got))
		return got;
	SYS(SYS_munlock, got, n);
	err = SYS(SYS_mprotect, got, n, prot);
	if (err)
		SYS(SYS_munmap, got, n);
	return err ? err : got;
}

/* Where the wanted address is taken the kernel chooses another one: try again, TRIES times. */
static long map_apart(size_t n, int prot, int flags, int fd, uint64_t offset)
{
	uintptr_t at = next_apart(fl_round_up(n, FL_PAGE));
	long got = map(at, n, prot, flags, fd, offset);

	for (int i = 1; i < TRIES && !fl_is_err((void *)got) && (uintptr_t)got != at; i++) {
		SYS(SYS_munmap, got, n);
		/* ordering: none, a number */
		__atomic_fetch_add(&used, LEAP, __ATOMIC_RELAXED);
		at = next_apart(fl_round_up(n, FL_PAGE));
		got = map(at, n, prot, flags, fd, offset);
	}
	return got;
}

bool fl_os_is_apart(uintptr_t at)
{
	return load_relaxed(&used) && at < top() && at >= top() - 2 * SPAN;
}

/* What is to have all its pages gets them where it stays: a try may be unmapped again, and what
 * begins as PROT_NONE is not filled by the kernel. */
void *fl_os_map(void *at, size_t n, int prot, int flags, int fd, uint64_t offset)
{
	bool is_apart = !at && !(flags & MAP_FIXED) && n <= SPAN;
	long got = is_apart ? map_apart(n, prot, flags & ~MAP_POPULATE, fd, offset) :
		   map((uintptr_t)at, n, prot, flags, fd, offset);

	if (flags & MAP_POPULATE && !fl_is_err((void *)got) &&
	    (is_apart || begins_untouched(n, prot)))
		fl_os_expect((void *)got, n);
	return (void *)got;
}
