/*
 * field.h - many little functions with a site each, where a bench wants them,
 * and threads that run them.
 *
 *	site      call target | nop		5 bytes, at the chosen place
 *	          incq (%rdi)			one call more
 *	          ret
 *	target a  incq 8(%rdi); ret		the probe was met
 *	target b  incq 16(%rdi); ret		the other one
 *
 * Written as bytes, so that offset and density are the bench's choice and are
 * the same everywhere. Who runs it counts in its own memory.
 */
#ifndef FIELD_H
#define FIELD_H

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SITE_BYTES = 5, LINE_BYTES = 64 };

struct counts {
	uint64_t calls, a, b;
};
typedef void field_fn(struct counts *);

/* Where site `i` starts, from a line's start. Functions must not overlap: 12
 * bytes from one to the next are enough. */
typedef size_t field_place(size_t i);
field_place place_dense;	/* 27 bytes apart: at every offset of a line */
field_place place_inside;	/* 64 apart, eight bytes within a line */
field_place place_word;		/* 64 apart, in one aligned word */
field_place place_split;	/* 64 apart, splits 1|4, 2|3, 3|2, 4|1 in turn */
field_place place_parkable;	/* the same without 1|4 */

struct field {
	unsigned char *code, *sites;
	size_t bytes, n;
	field_place *place;
	unsigned char *target_a, *target_b;
	field_fn *bare;		/* `ret` and nothing else */
};

/* Make `n` functions whose site calls target a. False without memory. */
bool field_make(struct field *, size_t n, field_place *);
void field_free(struct field *);

static inline unsigned char *field_at(const struct field *f, size_t i)
{
	return f->sites + f->place(i);
}

/* A call at site `i` to `target`, and the nop of the same length. */
void field_call(unsigned char bytes[SITE_BYTES], const struct field *, size_t i,
		const unsigned char *target);
extern const unsigned char field_nop[SITE_BYTES];

/* A site alone, then `ret`: nothing but what the site costs. */
void field_strip(const struct field *, size_t i);

/* ---- the thread that runs them ------------------------------------------- */

struct executor {
	pthread_t thread;
	const struct field *field;		/* constant while it runs */
	size_t first, n, repeat;
	int cpu;
	_Atomic bool is_stopping;		/* W main, R thread */
	alignas(LINE_BYTES) struct counts counts;	/* W the functions */
	alignas(LINE_BYTES) char end[1];
};

/* Run functions first .. first + n - 1, each `repeat` times, in rounds, on CPU
 * `cpu`; returns when it is warm. */
void executor_start(struct executor *, const struct field *, size_t first,
		    size_t n, size_t repeat, int cpu);
void executor_stop(struct executor *);
/* What it has counted; at a moment that is nobody's choice. */
struct counts executor_counts(const struct executor *);

/* Is each of the functions' targets met: a, b, or none (0), a call? */
bool field_runs(const struct field *, size_t i, char target);

#endif
