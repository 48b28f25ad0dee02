/*
 * own.c - what this CPU does in one way only: the widest vectors, one word of flick/channel.h.
 */
#include "arch/arch.h"
#include "flick/channel.h"

unsigned int fl_arch_vectors(void)
{
	return 0;
}

/* A switch is a store and the maintenance of caches behind it. No sequence begins both again,
 * so a switch is made with the lock (probe/switch.c). */
bool fl_arch_can_flip_unless(void)
{
	return false;
}

enum fl_flipped fl_arch_flip_unless(const uint32_t *held, const struct fl_flip *f, int state,
				    enum fl_flip_when when)
{
	(void)held, (void)f, (void)state, (void)when;
	return FL_FLIP_HELD;
}

/* flick/channel.h: the long path is right everywhere. */
extern void fl_public_put_guarded(struct flick_channel *c, uint64_t word)
	__attribute__((visibility("hidden")));

void flick_channel_put64(struct flick_channel *c, uint64_t word)
{
	fl_public_put_guarded(c, word);
}

void flick_channel_put32(struct flick_channel *c, uint32_t word)
{
	fl_public_put_guarded(c, word);
}
