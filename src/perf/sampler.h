/*
 * sampler.h - private to perf/: how samples are taken (sampler.c).
 */
#ifndef FL_SAMPLER_H
#define FL_SAMPLER_H

#include <linux/perf_event.h>

#include "perf/perf.h"

/* How samples are taken, and what the kernel writes of each. */
struct perf_event_attr fl_sampler_attr(enum fl_sampled);
struct fl_sample_record {
	struct perf_event_header header;
	uint64_t ip;
	uint32_t pid, tid;
	uint64_t time, id;		/* time: of the monotonic clock */
};

#endif
