/*
 * change.h - private to session/: what is recorded changes while the program runs (change.c).
 *
 *	fl_change_open()		once there is a region
 *	fl_change_stage(), ...		as often as one likes; nothing changes
 *	fl_change_commit()		the program is asked to make all of it so, at once
 *	fl_change_turn()		of the session's loop: has it answered?
 *	fl_change_abort()		what is staged is forgotten
 *
 * All are for the thread that runs the session's loop. One caller at a time stages: `by`, any
 * pointer of its own, tells which, and others are refused until it has committed or aborted.
 * Functions that return an int return 0, or -1 and one line in `why`.
 */
#ifndef FL_CHANGE_H
#define FL_CHANGE_H

#include "session/session.h"

int fl_change_open(struct fl_session *);	/* 0 or -ENOMEM */
void fl_change_close(struct fl_session *);

/* Functions that the glob matches; one site. fl_change_stage_marked() is a third way. */
int fl_change_stage(struct fl_session *, const void *by, enum fl_stage, const char *glob,
		    struct fl_change_sum *, char why[FL_WHY]);
int fl_change_stage_site(struct fl_session *, const void *by, enum fl_stage, uint32_t site,
			 struct fl_change_sum *, char why[FL_WHY]);
/* All that is staged. each: gets each such site and what it is to become; may be NULL. */
struct fl_change_sum fl_change_diff(const struct fl_session *,
				    void (*each)(void *arg, uint32_t site, enum fl_stage),
				    void *arg);
/* True: the program has just answered. */
bool fl_change_turn(struct fl_session *);

/* Sessions beside the recording's own: each has a name and an owner, and wants what its glob
 * matches to be ON or COUNT. begin: the program is asked for what the session brings, and the
 * answer comes as that of a commit; what anybody has staged stays staged. end: the session of
 * `by`, if it has one, goes when no other change is being made. drop: asks for the end of the
 * session of that name. */
struct fl_named;
struct fl_naming;
int fl_change_begin_session(struct fl_session *, const struct fl_naming *, char why[FL_WHY]);
void fl_change_end_session(struct fl_session *, const void *by);
/* The budget that counts of site `i` are paid from: 0 the recording's, k + 1 that of the k-th
 * session beside it. */
uint32_t fl_change_payer(const struct fl_session *, uint32_t i);
int fl_change_drop_session(struct fl_session *, const char *name, char why[FL_WHY]);
/* Is there a session that may want what is loaded? */
bool fl_change_awaits(const struct fl_session *);
/* Site `i` has just been loaded, and selected or not: sessions that want it take it. */
void fl_change_found(struct fl_session *, uint32_t site);
/* session_of: the name of the session that `by` has; NULL: none. write: what a session has
 * seen, as tables: the last ones if the session is that of `by`. */
const char *fl_change_session_of(const struct fl_session *, const void *by);
int fl_change_write_session(FILE *, struct fl_session *, const void *by, const char *name,
			    char why[FL_WHY]);
void fl_change_each_session(const struct fl_session *,
			    void (*each)(void *arg, const struct fl_named *), void *arg);

/* Why nothing can be changed in this recording; NULL: it can. */
const char *fl_change_never(const struct fl_session *);

/* A line for each function that the glob matches, or with NULL that can be asked for, says what
 * it is: those that are on come first (list.c). told: the sum, or why there is none;
 * `to` may be NULL. */
int fl_change_write_list(FILE *to, struct fl_session *, const char *glob, char told[FL_WHY]);

/* Is any site of the function on? is_off: is the site off, or is it to become so? */
bool fl_change_is_on(const struct fl_session *, uint32_t function);
bool fl_change_is_off(const struct fl_session *, uint32_t site);
/* Column `switched` of a result: 1 where calls are of a part of the time. 0 or -ENOMEM. */
int fl_change_fill(const struct fl_session *, struct flick_rows *);
/* The functions whose calls these are, for people: some names. Empty: none. */
enum { FL_CHANGE_SAYS = 256 };
void fl_change_say(const struct fl_session *, char *to, size_t room);

#endif
