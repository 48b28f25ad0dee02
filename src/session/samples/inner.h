/*
 * inner.h - samples in bodies that the compiler put into other functions (inner.c).
 */
#ifndef FL_INNER_H
#define FL_INNER_H

#include <stddef.h>
#include <stdint.h>

/* Samples at one place of a file. */
struct fl_place {
	const char *path;		/* of a file; else a name for what is in none */
	uint64_t at;			/* ELF address; 0 where there is no file */
	uint64_t n;
	uint32_t inner;			/* 1 + the function of the inlined body; 0: none */
	uint32_t made;			/* 1 + the function, of code that the program has
					 * made; 0: it has no name */
	uint32_t pc;			/* index of whose place it is */
	uint32_t function;		/* that it counts for, W profile.c */
};

struct fl_functions;
/* A place stands in an inlined body of that function. */
typedef void fl_inner_each(void *arg, const struct fl_place *, uint32_t function);
/* Say of each place, which are brought into order by file, what its `inner` is; `each`, if not
 * NULL, is told that, and each body around it that was inlined as well. 0 or -ENOMEM. */
int fl_inner_fill(const struct fl_functions *, struct fl_place *, size_t n, fl_inner_each *,
		  void *arg);

#endif
