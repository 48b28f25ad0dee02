/*
 * named.h - private to session/: sessions beside the recording's own (named.c), and what they
 * have seen (named-result.c).
 *
 * A session wants functions for as long as its owner lives, and has analyses of its own.
 * change.c sees to it that what any session wants is recorded.
 */
#ifndef FL_NAMED_H
#define FL_NAMED_H

#include "session/session.h"

enum { FL_NAMED_MOST = 16, FL_NAME_MOST = 32 };

struct fl_named {
	char name[FL_NAME_MOST];	/* "": there is none */
	char *glob;
	struct fl_selection *of;	/* what the glob takes */
	enum fl_stage stage;		/* what functions become: ON or COUNT */
	const void *by;			/* its owner; NULL: it has gone */
	uint8_t *wants;			/* by site: enum fl_stage; NONE: it does not */
	uint32_t n_wants;
	uint32_t functions, sites;
	uint32_t last;			/* the function of the last of these */
	double budget;			/* its own, a part of the program's CPU time; 0: none */
	struct fl_named_seen *seen;		/* what its analyses have (named-result.c) */
	bool is_on;			/* what it wants has been made so */
	bool is_going;			/* and is to be undone */
	bool is_asked;			/* the program is asked to do either just now ... */
	bool was_going;			/* ... and it is to be undone */
};
struct fl_beside {
	struct fl_named of[FL_NAMED_MOST];
};

/* How a session is asked for. */
struct fl_naming {
	const void *by;			/* its owner */
	const char *name, *glob;
	const char *analyses;		/* names, with commas between; NULL: as it is used to */
	double budget;
	enum fl_stage stage;
};

/* The most that any session wants of site `i`: ON, COUNT, or NONE. */
enum fl_stage fl_beside_want(const struct fl_beside *, uint32_t i);
/* payer: which session pays for counts of site `i`, of those that want it and have a budget:
 * k + 1, or 0. pays: the budget that the k-th has just now. */
uint32_t fl_beside_payer(const struct fl_beside *, uint32_t i);
double fl_beside_pays(const struct fl_beside *, uint32_t k);
/* A session that wants nothing yet, of `n` sites at most; NULL and why. */
struct fl_named *fl_beside_add(struct fl_beside *, uint32_t n, const struct fl_naming *,
			       char why[FL_WHY]);
/* The session wants site `i` if its pattern takes the site. Does it? */
bool fl_named_take(struct fl_named *, struct fl_session *, uint32_t i);
/* May one want what is found? */
bool fl_beside_awaits(const struct fl_beside *);
/* Site `i` has been found while sessions are there. Does one want it? */
bool fl_beside_found(struct fl_beside *, struct fl_session *, uint32_t i);
struct fl_named *fl_beside_find(struct fl_beside *, const char *name);
struct fl_named *fl_beside_of(struct fl_beside *, const void *by);
void fl_beside_remove(struct fl_named *);
void fl_beside_end(struct fl_named *);	/* what it has is to be undone */
/* What a session has seen. begin: before it is on; 0, or -1 and why. write: tables for people,
 * of all until now; the last one has what open calls have called. can_tell: where calls are
 * counted and few are timed, counts are as of some time ago: is that after `since_ns`, of the
 * monotonic clock? end: NULL is fine. */
int fl_named_begin(struct fl_named *, struct fl_session *, const char *analyses,
		   char why[FL_WHY]);
bool fl_named_can_tell(const struct fl_session *, uint64_t since_ns);
enum fl_telling { FL_TELL_SO_FAR, FL_TELL_LAST };
void fl_named_write(FILE *, const struct fl_named *, enum fl_telling);
void fl_named_end(struct fl_named_seen *);
/* Is one going, and nobody has asked for it? */
bool fl_beside_are_going(const struct fl_beside *);
/* The program is asked; has answered, 0 or an error. */
void fl_beside_asked(struct fl_beside *);
void fl_beside_answered(struct fl_beside *, int err);

#endif
