/* round.h - every other thread of a process, once. Private to patch/. */
#ifndef FL_ROUND_H
#define FL_ROUND_H

#include "os/os.h"

enum fl_who {
	FL_WHO_ALL,		/* every thread */
	FL_WHO_CORES		/* all but those seen off their core in this round */
};

enum fl_asked { FL_ASKED_NOT, FL_ASKED };	/* by this round, before */

struct fl_round {
	enum fl_who who;
	int pid;		/* of the threads; 0: ours */
	int caller;		/* the thread that is left out */
	/* Serve a thread, or begin to. 0, or an error that ends the pass. */
	int (*ask)(struct fl_round *, int tid, const struct fl_thread_status *,
		   enum fl_asked);
	uint64_t number;	/* of this round; the rest: W fl_round_pass() */
	size_t asked;		/* threads so far */
	size_t seen, open;	/* in this pass: all threads; those not served before */
};

/* Get memory for rounds, once per process. 0 or -errno. */
int fl_round_open(void);
/* One round at a time in a process. */
void fl_round_begin(struct fl_round *);
/* 0: every thread there is has been served; 1: again; or an error. */
int fl_round_pass(struct fl_round *);
/* Note that the thread has been served; false when this round has not asked the thread, or
 * has it served already. Callable from any thread, any handler, at any later time. */
bool fl_round_serve(uint64_t number, int tid);

#endif
