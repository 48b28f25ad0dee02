/*
 * budget.c - `record --budget`: calls are counted as far as that can be afforded.
 *
 * Hides how often it looks, and how calls that were not counted are estimated. Each
 * call of a function is counted, unless afford.c says that this costs too much: then
 * the function is seldom, and is counted in windows alone (probe/seldom.c has the
 * protocol). What windows saw of it stands for all its calls, by the program's own clock
 * (clock.c): functions that are counted always are its hands. Each window is looked at by
 * itself, when it is closed; 128 are a chunk, of which the sums are divided. Who becomes
 * seldom in the middle of a chunk has the sums since then.
 *
 * Only counts of windows stand for more: each process of a tree heeds a wish in its own
 * time, or never, as it ends; so each thread's counts are told with what its process had
 * heeded before they were made. What was counted in full is added as it is.
 *
 * Between two looks no more is counted than there is credit for (probe/fuse.c). A function
 * that is cut for that is seldom at once; what windows count of it from then on stands for
 * the time since.
 *
 * Counters and clocks are not read at one moment. What the one has too much now it has
 * too little at the next look, so nothing adds up but what chance gives.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cli/afford.h"
#include "cli/budget.h"
#include "cli/change.h"
#include "cli/clock.h"
#include "cli/own.h"
#include "os/os.h"

#define LOOK_NS 100000000ull		/* between looks, but for the first ones */
#define EARLY_NS 1000000000ull		/* a budget may be passed */
#define FIRST_WINDOW_US 100		/* of what is cut while all was on */
#define COUNT_NS 1.1			/* what things take, before it is measured */
#define LASTING 0.68			/* of that, when all is counted for long */
#define UNSURE_NS 0.3			/* a count */
#define SAMPLE_NS 200.0
#define SWITCH_NS 500.0
/* What was on the program's CPU before is cold there when a window begins. */
#define INTERRUPT_NS 5000.0
#define MOST_SCALE 1e9			/* the target may say anything */
#define MOST_CALLS 1e18
#define CHUNK 128			/* windows whose sums are divided */
#define STARTS 32			/* so often may others become seldom meanwhile */

/* Of a function that was called. */
struct side {
	uint32_t function;		/* index in s->functions */
	double calls;			/* so far, some of them estimated ... */
	uint64_t counted;		/* ... from so many; how far off that may be: */
	double squares, alike;		/* of chance, chunk by chunk; of prices */
	struct fl_called called;	/* in the windows of the chunk, ... */
	uint64_t taken;			/* ... and this of `fresh` is in there */
	uint32_t start;			/* ... since that of `starts` */
	uint32_t probe;			/* one that was called */
	uint64_t fresh;			/* counted in windows, not in `calls` yet ... */
	uint64_t seen;			/* ... and looked at */
	bool is_seldom;			/* as the target has heeded it */
	bool is_wished;			/* to be seldom, as its rows say */
	bool is_cut;			/* by the target, and not wished */
	bool was_off;			/* some of its calls may have been seen by nobody */
};

/* Of a probe, since the last look; atomic. What the target counts before it has heeded
 * `since`, or at a site that is not seldom, stands for itself. */
struct count {
	uint64_t all, windows;
	uint64_t since;			/* SINCE(the wish that made it seldom); 0: it is not */
};

#define SINCE(wish) ((uint64_t)(wish) + 1)	/* 0: the target's own, heeded as it is made */

struct moment {
	uint64_t passed_ns, open_ns, windows, timings;	/* see struct fl_seldom, as */
	uint64_t ran_ns, ran_open_ns;
	uint64_t ticks[FL_HANDS];
	uint64_t toggles, watch_ns, delivered, ns;
};

/* A probe that is a hand of the program's clock. */
struct hand {
	uint32_t probe;			/* and 1; 0: none */
	double ticks;			/* in all, since the chunk began */
};

struct fl_budget {
	struct fl_session *s;
	struct fl_afford afford;
	struct count *counted;		/* index: probe */
	uint64_t *fresh;		/* a bit a probe: it was counted since the last look */
	uint32_t max_sites;
	uint32_t *called;		/* index: function; 0: never, ... */
	struct side *sides;		/* ... else where it is in these, + 1 */
	struct fl_afford_function *functions;
	uint32_t *order;
	uint32_t n, room;
	struct moment look;		/* the last one */
	struct moment windows, window;	/* when the chunk began; as of the last window in it */
	double scale;			/* what a call in a window stands for, of late */
	uint32_t torn;			/* when the chunk began */
	struct fl_clock clock;		/* of the chunk */
	struct fl_clock starts[STARTS];	/* as it was when some became seldom */
	uint32_t n_starts;
	struct fl_price price;
	double held;			/* calls that were counted in all */
	struct hand hands[FL_HANDS];
	uint32_t *entries;		/* probes that are wanted there */
	uint32_t n_entries, room_entries;
	uint32_t n_taken;		/* sites that they are of */
	uint32_t wish, n_wished;	/* entries that were wished for */
	bool is_heeded, is_off;		/* off: no memory */
	bool is_asked, is_asked_heeded;	/* for counts; was the wish heeded then, ... */
	bool is_asked_closed;		/* ... and no window open? */
	bool has_cut;			/* and was something cut? */
	uint64_t heeded;		/* by all processes, summed up, then */
	struct fl_own own;
	uint64_t begun_ns;		/* when modules had been scanned */
	uint64_t pc_own, pc_all;	/* since the last look; own: but for counts */
	double looked_counted;		/* calls, likewise */
};

int fl_budget_take(struct fl_session_options *o, const char *text)
{
	char *end;
	double percent = strtod(text, &end);

	end += *end == '%';
	if (end == text || *end || !(percent >= 0.1 && percent <= 100)) {
		fl_say("--budget takes a percentage from 0.1 to 100, not `%s`", text);
		return -1;
	}
	o->budget = percent / 100;
	return 0;
}

static double least(double a, double b)
{
	return a < b ? a : b;
}

/* In a window, which is short, caches and what foresees branches are cold. */
static double lasting_ns(const struct fl_budget *b)
{
	return b->price.count_ns * LASTING;
}

/* ---- what is told ------------------------------------------------------------------ */

void fl_budget_count(struct fl_budget *b, uint32_t probe, uint64_t n, uint32_t heeded)
{
	struct count *c;
	uint64_t since;

	if (!b || probe >= b->max_sites)
		return;
	c = &b->counted[probe];
	since = load_relaxed(&c->since);
	__atomic_fetch_add(since && SINCE(heeded) >= since ? &c->windows : &c->all, n,
			   __ATOMIC_RELAXED);
	/* (E) pairs with (F): who finds the bit finds the count */
	__atomic_fetch_or(&b->fresh[probe / 64], 1ull << probe % 64, __ATOMIC_RELEASE);
}

static void saw_sample(void *arg, const struct fl_pc *pc)
{
	struct fl_budget *b = arg;

	if (!b->s->o->follow && pc->pid != b->s->pid)
		return;
	b->pc_all++;
	fl_own_look(&b->own, b->s);		/* no memory: what is new is the program's */
	if (!fl_own_has(&b->own, b->s, pc))
		return;
	b->pc_own += !fl_own_counts(&b->own, pc);
	b->s->early_own += b->begun_ns && fl_os_monotonic_ns() - b->begun_ns < EARLY_NS;
}

/* CPU time of what switches probes beside the program, so far; 0: not known. Of a process tree,
 * beside those that have ended. */
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
	return now;
}

/* ---- who is called ------------------------------------------------------------------- */

static int grow(struct fl_budget *b)
{
	uint32_t n = b->s->functions.n, room = n + n / 2 + 64, *called;
	void *sides, *functions, *order;

	if (n <= b->room)
		return 0;
	sides = realloc(b->sides, room * sizeof(*b->sides));
	b->sides = sides ? sides : b->sides;
	functions = realloc(b->functions, room * sizeof(*b->functions));
	b->functions = functions ? functions : b->functions;
	order = realloc(b->order, room * sizeof(*b->order));
	b->order = order ? order : b->order;
	called = realloc(b->called, room * sizeof(*called));
	b->called = called ? called : b->called;
	if (!sides || !functions || !order || !called)
		return -ENOMEM;
	memset(called + b->room, 0, (room - b->room) * sizeof(*called));
	b->room = room;
	return 0;
}

static bool is_entry(const struct fl_session *s, uint32_t site)
{
	return s->functions.sites[site].wanted && s->functions.sites[site].kind == FL_ENTRY;
}

static void count_entry(struct fl_budget *b, uint32_t site)
{
	b->entries[b->n_entries++] = site;
	/* A page that is read first changes under all threads later. */
	store_relaxed(&b->counted[site].since, 0);
}

/* It was not wanted when it was found. */
void fl_budget_want(struct fl_budget *b, uint32_t site)
{
	if (b && site < b->n_taken && b->s->functions.sites[site].kind == FL_ENTRY)
		count_entry(b, site);
}

/* What there is to count. */
static int take_entries(struct fl_budget *b)
{
	const struct fl_session *s = b->s;

	if (s->n_selected > b->room_entries) {
		uint32_t room = s->n_selected + s->n_selected / 2;
		uint32_t *grown = realloc(b->entries, room * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		b->entries = grown;
		b->room_entries = room;
	}
	for (; b->n_taken < s->n_selected && b->n_taken < b->max_sites; b->n_taken++)
		if (is_entry(s, b->n_taken))
			count_entry(b, b->n_taken);
	return 0;
}

/* Of a function of the program: where it is, made at its first call. */
static uint32_t index_of(struct fl_budget *b, uint32_t function)
{
	if (!b->called[function]) {
		b->sides[b->n] = (struct side){ .function = function };
		b->functions[b->n] = (struct fl_afford_function){ 0 };
		b->called[function] = ++b->n;
	}
	return b->called[function] - 1;
}

/* NULL: nobody has called it. */
static struct side *side_of(const struct fl_budget *b, uint32_t probe)
{
	uint32_t called = b->called[b->s->functions.function_of[probe]];

	return called ? &b->sides[called - 1] : NULL;
}

static bool is_seldom(const struct fl_budget *b, uint32_t probe)
{
	const struct side *side = side_of(b, probe);

	return side && b->functions[side - b->sides].seldom;
}

static uint64_t take_out(uint64_t *what)
{
	return load_relaxed(what) ? __atomic_exchange_n(what, 0, __ATOMIC_RELAXED) : 0;
}

/* ---- the program's clock ----------------------------------------------------------- */

static void note_ticks(struct fl_budget *b, uint32_t probe, double calls)
{
	for (uint32_t k = 0; k < FL_HANDS; k++)
		if (b->hands[k].probe == probe + 1)
			b->hands[k].ticks += calls;
}

/* How good a hand it is: who is called more often is likely to be too dear soon. */
static double hand_rate(double rate)
{
	const double best = 1e5;

	return rate > best ? best * best / rate : rate;
}

/* Who is counted always, and often enough. Of a tree's processes each has windows of its
 * own. */
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

/* Is there room, and a function that had not been called when the chunk began? */
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

/* Sums up to here, with what hands and time have moved in all since the chunk began. */
static struct fl_clock clock_now(const struct fl_budget *b, const struct moment *now)
{
	struct fl_clock c = b->clock;
	bool is_torn = b->torn != load_relaxed(&b->s->shared->seldom.torn) ||
		       load_relaxed(&b->s->shm->n_slots_used) > FL_HANDS_SLOTS;

	for (uint32_t k = 0; k < FL_HANDS && !is_torn; k++)
		c.all[k] = b->hands[k].ticks;
	c.all[FL_TIME] = (double)(now->ran_ns - b->windows.ran_ns);
	return c;
}

static void begin_chunk(struct fl_budget *b, const struct moment *now)
{
	struct fl_seldom *s = &b->s->shared->seldom;

	b->windows = b->window = *now;
	b->torn = load_relaxed(&s->torn);
	b->clock = (struct fl_clock){ 0 };
	b->n_starts = 1;
	b->starts[0] = b->clock;
	choose_hands(b);
	for (uint32_t k = 0; k < FL_HANDS; k++)
		store_relaxed(&s->hands[k], b->hands[k].probe);
	for (uint32_t f = 0; f < b->n; f++) {
		b->sides[f].called = (struct fl_called){ 0 };
		b->sides[f].taken = b->sides[f].fresh;
		b->sides[f].start = 0;
	}
}

/* It is seldom from now on. */
static void begin_side(struct fl_budget *b, struct side *side)
{
	side->called = (struct fl_called){ 0 };
	side->taken = side->fresh;
	side->start = b->n_starts - 1;
}

/* In the middle of a chunk some become seldom. A hand that does tells nothing more. */
static void begin_start(struct fl_budget *b, const struct moment *now)
{
	if (!b->clock.windows)
		return;
	for (uint32_t k = 0; k < FL_HANDS; k++)
		if (b->hands[k].probe && is_seldom(b, b->hands[k].probe - 1))
			b->hands[k].ticks = -HUGE_VAL;
	b->starts[b->n_starts++] = clock_now(b, now);
}

static double cpus_of(const struct fl_budget *b)
{
	return b->afford.cpus > 1 ? b->afford.cpus : 1;
}

/* All that was counted is gathered, and in windows that are over. */
static void look_at_window(struct fl_budget *b, const struct moment *now)
{
	struct fl_ticks w = {
		.windows = (double)(now->windows - b->window.windows),
		.open_ns = (double)(now->ran_open_ns - b->window.ran_open_ns),
	};

	/* A process of a process tree may end in its window. */
	w.stands_ns = b->s->o->follow ? w.open_ns : w.windows * b->afford.period_us * 1e3;
	for (uint32_t k = 0; k < FL_HANDS; k++)
		w.ticks[k] = (double)(now->ticks[k] - b->window.ticks[k]);
	for (uint32_t f = 0; f < b->n; f++)
		if (b->sides[f].is_seldom)
			w.counted += (double)(b->sides[f].fresh - b->sides[f].taken);
	w.counted /= cpus_of(b);
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

/* Has one been closed that nobody has looked at, and is none open? */
static bool has_window(const struct fl_budget *b)
{
	const struct fl_seldom *s = &b->s->shared->seldom;

	return load_relaxed(&s->windows) != b->window.windows && !load_relaxed(&s->is_open);
}

/* ---- estimates ---------------------------------------------------------------------- */

static void gather_one(struct fl_budget *b, uint32_t i)
{
	uint64_t all = take_out(&b->counted[i].all);
	uint64_t windows = take_out(&b->counted[i].windows);
	uint32_t f;

	if (!(all + windows))
		return;
	f = index_of(b, b->s->functions.function_of[i]);
	b->sides[f].fresh += windows;
	b->sides[f].calls += (double)all;
	b->sides[f].counted += all;
	b->functions[f].calls += (double)all;
	b->looked_counted += (double)(all + windows);
	b->held += (double)(all + windows);
	b->sides[f].probe = i;
	note_ticks(b, i, (double)all);
}

/* By probe as it was told, by function as it is asked for. Exits are counted, too, and are
 * no calls; what is counted of what nobody has taken in waits. */
static void gather(struct fl_budget *b)
{
	for (uint32_t w = 0; w * 64 < b->n_taken; w++) {
		uint32_t left = b->n_taken - w * 64;
		uint64_t taken = left < 64 ? (1ull << left) - 1 : UINT64_MAX, bits = 0;

		if (load_relaxed(&b->fresh[w]))	/* (F) pairs with (E) */
			bits = __atomic_fetch_and(&b->fresh[w], ~taken, __ATOMIC_ACQUIRE);
		for (bits &= taken; bits; bits &= bits - 1) {
			uint32_t i = w * 64 + (uint32_t)__builtin_ctzll(bits);

			if (is_entry(b->s, i))
				gather_one(b, i);
		}
	}
}

/* What a call in windows stands for, since the chunk began, of a function or of none. */
static struct fl_scale scale_of(const struct fl_budget *b, const struct side *side,
				const struct moment *now)
{
	static const struct fl_called none;
	const struct fl_called *called = side ? &side->called : &none;
	struct fl_clock c = clock_now(b, now);
	struct fl_scale s = { b->scale, 1, 0 };

	if (side)
		c = fl_clock_since(&c, &b->starts[side->start]);
	if (c.open_ns > 0 && c.all[FL_TIME] >= c.open_ns)
		s = fl_clock_scale(&c, called, &b->price);
	s.by = least(s.by, MOST_SCALE);
	return s;
}

/* Of what no window met it may as well have met one call. */
static void note_error(struct side *side, const struct fl_scale *s)
{
	double calls = (side->fresh ? (double)side->fresh : 1) * s->by;

	side->squares += calls * calls * (s->off * s->off - s->alike * s->alike);
	side->alike += calls * s->alike;
}

/* What the next look hears of its calls. */
static void show(struct fl_budget *b, uint32_t f, double scale)
{
	struct side *side = &b->sides[f];

	b->functions[f].calls += (double)(side->fresh - side->seen) * scale;
	side->seen = side->fresh;
}

static void take(struct fl_budget *b, uint32_t f, const struct moment *now)
{
	struct side *side = &b->sides[f];
	struct fl_scale scale = { 1, 0, 0 };

	if (side->is_seldom) {
		scale = scale_of(b, side, now);
		note_error(side, &scale);
	}
	show(b, f, side->is_seldom ? b->scale : 1);
	side->calls = least(side->calls + (double)side->fresh * scale.by, MOST_CALLS);
	side->counted += side->fresh;
	side->fresh = side->seen = side->taken = 0;
}

/* Those that are seldom when there were many windows, or there will be no more: of few the
 * sums are chance. */
enum windows { MORE_COME, NO_MORE };

static void estimate(struct fl_budget *b, const struct moment *now, enum windows windows)
{
	bool is_taken = windows == NO_MORE || now->windows - b->windows.windows >= CHUNK ||
			b->n_starts == STARTS || has_new_hand(b);
	bool is_seen = now->windows != b->look.windows;
	struct fl_clock c;

	if (is_taken && now->windows != b->window.windows)
		look_at_window(b, now);
	c = clock_now(b, now);
	if (is_taken)
		fl_clock_price(&c, &b->price);
	b->scale = scale_of(b, NULL, now).by;
	for (uint32_t f = 0; f < b->n; f++) {
		double held = b->functions[f].rate * (double)(now->ns - b->look.ns) / 1e9;

		if (!b->sides[f].is_seldom || is_taken)
			take(b, f, now);
		else if (is_seen)
			show(b, f, b->scale);
		else if (b->functions[f].calls < held)
			b->functions[f].calls = held;
	}
	if (is_taken)
		begin_chunk(b, now);
}

/* ---- wishes --------------------------------------------------------------------------- */

/* What was cut since is not taken back. */
static void wish(struct fl_budget *b, const struct moment *now)
{
	struct fl_session *s = b->s;

	for (uint32_t k = 0; k < b->n_entries; k++) {
		uint32_t i = b->entries[k];
		const struct side *side = side_of(b, i);

		if (fl_change_is_off(s, i))
			continue;
		if (is_seldom(b, i) || (side && side->is_wished))
			store_relaxed(&s->sites[i].wanted,
				      is_seldom(b, i) ? FL_SELDOM : FL_WANTED);
	}
	for (uint32_t f = 0; f < b->n; f++) {
		if (b->sides[f].is_seldom && !b->functions[f].seldom)
			take(b, f, now);
		b->sides[f].is_wished = b->functions[f].seldom;
		b->sides[f].was_off |= b->functions[f].seldom;
	}
	b->n_wished = b->n_entries;
	b->is_heeded = false;
	/* (A) pairs with (C) in probe/seldom.c */
	store_release(&s->shared->seldom.wish, ++b->wish);
}

/* Calls of so much time in which a function was off, and no window tells. */
static void add_unseen(struct fl_budget *b, uint32_t f, double ns)
{
	double calls = b->functions[f].rate * ns / 1e9;

	if (!(ns > 0) || b->s->o->follow)	/* of several processes nobody knows when */
		return;
	b->sides[f].calls = least(b->sides[f].calls + calls, MOST_CALLS);
	b->sides[f].squares += calls * calls;
}

static void mark_sites(struct fl_budget *b)
{
	for (uint32_t k = 0; k < b->n_wished; k++) {
		uint32_t i = b->entries[k];
		uint64_t *since = &b->counted[i].since;

		if (!is_seldom(b, i))
			store_relaxed(since, 0);
		else if (!*since)
			store_relaxed(since, SINCE(b->wish));
	}
}

/* From here on counts are of what was wished for. Who is seldom no more may have been
 * on for long, if this comes late: what windows counted since the wish is little. */
static void note_heeded(struct fl_budget *b)
{
	const struct fl_seldom *s = &b->s->shared->seldom;
	struct moment now;
	double unseen;

	gather(b);
	now = look_now(b);
	unseen = (double)(now.passed_ns - load_relaxed(&s->passed_then_ns)) -
		 (double)(now.open_ns - load_relaxed(&s->open_then_ns));
	for (uint32_t f = 0; f < b->n; f++)
		if (!b->functions[f].seldom)
			b->sides[f].is_seldom = false;
	estimate(b, &now, b->clock.windows ? MORE_COME : NO_MORE);
	begin_start(b, &now);
	for (uint32_t f = 0; f < b->n; f++) {
		if (!b->functions[f].seldom || b->sides[f].is_seldom)
			continue;
		add_unseen(b, f, unseen);
		b->sides[f].is_seldom = true;
		begin_side(b, &b->sides[f]);
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
	changed = fl_afford_look(&b->afford, &l, b->functions, b->n, b->order);
	for (uint32_t f = 0; f < b->n; f++)
		b->functions[f].calls = 0;
	b->pc_own = b->pc_all = 0;
	b->looked_counted = 0;
	b->look = *now;
	return changed;
}

/* At first all is on, as long as the stake lasts: looks come soon, then farther apart. */
static bool is_due(const struct fl_budget *b, uint64_t now)
{
	enum { FIRST_NS = 4000000, APART = 8 };
	uint64_t ran = (now - b->s->go.wall_ns) / APART;

	ran = ran > FIRST_NS ? ran : FIRST_NS;
	return now - b->look.ns >= (ran < LOOK_NS ? ran : LOOK_NS);
}

/* Before counts are asked for: what is counted of these later is of windows. */
static void note_cut(struct fl_budget *b)
{
	struct fl_session *s = b->s;

	if (!load_relaxed(&s->shared->seldom.has_cut))
		return;
	b->has_cut = true;
	store_relaxed(&s->shared->seldom.has_cut, 0);
	for (uint32_t k = 0; k < b->n_entries; k++) {
		uint32_t i = b->entries[k];

		if (load_relaxed(&s->sites[i].wanted) == FL_SELDOM && !is_seldom(b, i))
			b->sides[index_of(b, s->functions.function_of[i])].is_cut = true;
	}
}

/* No wish has to be heeded, but by the other processes of a process tree. Its first window
 * stands for all since the one before, in a part of which it was on: on average as long
 * as nobody sees it after its last one. */
static void adopt(struct fl_budget *b, uint32_t f)
{
	b->functions[f].looks = 0;
	b->sides[f].was_off = true;
	if (b->s->o->follow)
		return;
	b->sides[f].is_seldom = b->sides[f].is_wished = true;
	begin_side(b, &b->sides[f]);
}

static void adopt_cut(struct fl_budget *b)
{
	struct fl_session *s = b->s;
	struct moment now;

	b->has_cut = false;
	gather(b);
	now = look_now(b);
	for (uint32_t f = 0; f < b->n; f++) {
		b->sides[f].is_cut &= !b->functions[f].seldom;
		b->functions[f].seldom |= b->sides[f].is_cut;
	}
	estimate(b, &now, b->clock.windows ? MORE_COME : NO_MORE);
	begin_start(b, &now);
	for (uint32_t f = 0; f < b->n; f++)
		if (b->sides[f].is_cut)
			adopt(b, f);
	for (uint32_t k = 0; k < b->n_entries; k++) {
		uint32_t i = b->entries[k];
		const struct side *side = side_of(b, i);

		if (side && side->is_cut && side->is_seldom && !b->counted[i].since)
			store_relaxed(&b->counted[i].since, SINCE(0));
	}
	for (uint32_t f = 0; f < b->n; f++)
		b->sides[f].is_cut = false;
	if (s->o->follow)
		wish(b, &now);
}

/* Credit for counts in so many seconds. */
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

/* Is there something to look at, and has each reader delivered what was counted? Soon
 * after a process has heeded a wish, as then its counts stand for something else. */
static bool is_counted(struct fl_budget *b)
{
	struct fl_session *s = b->s;
	uint64_t sum = sum_heeded(s);

	if (!b->is_asked) {
		/* (B) pairs with (D) in probe/seldom.c */
		b->is_asked_heeded = load_acquire(&s->shared->seldom.heeded) == b->wish;
		b->is_asked_closed = has_window(b);
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

/* What came before, when modules were scanned, is no such cost. */
static void begin(struct fl_budget *b)
{
	b->look = look_now(b);
	b->begun_ns = b->look.ns;
	b->pc_own = b->pc_all = 0;
}

void fl_budget_turn(struct fl_session *s)
{
	struct fl_budget *b = s->budget;
	struct moment now;

	if (!b || !s->begun || b->is_off)
		return;
	if (!b->look.ns)
		begin(b);
	b->is_off = grow(b) || take_entries(b);
	if (b->is_off || !is_counted(b))
		return;
	if (b->is_asked_heeded && !b->is_heeded)
		note_heeded(b);
	if (b->has_cut && (b->is_heeded || !s->o->follow))
		adopt_cut(b);
	gather(b);
	now = look_now(b);
	if (b->is_asked_closed && has_window(b))
		look_at_window(b, &now);
	if (!is_due(b, fl_os_monotonic_ns()))
		return;
	estimate(b, &now, MORE_COME);
	if (!b->is_heeded)
		return;
	give_credit(b, (double)(now.ns - b->look.ns) / 1e9);
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
	begin_chunk(b, &(struct moment){ 0 });
	b->afford = (struct fl_afford){
		.budget = s->o->budget, .count_ns = lasting_ns(b),
		.sample_ns = SAMPLE_NS, .switch_ns = SWITCH_NS,
		.samples = s->o->samples, .groups = FL_GROUPS,
		.least_epoch_us = s->o->epoch_ms * 1000, .stake_ns = stake_ns,
	};
	fl_afford_open(&b->afford);
	store_relaxed(&s->shared->seldom.credit,
		      (uint32_t)(stake_ns / 2 / lasting_ns(b) / FL_COUNT_BLOCK));
	store_relaxed(&s->shared->seldom.round, 1);
	store_relaxed(&s->shared->seldom.window_us, FIRST_WINDOW_US);
	if (s->sampler)
		fl_sampler_tell(s->sampler, saw_sample, b);
	s->budget = b;
	return 0;
}

/* What windows have counted since the last chunk stands for as much as it did then. */
uint64_t fl_budget_calls(const struct fl_budget *b, uint32_t function)
{
	const struct side *side;

	if (!b || function >= b->room || !b->called[function])
		return 0;
	side = &b->sides[b->called[function] - 1];
	return (uint64_t)(least(side->calls + (double)side->fresh *
				(side->is_seldom ? b->scale : 1), MOST_CALLS) + 0.5);
}

void fl_budget_change(struct fl_budget *b, double part)
{
	if (b)
		b->afford.budget = part;
}

double fl_budget_held_ns(const struct fl_budget *b)
{
	return b ? b->held * lasting_ns(b) : HUGE_VAL;
}

/* Of what was off, and of which no window saw a call, nobody knows how many there were:
 * one more than was counted says that it is an estimate. */
static uint64_t calls_of(const struct side *side)
{
	uint64_t calls = (uint64_t)(side->calls + 0.5);

	return side->was_off && calls == side->counted ? calls + 1 : calls;
}

/* As what is told may be off by it all, so may what is not. */
static uint64_t error_of(const struct side *side)
{
	double error = sqrt(side->squares + side->alike * side->alike);

	return (uint64_t)(least(error, side->calls) + 0.5);
}

int fl_budget_end(struct fl_session *s)
{
	struct fl_budget *b = s->budget;
	struct moment now;
	int err = b ? grow(b) : 0;

	if (b && !err)
		err = take_entries(b);
	if (!b || err)
		return err;
	look_whether_heeded(b);
	gather(b);
	now = look_now(b);
	estimate(b, &now, NO_MORE);
	for (uint32_t f = 0; !err && f < b->n; f++) {
		if (b->sides[f].is_seldom)
			add_unseen(b, f, (double)s->gone_ns -
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
