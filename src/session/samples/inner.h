/*
 * inner.h - samples in bodies that the compiler put into other functions (inner.c).
 */
#ifndef FL_INNER_H
#define FL_INNER_H

#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "obj/obj.h"

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

/* All profiling calls that targets told of, and the file that was looked at last. */
struct fl_inner {
	const struct fl_functions *functions;
	uint32_t *calls;		/* their sites, by module */
	uint32_t *first;		/* index: module; where those of it begin */
	uint32_t n_modules;		/* of those that targets told of */
	char *path;			/* of the file; NULL: none */
	struct fl_module module;	/* laid out */
	struct fl_call_at {
		uint64_t at, site;	/* ELF address */
	} *in_file;			/* ascending */
	size_t n_in_file;
	struct fl_place *places;	/* in it, of the call that goes on */
	fl_inner_each *each;
	void *arg;
};

/* 0 or -ENOMEM; fl_inner_close() in both cases. */
int fl_inner_open(struct fl_inner *, const struct fl_functions *);
/* Say of each place, which are brought into order by file, what its `inner` is; `each`, if not
 * NULL, is told that, and each body around it that was inlined as well. 0 or -ENOMEM. */
int fl_inner_fill(struct fl_inner *, struct fl_place *, size_t n, fl_inner_each *each,
		  void *arg);
void fl_inner_close(struct fl_inner *);

#endif
