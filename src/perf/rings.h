/*
 * rings.h - private to perf/: what the kernel writes of perf events (rings.c).
 */
#ifndef FL_PERF_RING_H
#define FL_PERF_RING_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#include "os/os.h"

#define FL_PERF_RING_BYTES (16 * FL_PAGE)	/* for records without stacks */

/* One ring for each CPU. A process that ran before has events of each thread on each CPU, which
 * all write into these rings. */
struct fl_perf_rings {
	struct fl_perf_ring {
		int fd;			/* -1: that CPU is not on line */
		struct perf_event_mmap_page *head;
		uint32_t bytes;		/* for records */
	} *of;
	uint32_t n;
	char *record;			/* room for one */
	int *events;			/* beyond the first of each ring */
	uint32_t n_events;
	struct fl_perf_own {		/* ascending by thread; of events `more` without */
		uint64_t tid, id;
	} *own;
	uint32_t n_own;
	uint32_t n_threads;		/* that the process had when they were opened of it */
};

/* An event on each CPU for process `pid`, which has one thread, or, for 0, for this one, and
 * for all that it forks. 0 or -errno: nothing is open. go: events that are disabled begin. */
int fl_perf_rings_open(struct fl_perf_rings *, struct perf_event_attr *, int pid);
void fl_perf_rings_go(struct fl_perf_rings *);
/* Events `more`, as many as can be had, that write into the memory of `r`: their records are
 * taken from there. */
void fl_perf_rings_add(struct fl_perf_rings *more, const struct fl_perf_rings *r,
		       struct perf_event_attr *, int pid);
bool fl_perf_rings_has(const struct fl_perf_rings *more, uint64_t id);	/* such an event? */
/* As fl_perf_rings_open(), of each thread that process `pid` has, and of those that they create
 * (threads.c). A record ends in its event's id, which `attr` asks for by PERF_SAMPLE_ID,
 * behind thread and time; a sample has these behind its address. */
int fl_perf_rings_open_of(struct fl_perf_rings *, struct perf_event_attr *attr, int pid);
/* Is the record told by the thread's own event as well? */
bool fl_perf_rings_is_twice(struct fl_perf_rings *, const struct perf_event_header *);
/* No more records come; those that are there can be taken. */
void fl_perf_rings_stop(struct fl_perf_rings *);
/* Is there anything to take? */
bool fl_perf_rings_have(const struct fl_perf_rings *);
/* Take all records, each whole; how many bytes the fullest ring held. */
uint32_t fl_perf_rings_take(struct fl_perf_rings *,
			    void (*take)(void *arg, const struct perf_event_header *),
			    void *arg);
void fl_perf_rings_close(struct fl_perf_rings *);	/* zeros are fine, and are left */
/* For threads.c: the CPU's event and its memory, of process or thread `pid`. */
int fl_perf_ring_open(struct fl_perf_ring *, struct perf_event_attr *, int pid, int cpu);

#endif
