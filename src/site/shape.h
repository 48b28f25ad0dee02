/*
 * shape.h - the parts of the provider `body`; private to this folder.
 *
 *	outline.c	all code of a module, once: functions and parts of them, by its steps
 *			outline-share.c, outline-read.c, outline-parts.c, outline-judge.c,
 *			outline-into.c
 *	outlines.c	what it said, from the scan to the first bodies
 *	refuse.c	which of them cannot have a second body, before their code is read
 *	monitors.c	which have a site between exclusives
 *	pages.c	an address that takes two instructions, wherever these stand
 *	shape.c	one function's instructions
 *	bodies.c	the provider: tells entries and where they are left
 *	points.c	another: single instructions inside
 */
#ifndef FL_SITE_SHAPE_H
#define FL_SITE_SHAPE_H

#include "scan.h"

/* fl_extent.flags */
enum {
	X_BROKEN = 1,			/* not all of its bytes are instructions */
	X_TORN = 2,			/* a branch leads into an instruction's middle */
	X_LOOPS = 4,			/* its own branches lead to its first bytes */
	X_SWITCH = 8,			/* it jumps through a register or memory */
	X_SHORT_FIRST = 16,		/* the jump covers more than one instruction */
	X_RUNS_ON = 32,			/* what stands behind it is gone on to */
	X_ENTERED = 64,			/* others lead into its middle */
	X_ASKS = 128,			/* it ends in a jump to what asks for its caller */
	X_READ = 256,			/* only what can be reached is understood */
	X_LABELS = 512,			/* it forms addresses of its own middle */
	X_FLAGS = 1024,			/* it begins with flags that its caller has set */
	X_STUB = 2048,			/* the linker's: a jump through a pointer */
	X_CALLS = 4096,			/* it makes calls */
	X_INTO = 8192			/* others lead to what the jump covers */
};

/* Bytes of text from the file, not from memory; NULL: it does not hold them. */
const unsigned char *fl_file_text(const struct fl_module *, uintptr_t a, size_t *left);

/* ---- refuse.c ------------------------------------------------------------ */

/* Pointers to functions that ask who called them. */
enum { FL_ASKERS = 24 };
struct fl_askers {
	uintptr_t at[FL_ASKERS];
	int why[FL_ASKERS];		/* why a function that calls there is refused */
	size_t n;
};

/* 0, or why. */
static inline int fl_asks(const struct fl_askers *a, uintptr_t pointer)
{
	for (size_t i = 0; i < a->n; i++)
		if (a->at[i] == pointer)
			return a->why[i];
	return 0;
}

/* By the module's tables: give each extent its kind, or a reason. */
void fl_refuse_by_tables(struct fl_outline *, struct fl_askers *);

/* monitors.c: 0 or -ENOMEM. */
int fl_refuse_monitors(struct fl_outline *);

static inline void fl_refuse(struct fl_extent *x, int why, uint64_t datum)
{
	if (x->refusal)
		return;
	x->refusal = why;
	x->datum = datum;
}

static inline uintptr_t fl_extent_entry(const struct fl_extent *x)
{
	return x->start + x->landing;
}

/* Does `a` lie in what a jump at its entry covers? */
static inline bool fl_extent_covers(const struct fl_extent *x, uintptr_t a)
{
	return a - x->start < (size_t)x->landing + FL_ARCH_PAD_BYTES;
}

/* ---- outline.c ----------------------------------------------------------- */

/* 0, -ENOMEM, -EFBIG. */
int fl_outline_read(struct fl_outline *, const struct fl_module *);

/* ---- pages.c ------------------------------------------------------------- */

/* Code names that address: FORMED or ACCESSED. */
typedef void fl_page_name(void *arg, uintptr_t address, enum fl_paged);
/* Tell what is named by the page that the instruction at `at` makes. False: something else
 * may be, too. */
bool fl_page_follow(const struct fl_outline *, const struct fl_insn *page, uintptr_t at,
		    fl_page_name *, void *arg);

/* ---- shape.c ------------------------------------------------------------- */

/* A shape with room for all steps that the function can have, for fl_shape_of(). 0 or
 * -ENOMEM. */
int fl_shape_open(struct fl_shape *, const struct fl_outline *, const struct fl_extent *f);
void fl_shape_close(struct fl_shape *);

/* Can what is BROKEN or TORN be understood, as far as it can be reached? */
bool fl_shape_can_reach(const struct fl_outline *, const struct fl_extent *);

/* ---- points.c ------------------------------------------------------------ */

/* Does the function have one of the `n` points? */
bool fl_points_in(const struct fl_outline *, const struct fl_extent *f, const uintptr_t *at,
		  uint32_t n);

#endif
