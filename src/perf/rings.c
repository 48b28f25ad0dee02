/*
 * rings.c - perf_event_open(2) and the memory that the kernel writes records into.
 *
 * Hides that each CPU has a ring of its own, that a record may go over a ring's end, and
 * which stores tell the kernel what was taken.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/os.h"
#include "perf/rings.h"

enum { MAX_RECORD = 32768 + 512 };	/* a mapping's has a path, a sample's a stack */

/* For records, without the page in front of them: powers of two. A user may lock only so much
 * memory, whatever records beside this; stacks take most of it. */
enum { STACKS_BYTES = 64 * FL_PAGE };

static int map_ring(struct fl_perf_ring *r, uint32_t bytes)
{
	void *p = mmap(NULL, FL_PAGE + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);

	if (p == MAP_FAILED)
		return -errno;
	r->head = p;
	r->bytes = bytes;
	return 0;
}

int fl_perf_ring_open(struct fl_perf_ring *r, struct perf_event_attr *attr, int pid, int cpu)
{
	long fd = syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	bool has_stacks = attr->sample_type & PERF_SAMPLE_STACK_USER;

	r->fd = (int)fd;
	if (fd < 0)
		return -errno;
	if (has_stacks && !map_ring(r, STACKS_BYTES))
		return 0;
	return map_ring(r, FL_PERF_RING_BYTES);
}

/* A CPU that is not on line has no event, and nothing runs there. */
int fl_perf_rings_open(struct fl_perf_rings *r, struct perf_event_attr *attr, int pid)
{
	long n = sysconf(_SC_NPROCESSORS_CONF);
	int err;

	*r = (struct fl_perf_rings){ .of = n > 0 ? calloc((size_t)n, sizeof(*r->of)) : NULL };
	err = r->of ? 0 : -ENOMEM;
	for (int cpu = 0; !err && cpu < n; cpu++) {
		r->n = (uint32_t)cpu + 1;
		err = fl_perf_ring_open(&r->of[cpu], attr, pid, cpu);
		if (err == -ENODEV)
			err = 0;
	}
	if (err)
		fl_perf_rings_close(r);
	return err;
}

/* These events have no memory of their own, because a user who is not root may lock little. */
void fl_perf_rings_add(struct fl_perf_rings *more, const struct fl_perf_rings *r,
		       struct perf_event_attr *attr, int pid)
{
	for (uint32_t cpu = 0; cpu < r->n; cpu++) {
		long fd = r->of[cpu].bytes != STACKS_BYTES ? -1 :
			  syscall(SYS_perf_event_open, attr, pid, (int)cpu, -1,
				  PERF_FLAG_FD_CLOEXEC);
		uint64_t id;

		if (fd < 0)
			continue;
		if (ioctl((int)fd, PERF_EVENT_IOC_ID, &id) ||
		    ioctl((int)fd, PERF_EVENT_IOC_SET_OUTPUT, r->of[cpu].fd) ||
		    fl_array_room(&more->own, more->n_own, sizeof(*more->own)) ||
		    fl_array_room(&more->events, more->n_events, sizeof(*more->events))) {
			close((int)fd);
			continue;
		}
		more->own[more->n_own++] = (struct fl_perf_own){ .id = id };
		more->events[more->n_events++] = (int)fd;
	}
}

bool fl_perf_rings_has(const struct fl_perf_rings *more, uint64_t id)
{
	for (uint32_t i = 0; i < more->n_own; i++)
		if (more->own[i].id == id)
			return true;
	return false;
}

/* Ask each event, with those that threads have inherited from it. */
static void ask_each(const struct fl_perf_rings *r, unsigned long what)
{
	for (uint32_t i = 0; i < r->n; i++)
		if (r->of[i].fd >= 0)
			ioctl(r->of[i].fd, what, 0);
	for (uint32_t i = 0; i < r->n_events; i++)
		ioctl(r->events[i], what, 0);
}

void fl_perf_rings_go(struct fl_perf_rings *r)
{
	ask_each(r, PERF_EVENT_IOC_ENABLE);
}

bool fl_perf_rings_have(const struct fl_perf_rings *r)
{
	for (uint32_t i = 0; i < r->n; i++)
		/* ordering: none of ours; nothing is read by the result */
		if (r->of[i].head && __atomic_load_n(&r->of[i].head->data_head,
						     __ATOMIC_RELAXED) !=
		    r->of[i].head->data_tail)
			return true;
	return false;
}

static uint32_t take_ring(struct fl_perf_rings *all, struct fl_perf_ring *r,
			  void (*take)(void *arg, const struct perf_event_header *), void *arg)
{
	const char *data = (const char *)r->head + FL_PAGE;
	/* ordering: none of ours; the kernel's release is its mate, perf_event_open(2) */
	uint64_t head = __atomic_load_n(&r->head->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = r->head->data_tail;
	uint32_t held = (uint32_t)(head - tail);
	char *whole = all->record;

	while (tail < head) {
		struct perf_event_header h;
		size_t at = tail % r->bytes, first = r->bytes - at;

		memcpy(&h, data + at, sizeof(h));	/* 8 bytes, aligned: never split */
		if (h.size < sizeof(h) || h.size > MAX_RECORD)
			break;
		first = first < h.size ? first : h.size;
		memcpy(whole, data + at, first);
		memcpy(whole + first, data, h.size - first);
		if (!fl_perf_rings_is_twice(all, (const struct perf_event_header *)whole))
			take(arg, (const struct perf_event_header *)whole);
		tail += h.size;
	}
	/* ordering: none of ours; likewise: the records have been copied */
	__atomic_store_n(&r->head->data_tail, head, __ATOMIC_RELEASE);
	return held;
}

uint32_t fl_perf_rings_take(struct fl_perf_rings *r,
			    void (*take)(void *arg, const struct perf_event_header *),
			    void *arg)
{
	uint32_t fullest = 0;

	if (!r->record && !(r->record = malloc(MAX_RECORD)))
		return 0;
	for (uint32_t i = 0; i < r->n; i++) {
		uint32_t held = r->of[i].head ? take_ring(r, &r->of[i], take, arg) : 0;

		fullest = held > fullest ? held : fullest;
	}
	return fullest;
}

void fl_perf_rings_stop(struct fl_perf_rings *r)
{
	ask_each(r, PERF_EVENT_IOC_DISABLE);
}

void fl_perf_rings_close(struct fl_perf_rings *r)
{
	for (uint32_t i = 0; i < r->n_events; i++)
		close(r->events[i]);
	for (uint32_t i = 0; i < r->n; i++) {
		if (r->of[i].head)
			munmap(r->of[i].head, FL_PAGE + r->of[i].bytes);
		if (r->of[i].fd >= 0)
			close(r->of[i].fd);
	}
	free(r->of);
	free(r->events);
	free(r->record);
	free(r->own);
	*r = (struct fl_perf_rings){ 0 };
}
