/*
 * profile.c - self times, from samples of the program counter.
 *
 * The time that probes see of a function has the time of probes in it, and a function
 * of three ticks pays sixty for being timed. For a sample of the program counter it pays
 * nothing. So self times rest on samples: a function has the share of samples that
 * stood in it. The rows of `latency` get their self times here; a function that has
 * samples and no probe gets a row. Samples that stood in flick's own code are no time of
 * the program's (cost.c).
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/os.h"
#include "session/samples/bare.h"
#include "session/change/change.h"
#include "session/cost.h"
#include "session/functions.h"
#include "session/samples/inner.h"
#include "session/samples/made.h"
#include "session/samples/own.h"
#include "session/samples/profile.h"
#include "session/results.h"
#include "session/watched.h"

/* ---- where samples stood ----------------------------------------------------------- */

static bool read_headers(struct fl_headers *h, const char *path)
{
	int fd = fl_headers_open(h, path);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* Code may stand in other memory than its file's (--text=alias): then the agent has
 * told which module is there. Code of no module goes by the name of its mapping. */
static struct fl_place find_place(struct fl_profile *p, const struct fl_pc *pcs, size_t i)
{
	const struct fl_pc *pc = &pcs[i];
	const struct fl_shm_module *m;
	struct fl_place place = { .path = pc->path, .n = pc->n, .pc = (uint32_t)i };

	if (p->path != pc->path) {
		p->path = pc->path;
		p->is_file = read_headers(&p->headers, pc->path);
	}
	if (p->is_file && fl_headers_address(p->headers.ph, p->headers.eh.e_phnum, pc->at,
					     &place.at)) {
		place.path = fl_functions_path(&p->s->functions, pc->path);
		return place;
	}
	m = fl_session_module_at(p->s, pc->address);
	if (m) {
		place.path = m->path;
		place.at = pc->address - m->base;
	} else if (!*pc->path) {
		place.path = "[unknown]";
	}
	return place;
}

static int by_path(const void *x, const void *y, void *pcs)
{
	const struct fl_pc *a = (const struct fl_pc *)pcs + *(const uint32_t *)x;
	const struct fl_pc *b = (const struct fl_pc *)pcs + *(const uint32_t *)y;

	return a->path < b->path ? -1 : a->path > b->path;
}

/* Samples that stood in the program become places, file by file, so that each file is opened
 * once. Returns how many places there are. */
static size_t take_places(struct fl_profile *p, struct fl_own *own, const struct fl_pc *pcs,
			  size_t n, struct fl_place *places)
{
	uint32_t *order = calloc(n + 1, sizeof(*order));
	size_t n_places = 0;

	for (size_t i = 0; order && i < n; i++)
		order[i] = (uint32_t)i;
	if (order)
		qsort_r(order, n, sizeof(*order), by_path, (void *)(uintptr_t)pcs);
	for (size_t i = 0; i < n; i++) {
		size_t k = order ? order[i] : i;

		if (fl_own_is_targets(p->s, &pcs[k]) && !fl_own_has(own, p->s, &pcs[k]))
			places[n_places++] = find_place(p, pcs, k);
	}
	free(order);
	p->path = NULL;
	return n_places;
}

/* Places in no file and in no module may have names by the program's own map. */
static int name_made(struct fl_profile *p, const struct fl_pc *pcs, struct fl_place *places,
		     size_t n)
{
	struct fl_made_place *made = calloc(n + 1, sizeof(*made));
	size_t n_made = 0;
	int err = made ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < n; i++) {
		const struct fl_pc *pc = &pcs[places[i].pc];

		if (!places[i].at && !fl_mapped_is_file(pc->path))
			made[n_made++] = (struct fl_made_place){ pc->address, pc->pid,
								(uint32_t)i, NULL };
	}
	if (!err)
		err = fl_made_name(made, n_made);
	for (size_t i = 0; i < n_made; i++) {
		uint32_t function = 0;

		if (!err && made[i].name)
			err = fl_functions_made(&p->s->functions, made[i].name, &function);
		if (!err && made[i].name)
			places[made[i].of].made = function + 1;
		free(made[i].name);
	}
	free(made);
	return err;
}

int fl_profile_function(struct fl_profile *p, const struct fl_place *place, uint32_t *function)
{
	*function = place->made - 1;
	return place->made ? 0 : fl_functions_find(&p->s->functions, place->path, place->at,
						   function);
}

int fl_profile_add(const struct fl_profile *p, struct fl_profile_samples *samples,
		   uint32_t function, uint64_t n)
{
	int err = fl_array_extend(&samples->of, &samples->n, p->s->functions.n,
				  sizeof(*samples->of));

	if (!err)
		samples->of[function] += n;
	return err;
}

/* To name places puts files that only samples met among the modules: so this is called only
 * where times by samples are asked for. */
struct fl_place *fl_profile_places(struct fl_profile *p, const struct fl_pc *pcs, size_t n,
				   size_t *n_places)
{
	struct fl_own own = { 0 };
	struct fl_place *places = malloc((n + 1) * sizeof(*places));
	int err = places ? fl_own_look(&own, p->s) : -ENOMEM;

	*n_places = 0;
	if (!err) {
		*n_places = take_places(p, &own, pcs, n, places);
		err = name_made(p, pcs, places, *n_places);
	}
	fl_own_close(&own);
	if (err) {
		free(places);
		return NULL;
	}
	return places;
}

/* How many samples stood in each function itself. */
static int gather_selves(struct fl_profile *p)
{
	size_t n, n_places;
	const struct fl_pc *pcs = fl_sampler_counts(p->s->sampler, &n);
	struct fl_place *places = fl_profile_places(p, pcs, n, &n_places);
	int err = places ? fl_inner_fill(&p->inner, places, n_places, NULL, NULL) : -ENOMEM;
	bool any_bare = fl_bare_is_any(p->s);

	for (size_t i = 0; !err && i < n_places; i++) {
		uint32_t f = places[i].inner - 1;

		if (!places[i].inner)
			err = fl_profile_function(p, &places[i], &f);
		places[i].function = f;
		if (!err)
			err = fl_profile_add(p, &p->self, f, places[i].n);
		if (!err)
			err = fl_profile_add(p, &p->taken, f, pcs[places[i].pc].taken);
		if (!err && any_bare && fl_bare_is(p->s, &pcs[places[i].pc]))
			err = fl_profile_add(p, &p->bare, f, places[i].n);
	}
	if (!err && p->s->self_is_cpu)
		err = fl_threads_fill(p->s, pcs, places, n_places);
	if (!err && p->s->self_is_cpu)
		err = fl_places_fill(p->s, pcs, places, n_places);
	if (!err && p->s->o->follow && p->s->self_is_cpu)
		err = fl_programs_fill(p->s, pcs, places, n_places);
	free(places);
	return err;
}

/* ---- rows -------------------------------------------------------------------------- */

/* Functions whose entries have probes: where no call of one was seen there was none. Of others
 * nothing is known. */
static void find_probed(const struct fl_session *s, bool *probed, uint32_t n)
{
	for (uint32_t i = 0; i < s->chosen.n; i++) {
		uint32_t f = s->functions.function_of[i];

		if (f < n && s->chosen.marks[i] && s->functions.sites[i].kind == FL_ENTRY &&
		    !load_relaxed(&s->sites[i].refusal))
			probed[f] = true;
	}
}

/* Rows for functions that were sampled and have no probe, or none that was met; where nothing
 * has a probe, for their callers as well. */
static int add_rows(struct flick_rows *r, const struct fl_profile *p)
{
	int function = fl_sheet_column(r, "function");
	int calls = fl_sheet_column(r, "calls");
	int unknown = fl_sheet_column(r, "unknown");
	uint32_t n = p->self.n > p->calls.n ? p->self.n : p->calls.n;
	bool *has = calloc(n + 1, sizeof(*has));
	bool *probed = calloc(n + 1, sizeof(*probed));
	uint64_t *cells = realloc(r->cells, (r->n_rows + n + 1) *
				  r->n_columns * sizeof(*cells));

	if (cells)
		r->cells = cells;
	if (probed)
		find_probed(p->s, probed, n);
	for (size_t i = 0; has && i < r->n_rows; i++)
		has[r->cells[i * r->n_columns + function]] = true;
	for (uint32_t f = 0; has && probed && cells && f < n; f++) {
		uint64_t *row = cells + r->n_rows * r->n_columns;

		if (has[f] || !(fl_profile_of(&p->self, f) ||
				(p->s->start.by_samples && fl_profile_of(&p->calls, f))))
			continue;
		for (size_t c = 0; c < r->n_columns; c++)
			row[c] = FLICK_NONE;
		row[function] = f;
		if (probed[f])
			row[calls] = row[unknown] = 0;
		r->n_rows++;
	}
	free(has);
	free(probed);
	return has && probed && cells ? 0 : -ENOMEM;
}

static int fill(struct flick_rows *r, const struct fl_profile *p)
{
	int function = fl_sheet_column(r, "function");
	int self = fl_sheet_column(r, "self_ns");
	int err = add_rows(r, p);

	for (size_t i = 0; !err && i < r->n_rows; i++) {
		uint64_t *row = r->cells + i * r->n_columns;

		row[self] = fl_profile_of(&p->self, row[function]) *
			    fl_sampler_period_ns();
	}
	return err;
}

/* What windows saw of a function's time. */
struct seen {
	uint64_t calls, timed, self;
};

static void see(struct seen *of, uint64_t calls, uint64_t self)
{
	of->calls += calls;
	of->timed += self == FLICK_NONE ? 0 : calls;
	of->self += self == FLICK_NONE ? 0 : self;
}

/* The part of its function's time that a row with a time has. */
static double part_of(const struct seen *of, uint64_t calls, uint64_t self)
{
	double known = of->calls ? (double)of->timed / (double)of->calls : 1;

	return of->self ? known * (double)self / (double)of->self :
	       of->calls ? (double)calls / (double)of->calls : 0;
}

/* For functions that have several rows, one for each caller, or for each way from the root.
 * Windows tell how a function's time is shared among its rows, but not how much it is: in a
 * window in which the thread did not run, a call lasts as long as that took, and stands for
 * many. */
static int share_out(struct flick_rows *r, const struct fl_profile *p)
{
	int function = fl_sheet_column(r, "function"), calls = fl_sheet_column(r, "calls");
	int self = fl_sheet_column(r, "self_ns");
	struct seen *seen = calloc(p->self.n + 1, sizeof(*seen));

	for (size_t i = 0; seen && i < r->n_rows; i++) {
		const uint64_t *row = r->cells + i * r->n_columns;

		if (row[function] < p->self.n)
			see(&seen[row[function]], row[calls], row[self]);
	}
	for (size_t i = 0; seen && i < r->n_rows; i++) {
		uint64_t *row = r->cells + i * r->n_columns, f = row[function];

		if (f < p->self.n && row[self] != FLICK_NONE)
			row[self] = (uint64_t)(part_of(&seen[f], row[calls], row[self]) *
					       (double)p->self.of[f] *
					       (double)fl_sampler_period_ns() + 0.5);
	}
	free(seen);
	return seen ? 0 : -ENOMEM;
}

/* ---- into results ------------------------------------------------------------------ */

/* Where calls times the average of the few timed ones is more time than the calling threads
 * had, those few were not like the rest, and what the rest took is not known; but where it is
 * little more it was all of that time. Calls without a total lie in one another: their sum may
 * be any. */
static void drop_impossible(struct flick_rows *r, const struct fl_profile *p)
{
	int total = fl_sheet_column(r, "total_ns"), sum = fl_sheet_column(r, "sum_ns");
	int function = fl_sheet_column(r, "function");

	for (size_t i = 0; total >= 0 && i < r->n_rows; i++) {
		uint64_t *row = r->cells + i * r->n_columns;
		uint64_t most = fl_lives_of_callers(&p->lives, row[function])->all_ns;

		if (row[total] == FLICK_NONE || row[total] <= most ||
		    (p->s->view.sampled && fl_totals_bound(r, row, most)))
			continue;
		row[total] = FLICK_NONE;
		if (sum >= 0)
			row[sum] = FLICK_NONE;
	}
}

/* Where no samples tell, self times of windows add up to no more than the time there was. */
static void bound_selves(struct flick_rows *r, const struct fl_profile *p)
{
	int self = fl_sheet_column(r, "self_ns");
	double sum = (double)fl_sheet_sum(r, "self_ns"), most = (double)p->lives.all.all_ns;

	for (size_t i = 0; self >= 0 && sum > most && i < r->n_rows; i++) {
		uint64_t *cell = &r->cells[i * r->n_columns + (size_t)self];

		if (*cell != FLICK_NONE)
			*cell = (uint64_t)((double)*cell * most / sum);
	}
}

/* Into result `i`, unless it is of a third party's analysis. */
static int fill_result(struct fl_session *s, const struct fl_profile *p, size_t i)
{
	struct flick_rows *r = &s->results[i];
	const char *name = s->o->analyses[i].analysis->name;
	bool is_latency = !strcmp(name, "latency");
	int err;

	if (!s->has_result[i] || !fl_analysis_find(name) || fl_sheet_column(r, "self_ns") < 0)
		return 0;
	err = fl_change_fill(s, r);
	if (err)
		return err;
	if (s->self_is_cpu && is_latency)
		err = fill(r, p);
	else if (s->self_is_cpu && s->view.windows)
		err = share_out(r, p);
	else if (s->view.windows)
		bound_selves(r, p);
	if (s->view.sampled || s->view.windows)
		drop_impossible(r, p);
	if (!err && p->modules && is_latency)
		fl_bare_fill(r, p);
	if (!err && s->self_is_cpu && is_latency && !s->o->raw)
		fl_totals_fill(r, p);
	else if (!err && p->refutes && is_latency && !s->o->raw)
		fl_totals_refute(r, p);
	if (!err && s->view.sampled && is_latency) {
		fl_totals_drop(r, p);
		fl_totals_mark(r);
	}
	return err;
}

int fl_profile_fill(struct fl_session *s)
{
	struct fl_profile p = { .s = s };
	int err = s->sampler ? fl_cost_count(s) : 0;
	bool are_enough = !err && s->sampler && fl_cost_are_enough(s), is_watched;

	/* Where samples are few, or times are asked for as measured, calls keep what their
	 * records say. */
	s->self_is_cpu = are_enough && (s->view.sampled || !s->o->raw) &&
			 (fl_session_result(s, "latency") || s->view.windows);
	is_watched = are_enough && fl_watched_is_asked(s);
	s->has_stacks = are_enough && fl_sampler_has_calls(s->sampler);
	p.refutes = s->has_stacks ||
		    (!err && s->sampler && !s->o->raw && s->view.sampled &&
		     fl_sampler_has_calls(s->sampler) && fl_session_result(s, "latency"));
	if (!err && (s->self_is_cpu || is_watched || p.refutes)) {
		err = fl_inner_open(&p.inner, &s->functions);
		err = err ? err : gather_selves(&p);
	}
	if (!err && (s->self_is_cpu || p.refutes))
		err = fl_totals_gather(&p);
	if (!err && is_watched)
		err = fl_watched_look(s, p.self.of, p.self.n);
	if (!err)
		err = fl_lives_open(&p.lives, s);	/* by now all functions are known */
	if (!err && s->self_is_cpu && fl_bare_is_any(s))
		err = fl_bare_open(&p);
	for (size_t i = 0; !err && i < s->o->n_analyses; i++)
		err = fill_result(s, &p, i);
	fl_inner_close(&p.inner);
	fl_lives_close(&p.lives);
	free(p.self.of);
	free(p.taken.of);
	free(p.calls.of);
	free(p.nested);
	free(p.bare.of);
	free(p.modules);
	free(p.cut.of);
	free(p.told.of);
	free(p.lacking.of);
	return err;
}
