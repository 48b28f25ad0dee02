/*
 * preempted.h - private to perf/: how long threads were preempted (preempted.c).
 */
#ifndef FL_PREEMPTED_H
#define FL_PREEMPTED_H

#include <stdbool.h>
#include <stdint.h>

enum fl_switch { FL_SWITCH_IN, FL_SWITCH_WAITS, FL_SWITCH_PREEMPTED };

struct fl_preempted;
/* is_beside: is the thread beside the program, and not of it? It is asked of each thread that
 * is switched often. NULL: no memory. */
struct fl_preempted *fl_preempted_open(bool (*is_beside)(int32_t tid));
/* Thread `tid` got a processor at that tick, left it to wait, or lost it. Switches of a thread
 * come in their order. 0 or -ENOMEM. */
int fl_preempted_switch(struct fl_preempted *, int32_t tid, enum fl_switch, uint64_t at);
/* Some of what was before `at` is not known. */
void fl_preempted_forget(struct fl_preempted *, uint64_t at);
/* How long a thread was preempted in that time, as far as it has run again; 0: not known. Of
 * what is long before an end that was asked for less is known later. */
uint64_t fl_preempted_between(struct fl_preempted *, int32_t tid, uint64_t begin, uint64_t end);
/* Ticks that threads of the program have run, from one switch to the next. */
uint64_t fl_preempted_ran(const struct fl_preempted *);
/* How often these were switched, but for as often as flick's own may have taken their
 * processor. */
uint64_t fl_preempted_switches(const struct fl_preempted *);
void fl_preempted_close(struct fl_preempted *);	/* NULL is fine */

#endif
