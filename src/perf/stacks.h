/*
 * stacks.h - private to perf/: in whose calls a sample stood (stacks.c).
 */
#ifndef FL_STACKS_H
#define FL_STACKS_H

#include <linux/perf_event.h>

#include "perf/body-tables.h"
#include "perf/sampler.h"

/* A sample has so many bytes of its thread's stack, from the stack pointer on: enough for what
 * a program's hot functions call. A few samples have FAR_BYTES, and tell who calls where frames
 * are large. */
enum { FL_STACK_BYTES = 4096, FL_STACK_FAR_BYTES = 32768 };

/* What the kernel is to tell at each sample. */
void fl_stacks_ask(struct perf_event_attr *);
/* A copy of what the kernel told, from `told` to `end`; free() it. NULL: nothing, or no
 * memory. */
struct fl_sampled_stack *fl_stacks_copy(const void *told, const void *end);

struct fl_stacks {
	uint64_t cpu_ns, earned_ns;	/* that walks took; and may take, beyond the first */
	struct fl_stack_file {
		const char *path;
		struct fl_cfi *cfi;	/* NULL: it has none */
	} *files;
	uint32_t n_files;
	struct fl_body_tables bodies;
	bool is_gone;			/* of the last walk: who called where it ended can be
					 * known no more */
};

/* A frame takes 16 bytes or more. */
enum { FL_STACK_DEPTH = FL_STACK_BYTES / 16 };
struct fl_stack_calls {
	uint64_t places[FL_STACK_DEPTH];
	uint32_t n;
	enum fl_chain_end end;
};
/* Where process `pid` is, the innermost first: an instruction, or, in a second body, where its
 * function begins. None: walks before this one have taken all the time that walks may take. */
void fl_stacks_walk(struct fl_stacks *, int32_t pid, const struct fl_sampled_stack *,
		    fl_stack_where *, void *arg, struct fl_stack_calls *);
void fl_stacks_close(struct fl_stacks *);	/* zeros are fine */

#endif
