/*
 * none.c - trials of this processor's fetch: none is made yet.
 *
 * `flick calibrate` and `flick selftest` lay code of their own for each CPU. An instruction
 * is one aligned word here, and the architecture says all there is to know of changing it
 * (arch/aarch64/flip.c); docs/PORTING.md says what a trial of that would be. No wait is
 * used here, so none is to be measured; and an emulator's fetches would prove nothing.
 */
#include "trial/hot.h"
#include "trial/torture.h"

const char *fl_trial_none(void)
{
	return "an instruction of AArch64 is one aligned word, and what may stand for"
	       " another the architecture says: there is no wait to measure, and no trial"
	       " of fetches yet";
}

bool fl_hot_can(enum fl_way way)
{
	(void)way;
	return false;
}

size_t fl_hot_changed(enum fl_subject subject, size_t *first)
{
	(void)subject;
	*first = 0;
	return sizeof(fl_unit);
}

int fl_hot_lay(struct fl_hot *h, const struct fl_trial *t)
{
	(void)h, (void)t;
	return -ENOSYS;
}

void fl_hot_execute(const struct fl_hot *h, uint64_t counts[FL_HOT_COUNTS],
		    const uint8_t *stop)
{
	(void)h, (void)counts, (void)stop;
}

void fl_hot_store(const struct fl_hot *h, const struct fl_trial *t, int state)
{
	(void)h, (void)t, (void)state;
}

unsigned char *fl_places_map(size_t *bytes)
{
	*bytes = 0;
	return NULL;
}

void fl_place_lay(struct fl_torture_place *p, unsigned char *room, size_t i,
		  enum fl_placing how, unsigned offset)
{
	(void)p, (void)room, (void)i, (void)how, (void)offset;
}

void fl_store_lazily(uint32_t *at, uint32_t value)
{
	store_relaxed(at, value);
}
