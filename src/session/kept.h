/*
 * kept.h - what flick keeps of a program for its next run: a file of words.
 *
 *	k = fl_kept_open(&s->launch, "found 3")      NULL: nothing can be kept
 *	if (fl_kept_find(k, &n) && there is room)    is there one that holds?
 *		fl_kept_read(k, words)               false: it does not
 *	fl_kept_write(k, words, n)                   in place of what is there
 *	fl_kept_close(k)
 */
#ifndef FL_KEPT_H
#define FL_KEPT_H

#include "session/session.h"

/* The file begins with it; its words follow. */
struct fl_kept_head {
	char magic[16];
	uint8_t id[FL_BUILD_ID];
	struct fl_stamp {
		uint64_t device, inode, bytes, written_ns, changed_ns;
	} program, library;		/* what it is of, and what made it */
	uint64_t n, sum;		/* of words */
};

struct fl_kept_file {
	int dir, fd;			/* fd: of what was found; -1 */
	char name[16];
	struct fl_kept_head head;	/* of this run's files; n and sum: of what was found */
};

/* `what` is a word and a version. Before any of the program's code runs. */
struct fl_kept_file *fl_kept_open(const struct fl_launch *, const char *what);
/* Has it words for these very files? *n: how many, not 0. */
bool fl_kept_find(struct fl_kept_file *, uint64_t *n);
/* All of what was found last. */
bool fl_kept_read(struct fl_kept_file *, uint64_t *words);
/* What cannot be kept is found again. */
void fl_kept_write(struct fl_kept_file *, const uint64_t *words, uint64_t n);
void fl_kept_close(struct fl_kept_file *);	/* NULL is fine */

#endif
