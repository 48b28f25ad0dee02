/*
 * inside.c - a thread runs a handler of the program's own, and another waits for its return.
 *
 * Hides how it is known who is inside, at the cost of two stores a call: each thread has a
 * place of its own, where it says in which turn it went in. A thread that waits begins another
 * turn, and waits for threads of older turns alone. So a thread that goes in again and again
 * holds up nobody, and what is freed was last seen by threads that have come out.
 *
 * PROTOCOL
 *	a thread at a probe			who waits (flick_drain)
 *	load turn		(A)		... wants, bindings are stored
 *	since = turn				turn + 1		(B)
 *	load wants: is it wanted?		sync of all cores
 *	load what is bound			since of each thread	(D)
 *	call it					  0, or this turn: it is past
 *	since = 0		(C)		  else look again, until it is
 *	A thread that is inside already goes in and out as it is: its turn is the outermost
 *	call's. One that can have no place counts itself among `others`.
 * INVARIANT
 *	1 A handler that nobody wants, or that no probe has, when a wait begins runs nowhere
 *	  when the wait has ended.
 *	2 A wait ends though threads go inside all the time.
 * WHY
 *	1 A thread that is not seen inside after the sync either stored `since` later than the
 *	  sync, or had come out: (C) and (D). The former loads wants and what is bound after
 *	  the sync, too, which is a full fence for it; so does a thread that loaded the new
 *	  turn, (A) of (B). Where a thread stood before does not matter: in the glue or the
 *	  routine it has decided nothing.
 *	2 A thread that goes in after (B) has the new turn. `others` needs a moment in which
 *	  none is inside; these are threads beyond PLACES.
 * FAILURE
 *	A thread ends inside (pthread_exit): the kernel knows it no more, and its place is
 *	passed. A handler is left by longjmp(), which is forbidden: its thread stays inside,
 *	and waits end by their time. A fork's child has its parent's places, and waits for no
 *	thread of these.
 */
#include <sys/mman.h>

#include "goal.h"
#include "handler.h"
#include "os/os.h"
#include "patch/patch.h"

struct fl_inside {
	_Alignas(64) uint64_t since;	/* the turn in which it went in; 0: it is not inside. W
					 * its thread at (C), R any at (D) */
	int tid;			/* whose it is; 0: nobody's; atomic */
};

enum { PLACES = 4096, TRIES = 16, SKIP = 4096 };

static struct fl_inside *places;	/* constant */
static uint32_t n_places, next_place;	/* that have been used; where to look; atomic */
/* Places of threads that are inside already, that can have none, that have not looked for
 * one. */
static struct fl_inside already, other, none = { .since = 1 };
static uint64_t others;			/* threads without a place that are inside; atomic */
static uint64_t turn = 1;		/* atomic */
static __thread struct {
	struct fl_inside *place;
	uint32_t skip;			/* calls before it looks for one again */
} own = { .place = &none };

int fl_inside_open(void)
{
	if (!places)
		places = fl_table_map(PLACES * sizeof *places);
	return places ? 0 : -ENOMEM;
}

/* ---- a thread's place ------------------------------------------------------------- */

static bool has_ended(const struct fl_inside *p)
{
	return fl_os_signal_thread(load_relaxed(&p->tid), 0) == -ESRCH;
}

/* A new place; else one whose thread has ended. */
static struct fl_inside *claim_place(int tid)
{
	uint32_t n = load_relaxed(&n_places);

	while (n < PLACES && !__atomic_compare_exchange_n(&n_places, &n, n + 1, false,
							  __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	if (n < PLACES) {
		store_relaxed(&places[n].tid, tid);
		return &places[n];
	}
	for (int i = 0; i < TRIES; i++) {
		struct fl_inside *p = &places[__atomic_fetch_add(&next_place, 1,
								 __ATOMIC_RELAXED) % PLACES];
		int was = load_relaxed(&p->tid);

		/* ordering: none, a place that is taken is nobody's */
		if (has_ended(p) && __atomic_compare_exchange_n(&p->tid, &was, tid, false,
								__ATOMIC_ACQ_REL,
								__ATOMIC_RELAXED))
			return p;
	}
	return NULL;
}

/* A handler that interrupts this may be quicker: then the place that is found here is free
 * again when the thread has ended. */
static void seek_place(void)
{
	struct fl_inside *p;

	if (own.skip) {
		own.skip--;
		return;
	}
	p = claim_place(fl_os_thread_id());
	if (p)
		store_relaxed(&p->since, 0);
	else
		own.skip = SKIP;
	if (p && own.place == &none)
		own.place = p;
}

/* ---- in and out -------------------------------------------------------------------- */

/* Returns in which turn. */
static inline uint64_t go_in(struct fl_inside *p)
{
	uint64_t now = load_acquire(&turn);			/* (A) pairs with (B) */

	store_relaxed(&p->since, now);
	/* ordering: none other, the sync of the thread that waits is the fence */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return now;
}

static inline void come_out(struct fl_inside *p)
{
	store_release(&p->since, 0);				/* (C) pairs with (D) */
}

struct fl_inside *fl_inside_enter(void)
{
	if (own.place == &none)
		seek_place();
	if (own.place == &none) {
		/* ordering: none other, as in go_in() */
		__atomic_fetch_add(&others, 1, __ATOMIC_SEQ_CST);
		return &other;
	}
	if (own.place->since)
		return &already;
	go_in(own.place);
	return own.place;
}

void fl_inside_leave(struct fl_inside *p)
{
	if (p == &other)
		/* (C) pairs with (D) */
		__atomic_fetch_sub(&others, 1, __ATOMIC_RELEASE);
	else if (p != &already)
		come_out(p);
}

static inline bool is_wanted(uint32_t id)
{
	uint8_t bit = load_acquire(&fl_table.handles);	/* (F) pairs with (A) in set.c */

	FL_POINT("inside.asking");
	/* (G) pairs with (C) in set.c */
	return load_acquire(&fl_goal_of(id)->wants) & bit;
}

/* A turn has begun meanwhile: perhaps a set's. */
static __attribute__((noinline)) bool ask_again(uint32_t id)
{
	uint64_t now;
	bool is;

	do {
		now = load_acquire(&turn);			/* (A) pairs with (B) */
		is = is_wanted(id);
	} while (load_relaxed(&turn) != now);
	return is;
}

bool fl_inside_wants(uint32_t id)
{
	return ask_again(id);
}

static inline void call_bound(uint32_t id, uint64_t now)
{
	const struct fl_binding *b;
	bool is;

	FL_POINT("inside.entered");
	is = is_wanted(id);
	if (__builtin_expect(load_relaxed(&turn) != now, 0))
		is = ask_again(id);
	if (__builtin_expect(!is, 0))
		return;
	b = load_acquire(&fl_bindings[id]);		/* (E) pairs with (A) in handler.c */
	FL_POINT("inside.loaded");
	if (__builtin_expect(b != NULL, 1))
		b->call(id, b->arg);
}

static __attribute__((noinline)) void call_otherwise(uint32_t id)
{
	struct fl_inside *p = fl_inside_enter();

	call_bound(id, load_acquire(&turn));			/* (A) pairs with (B) */
	fl_inside_leave(p);
}

void fl_handler_call(uint32_t id)
{
	struct fl_inside *p = own.place;

	FL_POINT("inside.coming");
	if (p->since) {
		call_otherwise(id);
		return;
	}
	call_bound(id, go_in(p));
	come_out(p);
}

/* ---- who waits ---------------------------------------------------------------------- */

struct wait {
	uint64_t turn, until_ns;	/* 0: for ever */
};

static bool is_past(struct fl_inside *p, uint64_t from)
{
	uint64_t since = load_acquire(&p->since);		/* (D) pairs with (C) */

	return !since || since >= from;
}

/* Some 20 us at first, which is what most handlers take, then longer. */
static bool look_later(const struct wait *w, uint64_t *us)
{
	enum { FIRST_US = 20, LONGEST_US = 1000 };

	if (w->until_ns && fl_os_monotonic_ns() >= w->until_ns)
		return false;
	*us = !*us ? FIRST_US : *us < LONGEST_US ? 2 * *us : LONGEST_US;
	fl_os_sleep_us(*us);
	return true;
}

static bool await_place(struct fl_inside *p, const struct wait *w)
{
	uint64_t us = 0;

	while (!is_past(p, w->turn))
		if (has_ended(p))
			return true;
		else if (!look_later(w, &us))
			return is_past(p, w->turn);
	return true;
}

uint64_t fl_inside_turn(void)
{
	return load_relaxed(&turn);
}

uint64_t fl_inside_begin_turn(void)
{
	/* (B) pairs with (A) */
	return __atomic_add_fetch(&turn, 1, __ATOMIC_SEQ_CST);
}

int fl_inside_wait(int wait_ms, uint64_t *began)
{
	struct wait w = { .until_ns = 0 };
	uint64_t us = 0;

	if (own.place != &none && own.place->since)
		return -EDEADLK;
	if (wait_ms >= 0)
		w.until_ns = fl_os_monotonic_ns() + (uint64_t)wait_ms * 1000000;
	w.turn = fl_inside_begin_turn();
	FL_POINT("inside.turned");
	fl_patch_sync();
	for (uint32_t i = 0; i < load_relaxed(&n_places); i++)
		if (!await_place(&places[i], &w))
			return -ETIMEDOUT;
	while (load_acquire(&others))				/* (D) pairs with (C) */
		if (!look_later(&w, &us))
			return -ETIMEDOUT;
	*began = w.turn;
	return 0;
}
