/*
 * threads.c - events of the threads that a process has already.
 *
 * Hides that the kernel lets an event be inherited by a thread's children, and not by its
 * siblings. So each thread that is there gets an event on each CPU, and all events of a CPU
 * write into one ring, because little memory may be locked. Threads that are created meanwhile
 * have inherited their creator's events, or are found by looks that go on until there is no
 * new thread.
 *
 * Nothing says which of the two holds for a thread: it may have both. Then its records by an
 * inherited event are told twice, and taken once. When a thread has ended, another one may get
 * its number.
 */
#include <linux/sched.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/base.h"
#include "os/os.h"
#include "perf/rings.h"

/* ---- one thread --------------------------------------------------------------------- */

static int note_id(struct fl_perf_rings *r, int fd, int tid)
{
	uint64_t id = 0;

	if (ioctl(fd, PERF_EVENT_IOC_ID, &id))
		return -errno;
	if (fl_array_room(&r->own, r->n_own, sizeof(*r->own)))
		return -ENOMEM;
	r->own[r->n_own++] = (struct fl_perf_own){ (uint64_t)tid, id };
	return 0;
}

/* The event's records go where those of the CPU's first event go. */
static int add_event(struct fl_perf_rings *r, struct perf_event_attr *attr, int tid, int cpu)
{
	long fd = syscall(SYS_perf_event_open, attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	int err;

	if (fd < 0)
		return -errno;
	if (fl_array_room(&r->events, r->n_events, sizeof(*r->events))) {
		close((int)fd);
		return -ENOMEM;
	}
	r->events[r->n_events++] = (int)fd;
	err = note_id(r, (int)fd, tid);
	if (!err && ioctl((int)fd, PERF_EVENT_IOC_SET_OUTPUT, r->of[cpu].fd))
		err = -errno;
	return err;
}

/* A thread that has ended, and a CPU that is not on line, have no events. */
static int add_to_each(struct fl_perf_rings *r, struct perf_event_attr *attr, int tid)
{
	for (uint32_t cpu = 0; cpu < r->n; cpu++) {
		int err;

		if (r->of[cpu].head) {
			err = add_event(r, attr, tid, (int)cpu);
		} else {
			err = fl_perf_ring_open(&r->of[cpu], attr, tid, (int)cpu);
			err = err ? err : note_id(r, r->of[cpu].fd, tid);
		}
		if (err && err != -ENODEV && err != -ESRCH)
			return err;
	}
	return 0;
}

/* ---- all of them ------------------------------------------------------------------- */

struct look {
	struct fl_perf_rings *r;
	struct perf_event_attr *attr;
	int *seen;
	uint32_t n;
};

static int see_thread(void *arg, int tid)
{
	struct look *l = arg;
	int err;

	for (uint32_t i = 0; i < l->n; i++)
		if (l->seen[i] == tid)
			return 0;
	if (fl_array_room(&l->seen, l->n, sizeof(*l->seen)))
		return -ENOMEM;
	l->seen[l->n++] = tid;
	err = add_to_each(l->r, l->attr, tid);
	FL_POINT("perf.thread");
	return err;
}

/* A program that creates threads all the time is left after some looks: by then nearly all
 * threads inherit events. */
static int add_threads(struct look *l, int pid)
{
	enum { LOOKS = 16 };
	uint32_t before = 0;
	int err;

	for (int i = 0; i < LOOKS; i++) {
		err = fl_os_threads_of(pid, 0, see_thread, l);
		if (err || l->n == before)
			return err;
		before = l->n;
	}
	return 0;
}

/* Allow as many descriptors as threads times CPUs. */
static void allow_descriptors(void)
{
	struct rlimit most;

	if (getrlimit(RLIMIT_NOFILE, &most))
		return;
	most.rlim_cur = most.rlim_max;
	setrlimit(RLIMIT_NOFILE, &most);
}

static bool has_ring(const struct fl_perf_rings *r)
{
	for (uint32_t i = 0; i < r->n; i++)
		if (r->of[i].head)
			return true;
	return false;
}

int fl_perf_rings_open_of(struct fl_perf_rings *r, struct perf_event_attr *attr, int pid)
{
	long n = sysconf(_SC_NPROCESSORS_CONF);
	struct look l = { .r = r, .attr = attr };
	int err;

	*r = (struct fl_perf_rings){ .of = n > 0 ? calloc((size_t)n, sizeof(*r->of)) : NULL };
	if (!r->of)
		return -ENOMEM;
	for (; r->n < (uint32_t)n; r->n++)
		r->of[r->n].fd = -1;
	allow_descriptors();
	err = add_threads(&l, pid);
	r->n_threads = l.n;
	free(l.seen);
	if (!err && !has_ring(r))
		err = -ESRCH;
	if (err)
		fl_perf_rings_close(r);
	else
		fl_rows_sort(r->own, r->n_own, sizeof(*r->own));
	return err;
}

/* ---- what is told twice ------------------------------------------------------------ */

/* What ends every record except a sample: in a sample it stands behind the address. */
struct trailer {
	uint32_t pid, tid;
	uint64_t time, id;
};
enum { SAMPLE_BYTES = sizeof(struct perf_event_header) + sizeof(uint64_t) +
		      sizeof(struct trailer) };

struct end {
	struct perf_event_header header;
	uint32_t pid, parent, tid;
};

/* The next thread of that number has inherited all events. */
static void forget_thread(struct fl_perf_rings *r, uint64_t tid)
{
	size_t n = fl_rows_from(r->own, r->n_own, sizeof(*r->own), tid);

	while (n && r->own[n - 1].tid == tid)
		r->own[--n].id = 0;
}

/* Has the thread events of its own, none of which is `id`? */
static bool is_not_own(const struct fl_perf_rings *r, uint64_t tid, uint64_t id)
{
	size_t n = fl_rows_from(r->own, r->n_own, sizeof(*r->own), tid);
	bool has = false;

	for (; n && r->own[n - 1].tid == tid; n--) {
		if (!r->own[n - 1].id || r->own[n - 1].id == id)
			return false;
		has = true;
	}
	return has;
}

bool fl_perf_rings_is_twice(struct fl_perf_rings *r, const struct perf_event_header *h)
{
	const char *behind = h->type == PERF_RECORD_SAMPLE ?
		(const char *)h + SAMPLE_BYTES : (const char *)h + h->size;
	const struct trailer *of = (const struct trailer *)behind - 1;
	bool is;

	if (!r->n_own || h->type == PERF_RECORD_LOST)
		return false;
	is = is_not_own(r, of->tid, of->id);
	if (h->type == PERF_RECORD_EXIT)
		forget_thread(r, ((const struct end *)h)->tid);
	return is;
}
