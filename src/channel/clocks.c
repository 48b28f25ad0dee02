/*
 * clocks.c - one moment on both clocks, the events' clock and the system's.
 */
#include "channel/channel.h"
#include "os/os.h"

/* A try that is interrupted between two readings takes longer: the shortest one counts. */
void fl_clocks_read(uint64_t *tsc, uint64_t *mono_ns)
{
	enum { TRIES = 8 };
	uint64_t shortest = UINT64_MAX;

	for (int i = 0; i < TRIES; i++) {
		uint64_t before = fl_arch_ticks(), ns = fl_os_monotonic_ns();
		uint64_t took = fl_arch_ticks() - before;

		if (took >= shortest)
			continue;
		shortest = took;
		*tsc = before + took / 2;
		*mono_ns = ns;
	}
}
