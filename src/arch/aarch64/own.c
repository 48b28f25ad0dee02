/*
 * own.c - what changes a thread's own slot: there is no short path yet.
 */
#include "arch/arch.h"
#include "flick/channel.h"

unsigned int fl_arch_vectors(void)
{
	return 0;
}

bool fl_arch_put_one(const void *record)
{
	(void)record;
	return false;
}

bool fl_arch_put_pair(const void *pair)
{
	(void)pair;
	return false;
}

bool fl_arch_add_own(size_t at, uint64_t by)
{
	(void)at, (void)by;
	return false;
}

bool fl_arch_end_block(size_t at)
{
	(void)at;
	return false;
}

intptr_t fl_arch_cell_at(void)
{
	return 0;
}

void fl_arch_rseq_open(void)
{
}

bool fl_arch_has_rseq(void)
{
	return false;
}

enum fl_flipped fl_arch_flip_unless(const uint32_t *held, const struct fl_flip *f, int state,
				    enum fl_flip_when when)
{
	(void)held, (void)f, (void)state, (void)when;
	return FL_FLIP_UNARMED;
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
