/*
 * sync.c - the choice of a way to synchronise, and tickets that share a sync.
 *
 * Syncs are numbered as they begin; only the holder of the lock runs one. A thread that
 * stored to text takes the number of the next sync to begin as its ticket: that sync, or
 * any later one, serves the ticket. So one of many waiting threads runs the sync for all.
 *
 *	storer				runner
 *	store to text			lock
 *	full fence	(A)		begun = begun + 1	(B)
 *	ticket = begun + 1		all_cores()
 *	...				ended = begun		(C)
 *	passed: ended >= ticket	(D)	unlock
 *
 * (A) pairs with (B): a storer that read `begun` before sync k was counted in
 * takes ticket k or less, and its stores were visible before k began.
 * (C) pairs with (D): a thread that sees the end of a sync sees what its runner stored.
 */
#include "arch/arch.h"
#include "interrupt.h"
#include "os/os.h"
#include "patch.h"
#include "sync.h"

const struct fl_sync *const fl_syncs[] = {
	&fl_sync_membarrier, &fl_sync_signal, &fl_sync_stop, &fl_sync_wait, NULL
};

const struct fl_sync *fl_sync;

static struct fl_lock lock = { .rank = FL_LOCK_SYNC };
static uint64_t begun, ended;		/* W the lock's holder, R any */

static int try_sync(const struct fl_sync *s)
{
	int err = s->probe();

	if (!err)
		fl_sync = s;
	return err;
}

static const struct fl_sync *find(const char *name)
{
	for (size_t i = 0; fl_syncs[i]; i++)
		if (__builtin_strcmp(fl_syncs[i]->name, name) == 0)
			return fl_syncs[i];
	return NULL;
}

static int choose_by_name(const char *name)
{
	const struct fl_sync *s = find(name);

	return s ? try_sync(s) : FLE_OPTION;
}

/* FLE_SIGBLOCK is told rather than FLE_NOSYNC, because the user can change a thread's mask. */
static int choose_best(void)
{
	int err = FLE_NOSYNC;

	for (size_t i = 0; fl_syncs[i]; i++) {
		int why = fl_syncs[i]->by_choice ? FLE_NOSYNC : try_sync(fl_syncs[i]);

		if (!why)
			return 0;
		if (why == FLE_SIGBLOCK)
			err = why;
	}
	return err;
}

int fl_sync_choose(const char *name)
{
	char given[32];

	if (fl_sync)
		return name && __builtin_strcmp(fl_sync->name, name) ? FLE_OPTION : 0;
	if (name)
		return choose_by_name(name);
	switch (fl_os_environment(FL_SYNC_ENV, given, sizeof(given))) {
	case 0:			return *given ? choose_by_name(given) : choose_best();
	case -ENAMETOOLONG:	return FLE_OPTION;
	default:		return choose_best();
	}
}

const char *fl_patch_sync_row(size_t i, const char **about)
{
	if (i + 1 >= ARRAY_LEN(fl_syncs))
		return NULL;
	*about = fl_syncs[i]->about;
	return fl_syncs[i]->name;
}

int fl_patch_sync_works(const char *name)
{
	const struct fl_sync *s = find(name);

	return s ? s->probe() : FLE_OPTION;
}

/* ---- one at a time --------------------------------------------------------- */

struct fl_ticket fl_sync_ticket(void)
{
	struct fl_ticket t = { 0 };

	__atomic_thread_fence(__ATOMIC_SEQ_CST);	/* (A) pairs with (B) */
	t.number = load_relaxed(&begun) + 1;
	if (fl_sync->ticks)
		t.ticks = fl_arch_ticks() + fl_sync->ticks();
	return t;
}

bool fl_sync_passed(struct fl_ticket t)
{
	if (load_acquire(&ended) >= t.number)		/* (D) pairs with (C) */
		return true;
	return t.ticks && fl_arch_ticks() >= t.ticks;
}

/* The lock is held. */
static void run(void)
{
	uint64_t number = begun + 1;

	/* ordering: (B) pairs with (A) */
	__atomic_store_n(&begun, number, __ATOMIC_SEQ_CST);
	FL_POINT("sync.begun");
	fl_sync->all_cores();
	store_release(&ended, number);			/* (C) pairs with (D) */
}

void fl_sync_lock(uint64_t *signals)
{
	fl_os_lock(&lock, signals);
}

void fl_sync_unlock(const uint64_t *signals)
{
	fl_os_unlock(&lock, signals);
}

int fl_sync_ready(void)
{
	uint64_t signals;
	int err;

	if (!fl_sync->ready)
		return 0;
	fl_os_lock(&lock, &signals);
	err = fl_sync->ready();
	fl_os_unlock(&lock, &signals);
	return err;
}

void fl_sync_close(void)
{
	uint64_t signals;

	fl_os_lock(&lock, &signals);
	fl_interrupt_close();
	fl_os_unlock(&lock, &signals);
}

void fl_sync_pass(struct fl_ticket t)
{
	uint64_t signals;

	while (t.ticks && !fl_sync_passed(t))
		fl_arch_pause();
	if (fl_sync_passed(t))
		return;
	fl_os_lock(&lock, &signals);
	if (!fl_sync_passed(t))
		run();
	fl_os_unlock(&lock, &signals);
}

void fl_patch_sync(void)
{
	fl_sync_pass(fl_sync_ticket());
}

const char *fl_patch_sync_name(void)
{
	return fl_sync ? fl_sync->name : "none";
}

bool fl_patch_sync_waits(void)
{
	return fl_sync->ticks != NULL;
}
