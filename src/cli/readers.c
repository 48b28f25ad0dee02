/*
 * readers.c - more threads that drain rings, each with analyses of its own.
 *
 * The recorder's first thread drains rings, too, and is the one that answers
 * the target: what it learns (names, sites) all analyses look up, so the others
 * look while they hold `names` for reading. A ring belongs to one reader as long
 * as its thread lives, so nothing else is shared; when the target is gone the
 * others' results are merged into those of the first.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/budget.h"
#include "cli/cli.h"
#include "os/os.h"

#define WAIT_US 2000

struct other {
	struct fl_readers *all;
	struct fl_reader *reader;
	struct fl_run *run;
	pthread_t thread;
	bool is_started;
	int error;			/* the first of its analyses */
	uint64_t delivered;		/* so far; W it, R the first thread */
	uint32_t answered;		/* the last of `asked`; likewise */
};

struct fl_readers {
	struct fl_session *s;
	pthread_rwlock_t names;
	uint32_t over;			/* 1: the target is gone */
	uint32_t stopped;		/* 1: nothing more is taken */
	uint32_t asked;			/* so often to deliver what is counted */
	uint32_t n;
	struct fl_thread *threads;	/* of all readers, when they have ended */
	size_t n_threads;
	struct other others[FL_MAX_READERS - 1];
};

/* ---- what they do ---------------------------------------------------------------- */

static void note_error(struct other *o, int err)
{
	if (err && !o->error)
		o->error = err;
}

static void feed(void *arg, const struct fl_batch *b)
{
	struct other *o = arg;

	pthread_rwlock_rdlock(&o->all->names);
	note_error(o, fl_run_feed(o->run, b));
	pthread_rwlock_unlock(&o->all->names);
	store_relaxed(&o->delivered, o->delivered + b->n);
}

static void count(void *arg, uint32_t thread, uint32_t probe, uint64_t n)
{
	struct other *o = arg;

	if (o->all->s->budget) {
		fl_budget_count(o->all->s->budget, probe, n, fl_reader_heeded(o->reader));
		return;
	}
	pthread_rwlock_rdlock(&o->all->names);
	note_error(o, fl_run_count(o->run, thread, probe, n));
	pthread_rwlock_unlock(&o->all->names);
	store_relaxed(&o->delivered, o->delivered + n);
}

static void thread_end(void *arg, uint32_t thread)
{
	struct other *o = arg;

	pthread_rwlock_rdlock(&o->all->names);
	note_error(o, fl_run_thread_end(o->run, thread));
	pthread_rwlock_unlock(&o->all->names);
}

static void answer(struct other *o)
{
	uint32_t asked = load_acquire(&o->all->asked);	/* (C) pairs with (D) */

	if (asked == o->answered)
		return;
	fl_reader_count(o->reader);
	store_release(&o->answered, asked);		/* (E) pairs with (F) */
}

static void *drain(void *arg)
{
	struct other *o = arg;
	while (!load_acquire(&o->all->over)) {		/* (A) pairs with (B) */
		if (load_relaxed(&o->all->stopped))
			fl_os_sleep_us(WAIT_US);
		else if (!fl_reader_poll(o->reader, false))
			fl_reader_wait(o->reader, WAIT_US);
		answer(o);
	}
	while (fl_reader_poll(o->reader, true))
		;
	return NULL;
}

/* ---- their life --------------------------------------------------------------------- */

/* Who waits to write goes first, or readers that never pause keep it waiting. */
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

static int open_one(struct fl_session *s, struct other *o, uint32_t number)
{
	struct fl_sink sink = { o, feed, count, thread_end };
	int err;

	o->all = s->readers;
	err = fl_run_open(&o->run, s->o->analyses, s->o->n_analyses, &s->view);
	if (!err)
		err = fl_reader_open(&o->reader, s->shm, &sink, number);
	if (!err)
		err = -pthread_create(&o->thread, NULL, drain, o);
	o->is_started = !err;
	return err;
}

int fl_readers_open(struct fl_session *s)
{
	int err;

	if (s->o->readers < 2)
		return 0;
	s->readers = calloc(1, sizeof(*s->readers));
	if (s->readers)
		s->readers->s = s;
	err = s->readers ? open_names(&s->readers->names) : -ENOMEM;
	while (!err && s->readers->n + 1 < s->o->readers) {
		struct other *o = &s->readers->others[s->readers->n++];

		err = open_one(s, o, s->readers->n);
	}
	return err;
}

void fl_readers_hold(struct fl_readers *all)
{
	if (all)
		pthread_rwlock_wrlock(&all->names);
}

void fl_readers_release(struct fl_readers *all)
{
	if (all)
		pthread_rwlock_unlock(&all->names);
}

void fl_readers_stop(struct fl_readers *all)
{
	if (all)
		store_relaxed(&all->stopped, 1);
}

static void join(struct fl_readers *all)
{
	store_release(&all->over, 1);			/* (B) pairs with (A) */
	for (uint32_t i = 0; i < all->n; i++) {
		if (all->others[i].is_started)
			pthread_join(all->others[i].thread, NULL);
		all->others[i].is_started = false;
	}
}

int fl_readers_finish(struct fl_readers *all, struct fl_run *into)
{
	int err = 0;

	if (!all)
		return 0;
	join(all);
	for (uint32_t i = 0; !err && i < all->n; i++) {
		err = all->others[i].error;
		if (!err)
			err = fl_run_merge(into, all->others[i].run);
	}
	return err;
}

void fl_readers_close(struct fl_readers *all)
{
	if (!all)
		return;
	join(all);
	for (uint32_t i = 0; i < all->n; i++) {
		fl_run_close(all->others[i].run);
		fl_reader_close(all->others[i].reader);
	}
	pthread_rwlock_destroy(&all->names);
	free(all->threads);
	free(all);
}

/* ---- the account ---------------------------------------------------------------------- */

uint64_t fl_readers_delivered(const struct fl_readers *all)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; all && i < all->n; i++)
		sum += load_relaxed(&all->others[i].delivered);
	return sum;
}

void fl_readers_ask(struct fl_readers *all)
{
	if (all)
		store_release(&all->asked, all->asked + 1);	/* (D) pairs with (C) */
}

bool fl_readers_answered(const struct fl_readers *all)
{
	for (uint32_t i = 0; all && i < all->n; i++)
		/* (F) pairs with (E) */
		if (load_acquire(&all->others[i].answered) != all->asked)
			return false;
	return true;
}

static const struct fl_thread *threads_of(const struct fl_session *s, uint32_t i, size_t *n)
{
	return fl_reader_threads(i ? s->readers->others[i - 1].reader : s->reader, n);
}

/* One reader's after the other's. */
static struct fl_thread *gather_threads(const struct fl_session *s, size_t *n)
{
	struct fl_thread *all = NULL;

	*n = 0;
	for (uint32_t i = 0; i <= s->readers->n; i++) {
		size_t some;
		const struct fl_thread *t = threads_of(s, i, &some);
		struct fl_thread *more = realloc(all, (*n + some + 1) * sizeof(*all));

		if (!more)
			break;
		all = more;
		if (some)
			memcpy(all + *n, t, some * sizeof(*all));
		*n += some;
	}
	return all;
}

const struct fl_thread *fl_readers_threads(struct fl_session *s, size_t *n)
{
	struct fl_readers *all = s->readers;

	if (!all || !load_relaxed(&all->over))
		return threads_of(s, 0, n);
	if (!all->threads)
		all->threads = gather_threads(s, &all->n_threads);
	*n = all->threads ? all->n_threads : 0;
	return all->threads;
}
