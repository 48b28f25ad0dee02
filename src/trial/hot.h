/*
 * hot.h - code that is executed while it is changed. Private to trial/.
 *
 * The part of a trial that knows a CPU: a file hot.c for each, in a folder of
 * its name. The code is a loop through one instruction, the site; a fragment of
 * one version beside a fragment of the other faults, or gives a wrong value.
 */
#ifndef FL_HOT_H
#define FL_HOT_H

#include "trial.h"

/* The counters of the loop, for each executor. */
enum { FL_HOT_CALLS, FL_HOT_ON, FL_HOT_TORN, FL_HOT_COUNTS = 8 };

struct fl_hot {
	unsigned char *base, *line;	/* the mapping; the line that is changed */
	unsigned char *site;		/* the instruction */
	uint8_t len;
	uint8_t bytes[2][16];		/* off, on */
	unsigned char *window;		/* the bytes that one store covers */
	uint8_t window_bytes;
	uint8_t image[2][32];		/* its content, off, on */
};

bool fl_hot_can(enum fl_way);
/* Bytes of `subject` that change, and the first one's offset in its
 * instruction. */
size_t fl_hot_changed(enum fl_subject, size_t *first);
/* Map and lay the code of a trial. 0 or -errno. */
int fl_hot_lay(struct fl_hot *, const struct fl_trial *);
/* Execute until *stop. */
void fl_hot_execute(const struct fl_hot *, uint64_t counts[FL_HOT_COUNTS],
		    const uint8_t *stop);
/* Store `state`, 0 or 1, to the site in the trial's way. */
void fl_hot_store(const struct fl_hot *, const struct fl_trial *, int state);

#endif
