/*
 * cost.c - what a recording has cost the program.
 *
 * Samples of the program counter that stood in flick's own code are flick's cost: of
 * probes, or of the agent's work when modules come. The agent's work grows with modules,
 * not with the program's time. No sample shows a jump, or the sample itself: the price of
 * each was measured at the start, and is multiplied by how many there were.
 */
#include <math.h>
#include <string.h>

#include "os/os.h"
#include "session/budget/afford.h"
#include "session/budget/budget.h"
#include "session/cost.h"
#include "session/opening.h"
#include "session/results.h"
#include "session/watched.h"

enum { FEW = 100 };			/* samples, of which a tenth is chance */
/* The most that jumps take of the program's time. Where calls are so short that jumps would
 * take more, a core runs them beside the calls. */
#define MOST_JUMPS (1 / 8.0)

/* CPU time, in nanoseconds. */
struct costs {
	double program_ns;		/* without the others */
	double probes_ns, switching_ns, jumps_ns, samples_ns;
};

static double percent(const struct costs *c, double ns)
{
	return 100 * ns / c->program_ns;
}

int fl_cost_count(struct fl_session *s)
{
	struct fl_own own = { 0 };
	size_t n;
	const struct fl_pc *pc = fl_sampler_counts(s->sampler, &n);
	int err = fl_own_look(&own, s);

	for (const struct fl_pc *end = pc + n; !err && pc < end; pc++)
		if (fl_own_is_targets(s, pc))
			fl_own_add(&own, s, pc, &s->pcs);
	fl_own_close(&own);
	return err;
}

/* Samples of the agent's work until then are kept. All others are dropped, because nothing
 * of the program was recorded until then. */
void fl_cost_begin(struct fl_session *s)
{
	struct fl_pcs before = { 0 };

	s->target.begin_ns = fl_os_process_ns(s->pid);
	s->go = fl_instant_now();
	if (!s->sampler || fl_cost_count(s))
		return;
	before.work = before.own = before.all = s->pcs.work;
	s->pcs = before;
	s->early_work = before.work;
	s->early_own = 0;
	fl_sampler_forget(s->sampler);
}

/* A process that has ended and is not our child tells nothing more: what was seen last
 * stands. */
void fl_cost_look(struct fl_session *s)
{
	uint64_t now = fl_os_process_ns(s->pid);

	if (s->target.begin_ns && now > s->target.begin_ns)
		s->target.cpu_ns = now - s->target.begin_ns;
}

void fl_cost_end(struct fl_session *s)
{
	fl_opening_end(s);
	fl_sampler_stop(s->sampler);
	fl_cost_look(s);
}

bool fl_cost_are_enough(const struct fl_session *s)
{
	return s->pcs.all - s->pcs.own >= FEW;
}

static double ns_of(uint64_t samples)
{
	return (double)samples * (double)fl_sampler_period_ns();
}

/* No sample shows time in the kernel: it is what the program's CPU time has more than its
 * samples. Three things in that are not the program's. Samples stop it for as long as was
 * measured. What the agent asked the kernel for at the start is taken for as much as its own
 * code took. And no sample tells of a thread's last part of a period: on average half of one.
 * A virtual machine that had no CPU has late samples, or none. Where the program is our child
 * and has ended, the kernel's own account bounds that; it is coarse. */
uint64_t fl_cost_kernel_ns(const struct fl_session *s)
{
	const double some = 0.1;		/* less of it may be chance */
	double all = (double)s->target.cpu_ns, agent = ns_of(s->pcs.work - s->early_work);
	double threads = (double)fl_sampler_starts(s->sampler) * ns_of(1) / 2;
	double kernel = all - ns_of(s->pcs.all - s->early_work) - agent - threads -
			(double)s->pcs.taken * s->prices.sample_ns;

	if (s->target.kernel_ns)
		kernel = fmin(kernel, (double)s->target.kernel_ns);
	if (s->o->follow || fl_sampler_lost(s->sampler) || all < ns_of(FEW) ||
	    kernel < some * all)
		return 0;
	return (uint64_t)kernel;
}

uint64_t fl_cost_user_ns(const struct fl_session *s)
{
	return (uint64_t)ns_of(s->pcs.all - s->pcs.own);
}

/* Where probes took twice as long as the program itself, fewer samples say enough. */
static bool are_few(double program_ns, double own_ns)
{
	double most = ns_of(FEW);

	return program_ns < most / 10 || (program_ns < most && own_ns < 2 * program_ns);
}

/* CPU time of what switches probes, beside the program. Where that is not our child, or is a
 * thread of the program, its own word is all there is. */
static double watch_ns(const struct fl_session *s)
{
	double turns = (double)load_relaxed(&s->shared->rearm_ticks) * s->view.ns_per_tick;
	double said = (double)load_relaxed(&s->shm->watch_ns);
	double took = (double)s->target.watch_ns;

	if (!s->target.watch_ns)
		return s->o->rate ? said : turns;
	return said > 0 && said < took ? said : took;
}

/* The part of that time that the program would have had. */
static double switching_ns(const struct fl_session *s)
{
	double wall_ns = (double)(s->drained.wall_ns - s->go.wall_ns);
	double cpus = wall_ns > 0 ? ns_of(s->pcs.all) / wall_ns : 1;

	return watch_ns(s) * fl_afford_lost(cpus, s->o->rate ? 0 :
					    load_relaxed(&s->shared->seldom.shared_cpus));
}

/* A cost below `some` times the budget, plus the stake, may be chance. Most of it may come from
 * the first second, when it is not known yet what is called how often; a shorter program has no
 * other second. Costs that no budget can lower are named. */
static void tell_passed(const struct fl_session *s, const struct costs *c, char out[112])
{
	const uint64_t second_ns = 1000000000;
	const double some = 1.25;
	double most = s->o->budget * (some + FL_BUDGET_STAKE_NS / c->program_ns);
	uint64_t own = s->pcs.own - s->pcs.work;
	const char *why = "";

	if (s->o->rate && !s->o->rate_adapts && s->cost > some * s->o->rate * 100 / FL_RATE_ALL)
		snprintf(out, 112, ", more than the %s of --rate: all calls are counted "
			 "between windows", s->o->rate_text);
	if (s->o->action != FL_ACT_SAMPLE || s->cost <= 100 * most)
		return;
	if (s->drained.wall_ns - s->go.wall_ns < second_ns)
		why = ": less than a second is too short to keep to it";
	else if (c->jumps_ns > s->o->budget * c->program_ns && c->jumps_ns > c->switching_ns &&
		 c->jumps_ns > c->probes_ns)
		why = ": jumps to bodies stay when probes are off";
	else if (s->cost - percent(c, c->samples_ns) <= 100 * most)
		why = ": samples are taken when probes are off, too";
	else if (2 * s->early_own > own)
		why = ": most in the first second";
	snprintf(out, 112, ", more than the budget of %g %%%s", 100 * s->o->budget, why);
}

/* A sample that stands where calls are counted may wait for what the program would have
 * waited for, too. With a budget, the time by which counts held up the program is known
 * better; but that time covers no points, which are counted whatever they cost. */
static double own_ns(const struct fl_session *s)
{
	double counts = ns_of(s->pcs.counts);
	double held = s->chosen.has_points ? HUGE_VAL : fl_budget_held_ns(s->budget);
	uint64_t others = s->pcs.own - s->pcs.work - s->pcs.counts;

	return ns_of(others) + (held < counts ? held : counts);
}

/* The program's own CPU time. Samples see none of the kernel's part. Where the process's
 * whole CPU time is known, the program's is what flick has not used. Jumps and samples take
 * time that samples do not show in flick's code: they are subtracted, too. */
static double program_ns(const struct fl_session *s, const struct costs *c)
{
	double own = c->probes_ns + ns_of(s->pcs.work) + c->jumps_ns + c->samples_ns;
	double seen = ns_of(s->pcs.all) - own;
	double known = (double)s->target.cpu_ns - own -
		       (s->o->rate ? switching_ns(s) : 0);

	return known > seen ? known : seen;
}

static struct costs take_costs(struct fl_session *s)
{
	struct costs c = {
		.probes_ns = own_ns(s), .switching_ns = switching_ns(s),
		.jumps_ns = fmin(fl_jumps_ns(s), MOST_JUMPS * ns_of(s->pcs.all - s->pcs.own)),
		.samples_ns = (double)s->pcs.taken * s->prices.sample_ns,
	};

	c.program_ns = program_ns(s, &c);
	return c;
}

/* CPU time that a sample stands for, on average. */
static double mean_ns(const struct fl_pcs *pcs)
{
	uint64_t periods = pcs->all - pcs->work;

	return ns_of(periods > pcs->taken ? periods : pcs->taken) / (double)pcs->taken;
}

/* How far the cost may be off. A core runs a short call and its probes at the same time:
 * samples tell where the core stood, not what it would have done without probes. With longer
 * calls the error is chance alone: of n samples, the root of n. */
static void tell_error(const struct flick_rows *rows, double own_ns, double program,
		       double each_ns, char out[80])
{
	const double many = 1e7;	/* calls a second */
	double calls = rows ? (double)fl_sheet_sum(rows, "calls") : 0;
	double chance = 100 * each_ns * sqrt(own_ns / each_ns) / program;

	if (calls * 1e9 > many * program)
		snprintf(out, 80, ", give or take a factor of three as calls are this short");
	else if (chance >= 0.5)
		snprintf(out, 80, ", %.1f more or less by chance", chance);
}

static void say_share(const char *name, double part, char *to, size_t room)
{
	size_t n = strlen(to);

	if (part >= 0.05)
		snprintf(to + n, room - n, "%s %.1f, ", name, part);
}

/* In percent of the program's own CPU time. The reader works on another core, does not
 * take the program's time, and is told apart. So is the agent's work when modules came,
 * because a program of a second may load as many as one of a day. Code that tells of
 * accesses or paths is woven into bodies: its samples are taken for the program's own. */
void fl_cost_tell(struct fl_session *s)
{
	struct costs c = take_costs(s);
	double beside = (double)(s->drained.cpu_ns - s->go.cpu_ns) + watch_ns(s) -
			c.switching_ns;
	char *cost = s->account.cost, passed[112] = "", error[80] = "", stay[80] = "";
	bool is_least = fl_watched_is_asked(s);
	size_t room = sizeof(s->account.cost);

	if (!s->sampler) {
		snprintf(cost, room, "unknown (the system gives no samples)");
	} else if (are_few(c.program_ns, c.probes_ns)) {
		snprintf(cost, room, "unknown (%.0f ms of CPU time are too few to tell)",
			 fmax(c.program_ns + c.probes_ns, 0) / 1e6);
	} else {
		s->cost = percent(&c, c.probes_ns + c.switching_ns + c.samples_ns + c.jumps_ns);
		tell_passed(s, &c, passed);
		tell_error(fl_session_calls(s), c.probes_ns, c.program_ns,
			   mean_ns(&s->pcs), error);
		say_share("samples", percent(&c, c.samples_ns), stay, sizeof(stay));
		say_share("jumps to bodies", percent(&c, c.jumps_ns), stay, sizeof(stay));
		snprintf(cost, room, "%s%.1f %% of CPU time (probes %.1f, switching %.1f, "
			 "%sreader on another core %.1f)%s%s%s, "
			 "agent %.0f ms at start and dlopen",
			 is_least ? "at least " : "", s->cost, percent(&c, c.probes_ns),
			 percent(&c, c.switching_ns), stay, percent(&c, beside),
			 is_least ? ", and what tells in bodies, which samples miss" : "",
			 error, passed, ns_of(s->pcs.work) / 1e6);
	}
}
