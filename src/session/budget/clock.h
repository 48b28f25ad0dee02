/*
 * clock.h - private to session/: what calls in windows stand for, by the program's own clock.
 *
 * Pure: it knows numbers, no clock of a computer's and no target.
 */
#ifndef FL_CLOCK_H
#define FL_CLOCK_H

#include "base/base.h"
#include "channel/channel.h"

#define FL_TIME FL_HANDS		/* is a hand, too: the last one */
#define FL_N_HANDS (FL_HANDS + 1)

/* Sums over windows, each weighed by what it stands for. The caller fills in `all`. */
struct fl_clock {
	double windows, counted, open_ns;	/* not weighed */
	double delay_ns;			/* in open_ns, by prices of that time */
	double behind;				/* calls of the gauge behind windows */
	double stood_ns;			/* open_ns, weighed; so are: */
	double in[FL_N_HANDS], squares[FL_N_HANDS];	/* ticks in windows; their squares */
	double beside[FL_HANDS];		/* products of ticks and time */
	double all[FL_N_HANDS];			/* ticks, and time, in all */
	struct fl_gauged {
		double n, delay, lever;		/* clock.c; what it tells of the price ... */
		double delays, both, levers;	/* ... is delay / lever; squares */
	} gauged;
};

/* The same sums of a function that is counted in windows alone. */
struct fl_called {
	double n;				/* calls */
	double stood, squares, with[FL_N_HANDS];	/* calls, weighed; their squares, and
							 * products with ticks */
};

/* How long a count, which may be off by `unsure_ns`, and a window hold up the program; and how
 * long the shortest call takes that is not counted. */
struct fl_price {
	double count_ns, unsure_ns, window_ns, call_ns;
};

/* A window, or some that lie side by side: its time; ticks of hands; calls of all functions
 * that are counted in windows alone; and the time that it stands for, as it was asked for. */
struct fl_ticks {
	double windows, open_ns, counted, ticks[FL_HANDS], stands_ns;
	struct {
		double calls, ns;		/* of the gauge in it, 0: none; and ... */
		double behind, behind_ns;	/* ... behind it, where it is counted alone */
	} gauge;
};
void fl_clock_take(struct fl_clock *, const struct fl_ticks *, const struct fl_price *);
/* Calls of one function in that window. */
void fl_clock_call(struct fl_called *, double n, const struct fl_ticks *,
		   const struct fl_price *);
/* What came since `begin`. */
struct fl_clock fl_clock_since(const struct fl_clock *, const struct fl_clock *begin);
/* What hands and the gauge tell of the price. */
void fl_clock_price(const struct fl_clock *, struct fl_price *);

/* Calls in windows times `by` are all calls. `off` is the part by which that may be off in all.
 * `alike` is the part of it that unsure prices make, which is alike in all that they tell. */
struct fl_scale {
	double by, off, alike;
};
struct fl_scale fl_clock_scale(const struct fl_clock *, const struct fl_called *,
			       const struct fl_price *);

#endif
