/*
 * perf-ring.h - private to cli/: what the kernel writes of perf events (perf-ring.c).
 */
#ifndef FL_PERF_RING_H
#define FL_PERF_RING_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#include "os/os.h"

#define FL_PERF_RING_BYTES (16 * FL_PAGE)	/* for records */

/* One a CPU. */
struct fl_perf_rings {
	struct fl_perf_ring {
		int fd;			/* -1: that CPU is not on line */
		struct perf_event_mmap_page *head;
	} *of;
	uint32_t n;
};

/* An event on each CPU for this process, and whom it forks. 0 or -errno: nothing is open. */
int fl_perf_rings_open(struct fl_perf_rings *, struct perf_event_attr *);
/* Is there anything to take? */
bool fl_perf_rings_have(const struct fl_perf_rings *);
/* Take all records, each whole; how many bytes the fullest ring held. */
uint32_t fl_perf_rings_take(struct fl_perf_rings *,
			    void (*take)(void *arg, const struct perf_event_header *),
			    void *arg);
void fl_perf_rings_close(struct fl_perf_rings *);	/* zeros are fine, and are left */

#endif
