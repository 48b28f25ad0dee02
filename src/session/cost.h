/*
 * cost.h - private to session/: what recording costs the program (cost.c, overhead.c, jumps.c).
 */
#ifndef FL_COST_H
#define FL_COST_H

#include "session/session.h"

/* What the probes of one call cost here (overhead.c), by whether their sites are at first
 * instructions; costs that cannot be measured stay as they were. A child measures, in a few
 * milliseconds; end waits for the child. */
void fl_overhead_begin(struct fl_session *);
void fl_overhead_end(struct fl_session *);
/* What a jump from a function's entry to its second body takes (jumps.c), in FL_TICK_PARTS;
 * 0: that could not be measured. Then what all jumps of a session took, by its known calls. */
uint32_t fl_jumps_measure(void);
double fl_jumps_ns(struct fl_session *);
/* What the shortest call of a function takes, in picoseconds. */
uint32_t fl_jumps_measure_call(void);
/* Samples of the program counter (cost.c). count: 0 or -ENOMEM; are_enough: of the program's
 * own, to tell self times. */
int fl_cost_count(struct fl_session *);
/* begin: the probes of a program that ran before are as they are wanted; look: its CPU time,
 * while it is there; end: it is to be left. */
void fl_cost_begin(struct fl_session *);
void fl_cost_look(struct fl_session *);
void fl_cost_end(struct fl_session *);
bool fl_cost_are_enough(const struct fl_session *);
/* CPU time that the program spent in the kernel, where a sampler tells of a single process; 0:
 * it is not known, or too little to tell from chance. */
uint64_t fl_cost_kernel_ns(const struct fl_session *);
/* And in code of its own, by samples. */
uint64_t fl_cost_user_ns(const struct fl_session *);

#endif
