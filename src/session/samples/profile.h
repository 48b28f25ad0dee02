/*
 * profile.h - private to session/: times by samples (profile.c, totals.c, programs.c,
 * threads.c, places.c).
 */
#ifndef FL_PROFILE_H
#define FL_PROFILE_H

#include "session/session.h"
#include "session/samples/inner.h"

/* How long threads were there, and which of them called what (lives.c). */
struct fl_lives {
	struct fl_life {
		uint64_t all_ns;
		uint64_t waited_ns;	/* of that: asleep, preempted or in the kernel, where no
					 * sample stands */
	} *threads, all;		/* each by its number; all of them */
	size_t n_threads;
	struct fl_life programs[FL_MAX_PROGRAMS + 1];	/* of all threads of theirs, also of
							 * processes without probes; index: 1 +
							 * row */
	uint32_t *callers, n_callers;	/* index: function; as fl_budget_threads() */
};
int fl_lives_open(struct fl_lives *, struct fl_session *);	/* 0 or -ENOMEM */
/* The life of the thread that called a function; where several did, of all threads of their
 * program, or of all threads. */
const struct fl_life *fl_lives_of_callers(const struct fl_lives *, uint64_t function);
void fl_lives_close(struct fl_lives *);

struct fl_profile {
	struct fl_session *s;
	struct fl_profile_samples {	/* index: function */
		uint64_t *of;
		uint32_t n;
	} self, taken, calls, bare;	/* taken: samples, each for some of these; calls: that
					 * stood in one, or in what it called; bare: of self, in
					 * processes without probes */
	double *nested;			/* index: function; see fl_nested_calls() */
	uint32_t n_nested;
	struct fl_profile_samples cut;	/* ... in chains that are cut and have no long call */
	uint64_t n_cut;			/* all in such */
	struct fl_profile_samples told;	/* that stood in calls, also where others tell who
					 * called (contexts.c) */
	struct fl_profile_samples lacking;	/* ... below no known caller */
	uint64_t n_lacking;		/* all below none */
	struct fl_bare_module {		/* samples in its functions; index: module (bare.c) */
		double bare, probed;
		double n_bare, n_armed;	/* processes, of a dear program or its library; or 0 */
		double ratio;		/* bare ones to others: of samples, where these are
					 * few of processes */
	} *modules;			/* NULL: no process was bare */
	uint32_t n_modules;
	double longer;			/* then: so many times as long probes make a process */
	struct fl_lives lives;
	struct fl_inner inner;		/* whose inlined bodies places stand in */
	bool refutes;			/* samples of stacks may, a timed total, few or many */
	/* The file by which samples are named, one at a time. */
	const char *path;		/* as its samples have it; NULL: none yet */
	struct fl_headers headers;
	bool is_file;
};

int fl_profile_add(const struct fl_profile *, struct fl_profile_samples *, uint32_t function,
		   uint64_t n);
static inline uint64_t fl_profile_of(const struct fl_profile_samples *s, uint64_t function)
{
	return function < s->n ? s->of[function] : 0;
}

/* The places that are the program's own; free() them. NULL: no memory. */
struct fl_place *fl_profile_places(struct fl_profile *, const struct fl_pc *, size_t n,
				   size_t *n_places);
/* The function of a place that no inlined body has. 0 or -ENOMEM. */
int fl_profile_function(struct fl_profile *, const struct fl_place *, uint32_t *function);
/* The time of each program of a process tree, and of functions there, into the session: places
 * have their functions (programs.c). 0 or -ENOMEM. */
int fl_programs_fill(struct fl_session *, const struct fl_pc *, const struct fl_place *,
		     size_t n_places);
/* Likewise of each thread (threads.c). */
int fl_threads_fill(struct fl_session *, const struct fl_pc *, const struct fl_place *,
		    size_t n_places);
/* Likewise of each address (places.c). */
int fl_places_fill(struct fl_session *, const struct fl_pc *, const struct fl_place *,
		   size_t n_places);
/* Rows of functions by whose samples they were (joined.c): their columns begin with these. */
enum { FL_OF_WHOSE, FL_OF_FUNCTION, FL_OF_SELF, FL_OF_SAMPLES, FL_N_OF };
/* Room for so many rows, of zeros; 0 or -ENOMEM. */
int fl_joined_begin(struct flick_rows *, const struct flick_column *, size_t n_columns,
		    size_t n_rows);
/* A row for the samples at a place, into room that is there. */
uint64_t *fl_joined_add(struct flick_rows *, uint64_t whose, const struct fl_pc *,
			const struct fl_place *);
/* By whose they are; rows of one function and of one's samples become one. */
void fl_joined_sort(struct flick_rows *);
void fl_joined_join(struct flick_rows *);
/* How many samples stood in calls of each function; self is known. 0 or -ENOMEM. */
int fl_totals_gather(struct fl_profile *);
/* Totals of latency that samples tell better than timed calls do. */
void fl_totals_fill(struct flick_rows *, const struct fl_profile *);
/* Samples are too few to tell totals, but not to refute some of timed calls. */
void fl_totals_refute(struct flick_rows *, const struct fl_profile *);
/* The total of timed calls becomes `most`, where it is more by chance. False: it is not. */
bool fl_totals_bound(const struct flick_rows *, uint64_t *row, uint64_t most);
/* The average of timed calls, where by it all calls took more than the time there was. */
void fl_totals_drop(struct flick_rows *, const struct fl_profile *);
/* An average that is of calls with others of the function in them is one with an error. */
void fl_totals_mark(struct flick_rows *);
/* Self times from samples, into the results (profile.c). 0 or -ENOMEM. */
int fl_profile_fill(struct fl_session *);

#endif
