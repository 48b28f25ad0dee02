/*
 * estimate.c - what windows saw of a function stands for all its calls, by the
 * program's own clock (clock.c).
 *
 * Hides chunks. Each window is looked at by itself, when it is closed. CHUNK windows are a
 * chunk, whose sums are divided. A function that becomes seldom in the middle of a chunk has
 * the sums since then (`starts`). Functions that are counted always are the clock's hands.
 */
#include <math.h>
#include <string.h>

#include "os/os.h"
#include "session/budget/state.h"
#include "session/budget/budget.h"
#include "session/budget/clock.h"

#define MOST_SCALE 1e9			/* the target may say anything */
/* What it costs the program to begin a window on its one CPU, because caches are cold then. */
#define INTERRUPT_NS 5000.0
#define SURE 0.05			/* a price that is off by less needs no gauge */

/* ---- the program's clock ----------------------------------------------------------- */

/* How good a hand a function of that rate is: one that is called more often than `best` is
 * likely to be too dear soon. */
static double hand_rate(double rate)
{
	const double best = 1e5;

	return rate > best ? best * best / rate : rate;
}

/* Hands are functions that are counted always, the best first. A process tree has no hands,
 * because each process has windows of its own. */
static void choose_hands(struct fl_budget *b)
{
	double most[FL_HANDS] = { 0 };

	memset(b->hands, 0, sizeof(b->hands));
	for (uint32_t f = 0; f < b->n && !b->s->o->follow; f++) {
		double rate = hand_rate(b->functions[f].rate);
		uint32_t k = FL_HANDS;

		if (b->functions[f].seldom || b->sides[f].is_cut)
			continue;
		for (; k > 0 && rate > most[k - 1]; k--)
			if (k < FL_HANDS) {
				most[k] = most[k - 1];
				b->hands[k] = b->hands[k - 1];
			}
		if (k == FL_HANDS)
			continue;
		most[k] = rate;
		b->hands[k].probe = b->sides[f].probe + 1;
	}
}

static bool is_hand(const struct fl_budget *b, uint32_t probe)
{
	for (uint32_t k = 0; k < FL_HANDS; k++)
		if (b->hands[k].probe == probe + 1)
			return true;
	return false;
}

/* Is there room for a hand, and a good one that was not called yet when the chunk began? */
static bool has_new_hand(const struct fl_budget *b)
{
	const double often = 1000;

	if (b->hands[FL_HANDS - 1].probe || b->s->o->follow)
		return false;
	for (uint32_t f = 0; f < b->n; f++)
		if (!b->functions[f].seldom && b->functions[f].rate >= often &&
		    !is_hand(b, b->sides[f].probe))
			return true;
	return false;
}

/* The next function behind `first`, + 1, that is called often in windows, and has no more than
 * the part `most` of all calls there; 0: none. */
static uint32_t next_gauge(const struct fl_budget *b, uint32_t first, double most)
{
	const double often = 1e5, least = 0.01;
	double all = 0;

	for (uint32_t f = 0; f < b->n; f++)
		all += b->functions[f].seldom ? b->functions[f].rate : 0;
	for (uint32_t i = 0; i < b->n; i++) {
		uint32_t f = (first + i) % b->n;
		double rate = b->functions[f].rate;

		if (b->sides[f].is_seldom && b->functions[f].seldom && rate >= often &&
		    rate >= least * all && rate <= most * all)
			return f + 1;
	}
	return 0;
}

/* The gauge is counted alone behind windows, until prices are sure: the less its own counts
 * cost, the more it tells. Each chunk has another gauge. A process tree has none, because each
 * process has windows of its own. */
static void choose_gauge(struct fl_budget *b, const struct moment *now)
{
	bool is_sure = b->price.unsure_ns < SURE * b->price.count_ns;
	uint32_t first = b->gauge;

	b->extra = now->gauge.extra;
	b->gauge = 0;
	if (!is_sure && !b->s->o->follow)
		b->gauge = next_gauge(b, first, 0.3);
	if (!is_sure && !b->s->o->follow && !b->gauge)
		b->gauge = next_gauge(b, first, 0.6);
	store_relaxed(&b->s->shared->seldom.gauge_probe,
		      b->gauge ? b->sides[b->gauge - 1].probe + 1 : 0);
}

/* The gauge has had `calls` since the last window that was looked at. Those that no sum knows
 * are of windows in which threads ended. How many of them came behind a window? They are
 * divided by time in such windows and time behind these. */
static uint64_t torn_extra(const struct fl_budget *b, const struct moment *now, uint64_t calls)
{
	const struct fl_gauge *was = &b->window.gauge, *is = &now->gauge;
	uint64_t known = is->calls - was->calls + (is->extra - was->extra);
	double behind = (double)(is->torn_behind_ns - was->torn_behind_ns);
	double all = behind + (double)(is->torn_ns - was->torn_ns);

	if (!(behind > 0) || calls <= known)
		return 0;
	return (uint64_t)((double)(calls - known) * behind / all);
}

/* Take out what the gauge counted in no window. All of it has been told, because a window is
 * open for the reader until its gauge is off. A look that came before may have shown it. */
static void take_out_extra(struct fl_budget *b, const struct moment *now)
{
	struct side *side = &b->sides[b->gauge - 1];
	uint64_t extra = now->gauge.extra - b->extra, torn;

	if (!b->gauge || side->fresh <= side->taken)
		return;
	torn = torn_extra(b, now, side->fresh - side->taken);
	if (extra > side->fresh - side->taken - torn)
		extra = side->fresh - side->taken - torn;
	side->fresh -= extra + torn;
	b->extra += extra;
	if (side->seen <= side->fresh)
		return;
	b->functions[b->gauge - 1].calls -=
		least((double)(side->seen - side->fresh) * b->scale,
		      b->functions[b->gauge - 1].calls);
	side->seen = side->fresh;
}

/* Sums up to here, with what hands and time have moved in all since the chunk began. Hands
 * tell nothing where a thread ended in a window. -HUGE_VAL says so: 0 would be far ahead of a
 * hand that had told nothing, by -HUGE_VAL, when some functions became seldom. */
static struct fl_clock clock_now(const struct fl_budget *b, const struct moment *now)
{
	struct fl_clock c = b->clock;
	bool is_torn = b->torn != load_relaxed(&b->s->shared->seldom.torn) ||
		       load_relaxed(&b->s->shm->n_slots_used) > FL_HANDS_SLOTS;

	for (uint32_t k = 0; k < FL_HANDS; k++)
		c.all[k] = is_torn ? -HUGE_VAL : b->hands[k].ticks;
	c.all[FL_TIME] = (double)(now->ran_ns - b->windows.ran_ns);
	return c;
}

void fl_budget_begin_chunk(struct fl_budget *b, const struct moment *now)
{
	struct fl_seldom *s = &b->s->shared->seldom;

	b->windows = b->window = *now;
	b->torn = load_relaxed(&s->torn);
	b->clock = (struct fl_clock){ 0 };
	b->n_starts = 1;
	b->starts[0] = b->clock;
	choose_hands(b);
	choose_gauge(b, now);
	for (uint32_t k = 0; k < FL_HANDS; k++)
		store_relaxed(&s->hands[k], b->hands[k].probe);
	for (uint32_t f = 0; f < b->n; f++) {
		b->sides[f].called = (struct fl_called){ 0 };
		b->sides[f].taken = b->sides[f].fresh;
		b->sides[f].start = 0;
	}
}

void fl_budget_begin_side(struct fl_budget *b, uint32_t f, double rate)
{
	struct side *side = &b->sides[f];

	side->called = (struct fl_called){ 0 };
	side->taken = side->fresh;
	side->start = b->n_starts - 1;
	side->before = rate / 1e9;
}

/* The reader may come late, so the target says when the first one was cut. Others were cut
 * between that moment and now: the mean of both, by ratio, is off by as much either way. */
void fl_budget_begin_cut(struct fl_budget *b, uint32_t f, const struct moment *now)
{
	uint64_t cut_ns = load_relaxed(&b->s->shared->seldom.cut_ns);
	uint64_t from = b->look.ns > b->begun_ns ? b->look.ns : b->s->go.wall_ns;
	double most = (double)now->ns - (double)from, passed = most, rate;

	if (cut_ns > from && cut_ns < now->ns && cut_ns != b->cut_ns)
		passed = sqrt(most * ((double)cut_ns - (double)from));
	rate = passed > 0 ? b->functions[f].calls * 1e9 / passed : 0;
	fl_budget_begin_side(b, f, rate);
	if (b->functions[f].rate <= 0)		/* no look has told it */
		b->functions[f].rate = rate;
}

/* A hand that becomes seldom in the middle of a chunk tells nothing more. */
void fl_budget_begin_start(struct fl_budget *b, const struct moment *now)
{
	if (!b->clock.windows)
		return;
	for (uint32_t k = 0; k < FL_HANDS; k++)
		if (b->hands[k].probe && fl_budget_is_seldom(b, b->hands[k].probe - 1))
			b->hands[k].ticks = -HUGE_VAL;
	b->starts[b->n_starts++] = clock_now(b, now);
}

static double cpus_of(const struct fl_budget *b)
{
	return b->afford.cpus > 1 ? b->afford.cpus : 1;
}

/* The gauge tells only if it was counted behind each of these windows. */
static void set_gauge(struct fl_ticks *w, const struct fl_budget *b, const struct moment *now)
{
	const struct fl_gauge *was = &b->window.gauge, *is = &now->gauge;

	if ((double)(is->windows - was->windows) != w->windows)
		return;
	w->gauge.calls = (double)(is->calls - was->calls) / cpus_of(b);
	w->gauge.ns = (double)(is->ns - was->ns);
	w->gauge.behind = (double)(is->behind - was->behind) / cpus_of(b);
	w->gauge.behind_ns = (double)(is->behind_ns - was->behind_ns);
}

/* All that was counted is gathered, and all these windows are over. */
void fl_budget_look_at_window(struct fl_budget *b, const struct moment *now)
{
	struct fl_ticks w = {
		.windows = (double)(now->windows - b->window.windows),
		.open_ns = (double)(now->ran_open_ns - b->window.ran_open_ns),
	};

	take_out_extra(b, now);
	/* A process of a process tree may end in its window. */
	w.stands_ns = b->s->o->follow ? w.open_ns : w.windows * b->afford.period_us * 1e3;
	for (uint32_t k = 0; k < FL_HANDS; k++)
		w.ticks[k] = (double)(now->ticks[k] - b->window.ticks[k]);
	for (uint32_t f = 0; f < b->n; f++)
		if (b->sides[f].is_seldom)
			w.counted += (double)(b->sides[f].fresh - b->sides[f].taken);
	w.counted /= cpus_of(b);
	set_gauge(&w, b, now);
	b->price.window_ns = load_relaxed(&b->s->shared->seldom.has_one_cpu) ? INTERRUPT_NS : 0;
	fl_clock_take(&b->clock, &w, &b->price);
	for (uint32_t f = 0; f < b->n; f++) {
		struct side *side = &b->sides[f];

		if (side->is_seldom && side->fresh != side->taken)
			fl_clock_call(&side->called, (double)(side->fresh - side->taken), &w,
				      &b->price);
		side->taken = side->fresh;
	}
	b->window = *now;
}

bool fl_budget_has_window(const struct fl_budget *b)
{
	const struct fl_seldom *s = &b->s->shared->seldom;

	return load_relaxed(&s->windows) != b->window.windows && !load_relaxed(&s->is_open);
}

/* ---- estimates ---------------------------------------------------------------------- */

/* What a call in windows stands for: of a function, with `c` since it became seldom in the
 * chunk; or of any, with `c` since the chunk began. */
static struct fl_scale scale_of(const struct fl_budget *b, const struct fl_called *called,
				const struct fl_clock *c)
{
	static const struct fl_called none;
	struct fl_scale s = { b->scale, 1, 0 };

	if (c->open_ns > 0 && c->all[FL_TIME] >= c->open_ns)
		s = fl_clock_scale(c, called ? called : &none, &b->price);
	s.by = least(s.by, MOST_SCALE);
	return s;
}

/* Where no window met a call, it may as well have met one. */
static void note_error(struct side *side, const struct fl_scale *s)
{
	double calls = (side->fresh ? (double)side->fresh : 1) * s->by;

	side->squares += calls * calls * (s->off * s->off - s->alike * s->alike);
	side->alike += calls * s->alike;
}

/* The next look hears of the function's new calls. */
static void show(struct fl_budget *b, uint32_t f, double scale)
{
	struct side *side = &b->sides[f];

	b->functions[f].calls += (double)(side->fresh - side->seen) * scale;
	side->seen = side->fresh;
}

/* The clock's time as it passed: that of a program's one CPU is CPU time. */
static double passed_ns(const struct fl_budget *b, double ns)
{
	return load_relaxed(&b->s->shared->seldom.has_one_cpu) ? ns / b->afford.cpus : ns;
}

/* A function that became seldom went from the rate before to that of windows at some moment. If
 * that was before the first window, no window tells of it: half way on average, and anywhere
 * alike. */
static void add_gap(const struct fl_budget *b, struct side *side, const struct fl_clock *c,
		    double calls)
{
	double rate = calls / passed_ns(b, c->all[FL_TIME]);
	double more = (side->before - rate) *
		      (double)load_relaxed(&b->s->shared->seldom.gap_ns);

	side->calls = least(fmax(side->calls + more / 2, 0), MOST_CALLS);
	side->squares += more * more / 12;
	side->before = 0;
}

void fl_budget_add_unseen(struct fl_budget *b, uint32_t f, double ns)
{
	double calls = b->functions[f].rate * ns / 1e9;

	if (!(ns > 0) || b->s->o->follow)	/* of several processes nobody knows when */
		return;
	b->sides[f].calls = least(b->sides[f].calls + calls, MOST_CALLS);
	b->sides[f].squares += calls * calls;
}

/* Where windows are a second apart, a run may end before the first window, or long after the
 * last one of a chunk: the time without a window is added. */
void fl_budget_settle(struct fl_budget *b, uint32_t f, const struct moment *now)
{
	struct side *side = &b->sides[f];
	struct fl_scale scale = { 1, 0, 0 };

	if (side->is_seldom) {
		struct fl_clock c = clock_now(b, now);

		c = fl_clock_since(&c, &b->starts[side->start]);
		scale = scale_of(b, &side->called, &c);
		note_error(side, &scale);
		if (c.windows <= 0)
			fl_budget_add_unseen(b, f, passed_ns(b, c.all[FL_TIME]));
		else if (side->before > 0)
			add_gap(b, side, &c, (double)side->fresh * scale.by);
	}
	show(b, f, side->is_seldom ? b->scale : 1);
	side->calls = least(side->calls + (double)side->fresh * scale.by, MOST_CALLS);
	side->counted += side->fresh;
	side->fresh = side->seen = side->taken = 0;
}

void fl_budget_estimate(struct fl_budget *b, const struct moment *now, enum windows windows)
{
	bool is_taken = windows == NO_MORE || now->windows - b->windows.windows >= CHUNK ||
			b->n_starts == STARTS || has_new_hand(b);
	bool is_seen = now->windows != b->look.windows;
	struct fl_clock c;

	if (is_taken && now->windows != b->window.windows)
		fl_budget_look_at_window(b, now);
	c = clock_now(b, now);
	if (is_taken)
		fl_clock_price(&c, &b->price);
	b->scale = scale_of(b, NULL, &c).by;
	for (uint32_t f = 0; f < b->n; f++) {
		double held = b->functions[f].rate * (double)(now->ns - b->look.ns) / 1e9;

		if (!b->sides[f].is_seldom || is_taken)
			fl_budget_settle(b, f, now);
		else if (is_seen)
			show(b, f, b->scale);
		else if (b->functions[f].calls < held)
			b->functions[f].calls = held;
	}
	if (is_taken)
		fl_budget_begin_chunk(b, now);
	else if (!b->gauge)
		choose_gauge(b, now);
}
