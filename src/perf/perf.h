/*
 * perf.h - the door of perf/: what the kernel's perf events tell of processes, from outside.
 *
 * Samples say where threads stood, and in whose calls; switches say when a thread
 * lost its processor. Nothing here rests on what the target says, except where its second
 * bodies stand. Functions are for one thread at a time, and wait for nobody, if nothing else is
 * said.
 */
#ifndef FL_PERF_H
#define FL_PERF_H

#include "base/base.h"

/* ---- samples of the program counter (sampler.c) ----------------------------------- */

struct fl_sampled_thread {
	int32_t tid;
	char name[16];			/* the last that it had, or [unknown] */
	uint64_t periods;		/* of CPU time */
};

/* Samples at one place of one thread. */
struct fl_pc {
	const char *path;		/* of the file that was mapped there; "": none.
					 * Lives until close */
	const char *program;		/* that the process executed; "": not known */
	uint64_t at;			/* offset in that file, else the address */
	uint64_t address;		/* of one of them */
	uint64_t n;			/* periods of CPU time */
	uint64_t taken;			/* samples */
	int64_t ahead;			/* in a second body: how far behind `at`, where its
					 * function begins, its instruction stands */
	bool is_vague;			/* ... which is not known */
	int32_t pid;
	const struct fl_sampled_thread *thread;	/* lives until close; NULL: of a chain */
};

/* Is `path` a file's? Not memory without a name, nor what is written to through an alias
 * (mapped.c). */
bool fl_mapped_is_file(const char *path);

struct fl_sampler;
/* What samples tell. */
enum fl_sampled {
	FL_SAMPLED_PLACES,
	FL_SAMPLED_CALLS,		/* and whose calls they stood in */
	FL_SAMPLED_TREE			/* the same, of a process and all that come of it */
};
/* open: 0 or -ENOMEM. start: of a process that has one thread, or, for 0, of this one; any
 * thread may call it. 0 or -errno: the system gives no samples. go: samples are taken from now
 * on. */
int fl_sampler_open(struct fl_sampler **, enum fl_sampled);
int fl_sampler_start(struct fl_sampler *, int pid);
void fl_sampler_go(struct fl_sampler *, int pid);
/* The same of a process that runs already. stop: no more samples come; forget: drops what was
 * counted. */
int fl_sampler_open_of(struct fl_sampler **, int pid, enum fl_sampled);
/* slow: from now on one sample stands for so many periods, in all threads that `pid` has, and
 * in those that they create. Once; it takes some microseconds a thread and CPU. 0 or -errno:
 * samples are taken as before. A thread that lives for less than that has no sample. hasten: a
 * sample stands for one period again. */
int fl_sampler_slow(struct fl_sampler *, int pid, uint32_t periods);
void fl_sampler_hasten(struct fl_sampler *);
/* How many threads have begun, except the first one; of a process that ran already, how many
 * were there or have begun since. */
uint64_t fl_sampler_starts(const struct fl_sampler *);
void fl_sampler_stop(struct fl_sampler *);	/* NULL is fine */
void fl_sampler_forget(struct fl_sampler *);
/* Call `saw`, too, for each sample, about when it was taken: two at most. */
void fl_sampler_tell(struct fl_sampler *, void (*saw)(void *arg, const struct fl_pc *),
		     void *arg);
/* Take samples in second bodies for samples of the bodies' functions. */
struct fl_originals;
void fl_sampler_originals(struct fl_sampler *, struct fl_originals *);
/* Other code that stands in memory without a file is the program's, where this says that it is
 * no glue. */
void fl_sampler_glue(struct fl_sampler *, bool (*is_glue)(void *arg, uint64_t at), void *arg);
/* Take what there is. If this is called often enough, rings do not overflow. NULL is fine. */
void fl_sampler_poll(struct fl_sampler *);
/* All samples, by place; once the target has ended. They live until close. */
const struct fl_pc *fl_sampler_counts(struct fl_sampler *, size_t *n);
/* Likewise: the programs that were executed. */
struct fl_mapped_program {
	const char *path;		/* each once */
	uint32_t runs;			/* how often it was executed */
};
const struct fl_mapped_program *fl_sampler_programs(const struct fl_sampler *, size_t *n);
/* The program that process `pid` has executed last, and how many it has executed; NULL: not
 * known. */
const char *fl_sampler_became(const struct fl_sampler *, int32_t pid, uint32_t *runs);
/* Likewise: CPU time of a thread, or of those that have had that number. */
uint64_t fl_sampler_ran_ns(const struct fl_sampler *, int32_t tid);
/* Up to `room` processes that came of `pid` and had not ended at the last poll: how many. 0,
 * too, where records were lost: an end may be among these. */
size_t fl_sampler_children(const struct fl_sampler *, int32_t pid, int32_t *children,
			   size_t room);
/* CPU time of one period, nanoseconds: what a sample stands for, or several. */
uint64_t fl_sampler_period_ns(void);
/* How long a sample holds up the thread that it is taken of, nanoseconds: measured on the
 * caller itself in some milliseconds, and at most a sixth of a second where others have the
 * CPU (sample-cost.c). 0: the system gives no samples. */
uint32_t fl_sampler_measure(enum fl_sampled);
/* Samples for which there was no room. */
uint64_t fl_sampler_lost(const struct fl_sampler *);
void fl_sampler_close(struct fl_sampler *);	/* NULL is fine */

/* ---- in whose calls samples stood (chains.c) ------------------------------------- */

/* The calls in one another that samples stood in, each chain once. Steps are the indices of
 * places, the innermost first: of an instruction, or, in a second body, of its function's
 * begin. Code of no file has places, too. */
enum fl_chain_end {
	FL_CHAIN_LOST,			/* nothing tells who called the outermost */
	FL_CHAIN_CUT,			/* the kernel did not copy the caller's frame */
	FL_CHAIN_WHOLE			/* nobody called the outermost */
};
struct fl_chain {
	uint32_t first, n;		/* steps */
	enum fl_chain_end end;
	uint32_t samples, far;		/* far: samples that are there for their stacks alone,
					 * of which more was copied */
	bool is_gone;			/* who called where it ends can be known no more, or
					 * never could */
	const char *program;		/* that was executed; the same pointer for the same */
	uint64_t periods;
};
struct fl_chains {
	struct fl_pc *places;		/* each once; `n` and `taken` say nothing */
	uint32_t n_places;
	uint32_t *steps;		/* of all chains: places, by index */
	uint32_t n_steps;
	struct fl_chain *of;		/* each once */
	uint32_t n;
	struct fl_hash by_place, by_steps;
};
/* Behind fl_sampler_counts(). They live until close. */
const struct fl_chains *fl_sampler_chains(const struct fl_sampler *);
bool fl_sampler_has_calls(const struct fl_sampler *);	/* are chains asked for? */
/* The periods that each chain stands for, where chains stand for those whose callers are gone
 * (gone.c); free() them. NULL: no memory. `leaf`: for each place 1 + the function whose code it
 * is, or 0: chains that begin there stand for none. */
double *fl_gone_share(const struct fl_chains *, const uint32_t *leaf);

/* ---- whose an address in near memory is (originals.c) ----------------------------- */

/* Where a body stands, as its process told; of two at one place the later one is there. */
struct fl_told_body {
	uint64_t lo, function;
	uint32_t bytes, number;
};

struct fl_region;
/* Rows of the region's, as they are copied. open: 0 or -ENOMEM. */
int fl_originals_open(struct fl_originals **, struct fl_region *);
/* How many bodies there is room for, of all processes at a time. */
uint32_t fl_originals_room(const struct fl_originals *);
/* The function in whose body a sample of process `pid` at address `at` stood; `at`, where it
 * stood in no body. */
uint64_t fl_originals_at(struct fl_originals *, int32_t pid, uint64_t at);
/* At the end, look for more once more. */
void fl_originals_look(struct fl_originals *);
/* Each known body of the process's own, those of its last image first. */
void fl_originals_each(struct fl_originals *, int32_t pid,
		       void (*each)(void *arg, const struct fl_told_body *), void *arg);
void fl_originals_close(struct fl_originals *);		/* NULL is fine */

/* ---- when threads lost their processor (preempt.c) -------------------------------- */

struct fl_preempt;
/* Of process `running`; 0: of none yet, then start and go are as fl_sampler_start() and
 * fl_sampler_go(). 0 or -errno: the kernel tells nothing. */
int fl_preempt_open(struct fl_preempt **, int running);
int fl_preempt_start(struct fl_preempt *, int pid);
void fl_preempt_go(struct fl_preempt *);	/* NULL is fine */
/* Take what there is: all switches before a record that was taken before. NULL is fine. */
void fl_preempt_poll(struct fl_preempt *);
/* How long a thread was preempted in that time, ticks, as far as it has run again; 0: not
 * known. NULL is fine. */
uint64_t fl_preempt_between(const struct fl_preempt *, int32_t tid, uint64_t begin,
			    uint64_t end);
/* Were switches told to the end? */
bool fl_preempt_is_told(const struct fl_preempt *);
void fl_preempt_close(struct fl_preempt *);	/* NULL is fine */

#endif
