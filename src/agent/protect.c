/*
 * protect.c - mprotect() and pkey_mprotect(), which stand before the C library's.
 *
 * A program may take the right to write from its own code: XRay's runtime does when it
 * has patched, and who checks that no code is writable. The next switch of a probe
 * there would fault. So pages that hold armed sites keep that right (patch/text.c);
 * all else is the kernel's answer.
 */
#include <sys/mman.h>

#include "agent.h"
#include "patch/patch.h"

#define EXPORT __attribute__((visibility("default")))

static int answer(int err)
{
	if (err >= 0)
		return 0;
	errno = -err;
	return -1;
}

EXPORT int mprotect(void *at, size_t n, int prot)
{
	return answer(fl_text_protect((uintptr_t)at, n, prot, -1));
}

EXPORT int pkey_mprotect(void *at, size_t n, int prot, int key)
{
	return answer(fl_text_protect((uintptr_t)at, n, prot, key));
}
