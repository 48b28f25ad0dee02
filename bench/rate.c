/*
 * rate.c - windows of time in which a site is switched at a steady rate.
 *
 * Hides the two paces: a spinning thread follows the TSC to the tick and needs
 * a CPU of its own; a sleeping one is at the kernel's mercy and is preferred by
 * it where that is allowed.
 */
#include "rate.h"
#include "bench.h"

#include <sched.h>
#include <sys/prctl.h>
#include <time.h>

static struct counts sum_counts(const struct executor *e, size_t n)
{
	struct counts sum = { 0 };

	for (size_t i = 0; i < n; i++) {
		struct counts c = executor_counts(&e[i]);

		sum.calls += c.calls;
		sum.a += c.a;
		sum.b += c.b;
	}
	return sum;
}

static void window_begin(struct window *w, const struct executor *e, size_t n)
{
	*w = (struct window){ .seen = sum_counts(e, n) };
	w->ticks = -(double)bench_ticks();
}

static void window_end(struct window *w, const struct executor *e, size_t n)
{
	struct counts now = sum_counts(e, n);

	w->ticks += (double)bench_ticks();
	w->seen = (struct counts){
		.calls = now.calls - w->seen.calls,
		.a = now.a - w->seen.a,
		.b = now.b - w->seen.b,
	};
}

struct window window_paced(const struct subject *s, size_t i,
			   const struct executor *e, size_t n,
			   double per_second, double seconds)
{
	double hz = bench_ticks_hz(), end = seconds * hz, at = 0;
	double period = per_second > 0 ? hz / per_second : 0;
	double due = period > 0 ? 0 : end;
	struct window w;
	uint64_t from;

	window_begin(&w, e, n);
	from = bench_ticks();
	for (; at < end; at = (double)(bench_ticks() - from))
		if (at >= due) {
			s->put(i, (int)(w.switches++ % 2));
			due += period;
		}
	window_end(&w, e, n);
	return w;
}

static void sleep_until(struct timespec *t, long ns)
{
	t->tv_nsec += ns;
	while (t->tv_nsec >= 1000000000) {
		t->tv_nsec -= 1000000000;
		t->tv_sec++;
	}
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, t, NULL);
}

static void prefer_me(int policy)
{
	struct sched_param p = { .sched_priority = policy == SCHED_FIFO };

	sched_setscheduler(0, policy, &p);	/* where it may */
	prctl(PR_SET_TIMERSLACK, 1);
}

struct window window_slept(const struct subject *s, size_t i,
			   const struct executor *e, size_t n,
			   double per_second, double seconds)
{
	long ns = per_second > 0 ? (long)(1e9 / per_second) : 1000000;
	double end = seconds * bench_ticks_hz();
	struct timespec next;
	struct window w;
	uint64_t from;

	prefer_me(SCHED_FIFO);
	window_begin(&w, e, n);
	from = bench_ticks();
	clock_gettime(CLOCK_MONOTONIC, &next);
	while ((double)(bench_ticks() - from) < end) {
		sleep_until(&next, ns);
		if (per_second > 0)
			s->put(i, (int)(w.switches++ % 2));
	}
	window_end(&w, e, n);
	prefer_me(SCHED_OTHER);
	return w;
}

double window_rate(const struct window *w)
{
	return (double)w->seen.calls / w->ticks;
}

double window_reached(const struct window *w)
{
	return (double)w->switches * bench_ticks_hz() / w->ticks;
}

double calm_rate(window_fn *window, const struct subject *s, size_t i,
		 const struct executor *e, size_t n, double seconds)
{
	struct window on, off;

	s->put(i, 1);
	on = window(s, i, e, n, 0, seconds);
	s->put(i, 0);
	off = window(s, i, e, n, 0, seconds);
	return (window_rate(&on) + window_rate(&off)) / 2;
}
