/*
 * goal.h - private to probe/: what is wanted of a probe, and what it may become (goal.c).
 */
#ifndef FL_GOAL_H
#define FL_GOAL_H

#include "table.h"

/* What has become of a probe in this process. goal.c has the table of its moves. */
enum fl_probe_state {
	FL_PROBE_OTHERS,	/* it is another process's alone */
	FL_PROBE_FOUND,		/* it is taken in, and text is as it was */
	FL_PROBE_ARMED,		/* text is `off` or `on`: one byte switches it */
	FL_PROBE_CALLING,	/* it goes on to call a profiling function: data switches it */
	FL_PROBE_MUTED,		/* it was a call that nobody wants, and calls no more */
	FL_PROBE_YIELDED,	/* it has its old bytes while the program may write there */
	FL_PROBE_REFUSED,	/* it cannot be switched: its row says why */
	FL_PROBE_GONE,		/* its module was unloaded */
	FL_PROBE_ENDED,		/* it was switched off for the last time */
	FL_N_PROBE_STATES
};

/* Who holds a probe off that is wanted. READER, CLOSED and CHILD hold all. */
enum fl_hold {
	FL_HOLD_SAMPLED = 1,	/* an exit, whose function has no timed call open: period.c */
	FL_HOLD_SELDOM = 2,	/* an entry, whose function is counted in windows: period.c */
	FL_HOLD_WINDOW = 4,	/* an exit, between two windows of --rate: window.c */
	FL_HOLD_READER = 8,	/* the reader is dead: end.c, as the next two */
	FL_HOLD_CLOSED = 16,	/* flick is being closed */
	FL_HOLD_CHILD = 32,	/* this is a fork's child that is not recorded */
	FL_HOLD_LONG = 64,	/* a look-up, as a timed call of its function lasts: period.c */
	FL_HOLD_WOVEN = 128	/* an entry: its body tells all by itself */
};

/* Sessions' bits in fl_goal.wants. The first session is the recorder's or, where there is none,
 * the program's own (flick.h). The second one is beside a recorder. A program's own session has
 * two bits, which differ only while a set of it is being switched: handlers go by the bit that
 * fl_table.handles is (set.c). */
enum {
	FL_SESSION = 1, FL_SECOND = 2, FL_SESSION_TOO = 4, FL_SECOND_TOO = 8,
	FL_ALONE = FL_SESSION | FL_SESSION_TOO, FL_BESIDE_RECORDER = FL_SECOND | FL_SECOND_TOO
};

/* What is wanted of a probe; the index is its id. A generation is an array of these.
 * fl_table.in_force is the one that is in force. In the other one change.c stages what is to be
 * in force next, and no page of it is touched before that. */
struct fl_goal {
	uint8_t wants;			/* bits of sessions. With one session: W any thread, a
					 * plain store of all; where there has been a second:
					 * with the switches' lock */
	uint8_t action;			/* enum fl_action of the first session; W
					 * fl_goal_direct() */
};

static inline struct fl_goal *fl_goal_of(uint32_t id)
{
	return &load_relaxed(&fl_table.in_force)[id];
}

/* The generation that is not in force. */
static inline struct fl_goal *fl_goals_next(void)
{
	return fl_table.goals[fl_table.in_force == fl_table.goals[0]];
}

static inline uint8_t fl_goal_holds(uint32_t id)
{
	return load_relaxed(&fl_table.switches[id].holds) | load_relaxed(&fl_table.holds);
}

/* Does the first session want probe `id`, whoever holds it off? */
static inline bool fl_goal_is_wanted(uint32_t id)
{
	return load_relaxed(&fl_goal_of(id)->wants) & FL_SESSION;
}

static inline bool fl_goal_wants_entry(uint32_t id)
{
	return fl_table.switches[id].is_entry && fl_goal_is_wanted(id);
}

/* Is it wanted, and held off by nobody? */
static inline bool fl_goal_is_on(uint32_t id)
{
	return fl_goal_is_wanted(id) && !fl_goal_holds(id);
}

/* Is it on for the second session, which nobody holds off except with all? Also true when it is
 * to be on, or was on, in the set that is being switched. */
static inline bool fl_goal_is_second_on(uint32_t id)
{
	return load_relaxed(&fl_goal_of(id)->wants) & FL_BESIDE_RECORDER &&
	       !load_relaxed(&fl_table.holds);
}

/* May a probe of state `from` become one of state `to`? */
bool fl_goal_may(enum fl_probe_state from, enum fl_probe_state to);
/* What the reader is told of such a probe: enum fl_site_state. */
uint8_t fl_goal_told(enum fl_probe_state);
/* The answer to a wish for such a probe: 0 when it is noted. */
int fl_goal_answer(enum fl_probe_state);
/* Can it be wished on and off? */
static inline bool fl_probe_is_switched(uint32_t id)
{
	return !fl_goal_answer((enum fl_probe_state)load_relaxed(&fl_table.probes[id].state));
}

/* It becomes that, and the reader is told. The table is locked. */
void fl_goal_move(uint32_t id, enum fl_probe_state to);

/* The caller of the five functions below has the switches' lock.
 * begin: it is FOUND, and text of one to be armed is `off`; it becomes ARMED (text follows
 * from here on) or CALLING. */
void fl_goal_begin(uint32_t id, enum fl_probe_state);
/* Its text is `off` again, and no longer the old bytes: it is ARMED, and what was wished
 * meanwhile is made so. */
void fl_goal_resume(uint32_t id);
/* Hold it off, or do so no more. While text is frozen, text follows at the thaw. 1 when that
 * switched the probe, else 0. */
uint32_t fl_goal_hold(uint32_t id, enum fl_hold);
uint32_t fl_goal_let(uint32_t id, enum fl_hold);
/* Text and dispatch word become as the bits say, also if another thread changes bits
 * meanwhile. */
void fl_goal_follow(uint32_t id);

/* While what is in force changes (change.c), with the switches' lock. lead: the dispatch word
 * leads to what asks for the generation in force. show: text is on, whoever wants it. settle:
 * text, and the word of a probe that is on, are as the bits say. */
void fl_goal_lead(uint32_t id);
void fl_goal_show(uint32_t id);
void fl_goal_settle(uint32_t id);

/* In a set that is one step (set.c), likewise. show: the word is as the bits say, and text is
 * on, because one of the session's bits says so. settle: both are as all the bits say. */
void fl_goal_show_own(uint32_t id);
void fl_goal_settle_own(uint32_t id);
/* A set whose probes ask for nothing: each is switched by itself. While text is frozen wishes
 * are noted. How many were made. */
uint32_t fl_goals_wish(const uint8_t *goal, uint32_t n);

/* All are held off, for good. No text is changed. */
void fl_goal_hold_all(enum fl_hold);
/* Text of a probe that is held off becomes `off`, if it is armed. Nothing else is written. */
void fl_goal_make_off(uint32_t id);
/* Its dispatch word leads to what `action` says, if it has one, as by fl_probe_action().
 * Any thread. */
void fl_goal_direct(uint32_t id, enum fl_action);
/* What probe `id` does at this moment of the session, if no handler was set. */
enum fl_action fl_goal_action(uint32_t id);
/* The second session wants it, or does not. With the switches' lock. 0, or why not. */
int fl_goal_wish_second(uint32_t id, enum fl_state);

#endif
