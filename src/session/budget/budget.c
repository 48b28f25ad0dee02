/*
 * budget.c - `record --budget`: calls are counted as far as that can be afforded.
 *
 * Hides how often the reader looks, what it asks of the target and when the target heeds that.
 * Each call of a function is counted (called.c), unless afford.c says that this costs
 * too much: then the function is seldom, and is counted in windows alone (probe/seldom.c has
 * the protocol). The calls that windows saw stand for all calls (estimate.c).
 *
 * Only counts of windows stand for more than themselves. Each process of a tree heeds a wish
 * in its own time, or never, because it ends. So each thread's counts are told with the wish
 * that its process had heeded before they were made. A full count is added as it is.
 *
 * Between two looks no more is counted than there is credit for (probe/fuse.c). A function
 * that is cut when credit runs out is seldom at once; what windows count of it from then on
 * stands for the time since the cut.
 *
 * Counters and clocks are not read at one moment. A counter that is ahead of its clock at one
 * look is behind it by as much at the next, so that errors do not add up, except by chance.
 */
#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "os/os.h"
#include "session/budget/afford.h"
#include "session/samples/bare.h"
#include "session/budget/state.h"
#include "session/budget/budget.h"
#include "session/change/change.h"
#include "session/budget/clock.h"
#include "session/samples/own.h"
#include "session/readers.h"

#define LOOK_NS 100000000ull		/* between looks, except the first ones */
#define EARLY_NS 1000000000ull		/* a budget may be passed */
#define FIRST_WINDOW_US 100		/* of a function that is cut while all were on */
#define COUNT_NS 0.9			/* what a count takes, before it is measured */
#define LASTING 0.8			/* the part of that where all is counted for long */
#define UNSURE_NS 0.5			/* how far COUNT_NS may be off */
#define SAMPLE_NS 200.0
#define SWITCH_NS 500.0

int fl_budget_take(void *options, const struct fl_option *option, const char *text)
{
	struct fl_session_options *o = options;
	double part;

	(void)option;
	if (!fl_budget_parse(text, &part)) {
		fl_say("--budget takes a percentage from 0.1 to 100, not `%s`", text);
		return -1;
	}
	o->budget = part;
	o->budget_text = text;
	return 0;
}

/* A window is short: caches and branch predictors are cold in it, and a count takes longer
 * there than where all is counted. */
static double lasting_ns(const struct fl_budget *b)
{
	return b->price.count_ns * LASTING;
}

/* ---- what is told ------------------------------------------------------------------ */

static void heed_sample(void *arg, const struct fl_pc *pc)
{
	struct fl_budget *b = arg;

	if (!b->s->o->follow && pc->pid != b->s->pid)
		return;
	b->pc_all += pc->n;
	b->periods += pc->n;
	fl_own_look(&b->own, b->s);		/* no memory: what is new is the program's */
	if (!fl_own_has(&b->own, b->s, pc)) {
		fl_bare_saw(b->s, pc);
		return;
	}
	b->pc_own += fl_own_counts(&b->own, pc) ? 0 : pc->n;
	if (b->begun_ns && fl_os_monotonic_ns() - b->begun_ns < EARLY_NS)
		b->s->early_own += fl_own_works(&b->own, pc) ? 0 : pc->n;
}

static bool is_glue(void *arg, uint64_t at)
{
	struct fl_budget *b = arg;

	fl_own_look(&b->own, b->s);
	return fl_own_is_glue(&b->own, at);
}

/* CPU time so far of what switches probes beside the program; 0: not known. In a process tree,
 * of what did so beside processes that have ended. */
static uint64_t watch_ns(const struct fl_session *s)
{
	int pid = load_relaxed(&s->shm->watcher_pid);

	if (s->o->follow)
		return load_relaxed(&s->shm->watch_ns);
	return pid > 0 ? fl_os_process_ns(pid) : 0;
}

static struct moment look_now(const struct fl_budget *b)
{
	const struct fl_seldom *s = &b->s->shared->seldom;
	struct moment now = {
		.windows = load_relaxed(&s->windows),
		.timings = load_relaxed(&s->timings),
		.passed_ns = load_relaxed(&s->passed_ns),
		.open_ns = load_relaxed(&s->open_ns),
		.ran_ns = load_relaxed(&s->ran_ns),
		.ran_open_ns = load_relaxed(&s->ran_open_ns),
		.toggles = load_relaxed(&b->s->shared->toggles), .watch_ns = watch_ns(b->s),
		.delivered = fl_readers_delivered(b->s->readers),
		.ns = fl_os_monotonic_ns(),
	};
	size_t n;
	const struct fl_thread *t = fl_reader_threads(b->s->reader, &n);

	for (size_t i = 0; i < n; i++)
		now.delivered += t[i].delivered;
	for (uint32_t k = 0; k < FL_HANDS; k++)
		now.ticks[k] = load_relaxed(&s->ticks[k]);
	now.gauge = (struct fl_gauge){
		.windows = load_relaxed(&s->gauge.windows),
		.calls = load_relaxed(&s->gauge.calls), .ns = load_relaxed(&s->gauge.ns),
		.behind = load_relaxed(&s->gauge.behind),
		.behind_ns = load_relaxed(&s->gauge.behind_ns),
		.extra = load_relaxed(&s->gauge.extra),
		.torn_ns = load_relaxed(&s->gauge.torn_ns),
		.torn_behind_ns = load_relaxed(&s->gauge.torn_behind_ns),
	};
	return now;
}

/* ---- wishes --------------------------------------------------------------------------- */

/* Write what is decided into the rows of sites. A function that the target has cut since then
 * stays seldom: its rows are left alone. */
static void wish(struct fl_budget *b, const struct moment *now)
{
	struct fl_session *s = b->s;

	for (uint32_t k = 0; k < b->n_entries; k++) {
		uint32_t i = b->entries[k];
		const struct side *side = fl_budget_side(b, i);

		if (fl_change_is_off(s, i))
			continue;
		if (fl_budget_is_seldom(b, i) || (side && side->is_wished))
			store_relaxed(&s->sites[i].wanted,
				      fl_budget_is_seldom(b, i) ? FL_SELDOM : FL_WANTED);
	}
	for (uint32_t f = 0; f < b->n; f++) {
		if (b->sides[f].is_seldom && !b->functions[f].seldom)
			fl_budget_settle(b, f, now);
		b->sides[f].is_wished = b->functions[f].seldom;
		b->sides[f].was_off |= b->functions[f].seldom;
	}
	b->n_wished = b->n_entries;
	b->is_heeded = false;
	/* (A) pairs with (C) in probe/seldom.c */
	store_release(&s->shared->seldom.wish, ++b->wish);
}

static void mark_sites(struct fl_budget *b)
{
	for (uint32_t k = 0; k < b->n_wished; k++) {
		uint32_t i = b->entries[k];
		uint64_t *since = &b->counted[i].since;

		if (!fl_budget_is_seldom(b, i))
			store_relaxed(since, 0);
		else if (!*since)
			store_relaxed(since, SINCE(b->wish));
	}
}

/* The target has heeded the wish: from here on counts are of what was wished for. If this is
 * noticed late, a function that is no longer seldom may have been on for long; windows have
 * counted little of it since the wish. */
static void note_heeded(struct fl_budget *b)
{
	const struct fl_seldom *s = &b->s->shared->seldom;
	struct moment now;
	double unseen;

	fl_budget_gather(b);
	now = look_now(b);
	unseen = (double)(now.passed_ns - load_relaxed(&s->passed_then_ns)) -
		 (double)(now.open_ns - load_relaxed(&s->open_then_ns));
	for (uint32_t f = 0; f < b->n; f++)
		if (!b->functions[f].seldom)
			b->sides[f].is_seldom = false;
	fl_budget_estimate(b, &now, b->clock.windows ? MORE_COME : NO_MORE);
	fl_budget_begin_start(b, &now);
	for (uint32_t f = 0; f < b->n; f++) {
		if (!b->functions[f].seldom || b->sides[f].is_seldom)
			continue;
		fl_budget_add_unseen(b, f, unseen);
		b->sides[f].is_seldom = true;
		fl_budget_begin_side(b, f, unseen > 0 ? 0 : b->functions[f].rate);
	}
	mark_sites(b);
	b->is_heeded = true;
}

static void look_whether_heeded(struct fl_budget *b)
{
	/* (B) pairs with (D) in probe/seldom.c */
	if (!b->is_heeded && load_acquire(&b->s->shared->seldom.heeded) == b->wish)
		note_heeded(b);
}

/* ---- looks ------------------------------------------------------------------------------ */

/* A session beside the recording pays for a function that it alone wants. */
static void find_payers(struct fl_budget *b)
{
	for (uint32_t k = 0; k < b->n_entries; k++) {
		const struct side *side = fl_budget_side(b, b->entries[k]);

		if (side)
			b->functions[side - b->sides].payer =
				(uint8_t)fl_change_payer(b->s, b->entries[k]);
	}
}

static uint32_t decide(struct fl_budget *b, const struct moment *now)
{
	double period = (double)fl_sampler_period_ns(), seconds;
	struct fl_afford_look l = {
		.measured = b->s->sampler, .own_ns = (double)b->pc_own * period,
		.counted = b->looked_counted, .count_ns = lasting_ns(b),
		.timed = (double)(now->delivered - b->look.delivered) / 2,
		.switched = (double)(now->toggles - b->look.toggles),
		.windows = (double)(now->windows - b->look.windows),
		.timings = (double)(now->timings - b->look.timings),
		.shared_cpus = load_relaxed(&b->s->shared->seldom.shared_cpus),
	};
	uint32_t changed;

	if (now->watch_ns > b->look.watch_ns)
		l.watch_ns = (double)(now->watch_ns - b->look.watch_ns);
	seconds = (double)(now->ns - b->look.ns) / 1e9;
	l.seconds = seconds;
	l.open_us = (double)(now->open_ns - b->look.open_ns) / 1e3;
	l.cpus = (double)b->pc_all * period / 1e9 / seconds;
	if (b->has_payers)
		find_payers(b);
	changed = fl_afford_look(&b->afford, &l, b->functions, b->n, b->order);
	for (uint32_t f = 0; f < b->n; f++)
		b->functions[f].calls = 0;
	b->pc_own = b->pc_all = 0;
	b->looked_counted = 0;
	b->look = *now;
	return changed;
}

/* At first all functions are on, as long as the stake lasts: so the first looks come soon, and
 * later ones farther apart. */
static bool is_due(const struct fl_budget *b, uint64_t now)
{
	enum { FIRST_NS = 4000000, APART = 8 };
	uint64_t ran = (now - b->s->go.wall_ns) / APART;

	ran = ran > FIRST_NS ? ran : FIRST_NS;
	return now - b->look.ns >= (ran < LOOK_NS ? ran : LOOK_NS);
}

/* Find the functions that the target has cut. This comes before counts are asked for: later
 * counts of these functions are of windows. */
static void note_cut(struct fl_budget *b)
{
	struct fl_session *s = b->s;

	if (!load_relaxed(&s->shared->seldom.has_cut))
		return;
	b->has_cut = true;
	store_relaxed(&s->shared->seldom.has_cut, 0);
	for (uint32_t k = 0; k < b->n_entries; k++) {
		uint32_t i = b->entries[k], f;

		if (load_relaxed(&s->sites[i].wanted) != FL_SELDOM || fl_budget_is_seldom(b, i))
			continue;
		f = fl_budget_index(b, s->functions.function_of[i]);
		b->sides[f].is_cut = true;
	}
}

/* The target made the function seldom itself, so it need not heed a wish; only the other
 * processes of a process tree must. The function's first window stands for all time since the
 * window before, though the function was on for a part of that: on average for as long as it
 * is unseen after its last window. */
static void adopt(struct fl_budget *b, uint32_t f, const struct moment *now)
{
	b->functions[f].looks = 0;
	b->sides[f].was_off = true;
	if (b->s->o->follow)
		return;
	b->sides[f].is_seldom = b->sides[f].is_wished = true;
	fl_budget_begin_cut(b, f, now);
}

static void adopt_cut(struct fl_budget *b)
{
	struct fl_session *s = b->s;
	struct moment now;

	b->has_cut = false;
	fl_budget_gather(b);
	now = look_now(b);
	for (uint32_t f = 0; f < b->n; f++) {
		b->sides[f].is_cut &= !b->functions[f].seldom;
		b->functions[f].seldom |= b->sides[f].is_cut;
	}
	fl_budget_estimate(b, &now, b->clock.windows ? MORE_COME : NO_MORE);
	fl_budget_begin_start(b, &now);
	for (uint32_t f = 0; f < b->n; f++)
		if (b->sides[f].is_cut)
			adopt(b, f, &now);
	b->cut_ns = load_relaxed(&s->shared->seldom.cut_ns);
	for (uint32_t k = 0; k < b->n_entries; k++) {
		uint32_t i = b->entries[k];
		const struct side *side = fl_budget_side(b, i);

		if (side && side->is_cut && side->is_seldom && !b->counted[i].since)
			store_relaxed(&b->counted[i].since, SINCE(0));
	}
	for (uint32_t f = 0; f < b->n; f++)
		b->sides[f].is_cut = false;
	if (s->o->follow)
		wish(b, &now);
}

/* Give the target credit for counts in that many seconds. */
static void give_credit(struct fl_budget *b, double seconds)
{
	struct fl_seldom *s = &b->s->shared->seldom;
	double blocks = b->afford.counts_a_second / FL_COUNT_BLOCK;
	double most = blocks * (double)LOOK_NS / 1e9, left = (int32_t)load_relaxed(&s->credit);
	double more = least(most - left, blocks * seconds);

	if (more > 0)
		__atomic_fetch_add(&s->credit, (uint32_t)more, __ATOMIC_RELAXED);
	store_relaxed(&s->round, s->round + 1 ? s->round + 1 : 1);
}

/* Changes when one of the processes heeds a wish. */
static uint64_t sum_heeded(const struct fl_session *s)
{
	const struct fl_process *p = fl_shm_processes(s->shm);
	uint32_t n = load_relaxed(&s->shm->n_processes);
	uint64_t sum = 0;

	for (uint32_t i = 0; i < n && i < FL_MAX_PROCESSES; i++)
		sum += load_relaxed(&p[i].heeded);
	return sum;
}

/* Is there something to look at, and has each reader delivered what was counted? Counts are
 * asked for soon after a process has heeded a wish, because its later counts stand for
 * something else. */
static bool is_counted(struct fl_budget *b)
{
	struct fl_session *s = b->s;
	uint64_t sum = sum_heeded(s);

	if (!b->is_asked) {
		/* (B) pairs with (D) in probe/seldom.c */
		b->is_asked_heeded = load_acquire(&s->shared->seldom.heeded) == b->wish;
		b->is_asked_closed = fl_budget_has_window(b);
		b->is_asked = (b->is_asked_heeded && !b->is_heeded) || sum != b->heeded ||
			      load_relaxed(&s->shared->seldom.has_cut) ||
			      b->is_asked_closed || is_due(b, fl_os_monotonic_ns());
		if (!b->is_asked)
			return false;
		b->heeded = sum;
		note_cut(b);
		fl_readers_ask(s->readers);
	}
	if (!fl_readers_answered(s->readers))
		return false;
	b->is_asked = false;
	fl_reader_count(s->reader);
	return true;
}

/* A thread's first sample comes when its first period ends, so the time before it is lost; of
 * each thread that is there, the same is lost when periods become longer. Periods are too long
 * where the threads that start in `time`, or are there, lose more than a percent of it. */
static bool lose_much(uint64_t starts, double periods, uint64_t time)
{
	return 100 * (double)starts * periods > (double)time;
}

/* MANY samples tell self times to a percent. Where samples take more than all of the budget,
 * as in a virtual machine within another, fewer have to do, or a run of two seconds would be
 * over the budget by its samples alone. FEW samples tell self times to two percent. */
static uint64_t enough_samples(double budget, double part)
{
	enum { MANY = 2048, FEW = 512 };
	double n = part > budget ? MANY * budget / part : MANY;

	return n > FEW ? (uint64_t)n : FEW;
}

/* Once there are enough samples, further ones take no more than a part of the budget, if the
 * kernel gives events for that. In a process tree not all threads are known, so samples stay
 * as many as they are. */
static void slow_samples(struct fl_budget *b)
{
	enum { PART = 4, MOST_PERIODS = 64 };
	struct fl_session *s = b->s;
	double part = (double)s->prices.sample_ns / (double)fl_sampler_period_ns();
	uint64_t enough = enough_samples(s->o->budget, part);
	double periods = least(ceil(part * PART / s->o->budget), MOST_PERIODS);
	uint64_t starts = s->sampler ? fl_sampler_starts(s->sampler) : 0;

	if (b->pace == FL_PACE_FIRST && b->periods >= enough && periods > 1 && !s->o->follow &&
	    !lose_much(starts, periods, b->periods)) {
		b->pace = fl_sampler_slow(s->sampler, s->pid, (uint32_t)periods) ?
			  FL_PACE_LAST : FL_PACE_SLOW;
		b->slow_since = b->periods;
		b->slow_starts = starts;
	} else if (b->pace == FL_PACE_SLOW &&
		   lose_much(starts - b->slow_starts, periods,
			     b->periods - b->slow_since + enough)) {
		fl_sampler_hasten(s->sampler);
		b->pace = FL_PACE_LAST;
	}
}

/* Costs are of the time from here on: that before, when modules were scanned, is not looked
 * at. */
static void begin(struct fl_budget *b)
{
	b->look = look_now(b);
	b->begun_ns = b->look.ns;
	b->price.call_ns = b->s->prices.call_ps / 1e3;
	b->pc_own = b->pc_all = 0;
}

void fl_budget_turn(struct fl_session *s)
{
	struct fl_budget *b = s->budget;
	struct moment now;

	if (!b || !s->start.begun || b->is_off)
		return;
	if (!b->look.ns)
		begin(b);
	b->is_off = fl_budget_grow(b) || fl_budget_take_entries(b);
	if (b->is_off || !is_counted(b))
		return;
	if (b->is_asked_heeded && !b->is_heeded)
		note_heeded(b);
	if (b->has_cut && (b->is_heeded || !s->o->follow))
		adopt_cut(b);
	fl_budget_gather(b);
	now = look_now(b);
	if (b->is_asked_closed && fl_budget_has_window(b))
		fl_budget_look_at_window(b, &now);
	if (!is_due(b, fl_os_monotonic_ns()))
		return;
	fl_budget_estimate(b, &now, MORE_COME);
	if (!b->is_heeded)
		return;
	give_credit(b, (double)(now.ns - b->look.ns) / 1e9);
	slow_samples(b);
	if (decide(b, &now) || (b->afford.window_us && b->n_wished != b->n_entries))
		wish(b, &now);
	store_relaxed(&s->shared->seldom.window_us,
		      b->afford.window_us ? b->afford.window_us : FIRST_WINDOW_US);
	store_relaxed(&s->shared->seldom.period_us, b->afford.period_us);
	store_relaxed(&s->shared->seldom.epoch_us, b->afford.epoch_us);
}

/* ---- beginning and end ---------------------------------------------------------------- */

static size_t counted_bytes(uint32_t sites)
{
	return sites * sizeof(struct count) + (sites / 64 + 1) * sizeof(uint64_t);
}

int fl_budget_open(struct fl_session *s)
{
	struct fl_budget *b;
	size_t bytes = counted_bytes(s->shm->max_sites);
	double stake_ns = s->o->budget * FL_BUDGET_STAKE_NS;

	if (s->o->action != FL_ACT_SAMPLE)
		return 0;
	b = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	b->counted = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (b->counted == MAP_FAILED) {
		free(b);
		return -ENOMEM;
	}
	b->fresh = (uint64_t *)(b->counted + s->shm->max_sites);
	b->s = s;
	b->max_sites = s->shm->max_sites;
	b->is_heeded = true;
	b->scale = 1;
	b->price = (struct fl_price){ .count_ns = COUNT_NS, .unsure_ns = UNSURE_NS };
	fl_budget_begin_chunk(b, &(struct moment){ 0 });
	b->afford = (struct fl_afford){
		.count_ns = lasting_ns(b),
		.sample_ns = SAMPLE_NS, .switch_ns = SWITCH_NS,
		.samples = s->o->samples, .groups = FL_GROUPS,
		.least_epoch_us = s->o->epoch_ms * 1000, .stake_ns = stake_ns,
	};
	fl_afford_pay(&b->afford, 0, s->o->budget);
	fl_afford_open(&b->afford);
	store_relaxed(&s->shared->seldom.credit,
		      (uint32_t)(stake_ns / 2 / lasting_ns(b) / FL_COUNT_BLOCK));
	store_relaxed(&s->shared->seldom.round, 1);
	store_relaxed(&s->shared->seldom.window_us, FIRST_WINDOW_US);
	if (s->sampler) {
		fl_sampler_tell(s->sampler, heed_sample, b);
		fl_sampler_glue(s->sampler, is_glue, b);
	}
	s->budget = b;
	return 0;
}

/* Counts of windows since the last chunk stand for as much as counts did in it. */
uint64_t fl_budget_calls(const struct fl_budget *b, uint32_t function)
{
	const struct side *side;

	if (!b || function >= b->room || !b->called[function])
		return 0;
	side = &b->sides[b->called[function] - 1];
	return (uint64_t)(least(side->calls + (double)side->fresh *
				(side->is_seldom ? b->scale : 1), MOST_CALLS) + 0.5);
}

static double error_squared(const struct side *side)
{
	return side->squares + side->alike * side->alike;
}

/* A seldom function may have had calls that no window has told of yet: `counted` below `calls`
 * says that these are an estimate. */
void fl_budget_tell(const struct fl_budget *b, uint32_t function, struct fl_sum *to)
{
	const struct side *side;

	to->calls = to->counted = fl_budget_calls(b, function);
	if (!to->calls)
		return;
	side = &b->sides[b->called[function] - 1];
	to->error_squared = error_squared(side);
	if (side->is_seldom || side->is_cut)
		to->counted = side->counted < to->calls ? side->counted : to->calls - 1;
}

uint64_t fl_budget_looked_ns(const struct fl_budget *b)
{
	return b && !b->is_off ? b->look.ns : UINT64_MAX;
}

void fl_budget_change(struct fl_budget *b, uint32_t payer, double part)
{
	if (!b || b->afford.budgets[payer] == part)
		return;
	b->has_payers |= payer != 0;
	fl_afford_pay(&b->afford, payer, part);
}

void fl_budget_grant(struct fl_budget *b, double ns)
{
	b->afford.granted_ns += ns;
}

double fl_budget_held_ns(const struct fl_budget *b)
{
	return b ? b->held * lasting_ns(b) : HUGE_VAL;
}

/* A function that was off may have had calls that no window saw. Where nothing was added for
 * them, one more call than was counted says that the number is an estimate. */
static uint64_t calls_of(const struct side *side)
{
	uint64_t calls = (uint64_t)(side->calls + 0.5);

	return side->was_off && calls == side->counted ? calls + 1 : calls;
}

/* The error is no more than all the calls, and no less than what calls_of() makes up. */
static uint64_t error_of(const struct side *side)
{
	uint64_t error = (uint64_t)(least(sqrt(error_squared(side)), side->calls) + 0.5);

	return !error && calls_of(side) != side->counted ? 1 : error;
}

int fl_budget_end(struct fl_session *s)
{
	struct fl_budget *b = s->budget;
	struct moment now;
	int err = b ? fl_budget_grow(b) : 0;

	if (b && !err)
		err = fl_budget_take_entries(b);
	if (!b || err)
		return err;
	look_whether_heeded(b);
	fl_budget_gather(b);
	now = look_now(b);
	fl_budget_estimate(b, &now, NO_MORE);
	for (uint32_t f = 0; !err && f < b->n; f++) {
		if (b->sides[f].is_seldom)
			fl_budget_add_unseen(b, f, (double)s->target.gone_ns -
				(double)load_relaxed(&s->shared->seldom.closed_ns));
		if (b->sides[f].counted)
			err = fl_run_estimate(s->run, b->sides[f].function,
					      calls_of(&b->sides[f]), b->sides[f].counted,
					      error_of(&b->sides[f]));
	}
	return err;
}

void fl_budget_close(struct fl_budget *b)
{
	if (!b)
		return;
	munmap(b->counted, counted_bytes(b->max_sites));
	fl_own_close(&b->own);
	free(b->sides);
	free(b->functions);
	free(b->order);
	free(b->called);
	free(b->entries);
	free(b);
}
