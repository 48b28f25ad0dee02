/*
 * readers.c - the threads that drain rings, each with analyses of its own.
 *
 * The first one is the session's own thread, which answers the target, too. Answers bring
 * names and sites, which all analyses look up while their threads hold `names` for reading.
 * A ring belongs to one reader as long as its thread lives, so nothing else is shared;
 * when the target is gone the others' results are merged into those of the first. Listeners,
 * who come and go while `names` is held for writing, are told what the analyses are told.
 */
#include <stdlib.h>
#include <string.h>

#include "os/os.h"
#include "session/budget/budget.h"
#include "session/readers.h"
#include "session/trigger.h"

#define WAIT_US 2000

struct one {
	struct fl_session *s;
	struct fl_reader *reader;
	uint32_t number;
	struct fl_run *run;
	pthread_t thread;		/* of all except the first one */
	bool is_started;
	int error;			/* the first of its analyses */
	uint64_t delivered;		/* so far; W it, R the first thread */
	uint32_t answered;		/* the last of `asked`; likewise */
};

struct fl_readers {
	pthread_rwlock_t names;
	uint32_t over;			/* 1: the target is gone */
	uint32_t stopped;		/* 1: nothing more is taken */
	uint32_t asked;			/* how often, to deliver what is counted */
	uint32_t n;
	struct fl_thread *threads;	/* of all readers, when they have ended */
	size_t n_threads;
	struct fl_listener *listeners;
	uint32_t n_listeners;
	struct one of[FL_MAX_READERS];
};

/* ---- what they do ---------------------------------------------------------------- */

static void begin_looking(struct one *o)
{
	pthread_rwlock_rdlock(&o->s->readers->names);
}

static void note_error(struct one *o, int err)
{
	if (err && !o->error)
		o->error = err;
}

/* The analyses that looked up came to `err`. */
static void end_looking(struct one *o, int err)
{
	pthread_rwlock_unlock(&o->s->readers->names);
	note_error(o, err);
}

/* For the budget; each reader has its own numbers. */
static uint32_t known_number(const struct one *o, uint32_t thread)
{
	return o->s->readers->n == 1 ? thread : FL_NO_NUMBER;
}

#define EACH_LISTENER(l, all)                                                                  \
	for (const struct fl_listener *l = (all)->listeners;                                   \
	     l < (all)->listeners + (all)->n_listeners; l++)

static void feed(void *arg, const struct fl_batch *b)
{
	struct one *o = arg;

	if (o->s->trigger)
		note_error(o, fl_trigger_put(o->s->trigger, b));
	else if (o->s->trace)
		fl_trace_put(o->s->trace, b);
	fl_budget_feed(o->s->budget, known_number(o, b->thread), b->records, b->n);
	fl_preempt_poll(o->s->preempt);		/* now that `b` has been taken */
	begin_looking(o);
	EACH_LISTENER(l, o->s->readers)
		l->feed(l->arg, o->number, b);
	end_looking(o, fl_run_feed(o->run, b));
	store_relaxed(&o->delivered, o->delivered + b->n);
}

/* Where accesses are told there are no windows, no trigger and no trace. */
static void give_words(void *arg, struct fl_words *w)
{
	struct one *o = arg;

	fl_preempt_poll(o->s->preempt);
	begin_looking(o);
	end_looking(o, fl_run_words(o->run, w));
	store_relaxed(&o->delivered, o->delivered + w->n);
}

/* Is the probe at a point? No budget switches it off then, and nobody times it. */
static bool is_at_point(const struct fl_session *s, uint32_t probe)
{
	return probe < s->view.n_sites && s->view.sites[probe].kind == FL_AT_POINT;
}

static void count(void *arg, uint32_t thread, uint32_t probe, uint64_t n)
{
	struct one *o = arg;

	if (o->s->budget && !is_at_point(o->s, probe)) {
		fl_budget_count(o->s->budget, known_number(o, thread), probe, n,
				fl_reader_heeded(o->reader));
		return;
	}
	begin_looking(o);
	EACH_LISTENER(l, o->s->readers)
		l->count(l->arg, o->number, thread, probe, n);
	end_looking(o, fl_run_count(o->run, thread, probe, n));
	if (!o->s->budget)			/* else samples are what is delivered */
		store_relaxed(&o->delivered, o->delivered + n);
}

static void thread_end(void *arg, uint32_t thread, uint64_t alive)
{
	struct one *o = arg;

	if (o->s->trigger)
		note_error(o, fl_trigger_thread_end(o->s->trigger, thread));
	else if (o->s->trace)
		fl_trace_thread_end(o->s->trace, thread);
	begin_looking(o);
	EACH_LISTENER(l, o->s->readers)
		l->thread_end(l->arg, o->number, thread, alive);
	end_looking(o, fl_run_thread_end(o->run, thread, alive));
}

/* The thread of each reader except the first. */
static void *drain(void *arg)
{
	struct one *o = arg;
	struct fl_readers *all = o->s->readers;

	while (!load_acquire(&all->over)) {		/* (A) pairs with (B) */
		uint32_t asked;

		if (load_relaxed(&all->stopped))
			fl_os_sleep_us(WAIT_US);
		else if (!fl_reader_poll(o->reader, false))
			fl_reader_wait(o->reader, WAIT_US);
		asked = load_acquire(&all->asked);	/* (C) pairs with (D) */
		if (asked == o->answered)
			continue;
		fl_reader_take(o->reader);
		fl_reader_count(o->reader);
		store_release(&o->answered, asked);	/* (E) pairs with (F) */
	}
	while (fl_reader_poll(o->reader, true))
		;
	return NULL;
}

/* ---- their life --------------------------------------------------------------------- */

/* A thread that waits to write goes first, or readers that never pause keep it waiting. */
static int open_names(pthread_rwlock_t *names)
{
	pthread_rwlockattr_t attr;
	int err = pthread_rwlockattr_init(&attr);

	if (!err)
		err = pthread_rwlockattr_setkind_np(&attr,
				PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	if (!err)
		err = pthread_rwlock_init(names, &attr);
	return -err;
}

static int open_one(struct fl_session *s, uint32_t number)
{
	struct one *o = &s->readers->of[number];
	struct fl_sink sink = { o, feed, count, thread_end };
	int err;

	o->s = s;
	o->number = number;
	s->readers->n++;
	err = fl_run_open(&o->run, s->o->analyses, s->o->n_analyses, &s->view);
	if (!err)
		err = fl_reader_open(&o->reader, s->shm, &sink, number);
	if (!err && !s->o->trace && !s->o->trigger && fl_run_takes_words(o->run))
		fl_reader_give_words(o->reader, give_words);
	if (!err && number)
		err = -pthread_create(&o->thread, NULL, drain, o);
	o->is_started = !err && number;
	return err;
}

int fl_readers_open(struct fl_session *s)
{
	uint32_t n = s->o->readers ? s->o->readers : 1;
	int err;

	s->readers = calloc(1, sizeof(*s->readers));
	err = s->readers ? open_names(&s->readers->names) : -ENOMEM;
	while (!err && s->readers->n < n)
		err = open_one(s, s->readers->n);
	if (s->readers) {
		s->reader = s->readers->of[0].reader;
		s->run = s->readers->of[0].run;
	}
	return err;
}

void fl_readers_hold(struct fl_readers *all)
{
	pthread_rwlock_wrlock(&all->names);
}

void fl_readers_forget(struct fl_session *s, uint64_t at, const unsigned char *of, uint32_t n)
{
	for (uint32_t i = 0; i < s->readers->n; i++)
		if (fl_run_forget(s->readers->of[i].run, at, of, n))
			s->readers->of[i].error = -ENOMEM;
}

void fl_readers_release(struct fl_readers *all)
{
	pthread_rwlock_unlock(&all->names);
}

void fl_readers_stop(struct fl_readers *all)
{
	store_relaxed(&all->stopped, 1);
}

static void join(struct fl_readers *all)
{
	store_release(&all->over, 1);			/* (B) pairs with (A) */
	for (uint32_t i = 1; i < all->n; i++) {
		if (all->of[i].is_started)
			pthread_join(all->of[i].thread, NULL);
		all->of[i].is_started = false;
	}
}

int fl_readers_finish(struct fl_readers *all)
{
	int err = all->of[0].error;

	join(all);
	for (uint32_t i = 1; !err && i < all->n; i++) {
		err = all->of[i].error;
		if (!err)
			err = fl_run_merge(all->of[0].run, all->of[i].run);
	}
	return err;
}

void fl_readers_close(struct fl_readers *all)
{
	if (!all)
		return;
	join(all);
	for (uint32_t i = 0; i < all->n; i++) {
		fl_run_close(all->of[i].run);
		if (all->of[i].reader)
			fl_reader_close(all->of[i].reader);
	}
	pthread_rwlock_destroy(&all->names);
	free(all->listeners);
	free(all->threads);
	free(all);
}

/* ---- the account ---------------------------------------------------------------------- */

uint64_t fl_readers_delivered(const struct fl_readers *all)
{
	uint64_t sum = 0;

	for (uint32_t i = 1; i < all->n; i++)
		sum += load_relaxed(&all->of[i].delivered);
	return sum;
}

void fl_readers_ask(struct fl_readers *all)
{
	store_release(&all->asked, all->asked + 1);		/* (D) pairs with (C) */
}

bool fl_readers_answered(const struct fl_readers *all)
{
	for (uint32_t i = 1; i < all->n; i++)
		/* (F) pairs with (E) */
		if (load_acquire(&all->of[i].answered) != all->asked)
			return false;
	return true;
}

void fl_readers_gather(struct fl_session *s)
{
	enum { TRIES = 100, APART_US = 100 };

	fl_readers_ask(s->readers);
	fl_reader_take(s->reader);
	if (!s->budget)
		fl_reader_count(s->reader);
	for (int i = 0; i < TRIES && !fl_readers_answered(s->readers); i++)
		fl_os_sleep_us(APART_US);
}

int fl_readers_listen(struct fl_readers *all, const struct fl_listener *l)
{
	if (fl_array_room(&all->listeners, all->n_listeners, sizeof(*l)))
		return -ENOMEM;
	all->listeners[all->n_listeners++] = *l;
	return 0;
}

void fl_readers_part(struct fl_readers *all, const void *arg)
{
	for (uint32_t i = 0; i < all->n_listeners; i++)
		if (all->listeners[i].arg == arg)
			all->listeners[i--] = all->listeners[--all->n_listeners];
}

/* The threads of all readers, one reader's after the other's. */
static struct fl_thread *gather_threads(const struct fl_readers *all, size_t *n)
{
	struct fl_thread *threads = NULL;

	*n = 0;
	for (uint32_t i = 0; i < all->n; i++) {
		size_t some;
		const struct fl_thread *t = fl_reader_threads(all->of[i].reader, &some);
		struct fl_thread *more = realloc(threads, (*n + some + 1) * sizeof(*more));

		if (!more)
			break;
		threads = more;
		if (some)
			memcpy(threads + *n, t, some * sizeof(*t));
		*n += some;
	}
	return threads;
}

const struct fl_thread *fl_readers_threads(struct fl_session *s, size_t *n)
{
	struct fl_readers *all = s->readers;

	if (all->n == 1 || !load_relaxed(&all->over))
		return fl_reader_threads(s->reader, n);
	if (!all->threads)
		all->threads = gather_threads(all, &all->n_threads);
	*n = all->threads ? all->n_threads : 0;
	return all->threads;
}
