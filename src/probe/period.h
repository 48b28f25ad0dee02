/*
 * period.h - private to probe/: when calls of a function are timed, counted alone, or off
 * (period.c). The caller has the switches' lock, except for enter, leave, is_last and stop.
 * Where "How many" is returned, it is the number of probes that were switched.
 */
#ifndef FL_PERIOD_H
#define FL_PERIOD_H

#include "table.h"

void fl_period_open(void);		/* before all others: no function is off */

/* A period's number, and how many timed calls of it are open, are one word, so that neither
 * changes unseen between a look at the other and what follows. */
static inline uint32_t fl_period_number(uint64_t period)
{
	return (uint32_t)(period >> 32);
}

/* A timed call is about to begin, in the period that is returned. */
static inline uint32_t fl_period_enter(struct fl_function *f)
{
	/* (E) pairs with (F) in period.c */
	return fl_period_number(__atomic_fetch_add(&f->period, 1, __ATOMIC_ACQ_REL));
}

/* A timed call of that period has ended. True: it was the last open one, and no more begin. */
static inline bool fl_period_leave(struct fl_function *f, uint32_t number)
{
	uint64_t now = load_relaxed(&f->period);

	do
		if (fl_period_number(now) != number || !(uint32_t)now)
			return false;
	/* (E) pairs with (F) in period.c */
	while (!__atomic_compare_exchange_n(&f->period, &now, now - 1, true,
					    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
	return (uint32_t)now == 1 && load_relaxed(&f->is_off);
}

/* Has that period ended, and no later one? */
static inline bool fl_period_is_last(const struct fl_function *f, uint32_t number)
{
	/* (E) pairs with (F) in period.c */
	return fl_period_number(load_acquire(&f->period)) == number + 1;
}

/* Functions are timed in turns. Those that lie beside one another in the code, and often
 * call one another, are in different groups. */
static inline uint32_t fl_period_group(const struct fl_function *f)
{
	return (uint32_t)(f - fl_table.functions) % FL_GROUPS;
}

/* A timed call that is open for so long is let go, if it looks up where it jumps. */
enum { FL_LASTS_US = 20000 };

/* What becomes of timed calls that are open: they are waited for, or given up as no samples. */
enum fl_open_calls { FL_WAIT_FOR_OPEN, FL_GIVE_UP_OPEN };

/* Entries count from now on; exits go off when the last timed call has ended, or at once.
 * Called again for a function that is off when one of its sites was found and armed since. Any
 * thread, and nobody waits: where another thread switches, or modules are being unloaded, the
 * next call tries again. */
void fl_period_stop(struct fl_function *, enum fl_open_calls);
/* Calls of the function are timed from now on; of all functions of a group that are off. How
 * many. */
uint32_t fl_period_begin(struct fl_function *);
uint32_t fl_period_begin_group(uint32_t group);
/* Its calls are counted, and not timed. How many. */
uint32_t fl_period_count(struct fl_function *);
/* All of its probes are off, and calls that are open are given up. How many. */
uint32_t fl_period_shut(struct fl_function *);
/* holds: who holds probe `id` off that is armed now. action: what entries do of a function that
 * is not seldom. */
uint8_t fl_period_holds(uint32_t id);
enum fl_action fl_period_action(const struct fl_function *);
/* note_switch: probe `id` is armed; is it a look-up? let_go, at a turn: look-ups of calls that
 * last go off. True: some may have to soon. */
void fl_period_note_switch(uint32_t id);
bool fl_period_let_go(uint64_t now_ns, uint32_t *switched);
/* list: the function awaits the turn of its group; unlist: no more; all: no function does. */
void fl_period_list(struct fl_function *);
void fl_period_unlist(const struct fl_function *);
void fl_period_unlist_all(void);
/* In fork's child: no call is open, and what another thread had begun is finished here. */
void fl_period_in_child(struct fl_function *);

#endif
