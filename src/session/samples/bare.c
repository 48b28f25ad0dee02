/*
 * bare.c - processes of a tree that have no probes, because probes of their program are dear.
 *
 * A compiler's 45,000 functions take half a second to arm, and it runs for a tenth of that.
 * So of a process tree each program may arm for FREE_NS in all, and beyond that as long as the
 * budget allows of the time that its processes run. Where its next process would pass that, the
 * process begins bare: samples tell of it, as of a program that cannot have probes.
 *
 * How often functions were called in bare processes is told by the others: a function has as
 * many calls in both for a sample that stood in it. Where few samples did, the function's ratio
 * of bare samples to others is drawn to that of its module, as if PRIOR more samples had been
 * taken at the module's ratio; and the module's is drawn to the ratio of processes, as if
 * MODULE_PRIOR more had been taken at that. A function that is called once a process at most
 * is called as often in bare ones.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "session/samples/bare.h"
#include "session/budget/budget.h"
#include "session/samples/profile.h"
#include "select/select.h"

#define FREE_NS 5e8
#define PRIOR 30.0
#define MODULE_PRIOR 3.0
#define LONGER 2.0

/* ---- which programs are dear --------------------------------------------------------- */

/* 1 + the row of a file that processes execute; 0: it is none. */
static uint32_t program_of(const struct fl_session *s, const char *path)
{
	const struct fl_program *p = fl_shm_program(s->shm, path);

	return p ? (uint32_t)(p - s->shm->programs) + 1 : 0;
}

/* The program that a process executed when it was sampled. The kernel tells it; where its
 * record was lost, the sample's file does, if that is a program. A sample in a library then is
 * taken for one of the program that the process executes now. */
static uint32_t program_at(const struct fl_session *s, const struct fl_pc *pc,
			   const struct fl_process *p)
{
	uint32_t program = *pc->program ? program_of(s, pc->program) : 0;

	if (!program)
		program = program_of(s, pc->path);
	return !program && p ? load_relaxed(&p->program) : program;
}

static bool had_no_probes(const struct fl_process *p, uint32_t program)
{
	if (!p)
		return true;
	return program != load_relaxed(&p->program) ? program == load_relaxed(&p->was_bare) :
						      load_relaxed(&p->is_bare);
}

bool fl_bare_is(const struct fl_session *s, const struct fl_pc *pc)
{
	const struct fl_process *p = fl_shm_process(s->shm, pc->pid);

	return had_no_probes(p, program_at(s, pc, p));
}

void fl_bare_saw(struct fl_session *s, const struct fl_pc *pc)
{
	const struct fl_process *p;
	uint32_t program;

	if (!s->o->follow)
		return;
	p = fl_shm_process(s->shm, pc->pid);
	program = program_at(s, pc, p);
	if (!program || program > FL_MAX_PROGRAMS)
		return;
	if (had_no_probes(p, program))
		s->program_ran[program - 1].bare += pc->n;
	else
		s->program_ran[program - 1].probed += pc->n;
}

static bool is_dear(const struct fl_session *s, const struct fl_program *p,
		    const struct fl_program_ran *ran)
{
	double arming = (double)load_relaxed(&p->arming_ns), n = load_relaxed(&p->n_armed);
	double allowed = s->o->budget * (double)(ran->probed + ran->bare) *
			 (double)fl_sampler_period_ns();

	return n > 0 && arming > FREE_NS && arming + arming / n > allowed;
}

/* No process begins bare where calls are for more than the default report, because all of them
 * are wanted; nor where functions are named, because few are armed; nor where somebody looks
 * on, who is told what was counted. Processes that have armed have their credit for counts
 * already: here the budget is told of it. */
void fl_bare_turn(struct fl_session *s)
{
	const struct fl_session_options *o = s->o;
	struct fl_program *of = s->shm->programs;
	bool may_be = s->sampler && !o->watch && !o->trace && o->n_analyses == 1 &&
		      !strcmp(o->analyses[0].analysis->name, "latency") &&
		      !fl_selection_has_patterns(o->selection);

	for (uint32_t i = 0; o->follow && s->budget && i < FL_MAX_PROGRAMS; i++) {
		struct fl_program_ran *ran = &s->program_ran[i];
		uint64_t arming = load_relaxed(&of[i].arming_ns);

		if (arming > ran->granted_ns)
			fl_budget_grant(s->budget, (double)(arming - ran->granted_ns) /
					FL_GRANTED_ONE_IN);
		ran->granted_ns = arming;
		if (load_relaxed(&of[i].key))
			store_relaxed(&of[i].is_dear, may_be && is_dear(s, &of[i], ran));
	}
}

/* ---- which processes were bare -------------------------------------------------------- */

bool fl_bare_is_any(const struct fl_session *s)
{
	for (uint32_t i = 0; i < FL_MAX_PROGRAMS; i++)
		if (load_relaxed(&s->shm->programs[i].n_bare))
			return true;
	return false;
}

void fl_bare_say(const struct fl_session *s, char *to, size_t room)
{
	size_t n = 0;

	*to = '\0';
	for (uint32_t i = 0; i < FL_MAX_PROGRAMS; i++) {
		const struct fl_program *p = &s->shm->programs[i];
		uint32_t bare = load_relaxed(&p->n_bare), armed = load_relaxed(&p->n_armed);
		char name[sizeof(p->name)];
		int more;

		if (!bare)
			continue;
		for (size_t c = 0; c < sizeof(name); c++)
			name[c] = load_relaxed(&p->name[c]);
		name[sizeof(name) - 1] = '\0';
		more = snprintf(to + n, room - n, "%s%u of %u of %s", n ? ", " : "", bare,
				bare + armed, *name ? name : "a program");
		if (more < 0 || (size_t)more >= room - n) {
			snprintf(to + n, room - n, n ? ", ..." : "...");
			return;
		}
		n += (size_t)more;
	}
}

/* ---- calls ---------------------------------------------------------------------------- */

static uint64_t bare_of(const struct fl_profile *p, uint64_t f, uint64_t *probed)
{
	uint64_t all = fl_profile_of(&p->self, f), bare = fl_profile_of(&p->bare, f);

	*probed = all - bare;
	return bare;
}

/* Probes make a process longer, up to LONGER times where it is short and no cache has its
 * bodies. If processes with probes were longer by no more than that, nothing else has made them
 * longer; if they were shorter, they had less to do. The mean over all programs, weighed by how
 * long their bare processes ran. */
static double find_longer(const struct fl_session *s)
{
	double all = 0, sum = 0;

	for (uint32_t i = 0; i < FL_MAX_PROGRAMS; i++) {
		const struct fl_program *p = &s->shm->programs[i];
		double armed = load_relaxed(&p->n_armed), n_bare = load_relaxed(&p->n_bare);
		double bare = (double)s->program_ran[i].bare;
		double by = (double)s->program_ran[i].probed * n_bare / (armed * bare);

		if (!(armed > 0 && n_bare > 0 && bare > 0))
			continue;
		all += bare;
		sum += bare * fmin(fmax(by, 1), LONGER);
	}
	return all > 0 ? sum / all : 1;
}

/* The program of the process that has brought a module, if that process executes it still;
 * NULL: the program is not known. */
static const struct fl_program *who_brought(const struct fl_session *s,
					    const struct fl_shm_module *m)
{
	const struct fl_process *of = fl_shm_processes(s->shm);
	uint32_t n = load_relaxed(&s->shm->n_processes), image, program;

	if (!m->n || m->first >= s->functions.n_sites)
		return NULL;
	image = s->functions.sites[m->first].image;
	for (uint32_t i = 0; i < n && i < FL_MAX_PROCESSES; i++) {
		program = load_relaxed(&of[i].program);
		if (load_relaxed(&of[i].image) == image)
			return program && program <= FL_MAX_PROGRAMS ?
			       &s->shm->programs[program - 1] : NULL;
	}
	return NULL;
}

/* A library was in as many processes as its first program, if that is dear. Other programs may
 * have the library, too, or alone: samples tell. */
static void find_processes(const struct fl_profile *p, const struct fl_shm_module *m,
			   struct fl_bare_module *of)
{
	const struct fl_program *program = fl_shm_program(p->s->shm, m->path);

	if (!program)
		program = who_brought(p->s, m);
	if (!program || !load_relaxed(&program->n_bare))
		return;
	of->n_bare = load_relaxed(&program->n_bare);
	of->n_armed = load_relaxed(&program->n_armed);
}

static double processes_of(const struct fl_bare_module *m)
{
	return m->n_armed > 0 ? m->n_bare / m->n_armed : 0;
}

static double ratio_of(const struct fl_bare_module *m, double longer)
{
	return (m->bare + MODULE_PRIOR * processes_of(m) / longer) /
	       (m->probed + MODULE_PRIOR);
}

int fl_bare_open(struct fl_profile *p)
{
	const struct fl_functions *r = &p->s->functions;
	struct fl_bare_module *of = calloc(r->n_modules + 1, sizeof(*of));
	uint64_t probed;

	p->longer = find_longer(p->s);
	p->modules = of;
	p->n_modules = of ? r->n_modules : 0;
	for (uint32_t i = 0; i < p->n_modules; i++)
		find_processes(p, &r->modules[i], &of[i]);
	for (uint32_t f = 0; of && f < r->n; f++) {
		if (r->all[f].module >= r->n_modules)
			continue;
		of[r->all[f].module].bare += (double)bare_of(p, f, &probed);
		of[r->all[f].module].probed += (double)probed;
	}
	for (uint32_t i = 0; i < p->n_modules; i++)
		of[i].ratio = ratio_of(&of[i], p->longer);
	return of ? 0 : -ENOMEM;
}

static const struct fl_bare_module *module_of_function(const struct fl_profile *p, uint64_t f)
{
	const struct fl_functions *r = &p->s->functions;

	return f < r->n && r->all[f].module < p->n_modules ? &p->modules[r->all[f].module] :
							      NULL;
}

bool fl_bare_is_most(const struct fl_profile *p, uint64_t f)
{
	const struct fl_bare_module *m = module_of_function(p, f);

	return m && m->ratio > 1;
}

/* How many times as many calls there were in bare processes as in those with probes, and how
 * far that may be off: by chance; because something else than probes may have made processes
 * longer; and, where few samples stood in a function, because it may as well have the same
 * calls in each process. */
static double by_samples(const struct fl_profile *p, uint64_t f, const struct fl_bare_module *m,
			 double *off)
{
	uint64_t stood;
	double bare = (double)bare_of(p, f, &stood) + PRIOR * m->ratio;
	double probed = (double)stood + PRIOR, more = p->longer * bare / probed;
	double apart = m->n_armed > 0 ? more - processes_of(m) : 0;
	double of_module = 1 / (m->bare + MODULE_PRIOR) + 1 / (m->probed + MODULE_PRIOR);
	double chance = hypot(sqrt(1 / (bare + 1) + 1 / probed),
			      PRIOR / probed * sqrt(of_module));

	if (!(m->ratio > 0))
		chance = 0;
	*off = hypot(more * hypot(chance, (p->longer - 1) / p->longer / 3),
		     PRIOR / probed * apart);
	return more;
}

/* A function that processes with probes call once at most is called as often by bare ones,
 * however long they are. */
static double by_processes(const struct fl_bare_module *m, double calls, double *off)
{
	double part = (calls + 1) / (m->n_armed + 2);

	*off = m->n_bare * sqrt(part * (1 - part) / m->n_armed) / calls;
	return processes_of(m);
}

static uint64_t multiplied(uint64_t n, double by)
{
	return n == FLICK_NONE ? n : (uint64_t)(fmin((double)n * by, 1e18) + 0.5);
}

void fl_bare_fill(struct flick_rows *r, const struct fl_profile *p)
{
	int function = fl_sheet_column(r, "function"), calls = fl_sheet_column(r, "calls");
	int total = fl_sheet_column(r, "total_ns"), sum = fl_sheet_column(r, "sum_ns");
	int error = fl_sheet_column(r, "calls_error"), unknown = fl_sheet_column(r, "unknown");

	for (size_t i = 0; i < r->n_rows; i++) {
		uint64_t *row = r->cells + i * r->n_columns, f = row[function], probed;
		const struct fl_bare_module *m = module_of_function(p, f);
		double more, off, known = (double)row[calls];

		if (!m || row[calls] == FLICK_NONE)
			continue;
		if (!row[calls] && bare_of(p, f, &probed)) {
			row[calls] = row[unknown] = FLICK_NONE;
			continue;
		}
		more = known > 0 && known <= m->n_armed ? by_processes(m, known, &off) :
		       by_samples(p, f, m, &off);
		row[calls] = multiplied(row[calls], 1 + more);
		row[total] = multiplied(row[total], 1 + more);
		row[sum] = multiplied(row[sum], 1 + more);
		if (row[error] == FLICK_NONE)
			row[error] = 0;
		row[error] = (uint64_t)ceil(hypot((double)row[error] * (1 + more),
						  known * off));
	}
}
