/*
 * named.h - private to cli/: sessions beside the recording's own (named.c).
 *
 * One wants functions for as long as its owner lives. What is recorded is what any session
 * wants; that change.c makes so.
 */
#ifndef FL_NAMED_H
#define FL_NAMED_H

#include "cli/cli.h"

enum { FL_NAMED_MOST = 16, FL_NAME_MOST = 32 };

struct fl_named {
	char name[FL_NAME_MOST];	/* "": there is none */
	char *glob;
	const void *by;			/* its owner; NULL: he has gone */
	uint8_t *wants;			/* by site; n of these */
	uint32_t n, functions, sites;
	bool is_on;			/* what it wants has been made so */
	bool is_going;			/* and is to be undone */
	bool is_asked;			/* the program is asked to do either just now */
	bool was_going;			/* the latter */
};
struct fl_beside { struct fl_named of[FL_NAMED_MOST]; };

/* Does any of them want site `i`? */
bool fl_beside_want(const struct fl_beside *, uint32_t i);
/* One that wants nothing yet; NULL and why. */
struct fl_named *fl_beside_add(struct fl_beside *, const struct fl_session *,
			       const char *name, const char *glob, char why[FL_WHY]);
struct fl_named *fl_beside_find(struct fl_beside *, const char *name);
struct fl_named *fl_beside_of(struct fl_beside *, const void *by);
void fl_beside_remove(struct fl_named *);
/* Is one going, and nobody has asked for it? */
bool fl_beside_are_going(const struct fl_beside *);
/* The program is asked; has answered, 0 or an error. */
void fl_beside_asked(struct fl_beside *);
void fl_beside_answered(struct fl_beside *, int err);

#endif
