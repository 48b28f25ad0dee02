/*
 * protect.c - mprotect(), pkey_mprotect() and mlockall(), which stand before the C
 * library's.
 *
 * A program may take the right to write from its own code: XRay's runtime does when it
 * has patched, and who checks that no code is writable. The next switch of a probe
 * there would fault. So pages that hold armed sites keep that right (patch/text-asked.c);
 * all else is the kernel's answer. And who asks for the right to write is about to
 * write: probe/yield.c gives back what others may patch. Who locks all memory means
 * his own (os/resident.c).
 */
#include <sys/mman.h>

#include "agent.h"
#include "os/os.h"
#include "patch/patch.h"

#define EXPORT __attribute__((visibility("default")))

static int answer(int err)
{
	if (err >= 0)
		return 0;
	errno = -err;
	return -1;
}

static int protect(void *at, size_t n, int prot, int key)
{
	uintptr_t lo = fl_round_down((uintptr_t)at, FL_PAGE), hi = (uintptr_t)at + n;
	int err;

	if (prot & PROT_WRITE)
		fl_probes_yield(lo, hi);
	err = fl_text_protect((uintptr_t)at, n, prot, key);
	if (!(prot & PROT_WRITE) || err < 0)
		fl_probes_unyield(lo, hi);
	return answer(err);
}

EXPORT int mprotect(void *at, size_t n, int prot)
{
	return protect(at, n, prot, -1);
}

EXPORT int pkey_mprotect(void *at, size_t n, int prot, int key)
{
	return protect(at, n, prot, key);
}

EXPORT int mlockall(int flags)
{
	return answer(fl_os_lock_memory(flags));
}
