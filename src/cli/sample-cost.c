/*
 * sample-cost.c - what a sample of the program counter takes.
 *
 * A sampled thread stands still while the kernel notes where it stands: two microseconds on a
 * machine of one's own, and twenty where its timer is another system's. No sample shows that.
 * So samples are taken here of a loop that looks at the clock, and does nothing else: where
 * the clock jumps, the loop was interrupted. Other things interrupt it, too, in some machines
 * more often, but not for as long. So as many of the longest jumps are taken as there were
 * samples, and their median is a sample's. Beside other work the loop may have the CPU now and
 * then only, for less time than it needs, so it goes on when it has the CPU again.
 */
#include <stdlib.h>
#include <sys/ioctl.h>

#include "cli/cli.h"
#include "cli/perf-ring.h"
#include "cli/sampler.h"

enum {
	EVERY_NS = 60000,
	WANTED = 24,			/* samples */
	FEW = 8,
	AWAY_NS = 300000,		/* in a jump as long as that, others had the CPU */
	PATIENCE_NS = 150000000,
	JUMP_NS = 400,			/* a look takes a tenth of it */
	MOST = 512			/* jumps */
};

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* The clock's jumps, ascending; how many, and how many samples there were. */
static uint32_t watch_clock(uint32_t jumps[MOST], uint32_t *samples)
{
	uint64_t begin = fl_os_monotonic_ns(), last = begin, now = begin, own = 0;
	uint32_t n = 0;

	while (n < MOST && own < WANTED * EVERY_NS && now - begin < PATIENCE_NS) {
		now = fl_os_monotonic_ns();
		if (now - last > JUMP_NS)
			jumps[n++] = (uint32_t)(now - last);
		own += now - last < AWAY_NS ? now - last : 0;
		last = now;
	}
	qsort(jumps, n, sizeof(*jumps), compare);
	*samples = (uint32_t)(own / EVERY_NS);
	return n;
}

uint32_t fl_sampler_measure(enum fl_sampled what)
{
	struct perf_event_attr attr = fl_sampler_attr(what);
	struct fl_perf_rings rings = { .of = calloc(1, sizeof(*rings.of)), .n = 1 };
	uint32_t jumps[MOST], samples = 0, n = 0;

	attr.sample_period = EVERY_NS;
	attr.disabled = 1;
	attr.inherit = 0;
	if (rings.of && !fl_perf_ring_open(&rings.of[0], &attr, 0, -1) &&
	    !ioctl(rings.of[0].fd, PERF_EVENT_IOC_ENABLE, 0)) {
		n = watch_clock(jumps, &samples);
		fl_perf_rings_stop(&rings);
	}
	fl_perf_rings_close(&rings);
	samples = samples < n ? samples : n;
	return samples < FEW ? 0 : jumps[n - 1 - samples / 2];
}
