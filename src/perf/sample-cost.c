/*
 * sample-cost.c - what a sample of the program counter takes.
 *
 * A sampled thread stands still while the kernel notes where it stands: two microseconds on a
 * machine of one's own, and fifty in a machine within another. No sample shows that. So samples
 * are taken here of a loop that looks at the clock, and does nothing else: where the clock
 * jumps, the loop was interrupted. Other things interrupt it, too. But a sample's record says
 * when the sample was taken, which is within its jump. The median of those jumps is what a
 * sample takes.
 *
 * Beside other work the loop may have the CPU now and then only, for less time than it needs,
 * so it ends by samples and not by the clock; and where none come, by the CPU time that it had.
 * And a sample is often due when the loop is let go on, within a jump of milliseconds: so jumps
 * in which another thread had the CPU do not count.
 */
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <time.h>

#include "os/os.h"
#include "perf/rings.h"
#include "perf/sampler.h"

enum {
	EVERY_NS = 60000,
	WANTED = 16,			/* samples */
	FEW = 6,
	ROUND_NS = 8 * EVERY_NS,	/* between looks at how many there are */
	PATIENCE_NS = 150000000,	/* of CPU time */
	LONGEST_NS = 1000000000,	/* the program waits meanwhile */
	JUMP_NS = 400,			/* a look takes a tenth of it */
	MOST = 4096			/* jumps */
};

struct watch {
	struct jump {
		uint64_t from, to;
	} jumps[MOST];			/* ascending */
	uint32_t n;
	uint64_t taken[8 * WANTED];	/* when samples were, ascending */
	uint32_t n_taken;
	long switches;			/* of the thread's, until the last jump */
	uint32_t n_switched;		/* jumps that had one: they are not among `jumps` */
};

/* Without a system call: a sample that is due in the kernel is dropped. */
static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return fl_ns(t.tv_sec, t.tv_nsec);
}

static void note_sample(void *arg, const struct perf_event_header *h)
{
	struct watch *w = arg;

	if (h->type == PERF_RECORD_SAMPLE && w->n_taken < ARRAY_LEN(w->taken))
		w->taken[w->n_taken++] = ((const struct fl_sample_record *)h)->time;
}

static long count_switches(void)
{
	struct rusage u = { 0 };

	getrusage(RUSAGE_THREAD, &u);
	return u.ru_nvcsw + u.ru_nivcsw;
}

/* Just behind a jump a system call takes the place of no sample. */
static void note_jump(struct watch *w, uint64_t from, uint64_t to)
{
	long switches = count_switches();

	if (switches == w->switches)
		w->jumps[w->n++] = (struct jump){ from, to };
	else
		w->n_switched++;
	w->switches = switches;
}

/* Each jump that is left out may have had a sample. */
static bool has_enough(const struct watch *w)
{
	return w->n == MOST || w->n_taken == ARRAY_LEN(w->taken) ||
	       w->n_taken >= WANTED + w->n_switched;
}

/* When to give up, at the latest; 0: now. */
static uint64_t patience_ns(uint64_t begin, uint64_t cpu_begin)
{
	uint64_t had = fl_os_cpu_ns(fl_os_tid()) - cpu_begin, now = now_ns();
	uint64_t left = had < PATIENCE_NS ? PATIENCE_NS - had : 0;

	return now - begin < LONGEST_NS ? now + left : 0;
}

/* The kernel drops a sample that was due while the thread was in the kernel, as during another
 * sample. */
static void watch_clock(struct watch *w, struct fl_perf_rings *rings)
{
	uint64_t cpu_begin = fl_os_cpu_ns(fl_os_tid());
	uint64_t begin = now_ns(), last = begin, now = begin, round = begin;
	uint64_t until = begin + LONGEST_NS;

	w->switches = count_switches();
	while (!has_enough(w) && now < until) {
		now = now_ns();
		if (now - last > JUMP_NS) {
			note_jump(w, last, now);
			now = now_ns();
		}
		last = now;
		if (now - round > ROUND_NS) {
			fl_perf_rings_take(rings, note_sample, w);
			until = patience_ns(begin, cpu_begin);
			round = last = now_ns();
		}
	}
	fl_perf_rings_stop(rings);
	fl_perf_rings_take(rings, note_sample, w);
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* A jump with two samples, where the second was due before the first was done, is twice what
 * one takes. */
static uint32_t median_of_samples(const struct watch *w)
{
	uint32_t each[ARRAY_LEN(w->taken)], n = 0, at = 0;

	for (uint32_t j = 0; j < w->n; j++) {
		const struct jump *jump = &w->jumps[j];
		uint32_t first;

		while (at < w->n_taken && w->taken[at] < jump->from)
			at++;
		first = at;
		while (at < w->n_taken && w->taken[at] <= jump->to)
			at++;
		for (uint32_t k = first; k < at; k++)
			each[n++] = (uint32_t)((jump->to - jump->from) / (at - first));
	}
	qsort(each, n, sizeof(*each), compare);
	return n < FEW ? 0 : each[n / 2];
}

uint32_t fl_sampler_measure(enum fl_sampled what)
{
	struct perf_event_attr attr = fl_sampler_attr(what);
	struct fl_perf_rings rings = { .of = calloc(1, sizeof(*rings.of)) };
	struct watch *w = calloc(1, sizeof(*w));
	uint32_t ns = 0;

	attr.sample_period = EVERY_NS;
	attr.disabled = 1;
	attr.inherit = 0;
	rings.n = w && rings.of;
	if (rings.n && !fl_perf_ring_open(&rings.of[0], &attr, 0, -1) &&
	    !ioctl(rings.of[0].fd, PERF_EVENT_IOC_ENABLE, 0)) {
		watch_clock(w, &rings);
		ns = median_of_samples(w);
	}
	fl_perf_rings_close(&rings);
	free(w);
	return ns;
}
