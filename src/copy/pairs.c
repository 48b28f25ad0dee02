/*
 * pairs.c - what rewritten pairs of exclusives need in each thread, and how they are rewritten.
 *
 * Atomics of one instruction are for CPUs that have them: elsewhere pairs are left. The bytes
 * that a thread needs lie with the thread-local data of libraries that were there at the start:
 * at one distance from every thread's pointer.
 */
#include <elf.h>

#include "copy/build.h"
#include "os/os.h"

static __thread struct {
	alignas(16) unsigned char bytes[FL_ARCH_PAIR_OWN];
} own_pairs;

void fl_copies_pairs(struct fl_copies *c)
{
	enum fl_exclusive how = fl_channel_exclusive();

	if (how == FL_EXCLUSIVE_LSE && !(fl_os_auxiliary(AT_HWCAP) & FL_ARCH_ATOMICS))
		how = FL_EXCLUSIVE_LEAVE;
	c->exclusive = how;
	c->pairs_at = (intptr_t)own_pairs.bytes - (intptr_t)__builtin_thread_pointer();
}
