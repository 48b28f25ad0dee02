/*
 * preempted.c - how long each thread was preempted, up to any tick.
 *
 * Hides how much is kept: so many gaps of each thread, and with each gap the sum of all
 * before it. Of gaps that are long ago only each second, fourth, ... is kept. So the first
 * gaps of a call that is as long may count as not preempted, up to a thirtieth of it; the time
 * taken out of a call is never more than the thread waited. A thread's calls are asked for in
 * the order of their ends, but late, when their records come: so behind the end that was asked
 * for last all gaps are kept, unless they are too many.
 */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "perf/preempted.h"

enum { GAPS = 1024, MOST_GAPS = 8 * GAPS, DENSE = 32, THREADS = 2048 };
enum { MORE = 512 * GAPS };		/* than GAPS of each thread, in all: 16 MiB */
enum { OFTEN = 16 };			/* who was switched so often is asked for */

/* What switches come to. */
struct sums {
	uint64_t ran, waited, preempted;	/* ticks; how often */
};

/*
 * INVARIANT	of[i].begin <= of[i].end <= of[i + 1].begin
 *		of[i].before + of[i].end - of[i].begin <= of[i + 1].before, and is equal
 *		where none was dropped between them
 */
struct thread {
	int32_t tid;
	uint32_t n;
	uint64_t last;			/* tick of its last switch */
	uint64_t in, out;		/* it runs since, was preempted at; 0: neither */
	uint64_t n_gaps;		/* that there were */
	uint64_t asked;			/* tick: ends of calls up to there were asked for */
	uint32_t room;			/* for gaps: GAPS, or more */
	struct sums sums;
	bool is_beside;
	struct gap {
		uint64_t begin, end, before, number;
	} *of;
};

/* A thread that has ended is kept until there is no room: its records may come yet. Another
 * thread that gets its number lives later. */
struct fl_preempted {
	struct thread of[THREADS];
	uint32_t n;
	uint32_t more;			/* room of all beyond GAPS of each */
	struct fl_hash by_tid;
	uint64_t since;			/* what began before is not known */
	struct sums programs, flicks;	/* of all that there were */
	bool (*is_beside)(int32_t tid);
};

struct fl_preempted *fl_preempted_open(bool (*is_beside)(int32_t tid))
{
	struct fl_preempted *p = calloc(1, sizeof(*p));

	if (p)
		p->is_beside = is_beside;
	return p;
}

void fl_preempted_close(struct fl_preempted *p)
{
	for (uint32_t i = 0; p && i < p->n; i++)
		free(p->of[i].of);
	if (p)
		fl_hash_free(&p->by_tid);
	free(p);
}

/* ---- threads ------------------------------------------------------------------------ */

static uint32_t hash_of(int32_t tid)
{
	return fl_hash_of(0, (uint32_t)tid);
}

/* NULL: nothing is known of it. */
static struct thread *find(struct fl_preempted *p, int32_t tid)
{
	for (uint32_t at = hash_of(tid), i; (i = fl_hash_next(&p->by_tid, hash_of(tid), &at));)
		if (p->of[i - 1].tid == tid)
			return &p->of[i - 1];
	return NULL;
}

static int latest_first(const void *x, const void *y)
{
	const struct thread *a = x, *b = y;

	return a->last > b->last ? -1 : a->last < b->last;
}

/* Drop the half of threads that were not switched for longest. 0 or -ENOMEM. */
static int drop_half(struct fl_preempted *p)
{
	int err = 0;

	qsort(p->of, p->n, sizeof(*p->of), latest_first);
	while (p->n > THREADS / 2) {
		free(p->of[--p->n].of);
		p->more -= p->of[p->n].room - GAPS;
	}
	fl_hash_free(&p->by_tid);
	for (uint32_t i = 0; !err && i < p->n; i++)
		err = fl_hash_put(&p->by_tid, hash_of(p->of[i].tid), i + 1);
	return err;
}

static struct thread *thread_by_tid(struct fl_preempted *p, int32_t tid)
{
	struct thread *known = find(p, tid);

	if (known)
		return known;
	if ((p->n == THREADS && drop_half(p)) ||
	    fl_hash_put(&p->by_tid, hash_of(tid), p->n + 1))
		return NULL;
	p->of[p->n] = (struct thread){ .tid = tid, .room = GAPS };
	return &p->of[p->n++];
}

/* ---- gaps ---------------------------------------------------------------------------- */

static uint64_t sum_behind(const struct gap *g)
{
	return g->before + (g->end - g->begin);
}

/* Is a gap of that number kept at that age? */
static bool is_gap_kept(uint64_t number, uint64_t age)
{
	uint64_t stride = 1;

	while (age / stride >= 2 * DENSE)
		stride *= 2;
	return number % stride == 0;
}

/* How many gaps began before `at`. */
static uint32_t begun_at(const struct thread *t, uint64_t at)
{
	return at ? (uint32_t)fl_rows_from(t->of, t->n, sizeof(*t->of), at - 1) : 0;
}

/* All gaps from that number on are kept. */
static void thin(struct thread *t, uint64_t number)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->n; i++) {
		const struct gap *g = &t->of[i];

		if (g->number >= number || is_gap_kept(g->number, number - g->number))
			t->of[n++] = *g;
	}
	t->n = n;
}

static void make_room(struct fl_preempted *p, struct thread *t)
{
	uint32_t asked = begun_at(t, t->asked);

	thin(t, asked < t->n ? t->of[asked].number : t->n_gaps);
	if (t->n > t->room / 4 * 3 && t->room < MOST_GAPS && p->more + t->room <= MORE) {
		p->more += t->room;
		t->room *= 2;
	}
	if (t->n > t->room / 4 * 3)
		thin(t, t->n_gaps);
	if (t->n > t->room / 4 * 3) {
		t->n -= GAPS / 4;
		memmove(t->of, t->of + GAPS / 4, t->n * sizeof(*t->of));
	}
}

static int add_gap(struct fl_preempted *p, struct thread *t, uint64_t begin, uint64_t end)
{
	uint64_t before = t->n ? sum_behind(&t->of[t->n - 1]) : 0;

	if (t->n == t->room)
		make_room(p, t);
	if (fl_array_room(&t->of, t->n, sizeof(*t->of)))
		return -ENOMEM;
	t->of[t->n++] = (struct gap){ begin, end, before, t->n_gaps++ };
	return 0;
}

static void add(struct sums *to, const struct sums *more)
{
	to->ran += more->ran;
	to->waited += more->waited;
	to->preempted += more->preempted;
}

/* The thread leaves its processor, and had it for `ran` ticks. */
static void count_out(struct fl_preempted *p, struct thread *t, enum fl_switch how,
		      uint64_t ran)
{
	const struct sums more = { ran, how == FL_SWITCH_WAITS, how == FL_SWITCH_PREEMPTED };

	add(t->is_beside ? &p->flicks : &p->programs, &more);
	add(&t->sums, &more);
	if (t->sums.waited + t->sums.preempted != OFTEN || !p->is_beside(t->tid))
		return;
	t->is_beside = true;
	add(&p->flicks, &t->sums);
	p->programs.ran -= t->sums.ran;
	p->programs.waited -= t->sums.waited;
	p->programs.preempted -= t->sums.preempted;
}

int fl_preempted_switch(struct fl_preempted *p, int32_t tid, enum fl_switch how, uint64_t at)
{
	struct thread *t = thread_by_tid(p, tid);
	int err = 0;

	if (!t)
		return -ENOMEM;
	if (at < t->last)
		return 0;		/* clocks of two processors disagree */
	t->last = at;
	if (how == FL_SWITCH_IN) {
		if (t->out && t->out >= p->since)
			err = add_gap(p, t, t->out, at);
		t->in = at;
		t->out = 0;
		return err;
	}
	count_out(p, t, how, t->in && t->in >= p->since ? at - t->in : 0);
	t->in = 0;
	t->out = how == FL_SWITCH_PREEMPTED ? at : 0;
	return 0;
}

void fl_preempted_forget(struct fl_preempted *p, uint64_t at)
{
	p->since = at > p->since ? at : p->since;
}

/* What all gaps before `at` came to, at least. */
static uint64_t least_at(const struct thread *t, uint64_t at)
{
	uint32_t n = begun_at(t, at);
	const struct gap *g = n ? &t->of[n - 1] : NULL;

	if (!g)
		return t->of[0].before;
	return at < g->end ? g->before + (at - g->begin) : sum_behind(g);
}

/* At most: with gaps that were dropped behind the last one. */
static uint64_t most_at(const struct thread *t, uint64_t at)
{
	uint32_t n = begun_at(t, at);

	return n == t->n || (n && at < t->of[n - 1].end) ? least_at(t, at) : t->of[n].before;
}

uint64_t fl_preempted_between(struct fl_preempted *p, int32_t tid, uint64_t begin,
			      uint64_t end)
{
	struct thread *t = find(p, tid);
	uint64_t from, to;

	if (t && t->asked < end)
		t->asked = end;
	if (!t || !t->n || begin < p->since || begin >= end)
		return 0;
	from = most_at(t, begin);
	to = least_at(t, end);
	return to > from ? to - from : 0;
}

uint64_t fl_preempted_ran(const struct fl_preempted *p)
{
	return p->programs.ran;
}

/* Whoever wakes up preempts one thread at most. */
uint64_t fl_preempted_switches(const struct fl_preempted *p)
{
	uint64_t flicks = p->flicks.waited + p->flicks.preempted;

	return p->programs.waited +
	       (p->programs.preempted > flicks ? p->programs.preempted - flicks : 0);
}
