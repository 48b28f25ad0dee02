/*
 * afford.h - private to session/: what of a program can be counted and timed for a budget.
 *
 * Pure: it knows numbers, no clock and no target. The caller looks at what was done
 * since its last look, and what that took, and puts into force what comes out.
 */
#ifndef FL_AFFORD_H
#define FL_AFFORD_H

#include "base/base.h"

struct fl_afford_function {
	double rate;			/* calls a second: rises at once, falls slowly */
	double mean;			/* of the last second or so */
	double calls;			/* since the last look; W caller */
	uint32_t looks;			/* since it changed sides */
	uint8_t payer;			/* whose budget its counts are of */
	bool seldom;			/* counted in windows alone */
};
enum { FL_PAYERS = 17 };		/* the recording, and sessions beside it */

struct fl_afford_look {
	double seconds;			/* since the last one */
	double cpus;			/* that the program kept busy, on average; 0: unknown */
	double own_ns;			/* CPU time in flick's code, except counts, ... */
	bool measured;			/* ... if it was measured */
	double count_ns;		/* by which each count holds up the program */
	double watch_ns;		/* CPU time of what switches, beside the program; 0:
					 * not known */
	double counted, timed, switched;	/* calls, calls, bytes of code */
	double windows, open_us;	/* since then, and how long they were open */
	double timings;			/* windows in which calls were timed */
	uint32_t shared_cpus;		/* that the program shares with what switches, + 1; 0:
					 * not known */
};

struct fl_afford {
	double budget;			/* of all: a part of the program's CPU time */
	double budgets[FL_PAYERS];	/* which these add up to */
	double count_ns;		/* of one, as known now, ... */
	double sample_ns, switch_ns;	/* ... and before it is measured */
	uint32_t samples;		/* of a function an epoch, on average ... */
	uint32_t groups;		/* ... it is switched in one of so many epochs */
	uint32_t least_epoch_us;
	double stake_ns;		/* that may be spent on top, half of it at first */
	double granted_ns;		/* left of what counts may spend before the stake */
	/* What comes out: */
	uint32_t epoch_us;		/* after which calls are timed again */
	uint32_t period_us;		/* from one window to the next */
	uint32_t window_us;		/* asked for; 0: no function is seldom */
	double factor;			/* measured costs over sample_ns and switch_ns */
	double counts_a_second;		/* at most, of those that are counted always */
	/* Its own: */
	double own_ns, model_ns;	/* of late */
	double cpus, late_us, turn_ns, age;
	double lost;			/* part of the switching time that the program loses */
	double left_ns;			/* of the stake */
	bool is_free;			/* the stake may be spent at once */
};

void fl_afford_open(struct fl_afford *);
/* `payer` has another budget from now on; 0: none. */
void fl_afford_pay(struct fl_afford *, uint32_t payer, double part);
/* The part of the CPU time of what switches that the program would have had, which keeps so
 * many CPUs busy; shared_cpus as in struct fl_afford_look. */
double fl_afford_lost(double cpus, uint32_t shared_cpus);
/* Decide which functions change sides, and return how many did; `order` is room for n. */
uint32_t fl_afford_look(struct fl_afford *, const struct fl_afford_look *,
			struct fl_afford_function *, uint32_t n, uint32_t *order);

#endif
