/*
 * live-feed.c - what flick live sees: out of a session that goes on, into the model.
 *
 * A look takes what readers have so far: calls as they are counted or estimated
 * (budget.c), rows of `latency` in the middle of the run, and what an analysis of its own
 * adds up, so that the last second can be told from all before. Samples of the program
 * counter are counted as they come, by function; one in a body that the compiler put into
 * another function counts for the outer one: to tell them apart all code would have to be read.
 *
 * Looks take time that is not the program's, but may be of its CPU: the longer looks take, the
 * rarer they are.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/live.h"
#include "os/os.h"

enum { PART = 20 };			/* a look takes no more than this part of the time */

/* ---- samples of the program counter ------------------------------------------------- */

struct fl_live_feed {
	struct fl_session *s;
	struct fl_live_seen *seen;	/* index: function */
	uint32_t n_seen;
	struct recent_sum {
		uint64_t timed, ticks;
	} *before;			/* index: function */
	uint32_t n_before;
	uint64_t *samples;		/* index: function */
	uint32_t n_samples;
	struct fl_pcs pcs;
	uint64_t own_samples;		/* in the program's own code, at the last look */
	struct fl_own own;
	uint64_t look_ns, due_ns;	/* the last look, the next one */
	uint64_t produced, toggles;
};

static void saw_sample(void *arg, const struct fl_pc *pc)
{
	struct fl_live_feed *d = arg;
	const struct fl_functions *functions = &d->s->functions;
	const struct fl_shm_module *m;
	uint32_t f;

	if (!fl_own_is_targets(d->s, pc))
		return;
	fl_own_look(&d->own, d->s);		/* no memory: what is new is the program's */
	if (fl_own_add(&d->own, d->s, pc, &d->pcs))
		return;
	m = fl_session_module_at(d->s, pc->address);
	if (m && fl_functions_around(functions, (uint32_t)(m - functions->modules),
				     pc->address - m->base, &f) &&
	    !fl_array_extend(&d->samples, &d->n_samples, functions->n, sizeof(*d->samples)))
		d->samples[f] += pc->n;
}

/* ---- a look ------------------------------------------------------------------------- */

static enum fl_live_state state_of(const struct fl_session *s, uint32_t i)
{
	if (load_relaxed(&s->sites[i].state) == FL_SITE_GONE)
		return FL_LIVE_GONE;
	if (load_relaxed(&s->sites[i].refusal) || !fl_negotiation_may_want(s, i))
		return FL_LIVE_REFUSED;
	return fl_change_now(s, i) == FL_STAGE_OFF ? FL_LIVE_OFF : FL_LIVE_ON;
}

/* A function may have several entries, as where it was inlined, or loaded again. */
static void see_sites(struct fl_live_feed *d)
{
	const struct fl_session *s = d->s;

	for (uint32_t i = 0; i < s->chosen.n; i++) {
		struct fl_live_seen *seen = &d->seen[s->functions.function_of[i]];
		enum fl_live_state state;

		if (s->functions.sites[i].kind != FL_ENTRY ||
		    s->functions.function_of[i] >= d->n_seen)
			continue;
		state = state_of(s, i);
		if (seen->state == FL_LIVE_ABSENT || state < seen->state)
			seen->state = state;
	}
}

/* The rows of an analysis; one that failed has none. */
static struct flick_rows take_rows(struct fl_session *s, const char *name)
{
	struct flick_rows rows = { .n_rows = 0 };

	for (size_t i = 0; i < s->o->n_analyses; i++)
		if (!strcmp(s->o->analyses[i].name, name) && !fl_run_rows(s->run, i, &rows))
			break;
	return rows;
}

static void see_latency(struct fl_live_feed *d)
{
	struct flick_rows r = take_rows(d->s, "latency");
	int function = r.n_rows ? fl_sheet_column(&r, "function") : -1;
	int calls = r.n_rows ? fl_sheet_column(&r, "calls") : -1;
	int avg = r.n_rows ? fl_sheet_column(&r, "avg_ns") : -1;
	int p99 = r.n_rows ? fl_sheet_column(&r, "p99_ns") : -1;
	int total = r.n_rows ? fl_sheet_column(&r, "total_ns") : -1;

	for (size_t i = 0; i < r.n_rows; i++) {
		const uint64_t *row = r.cells + i * r.n_columns;
		struct fl_live_seen *seen = &d->seen[row[function]];

		seen->calls = row[calls];
		seen->avg_ns = row[avg];
		seen->p99_ns = row[p99];
		seen->recurses = row[total] == FLICK_NONE && row[avg] != FLICK_NONE;
	}
	free(r.cells);
}

static void see_recent(struct fl_live_feed *d)
{
	struct flick_rows r = take_rows(d->s, fl_recent_analysis.name);

	for (size_t i = 0; i < r.n_rows; i++) {
		const uint64_t *row = r.cells + i * FL_RECENT_COLUMNS;
		struct recent_sum *before = &d->before[row[FL_RECENT_FUNCTION]];
		uint64_t timed = row[FL_RECENT_TIMED] - before->timed;
		double ticks = (double)(row[FL_RECENT_TICKS] - before->ticks);

		if (timed)
			d->seen[row[FL_RECENT_FUNCTION]].recent_ns = (uint64_t)
				(ticks * d->s->view.ns_per_tick / (double)timed + 0.5);
		*before = (struct recent_sum){ row[FL_RECENT_TIMED], row[FL_RECENT_TICKS] };
	}
	free(r.cells);
}

static void see_counts(struct fl_live_feed *d)
{
	for (uint32_t f = 0; f < d->n_seen; f++) {
		uint64_t calls = fl_budget_calls(d->s->budget, f);

		if (calls > d->seen[f].calls)
			d->seen[f].calls = calls;
		if (f < d->n_samples)
			d->seen[f].samples = d->samples[f];
	}
}

/* What recording costs, by what was seen so far; at the end all is counted anew. */
static void see_cost(struct fl_live *l)
{
	struct fl_session *s = l->s;
	const struct fl_pcs pcs = s->pcs;
	const struct fl_account account = s->account;
	double cost = s->cost;

	s->pcs = l->feed->pcs;
	s->drained = fl_instant_now();
	fl_cost_tell(s);
	memcpy(l->status.cost, s->account.cost, sizeof(l->status.cost));
	s->drained = (struct fl_instant){ 0 };
	s->pcs = pcs;
	s->account = account;
	s->cost = cost;
}

static void see_status(struct fl_live *l, uint64_t now, double seconds)
{
	struct fl_live_feed *d = l->feed;
	uint64_t produced = 0, lost = 0, toggles;
	size_t n;
	const struct fl_thread *t = fl_readers_threads(l->s, &n);

	toggles = load_relaxed(&l->s->shared->toggles) + l->n_switched;
	for (size_t i = 0; i < n; i++)
		produced += t[i].produced;
	for (int c = 0; c < FL_N_LOST; c++)
		lost += fl_threads_lost(t, n, c);
	l->status.events = seconds > 0 ? (double)(produced - d->produced) / seconds : 0;
	l->status.toggles = seconds > 0 ? (double)(toggles - d->toggles) / seconds : 0;
	l->status.lost = lost;
	l->status.seconds = (double)(now - l->s->go.wall_ns) / 1e9;
	l->status.n_on = 0;
	for (uint32_t f = 0; f < d->n_seen; f++)
		l->status.n_on += d->seen[f].state == FL_LIVE_ON;
	d->produced = produced;
	d->toggles = toggles;
	see_cost(l);
}

static int clear_seen(struct fl_live_feed *d)
{
	uint32_t n = d->s->functions.n;

	if (fl_array_extend(&d->seen, &d->n_seen, n, sizeof(*d->seen)) ||
	    fl_array_extend(&d->before, &d->n_before, n, sizeof(*d->before)))
		return -ENOMEM;
	for (uint32_t f = 0; f < n; f++)
		d->seen[f] = (struct fl_live_seen){ .avg_ns = FLICK_NONE, .p99_ns = FLICK_NONE,
						    .recent_ns = FLICK_NONE };
	return 0;
}

static const char *shown_name(const void *owner, uint32_t f)
{
	const struct fl_session *s = owner;
	const char *simple = fl_functions_simple(&s->functions, f);

	return simple ? simple : fl_functions_name(&s->functions, f);
}

static int begin_feed(struct fl_live *l, struct fl_session *s)
{
	l->feed = calloc(1, sizeof(*l->feed));
	if (!l->feed)
		return -ENOMEM;
	l->s = l->feed->s = s;
	l->model.owner = s;
	l->model.name = shown_name;
	l->model.cursor = FL_LIVE_NOBODY;
	l->feed->look_ns = s->go.wall_ns;
	if (s->sampler)
		fl_sampler_tell(s->sampler, saw_sample, l->feed);
	return 0;
}

bool fl_live_look_now(struct fl_live *l, struct fl_session *s)
{
	uint64_t now = fl_os_monotonic_ns(), own, took;
	struct fl_live_feed *d;
	double seconds;

	if ((!l->feed && begin_feed(l, s)) || clear_seen(l->feed))
		return false;
	d = l->feed;
	seconds = (double)(now - d->look_ns) / 1e9;
	fl_session_measure_tick(s);
	see_sites(d);
	see_latency(d);
	see_recent(d);
	see_counts(d);
	see_status(l, now, seconds);
	own = d->pcs.all - d->pcs.own;
	if (fl_live_take(&l->model, d->seen, d->n_seen, seconds,
			 (double)(own - d->own_samples)) ||
	    fl_live_arrange(&l->model))
		return false;
	d->own_samples = own;
	d->look_ns = now;
	took = fl_os_monotonic_ns() - now;
	d->due_ns = now + (uint64_t)(l->every * 1e9);
	if (d->due_ns < now + PART * took)
		d->due_ns = now + PART * took;
	return true;
}

bool fl_live_look(struct fl_live *l, struct fl_session *s)
{
	if (l->feed && fl_os_monotonic_ns() < l->feed->due_ns)
		return false;
	return fl_live_look_now(l, s);
}

void fl_live_close(struct fl_live *l)
{
	if (l->feed) {
		fl_own_close(&l->feed->own);
		free(l->feed->seen);
		free(l->feed->before);
		free(l->feed->samples);
		free(l->feed);
	}
	l->feed = NULL;
	fl_live_free(&l->model);
}

void fl_live_see_states(struct fl_live *l)
{
	struct fl_live_feed *d = l->feed;

	for (uint32_t f = 0; f < d->n_seen; f++)
		d->seen[f].state = FL_LIVE_ABSENT;
	see_sites(d);
	l->status.n_on = 0;
	for (uint32_t f = 0; f < d->n_seen && f < l->model.n; f++) {
		if (d->seen[f].state != FL_LIVE_ABSENT)
			l->model.rows[f].seen.state = d->seen[f].state;
		l->status.n_on += d->seen[f].state == FL_LIVE_ON;
	}
}

void fl_live_afford(struct fl_live *l, int by, struct fl_live_line line)
{
	static const double steps[] = { 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5,
					1 };
	size_t i = 0;

	if (!l->s || !l->s->budget) {
		snprintf(line.text, line.room, "every call is timed (--all): no budget");
		return;
	}
	while (i + 1 < ARRAY_LEN(steps) && steps[i] < l->options->budget - 1e-9)
		i++;
	if (by > 0 && i + 1 < ARRAY_LEN(steps) && steps[i] <= l->options->budget + 1e-9)
		i++;
	if (by < 0 && i > 0)
		i--;
	l->options->budget = steps[i];
	fl_budget_change(l->s->budget, 0, steps[i]);
	snprintf(line.text, line.room, "budget: %g %% of the program's CPU time",
		 100 * steps[i]);
}

/* ---- pages about one function --------------------------------------------------------- */

/* Keep the rows that have the function in that column; they move to the front. */
static void keep_rows(struct flick_rows *r, const char *column, uint32_t function)
{
	int c = r->n_rows ? fl_sheet_column(r, column) : -1;
	size_t kept = 0;

	for (size_t i = 0; c >= 0 && i < r->n_rows; i++)
		if (r->cells[i * r->n_columns + (size_t)c] == function)
			memmove(r->cells + kept++ * r->n_columns, r->cells + i * r->n_columns,
				r->n_columns * sizeof(*r->cells));
	r->n_rows = kept;
}

/* Names by function, as sheets want them, of which one is asked for. NULL: no memory. */
static const char **name_one(struct fl_live *l, uint32_t function)
{
	const char **names = calloc(l->s->functions.n + 1, sizeof(*names));

	if (names)
		names[function] = l->model.name(l->model.owner, function);
	return names;
}

void fl_live_print_spread(FILE *to, struct fl_live *l, uint32_t function)
{
	struct flick_rows spread = take_rows(l->s, "spread");
	struct flick_rows latency = take_rows(l->s, "latency");
	const char **names = name_one(l, function);
	struct fl_sheet s = { .result = &spread, .functions = names,
			      .n_functions = l->s->functions.n, .sampled = l->s->view.sampled };
	struct fl_sheet t = s;

	t.result = &latency;
	keep_rows(&spread, "function", function);
	keep_rows(&latency, "function", function);
	if (!spread.n_rows || !names)
		fprintf(to, "No call of it has been timed yet.\n");
	else
		fl_text_spread(to, &s, &t);
	free(names);
	free(spread.cells);
	free(latency.cells);
}

static void print_edge(FILE *to, struct fl_live *l, const struct flick_rows *r,
			 const uint64_t *row)
{
	uint64_t caller = row[fl_sheet_column(r, "caller")];
	char calls[FL_LIVE_FIGURE], total[FL_LIVE_FIGURE];

	fl_live_count(calls, (double)row[fl_sheet_column(r, "calls")]);
	fl_live_time(total, row[fl_sheet_column(r, "sum_ns")]);
	fprintf(to, "%8s %8s  ", calls, total);
	fl_print_plain(to, caller < l->s->functions.n ?
		       l->model.name(l->model.owner, (uint32_t)caller) :
		       "(none that has a probe)");
	fputc('\n', to);
}

void fl_live_print_callers(FILE *to, struct fl_live *l, uint32_t function)
{
	struct flick_rows r = take_rows(l->s, "graph");

	if (l->s->view.sampled) {
		fprintf(to, "Calls that are sampled come without their callers:\n"
			"flick live --all times every call, and tells them.\n");
		return;
	}
	keep_rows(&r, "function", function);
	fprintf(to, "%8s %8s  called by\n", "calls", "total");
	for (size_t i = 0; i < r.n_rows; i++)
		print_edge(to, l, &r, r.cells + i * r.n_columns);
	if (!r.n_rows)
		fprintf(to, "No call of it has ended yet.\n");
	free(r.cells);
}
