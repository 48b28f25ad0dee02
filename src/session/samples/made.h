/*
 * made.h - private to session/: names of code that a program has made (made.c).
 */
#ifndef FL_MADE_H
#define FL_MADE_H

#include <stddef.h>
#include <stdint.h>

struct fl_made_place {
	uint64_t address;		/* first: places are rows for fl_rows_from() */
	int32_t pid;
	uint32_t of;			/* the caller's */
	char *name;			/* W fl_made_name(), from malloc(); as it was: none */
};
/* Sorts the places, and gives those a name of which the map of their process tells. Reads
 * files. 0 or -ENOMEM. */
int fl_made_name(struct fl_made_place *, size_t n);

#endif
