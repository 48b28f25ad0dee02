/*
 * preempt.h - private to cli/: when threads were kept from running that could have run on.
 */
#ifndef FL_PREEMPT_H
#define FL_PREEMPT_H

#include <stdbool.h>
#include <stdint.h>

/* ---- what is known of it (preempted.c) ------------------------------------------- */

enum fl_switch { FL_SWITCH_IN, FL_SWITCH_WAITS, FL_SWITCH_PREEMPTED };

struct fl_preempted;
struct fl_preempted *fl_preempted_open(void);	/* NULL: no memory */
/* Thread `tid` got a processor at that tick, left it to wait, or lost it. Switches of a thread
 * come in their order. 0 or -ENOMEM. */
int fl_preempted_switch(struct fl_preempted *, int32_t tid, enum fl_switch, uint64_t at);
/* Some of what was before `at` is not known. */
void fl_preempted_forget(struct fl_preempted *, uint64_t at);
/* How long a thread was preempted in that time, as far as it has run again; 0: not known. */
uint64_t fl_preempted_between(const struct fl_preempted *, int32_t tid, uint64_t begin,
			      uint64_t end);
/* Ticks that threads have run, from one switch to the next. */
uint64_t fl_preempted_ran(const struct fl_preempted *);
void fl_preempted_close(struct fl_preempted *);	/* NULL is fine */

/* ---- from the kernel (preempt.c) --------------------------------------------------- */

struct fl_preempt;
/* Of process `running`; 0: of none yet, then start and go are as fl_sampler_start() and
 * fl_sampler_go(). 0 or -errno: the kernel tells nothing. */
int fl_preempt_open(struct fl_preempt **, int running);
int fl_preempt_start(struct fl_preempt *, int pid);
void fl_preempt_go(struct fl_preempt *);	/* NULL is fine */
/* Take what there is: all switches before a record that was taken before. NULL is fine. */
void fl_preempt_poll(struct fl_preempt *);
/* As fl_preempted_between(); NULL is fine. */
uint64_t fl_preempt_between(const struct fl_preempt *, int32_t tid, uint64_t begin,
			    uint64_t end);
/* Were switches told to the end? */
bool fl_preempt_is_told(const struct fl_preempt *);
void fl_preempt_close(struct fl_preempt *);	/* NULL is fine */

#endif
