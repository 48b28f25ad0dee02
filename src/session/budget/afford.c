/*
 * afford.c - what can be counted all the time, what in windows, and how long these are.
 *
 * The budget is a part of the program's CPU time. It is the sum of budgets: the recording's,
 * and those of sessions beside it that have their own. How long a count holds up the program
 * is told by clock.c. A timed call and a switch have calibrated costs. The time of flick's code
 * beside counts is measured, and both costs are multiplied by this time over the time that
 * they should have taken.
 *
 *	part of the budget	goes to
 *	ALWAYS (a little more	functions that are counted all the time, the rarest first,
 *	  for those that are)	  each by the budget that it is paid from
 *	WINDOWS, and what is	the others, in windows: their part of the time
 *	  left of ALWAYS
 *	SWITCHES		beginning and ending windows: how many there are. What wakes up
 *				for that takes the program's time as far as there is no
 *				other CPU for it; else BESIDE of that other CPU
 *	SAMPLES			timed calls and their switches: how often there is an epoch
 *	BURSTS			what is not known yet: counts until the next look
 *
 * INVARIANT
 *	1. What is decided costs no more than the budget, at the rates and costs known.
 *	2. At steady rates nothing changes sides again and again.
 * WHY
 *	1. Each part is kept to by its own means, as far as an epoch of a second and a
 *	   window of LEAST_US go.
 *	2. A rate falls slowly. A seldom function is counted always again only if SLACK times
 *	   its rate can be afforded, and after DWELL looks.
 */
#include <math.h>
#include <stdlib.h>

#include "session/budget/afford.h"

#define ALWAYS 0.2
#define ALWAYS_MOST 0.27
#define WINDOWS 0.15
#define SWITCHES 0.3
#define SAMPLES 0.15
#define BURSTS 0.6			/* in place of ALWAYS */
#define MODEL 0.8			/* may be spent on these; the rest on turns */
#define SLACK 1.6
#define DWELL 20u
#define FALL 0.1			/* of the way, a look */
#define RISE 0.3			/* likewise, where windows tell: they scatter */
#define MEAN_S 1.0			/* that windows are made for */
#define MEMORY_S 10.0			/* how long measured costs count */
#define PRIOR_NS 1e7			/* what calibration weighs against them */
#define MOST_EPOCH_US 1000000.0
#define TURN_NS 20000.0			/* to wake up and switch, before it is measured */
#define BESIDE 0.05			/* of another CPU, for that */
/* The shortest window, because to begin one takes a part of it, and the shortest time from one
 * to the next: where that takes the program's time, and where it does not (BESIDE). */
#define LEAST_US 400.0
#define LEAST_BESIDE_US 100.0
#define LEAST_PERIOD_US 4000.0
#define LEAST_PERIOD_BESIDE_US 1000.0
#define LEAST_DUTY 1e-4
#define LEAST_COUNT_NS 0.2
#define MOST_DUTY 0.5

void fl_afford_open(struct fl_afford *a)
{
	a->epoch_us = a->period_us = a->least_epoch_us;
	a->window_us = 0;
	a->factor = 1;
	a->own_ns = a->model_ns = 0;
	a->cpus = a->lost = 1;
	a->late_us = a->age = 0;
	a->left_ns = a->stake_ns;
	a->is_free = true;
	a->turn_ns = TURN_NS;
	a->counts_a_second = BURSTS * a->budget * 1e9 / a->count_ns;
}

void fl_afford_pay(struct fl_afford *a, uint32_t payer, double part)
{
	a->budgets[payer] = part;
	a->budget = 0;
	for (uint32_t i = 0; i < FL_PAYERS; i++)
		a->budget += a->budgets[i];
}

static double between(double v, double lo, double hi)
{
	return v < lo ? lo : v > hi ? hi : v;
}

/* ---- what things cost ----------------------------------------------------------- */

static void learn_costs(struct fl_afford *a, const struct fl_afford_look *l)
{
	double keep = exp(-l->seconds / MEMORY_S);

	if (l->count_ns > 0)
		a->count_ns = between(l->count_ns, LEAST_COUNT_NS, 100);
	if (!l->measured)
		return;
	a->own_ns = a->own_ns * keep + l->own_ns;
	a->model_ns = a->model_ns * keep + l->timed * a->sample_ns +
		      l->switched * a->switch_ns;
	a->factor = between((a->own_ns + PRIOR_NS) / (a->model_ns + PRIOR_NS), 0.2, 10);
}

double fl_afford_lost(double cpus, uint32_t shared_cpus)
{
	if (!shared_cpus)
		return 1;
	return shared_cpus == 1 ? 0 : between(cpus - (shared_cpus - 2), 0, 1);
}

static void learn_cpus(struct fl_afford *a, const struct fl_afford_look *l)
{
	if (l->cpus > 0)
		a->cpus += (between(l->cpus, 0.05, 4096) - a->cpus) * 0.2;
	a->lost = fl_afford_lost(a->cpus, l->shared_cpus);
}

/* A window is closed late, by some tens of microseconds. */
static void learn_lateness(struct fl_afford *a, const struct fl_afford_look *l)
{
	double late;

	if (l->windows < 1 || !a->window_us)
		return;
	late = l->open_us / l->windows - a->window_us;
	a->late_us += (between(late, 0, 1000) - a->late_us) * 0.3;
}

/* A window takes two turns: one opens it, and one closes it. */
static void learn_turns(struct fl_afford *a, const struct fl_afford_look *l)
{
	if (l->windows >= 1 && l->watch_ns > 0)
		a->turn_ns += (between(l->watch_ns / (l->windows + l->timings) / 2, 1e3, 1e6) -
			       a->turn_ns) * 0.1;
}

static void learn_rates(struct fl_afford *a, const struct fl_afford_look *l,
			struct fl_afford_function *f, uint32_t n)
{
	double part;

	a->age += l->seconds;
	part = fmax(l->seconds / a->age, 1 - exp(-l->seconds / MEAN_S));
	for (uint32_t i = 0; i < n; i++) {
		double rate = f[i].calls / l->seconds, up = f[i].seldom ? RISE : 1;

		f[i].rate += (rate > f[i].rate ? up : FALL) * (rate - f[i].rate);
		f[i].mean += part * (rate - f[i].mean);
		f[i].looks++;
	}
}

/* ---- who is counted when ---------------------------------------------------------- */

/* The part of CPU time that it takes to count calls at that rate. */
static double share_of(const struct fl_afford *a, double rate)
{
	return rate * a->count_ns / 1e9 / a->cpus;
}

static double wanted_share(const struct fl_afford *a, const struct fl_afford_function *f)
{
	return share_of(a, f->rate) * (f->seldom ? SLACK : 1);
}

struct sort {
	const struct fl_afford *a;
	const struct fl_afford_function *f;
};

static int compare(const void *x, const void *y, void *arg)
{
	const struct sort *s = arg;
	double a = wanted_share(s->a, &s->f[*(const uint32_t *)x]);
	double b = wanted_share(s->a, &s->f[*(const uint32_t *)y]);

	return (a > b) - (a < b);
}

/* Functions that fit are counted always, the rarest first. Each payer has its own budget alone:
 * calls of one session's functions do not make another session's seldom. */
static uint32_t choose_sides(const struct fl_afford *a, struct fl_afford_function *f,
			     uint32_t n, uint32_t *order)
{
	struct sort s = { a, f };
	double sums[FL_PAYERS] = { 0 };
	uint32_t changed = 0;

	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	qsort_r(order, n, sizeof(*order), compare, &s);
	for (uint32_t i = 0; i < n; i++) {
		struct fl_afford_function *at = &f[order[i]];
		double budget = a->budgets[at->payer], *sum = &sums[at->payer];
		bool seldom;

		*sum += wanted_share(a, at);
		seldom = at->seldom ? *sum > ALWAYS * budget || at->looks < DWELL :
			 *sum > ALWAYS_MOST * budget;
		if (seldom == at->seldom)
			continue;
		at->seldom = seldom;
		at->looks = 0;
		changed++;
	}
	return changed;
}

/* ---- how often, how long ------------------------------------------------------------ */

/* The part of CPU time for timed calls and their switches, at an epoch of `us`. A function that
 * is called less often than it may be timed costs less. */
static double sampling_share(const struct fl_afford *a, const struct fl_afford_function *f,
			     uint32_t n, double us)
{
	double each = a->samples * a->sample_ns + 2 * a->switch_ns / a->groups, full = 0;

	for (uint32_t i = 0; i < n; i++)
		full += fmin(1, f[i].rate * us / 1e6 / a->samples);
	return full * each * a->factor / (us * 1e3) / a->cpus;
}

static double choose_epoch(const struct fl_afford *a, const struct fl_afford_function *f,
			   uint32_t n)
{
	double us = a->least_epoch_us;

	while (us < MOST_EPOCH_US && sampling_share(a, f, n, us) > SAMPLES * a->budget)
		us = fmin(us * 1.1, MOST_EPOCH_US);
	return us;
}

static double mix(const struct fl_afford *a, double where_lost, double beside)
{
	return a->lost * where_lost + (1 - a->lost) * beside;
}

/* Windows are many and short rather than few and long: a program has phases. */
static void choose_windows(struct fl_afford *a, const struct fl_afford_function *f,
			   uint32_t n)
{
	double often = 0, rare = 0, seldom = 0, part, duty, us;
	double more = a->left_ns / 1e9 / a->cpus;	/* a second */
	double least_us = mix(a, LEAST_US, LEAST_BESIDE_US);

	for (uint32_t i = 0; i < n; i++) {
		*(f[i].seldom ? &often : &rare) += share_of(a, f[i].mean);
		seldom += f[i].seldom;
	}
	a->window_us = 0;
	a->period_us = a->epoch_us;
	if (seldom == 0)
		return;
	part = a->budget * (WINDOWS + fmax(0, ALWAYS - rare / a->budget)) + more / 2;
	duty = often > 0 ? between(part / often, LEAST_DUTY, MOST_DUTY) : MOST_DUTY;
	us = (seldom * 2 * a->switch_ns * a->factor + a->lost * 2 * a->turn_ns) / 1e3 /
	     (SWITCHES * a->budget + more / 2) / a->cpus;
	us = fmax(us, 2 * a->turn_ns / 1e3 / BESIDE);
	us = fmax(us, (least_us + a->late_us) / duty);
	us = between(us, mix(a, LEAST_PERIOD_US, LEAST_PERIOD_BESIDE_US), MOST_EPOCH_US);
	a->period_us = (uint32_t)us;
	a->window_us = (uint32_t)fmax(duty * us - a->late_us, least_us);
}

/* A run that ends soon is told best by all of its calls, and the time to count them is too
 * short to be noticed. What a late look finds spent beyond the stake is no debt. */
static bool has_stake(struct fl_afford *a, const struct fl_afford_look *l)
{
	double counted = l->counted * a->count_ns;
	double granted = counted < a->granted_ns ? counted : a->granted_ns;
	double spent = counted - granted + a->factor * (l->timed * a->sample_ns +
		       l->switched * a->switch_ns);
	double earned = MODEL * a->budget * a->cpus * l->seconds * 1e9;

	a->granted_ns -= granted;
	a->left_ns -= spent;
	a->is_free &= a->left_ns > a->stake_ns / 2;
	if (!a->is_free)
		a->left_ns = between(a->left_ns + earned, 0, a->stake_ns / 2);
	return a->is_free;
}

uint32_t fl_afford_look(struct fl_afford *a, const struct fl_afford_look *l,
			struct fl_afford_function *f, uint32_t n, uint32_t *order)
{
	uint32_t changed = 0;
	bool is_free = has_stake(a, l);

	if (!(l->seconds > 0))
		return 0;
	learn_costs(a, l);
	learn_cpus(a, l);
	learn_lateness(a, l);
	learn_turns(a, l);
	learn_rates(a, l, f, n);
	if (!is_free) {
		if (!(a->granted_ns > 0))	/* else all that is counted is paid for */
			changed = choose_sides(a, f, n, order);
		a->epoch_us = (uint32_t)choose_epoch(a, f, n);
		choose_windows(a, f, n);
	}
	a->counts_a_second = BURSTS * a->budget * a->cpus * 1e9 / a->count_ns;
	return changed;
}
