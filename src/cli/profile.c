/*
 * profile.c - self times, from samples of the program counter.
 *
 * What a probe sees of a function's time has the time of probes in it, and a function
 * of three ticks pays sixty for being timed. A sample of the program counter pays
 * nothing, so self times rest on these: of each function the share of samples that
 * stood in it. The rows of `latency` get their self times here; a function that has
 * samples and no probe gets a row.
 *
 * Samples that stood in flick's own code are flick's cost, and of nobody's time: of
 * probes, or of what the agent does when modules come. That grows with modules, not with
 * the program's time.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/budget.h"
#include "cli/inner.h"
#include "cli/own.h"
#include "os/os.h"

/* Files by which the places of samples are named, one at a time. */
struct file {
	const char *path;		/* as its samples have it; NULL: none yet */
	struct fl_obj obj;
	bool is_open;
};

struct profile {
	struct fl_session *s;
	struct file file;
	struct fl_own own;
	uint64_t *samples;		/* index: function */
	uint32_t n_functions;
	uint64_t n_own, work, all;	/* samples; work: of those in flick's code, ... */
	uint64_t counts;		/* ... and these, where calls are counted */
};

/* ---- what stands at a place ------------------------------------------------------ */

static bool open_file(struct file *f, const char *path)
{
	if (f->path != path) {
		if (f->is_open)
			fl_obj_close(&f->obj);
		f->path = path;
		f->is_open = *path == '/' && !fl_obj_open(&f->obj, path);
	}
	return f->is_open;
}

/* The ELF address of what stands at `offset` of the file. */
static bool find_address(const struct file *f, uint64_t offset, uint64_t *at)
{
	for (size_t i = 0; i < f->obj.eh->e_phnum; i++) {
		const Elf64_Phdr *ph = &f->obj.ph[i];

		if (ph->p_type != PT_LOAD || offset - ph->p_offset >= ph->p_filesz)
			continue;
		*at = offset - ph->p_offset + ph->p_vaddr;
		return true;
	}
	return false;
}

/* Code may stand in other memory than its file's (--text=alias): then the agent has
 * told which module is there. What is nowhere goes by the name of its mapping. */
static struct fl_place find_place(struct profile *p, const struct fl_pc *pc)
{
	const struct fl_shm_module *m;
	struct fl_place place = { .path = pc->path, .n = pc->n };

	if (open_file(&p->file, pc->path) && find_address(&p->file, pc->at, &place.at)) {
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

/* ---- where samples stood ---------------------------------------------------------- */

static int grow(struct profile *p)
{
	uint32_t n = p->s->functions.n;
	uint64_t *grown = realloc(p->samples, (n + 1) * sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	memset(grown + p->n_functions, 0, (n - p->n_functions) * sizeof(*grown));
	p->samples = grown;
	p->n_functions = n;
	return 0;
}

/* Without --follow children are not recorded, and their time is not the target's. */
static bool is_targets(const struct profile *p, const struct fl_pc *pc)
{
	return p->s->o->follow || pc->pid == p->s->pid;
}

/* How many there are, and how many of them in flick's own code. */
static int count(struct profile *p)
{
	size_t n;
	const struct fl_pc *pcs = fl_sampler_counts(p->s->sampler, &n);
	int err = fl_own_look(&p->own, p->s);

	for (size_t i = 0; !err && i < n; i++) {
		if (!is_targets(p, &pcs[i]))
			continue;
		p->all += pcs[i].n;
		if (!fl_own_has(&p->own, p->s, &pcs[i]))
			continue;
		p->n_own += pcs[i].n;
		p->work += fl_own_is_work(&p->own, &pcs[i]) ? pcs[i].n : 0;
		p->counts += fl_own_counts(&p->own, &pcs[i]) ? pcs[i].n : 0;
	}
	return err;
}

/* What stood in the program. */
static size_t take_places(struct profile *p, const struct fl_pc *pcs, size_t n,
			  struct fl_place *places)
{
	size_t n_places = 0;

	for (size_t i = 0; i < n; i++)
		if (is_targets(p, &pcs[i]) && !fl_own_has(&p->own, p->s, &pcs[i]))
			places[n_places++] = find_place(p, &pcs[i]);
	if (p->file.is_open)
		fl_obj_close(&p->file.obj);
	return n_places;
}

/* Files that only samples met are among the modules then: not where nobody asks. */
static int add_up(struct profile *p, struct fl_place *places, size_t n)
{
	int err = fl_inner_fill(&p->s->functions, places, n);

	if (!err)
		err = grow(p);
	for (size_t i = 0; !err && i < n; i++) {
		uint32_t function = places[i].inner - 1;

		if (!places[i].inner)
			err = fl_functions_find(&p->s->functions, places[i].path, places[i].at,
					     &function);
		if (!err && function >= p->n_functions)
			err = grow(p);
		if (!err)
			p->samples[function] += places[i].n;
	}
	return err;
}

/* By function. */
static int gather(struct profile *p)
{
	size_t n;
	const struct fl_pc *pcs = fl_sampler_counts(p->s->sampler, &n);
	struct fl_place *places = malloc((n + 1) * sizeof(*places));
	int err = -ENOMEM;

	if (places)
		err = add_up(p, places, take_places(p, pcs, n, places));
	free(places);
	return err;
}

/* ---- rows -------------------------------------------------------------------------- */

/* Of functions whose entries have probes: no calls are none, of others nobody knows. */
static void find_probed(const struct fl_session *s, bool *probed, uint32_t n)
{
	for (uint32_t i = 0; i < s->n_selected; i++) {
		uint32_t f = s->functions.function_of[i];

		if (f < n && s->selected[i] && s->functions.sites[i].kind == FL_ENTRY &&
		    !load_relaxed(&s->sites[i].refusal))
			probed[f] = true;
	}
}

/* Rows for functions that were sampled and have no probe, or none that was met. */
static int add_rows(struct flick_rows *r, const struct profile *p)
{
	int function = fl_sheet_column(r, "function");
	int calls = fl_sheet_column(r, "calls");
	int unknown = fl_sheet_column(r, "unknown");
	bool *has = calloc(p->n_functions + 1, sizeof(*has));
	bool *probed = calloc(p->n_functions + 1, sizeof(*probed));
	uint64_t *cells = realloc(r->cells, (r->n_rows + p->n_functions + 1) *
				  r->n_columns * sizeof(*cells));

	if (cells)
		r->cells = cells;
	if (probed)
		find_probed(p->s, probed, p->n_functions);
	for (size_t i = 0; has && i < r->n_rows; i++)
		has[r->cells[i * r->n_columns + function]] = true;
	for (uint32_t f = 0; has && probed && cells && f < p->n_functions; f++) {
		uint64_t *row = cells + r->n_rows * r->n_columns;

		if (has[f] || !p->samples[f])
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

static int fill(struct flick_rows *r, const struct profile *p)
{
	int function = fl_sheet_column(r, "function");
	int self = fl_sheet_column(r, "self_ns");
	int err = add_rows(r, p);

	for (size_t i = 0; !err && i < r->n_rows; i++) {
		uint64_t *row = r->cells + i * r->n_columns;

		row[self] = p->samples[row[function]] * fl_sampler_period_ns();
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

/* Where a function has several rows, one a caller, or one a way from the root. How its time
 * is shared among these, windows tell, and not how much it is: in one in which the thread
 * did not run, a call lasts as long as that took, and it stands for many. */
static int share_out(struct flick_rows *r, const struct profile *p)
{
	int function = fl_sheet_column(r, "function"), calls = fl_sheet_column(r, "calls");
	int self = fl_sheet_column(r, "self_ns");
	struct seen *seen = calloc(p->n_functions + 1, sizeof(*seen));

	for (size_t i = 0; seen && i < r->n_rows; i++) {
		const uint64_t *row = r->cells + i * r->n_columns;

		if (row[function] < p->n_functions)
			see(&seen[row[function]], row[calls], row[self]);
	}
	for (size_t i = 0; seen && i < r->n_rows; i++) {
		uint64_t *row = r->cells + i * r->n_columns, f = row[function];

		if (f < p->n_functions && row[self] != FLICK_NONE)
			row[self] = (uint64_t)(part_of(&seen[f], row[calls], row[self]) *
					       (double)p->samples[f] *
					       (double)fl_sampler_period_ns() + 0.5);
	}
	free(seen);
	return seen ? 0 : -ENOMEM;
}

/* ---- the cost ------------------------------------------------------------------------ */

enum { FEW = 100 };			/* samples; a tenth either way says nothing */

static double ns_of(uint64_t samples)
{
	return (double)samples * (double)fl_sampler_period_ns();
}

/* Of a cost that is more than the program itself a tenth more or less says enough. */
static bool are_few(double program_ns, double own_ns)
{
	double most = ns_of(FEW);

	return program_ns < most / 10 || (program_ns < most && own_ns < 2 * program_ns);
}

/* CPU time of what switches probes, beside the program. Where it is nobody's child, or a
 * thread of the program's, what it says itself. */
static double switching_ns(const struct fl_session *s)
{
	double turns = (double)load_relaxed(&s->shared->rearm_ticks) * s->view.ns_per_tick;
	double said = (double)load_relaxed(&s->shm->watch_ns);

	if (!s->watch_ns)
		return s->o->rate ? said : turns;
	return said > 0 && said < (double)s->watch_ns ? said : (double)s->watch_ns;
}

/* What passes the budget and the stake by less is chance. Most may be of the first second, as
 * what is called is not known then; a program of less has no other. */
static void tell_passed(const struct fl_session *s, const struct profile *p,
			double program_ns, char out[112])
{
	const uint64_t second_ns = 1000000000;
	const double some = 1.25;
	const char *why = "";
	uint64_t own = p->n_own - p->work;
	double most = s->o->budget * (some + FL_BUDGET_STAKE_NS / program_ns);

	if (s->o->rate && !s->o->rate_adapts && s->cost > some * s->o->rate * 100 / FL_RATE_ALL)
		snprintf(out, 112, ", more than the %s of --rate: all calls are counted "
			 "between windows", s->o->rate_text);
	if (s->o->action != FL_ACT_SAMPLE || s->cost <= 100 * most)
		return;
	if (s->drained.wall_ns - s->go.wall_ns < second_ns)
		why = ": it cannot hold in less than a second";
	else if (2 * s->early_own > own)
		why = ": most in the first second";
	snprintf(out, 112, ", more than the budget of %g %%%s", 100 * s->o->budget, why);
}

/* A sample that stands where calls are counted may wait for what the program would have
 * waited for, too: by how much that held it up is known better, where there is a budget. */
static double own_ns(const struct fl_session *s, const struct profile *p)
{
	double counts = ns_of(p->counts), held = fl_budget_held_ns(s->budget);

	return ns_of(p->n_own - p->work - p->counts) + (held < counts ? held : counts);
}

/* The program's own CPU time. Samples see none of the kernel's part of it; where all of it
 * is known, it is what flick has not used. */
static double program_ns(const struct fl_session *s, const struct profile *p)
{
	double own = own_ns(s, p) + ns_of(p->work), seen = ns_of(p->all) - own;
	double known = (double)s->target_ns - own -
		       (s->o->rate ? switching_ns(s) : 0);

	return known > seen ? known : seen;
}

/* How far it may be off. A core runs a short call and its probes at once: samples tell
 * where it stood, and not what it would have done without them. Of others chance alone:
 * of n samples their root. */
static void tell_error(const struct flick_rows *latency, double own_ns, double program,
		       char out[80])
{
	const double many = 1e7;	/* calls a second */
	double calls = latency ? (double)fl_sheet_sum(latency, "calls") : 0;
	double chance = 100 * ns_of(1) * sqrt(own_ns / ns_of(1)) / program;

	if (calls * 1e9 > many * program)
		snprintf(out, 80, ", a third to three times of it as calls are this short");
	else if (chance >= 0.5)
		snprintf(out, 80, ", %.1f more or less by chance", chance);
}

/* Of the program's own CPU time, in percent. What the reader does on another core
 * does not take the program's time, and is told apart; so is what the agent did when
 * modules came, as a program of a second may load as many as one of a day. */
static void tell_cost(struct fl_session *s, const struct profile *p,
		      const struct flick_rows *latency)
{
	double own = own_ns(s, p), all_ns = program_ns(s, p);
	double program = all_ns / 100, probes = own / program;
	double switching = switching_ns(s) / program;
	double reader = (double)(s->drained.cpu_ns - s->go.cpu_ns) / program;
	char *cost = s->account.cost, passed[112] = "", error[80] = "";
	size_t room = sizeof(s->account.cost);

	if (!s->sampler) {
		snprintf(cost, room, "unknown (the system gives no samples)");
	} else if (are_few(all_ns, own)) {
		snprintf(cost, room, "unknown (%.0f ms of CPU time are too few to tell)",
			 (all_ns + own) / 1e6);
	} else {
		s->cost = probes + switching;
		tell_passed(s, p, all_ns, passed);
		tell_error(latency, own, all_ns, error);
		snprintf(cost, room, "%.1f %% of CPU time (probes %.1f, switching %.1f, "
			 "reader on another core %.1f)%s%s, agent %.0f ms at start and dlopen",
			 s->cost, probes, switching, reader, error, passed,
			 ns_of(p->work) / 1e6);
	}
}

/* Where samples are few, or times are asked for as measured, calls keep what their
 * records say. */
static bool is_wanted(const struct fl_session *s, const struct profile *p)
{
	return p->all - p->n_own >= FEW && (s->view.sampled || !s->o->raw);
}

static struct flick_rows *find_latency(struct fl_session *s)
{
	for (size_t i = 0; i < s->o->n_analyses; i++)
		if (s->has_result[i] && !strcmp(s->o->analyses[i].name, "latency"))
			return &s->results[i];
	return NULL;
}

static uint64_t time_there_was(struct fl_session *s)
{
	uint64_t end = s->gone_ns ? s->gone_ns : fl_os_monotonic_ns();
	size_t n_threads;

	fl_readers_threads(s, &n_threads);
	return (end - s->go.wall_ns) * (n_threads ? n_threads : 1);
}

/* Calls times the average of a few is more time than all threads had: these few were not
 * like the rest, and what the rest took is not known. What has no total lies in one
 * another: the sum of that may be any. */
static void drop_impossible(struct fl_session *s, size_t result)
{
	struct flick_rows *r = &s->results[result];
	int total = fl_sheet_column(r, "total_ns"), sum = fl_sheet_column(r, "sum_ns");
	uint64_t most = time_there_was(s);

	for (size_t i = 0; total >= 0 && i < r->n_rows; i++) {
		uint64_t *row = r->cells + i * r->n_columns;

		if (row[total] == FLICK_NONE || row[total] <= most)
			continue;
		row[total] = FLICK_NONE;
		if (sum >= 0)
			row[sum] = FLICK_NONE;
	}
}

/* Where no samples tell, self times of windows come to no more in all than there was. */
static void bound_selves(struct fl_session *s, struct flick_rows *r)
{
	int self = fl_sheet_column(r, "self_ns");
	double sum = (double)fl_sheet_sum(r, "self_ns"), most = (double)time_there_was(s);

	for (size_t i = 0; self >= 0 && sum > most && i < r->n_rows; i++) {
		uint64_t *cell = &r->cells[i * r->n_columns + (size_t)self];

		if (*cell != FLICK_NONE)
			*cell = (uint64_t)((double)*cell * most / sum);
	}
}

/* Of the analysis that result is of: no third party's. */
static int fill_result(struct fl_session *s, const struct profile *p, size_t i)
{
	struct flick_rows *r = &s->results[i];
	const char *name = s->o->analyses[i].analysis->name;
	bool is_latency = !strcmp(name, "latency");
	int err = 0;

	if (!s->has_result[i] || !fl_analysis_find(name) || fl_sheet_column(r, "self_ns") < 0)
		return 0;
	if (s->self_is_cpu && is_latency)
		err = fill(r, p);
	else if (s->self_is_cpu && s->view.windows)
		err = share_out(r, p);
	else if (s->view.windows)
		bound_selves(s, r);
	if (s->view.sampled || s->view.windows)
		drop_impossible(s, i);
	return err;
}

int fl_profile_fill(struct fl_session *s)
{
	struct profile p = { .s = s };
	struct flick_rows *latency = find_latency(s);
	int err = 0;

	if (s->sampler)
		err = count(&p);
	s->self_is_cpu = !err && s->sampler && (latency || s->view.windows) &&
			 is_wanted(s, &p);
	if (s->self_is_cpu)
		err = gather(&p);
	for (size_t i = 0; !err && i < s->o->n_analyses; i++)
		err = fill_result(s, &p, i);
	s->pc_samples = p.all;
	s->pc_own = p.n_own;
	tell_cost(s, &p, latency);
	free(p.samples);
	fl_own_close(&p.own);
	return err;
}
