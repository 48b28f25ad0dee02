/*
 * clock.c - what calls in windows stand for, by the program's own clock.
 *
 * A function that is too dear to count always is counted in windows (probe/seldom.c). All its
 * calls are its calls in windows, times the program's time over the time in windows. But in a
 * window a program does less than its time says, because counting takes some of it; and by
 * chance windows meet more of one of the program's phases than of another. Functions that are
 * counted always know how much: they tick in windows and outside. Each is a hand of a clock,
 * as time itself is. A function that is in step with a hand has all calls over calls in
 * windows as the hand has all ticks over ticks in windows. It is in step when the ratio of its
 * calls to ticks is about the same in all windows; the hand for which that ratio varies least
 * is the function's own.
 *
 *	ratio       r = calls in windows / ticks in windows
 *	all calls   = r x all ticks
 *	chance      = sum over windows of (calls - r x ticks)^2
 *
 * Time is a bad hand where counts are dense, because each count holds up the program. For how
 * long is a count's price, which no sample of the program counter tells: a sample stands where
 * the core waits, and that may be in flick's code though the program would have waited, too.
 * A hand that keeps step with time tells the price:
 *
 *	ticks in windows / all ticks = (time in windows - delay) / (all time - delay)
 *	delay = price x counts + windows x what to begin one takes
 *
 * A gauge tells the price, too: a function that is counted in the window, and alone for a while
 * behind it. In a time less its delay the program does the same in both, and calls the gauge as
 * often:
 *
 *	calls / (time - price x counts) = calls behind / (time behind - price x calls behind)
 *	price = (calls behind x time - calls x time behind) / (calls behind x (counts - calls))
 *
 * Above the line stands what the code calls `delay`, below it `lever`.
 */
#include <math.h>

#include "session/budget/clock.h"

#define MANY 5.0				/* windows */
#define LEAST_OFF 0.05			/* of a ratio in one window, even if all are the same */
#define MOST_DELAY 0.8			/* of a window */
#define MOST_COUNT_NS 8.0
#define LEAST_UNSURE_NS 0.02
#define CHANGES 1.2			/* a price ages, because the program changes */

/* No more than what is left when each call has had the time of the shortest call. */
static double delay_of(double counted, double windows, double open_ns,
		       const struct fl_price *p)
{
	double delay = p->count_ns * counted + p->window_ns * windows;

	delay = fmin(delay, fmax(open_ns - p->call_ns * counted, 0));
	return fmin(delay, MOST_DELAY * open_ns);
}

/* Each window stands for the same time. What the program did in a window is what it would have
 * done in the window's time less the delay: less where calls are dense, so it weighs more. */
static double weight_of(const struct fl_ticks *w, const struct fl_price *p)
{
	double time = w->open_ns - delay_of(w->counted, w->windows, w->open_ns, p);

	return time > 0 ? w->stands_ns / time : 0;
}

static double ticks_of(const struct fl_ticks *w, uint32_t k, const struct fl_price *p)
{
	return k < FL_HANDS ? w->ticks[k] * weight_of(w, p) : w->stands_ns;
}

static void take_gauge(struct fl_gauged *g, const struct fl_ticks *w, const struct fl_price *p)
{
	double delay = w->gauge.behind * (w->gauge.ns - p->window_ns * w->windows) -
		       w->gauge.calls * (w->gauge.behind_ns - p->window_ns * w->windows);
	double lever = w->gauge.behind * (w->counted - w->gauge.calls);

	if (!(lever > 0))
		return;
	g->n++;
	g->delay += delay;
	g->lever += lever;
	g->delays += delay * delay;
	g->both += delay * lever;
	g->levers += lever * lever;
}

void fl_clock_take(struct fl_clock *c, const struct fl_ticks *w, const struct fl_price *p)
{
	double time = ticks_of(w, FL_TIME, p);

	c->windows += w->windows;
	c->counted += w->counted;
	c->open_ns += w->open_ns;
	c->delay_ns += delay_of(w->counted, w->windows, w->open_ns, p);
	c->stood_ns += weight_of(w, p) * w->open_ns;
	c->behind += w->gauge.behind;
	take_gauge(&c->gauged, w, p);
	for (uint32_t k = 0; k < FL_N_HANDS; k++) {
		double ticks = ticks_of(w, k, p);

		c->in[k] += ticks;
		c->squares[k] += ticks * ticks;
		if (k < FL_HANDS)
			c->beside[k] += ticks * time;
	}
}

void fl_clock_call(struct fl_called *f, double n, const struct fl_ticks *w,
		   const struct fl_price *p)
{
	double stood = n * weight_of(w, p);

	f->n += n;
	f->stood += stood;
	f->squares += stood * stood;
	for (uint32_t k = 0; k < FL_N_HANDS; k++)
		f->with[k] += stood * ticks_of(w, k, p);
}

struct fl_clock fl_clock_since(const struct fl_clock *c, const struct fl_clock *begin)
{
	struct fl_clock d = *c;
	double *to = (double *)&d;
	const double *less = (const double *)begin;

	for (size_t i = 0; i < sizeof(d) / sizeof(double); i++)
		to[i] -= less[i];
	return d;
}

/* The fewer windows had a hand's ticks the likelier it is that their ratios are alike by
 * chance, because one hand of several may seem to keep step. The fourth power lets two windows
 * tell only where time is off by half, and four where it is off by an eighth. */
static double alike_by_chance(double windows, uint32_t k)
{
	return k < FL_HANDS && windows < MANY ? pow(1.4 / windows, 4) : 0;
}

/* The variance of all calls, as that hand tells them, over their square. */
static double chance_of(const struct fl_clock *c, const struct fl_called *f, uint32_t k)
{
	double r = f->stood / c->in[k], windows = c->in[k] * c->in[k] / c->squares[k];
	double off = f->squares - 2 * r * f->with[k] + r * r * c->squares[k];

	if (!(c->in[k] > 0) || !(c->all[k] > 0) || !(windows > 1))
		return HUGE_VAL;
	return fmax(off, 0) / (f->stood * f->stood) * windows / (windows - 1) +
	       LEAST_OFF * LEAST_OFF / windows + alike_by_chance(windows, k);
}

static double time_scale(const struct fl_clock *c, const struct fl_price *p)
{
	double delay = delay_of(c->counted, c->windows, c->open_ns, p);

	return c->open_ns > 0 ? (c->all[FL_TIME] - delay - p->count_ns * c->behind) /
				(c->open_ns - delay) : 1;
}

/* What it takes to begin a window may be off by half. */
static double unsure_time(const struct fl_clock *c, const struct fl_price *p)
{
	return pow((p->unsure_ns * c->counted + p->window_ns / 2 * c->windows) /
		   c->open_ns, 2);
}

/* All time, for calls of windows that were weighed by earlier prices, when the price is known
 * better now. */
static double all_time(const struct fl_clock *c, const struct fl_price *p)
{
	return time_scale(c, p) * (c->open_ns - c->delay_ns);
}

struct fl_scale fl_clock_scale(const struct fl_clock *c, const struct fl_called *f,
			       const struct fl_price *p)
{
	struct fl_scale s = { time_scale(c, p), 1, 0 };
	double least = HUGE_VAL;

	for (uint32_t k = FL_N_HANDS; f->n > 0 && k-- > 0;) {
		double chance = chance_of(c, f, k);
		double all = k < FL_HANDS ? c->all[k] : all_time(c, p);
		double alike = k == FL_TIME ? unsure_time(c, p) : 0;

		chance += alike;
		if (!(chance < least))
			continue;
		least = chance;
		s.alike = sqrt(fmin(alike, 1));
		s.by = f->stood / f->n * all / c->in[k];
	}
	s.by = fmax(s.by, 1);
	s.off = sqrt(fmin(least, 1));
	return s;
}

struct told {
	double price, variance;
};

/* The price as told by the hand that keeps step with time best. */
static struct told price_by_hands(const struct fl_clock *c, const struct fl_price *p)
{
	struct told told = { 0, HUGE_VAL };

	for (uint32_t k = 0; k < FL_HANDS; k++) {
		struct fl_called f = { .stood = c->in[k], .squares = c->squares[k] };
		double part = c->in[k] / c->stood_ns / c->all[k] * c->open_ns, delay, chance;

		f.with[FL_TIME] = c->beside[k];
		if (!(part > 0) || !(part < 1) || !(c->counted > 0))
			continue;
		chance = chance_of(c, &f, FL_TIME) * pow(c->open_ns / c->counted, 2);
		delay = (c->open_ns - part * c->all[FL_TIME]) / (1 - part);
		if (!(chance < told.variance))
			continue;
		told.variance = chance;
		told.price = (delay - p->window_ns * c->windows) / c->counted;
	}
	return told;
}

static struct told price_by_gauge(const struct fl_gauged *g)
{
	double price = g->delay / g->lever;
	double off = g->delays - 2 * price * g->both + price * price * g->levers;

	if (!(g->lever > 0) || g->n < MANY)
		return (struct told){ 0, HUGE_VAL };
	off = fmax(off, 0) / (g->lever * g->lever) * g->n / (g->n - 1);
	return (struct told){ price, fmax(off, LEAST_UNSURE_NS * LEAST_UNSURE_NS) };
}

void fl_clock_price(const struct fl_clock *c, struct fl_price *p)
{
	const struct told told[] = { price_by_hands(c, p), price_by_gauge(&c->gauged) };
	double weight = 1 / (CHANGES * p->unsure_ns * p->unsure_ns);
	double sum = p->count_ns * weight;
	bool any = false;

	for (size_t i = 0; i < ARRAY_LEN(told); i++) {
		if (!(told[i].variance < HUGE_VAL))
			continue;
		any = true;
		weight += 1 / told[i].variance;
		sum += told[i].price / told[i].variance;
	}
	if (!any)
		return;
	p->count_ns = fmin(fmax(sum / weight, 0), MOST_COUNT_NS);
	p->unsure_ns = fmax(sqrt(1 / weight), LEAST_UNSURE_NS);
}
