/*
 * tell.c - what a person should know of a recording that is not in its results: how
 * the program ended, which calls are missing, why, and what to do about it.
 *
 * There is a line for each kind: thousands of refusals are told by their few reasons, not
 * one by one (but see --why).
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "os/os.h"
#include "session/functions.h"
#include "session/samples/bare.h"
#include "session/results.h"
#include "session/trigger.h"
#include "select/select.h"

enum { FEW = 4 };			/* so many need no line of their own */

static void tell_end(const struct fl_session *s)
{
	const char *name = s->o->argv[0];

	if (WIFSIGNALED(s->target.status))
		fl_say("%s was ended by signal %d (%s)", name, WTERMSIG(s->target.status),
		       strsignal(WTERMSIG(s->target.status)));
	else if (WEXITSTATUS(s->target.status))
		fl_say("%s exited with status %d", name, WEXITSTATUS(s->target.status));
	if (s->target.watch_signal && !WIFSIGNALED(s->target.status))
		fl_say(FL_OS_OUTSIDE_NAME " was ended by signal %d (%s): functions that had "
		       "been sampled stayed off", s->target.watch_signal,
		       strsignal(s->target.watch_signal));
}

/* ---- refused --------------------------------------------------------------------- */

/* What the program has patched itself has a line of its own. */
static int refusal_of(const struct fl_session *s, uint32_t i)
{
	int refusal = s->chosen.marks[i] ? s->sites[i].refusal : 0;

	return refusal == FLE_OVERWRITTEN ? 0 : refusal;
}

/* Some functions as they are cannot be had, and nobody can do anything about that. */
static bool is_of_body(const struct fl_session *s, uint32_t i)
{
	return s->functions.sites[i].provider == FL_PROVIDER_BODY;
}

static void tell_each_refusal(const struct fl_session *s)
{
	for (uint32_t i = 0; i < s->chosen.n; i++) {
		struct fl_shm_site site = fl_session_site(s, i);

		if (s->chosen.marks[i] && site.refusal && !is_of_body(s, i))
			fl_say("no probe at 0x%llx (%s of %s): %s",
			       (unsigned long long)site.at, fl_kind_names[site.kind],
			       fl_functions_name(&s->functions, s->functions.function_of[i]),
			       fl_reason(site.refusal));
	}
}

/* The first functions that have no body for that reason. */
static void name_some(const struct fl_session *s, int refusal, char *out, size_t room)
{
	enum { SOME = 5 };
	size_t at = 0;
	unsigned n = 0;

	*out = '\0';
	for (uint32_t i = 0; i < s->chosen.n && n <= SOME && at < room; i++) {
		if (!fl_is_function(&s->functions.sites[i]) || refusal_of(s, i) != refusal)
			continue;
		at += (size_t)snprintf(out + at, room - at, "%s%s", n ? ", " : "", n == SOME ?
			"..." : fl_functions_name(&s->functions, s->functions.function_of[i]));
		n++;
	}
}

/* Why functions have no bodies: a line for each reason. Where patterns name functions, and few
 * are refused, they are told unasked. */
static void tell_bodies(const struct fl_session *s)
{
	struct fl_refusals r = { .n = 0 };
	bool names = s->o->why;
	char line[2048];

	for (uint32_t i = 0; i < s->chosen.n; i++)
		if (refusal_of(s, i) && fl_is_function(&s->functions.sites[i]))
			fl_refusals_add(&r, refusal_of(s, i));
	names |= r.all <= FEW && fl_selection_has_patterns(s->o->selection);
	if (!names && r.all > FEW)
		fl_say("%llu functions cannot have probes (--why says why)",
		       (unsigned long long)r.all);
	fl_refusals_line(&r, line, sizeof(line));	/* in order */
	for (size_t i = 0; names && i < r.n; i++) {
		name_some(s, r.of[i].refusal, line, sizeof(line));
		fl_say("%llu function%s refused: %s (%s)", (unsigned long long)r.of[i].n,
		       r.of[i].n == 1 ? "" : "s", fl_reason(r.of[i].refusal), line);
	}
}

static void tell_refusals(const struct fl_session *s)
{
	struct fl_refusals r = { .n = 0 };
	char line[2048];

	tell_bodies(s);
	if (s->o->why) {
		tell_each_refusal(s);
		return;
	}
	for (uint32_t i = 0; i < s->chosen.n; i++)
		if (refusal_of(s, i) && !is_of_body(s, i))
			fl_refusals_add(&r, refusal_of(s, i));
	if (r.all <= FEW)
		return;
	fl_refusals_line(&r, line, sizeof(line));
	fl_say("%llu probes were refused (--why lists them): %s", (unsigned long long)r.all,
	       line);
}

/* ---- lost -------------------------------------------------------------------------- */

static const char *const lost_remedies[FL_N_LOST] = {
	[FL_LOST_READER] = "",
	[FL_LOST_SLOT] = "; --threads=N makes room for more at a time",
	[FL_LOST_ROOM] = "; raise the limit (ulimit)",
	[FL_LOST_SITE] = "; --sites=N makes room for more",
};

static void tell_losses(struct fl_session *s)
{
	size_t n;
	const struct fl_thread *t = fl_readers_threads(s, &n);

	for (int c = 0; c < FL_N_LOST; c++) {
		uint64_t lost = fl_threads_lost(t, n, c);

		if (lost && !(c == FL_LOST_READER && fl_session_is_left(s)))
			fl_say("%llu events lost: %s%s", (unsigned long long)lost,
			       fl_lost_names[c], lost_remedies[c]);
	}
}

/* Nobody knows whether events of what was left out are missing. */
static void tell_left_out(const struct fl_session *s)
{
	if (s->shm->left_out & FL_LEFT_SITES)
		fl_say("there was room for %u probe sites: others are not recorded; --sites=N "
		       "makes room", s->functions.max_sites);
	if (s->shm->left_out & FL_LEFT_MODULES)
		fl_say("there was room for %u modules: later ones are not recorded under their "
		       "names; --sites=N makes room", s->functions.max_modules);
	if (s->shm->left_out & FL_LEFT_GLUE)
		fl_say("there was room for %u pieces of glue: time in others counts as the "
		       "program's; --sites=N makes room", s->max_glue);
	if (s->shm->left_out & FL_LEFT_BODIES)
		fl_say("there was room for %u bodies of functions at a time: time in others "
		       "counts as flick's; --sites=N makes room",
		       fl_originals_room(s->originals));
}

/* XRay's runtime writes code, for one. A count may have the same site several times. */
static void tell_written(const struct fl_session *s)
{
	uint32_t off = load_relaxed(&s->shm->n_yielded);
	uint32_t gone = load_relaxed(&s->shm->n_overwritten);

	if (gone)
		fl_say("the program has patched its own code (XRay's runtime?): %u probes are "
		       "gone, and later calls there are not recorded", gone);
	else if (off)
		fl_say("the program could write its own code: %u probes were off meanwhile",
		       off);
}

static void tell_outside(const struct fl_session *s)
{
	char bare[256];

	fl_bare_say(s, bare, sizeof(bare));
	if (*bare)
		fl_say("processes without probes, as to arm these takes more than --budget "
		       "allows: %s; their calls are %s", bare,
		       s->self_is_cpu ? "estimated" : "not counted");
	if (load_relaxed(&s->shm->has_self))
		fl_say("the program would have switched its own probes (flick.h) by another "
		       "libflick: while it is recorded it cannot, but with libflick.so");
	if (load_relaxed(&s->shm->has_spaces))
		fl_say("modules in other link-map namespaces (dlmopen) are not recorded");
	tell_written(s);
	for (int c = 0; c < FL_N_OUT; c++) {
		uint32_t n = s->shm->outside[c];
		char most[16] = "";

		if (c == FL_OUT_TABLE)
			snprintf(most, sizeof(most), " %u",
				 fl_most_processes(s->functions.max_sites));
		if (n)
			fl_say("%u process%s not recorded: %s%s", n,
			       n == 1 ? " was" : "es were", fl_outside_names[c], most);
	}
}

/* ---- met late ------------------------------------------------------------------------ */

/* Nothing is missing; but each such site stopped its thread for the reader's answer, and no
 * pattern could match before what no scan had named. */
static void tell_unnamed(const struct fl_session *s)
{
	uint32_t met = load_relaxed(&s->shm->n_met), all = s->chosen.n;

	if (met > FEW && met > all / 100)
		fl_say("%u of %u probes were only found when they were first called, which "
		       "took some microseconds each", met, all);
}

/* ---- cost ---------------------------------------------------------------------------- */

enum { COSTLY = 3 };			/* functions that are named */

/* A result that says of functions how often they were called. */
static const struct flick_rows *find_calls(const struct fl_session *s, int *function,
					   int *calls)
{
	for (size_t i = 0; i < s->o->n_analyses; i++) {
		const struct flick_rows *r = &s->results[i];

		*function = s->has_result[i] ? fl_sheet_column(r, "function") : -1;
		*calls = s->has_result[i] ? fl_sheet_column(r, "calls") : -1;
		if (*function >= 0 && *calls >= 0)
			return r;
	}
	return NULL;
}

/* Statics of one name are left out together. */
static bool is_named(const struct fl_session *s, const uint32_t *functions, size_t n,
		     uint32_t as)
{
	const char *name = fl_functions_name(&s->functions, as);

	for (size_t i = 0; i < n; i++)
		if (!strcmp(fl_functions_name(&s->functions, functions[i]), name))
			return true;
	return false;
}

/* The functions that are called most, but for those that a trigger waits for. In a tree a
 * function has many rows. */
static size_t find_costly(struct fl_session *s, uint64_t *calls, uint32_t out[COSTLY])
{
	int function, count;
	const struct flick_rows *r = find_calls(s, &function, &count);
	size_t n = 0;

	for (size_t i = 0; r && i < r->n_rows; i++) {
		const uint64_t *row = r->cells + i * r->n_columns;

		if (row[function] < s->functions.n && row[count] != FLICK_NONE)
			calls[row[function]] += row[count];
	}
	while (n < COSTLY) {
		uint32_t most = 0;

		for (uint32_t f = 1; f < s->functions.n; f++)
			most = calls[f] > calls[most] ? f : most;
		if (!s->functions.n || !calls[most])
			break;
		if (!is_named(s, out, n, most) && !fl_trigger_needs(s, most))
			out[n++] = most;
		calls[most] = 0;
	}
	return n;
}

/* No budget steers a recording of every call. */
static void tell_costly(struct fl_session *s)
{
	uint64_t *calls = calloc(s->functions.n + 1, sizeof(*calls));
	uint32_t most[COSTLY];
	char names[1024] = "";
	size_t n = calls ? find_costly(s, calls, most) : 0, at = 0;

	for (size_t i = 0; i < n && at < sizeof(names); i++)
		at += (size_t)snprintf(names + at, sizeof(names) - at, " -U '%s'",
				       fl_functions_name(&s->functions, most[i]));
	if (n)
		fl_say("recording every call took %.0f %% of the program's CPU time; leave out "
		       "most of it by%s", s->cost, names);
	free(calls);
}

/* A program's libraries may have a hundred times as many functions as it has. */
static void tell_wait(const struct fl_session *s)
{
	enum { MOST_NS = 500000000 };
	uint64_t took = s->pcs.work * fl_sampler_period_ns();
	const char *name = fl_base_name(s->launch.file);	/* patterns know no links */
	const struct fl_functions *r = &s->functions;
	uint32_t own = 0;

	if (took <= MOST_NS || s->attached || s->o->follow ||
	    fl_selection_has_patterns(s->o->selection))
		return;
	for (uint32_t f = 0; f < r->n; f++)
		own += !strcmp(fl_functions_module(r, r->all[f].module)->path, s->launch.file);
	if (own < r->n / 2)
		fl_say("it took %.1f s to make all functions' probes ready, with those of "
		       "libraries; -P '%s!*' records %s alone", (double)took / 1e9, name, name);
}

/* Each program that a process executes finds flick anew, if it can. */
static void tell_became(const struct fl_session *s)
{
	uint32_t runs = 0;
	const char *last;

	if (!s->sampler || s->o->follow || s->o->wait || s->attached || s->start.by_samples)
		return;
	last = fl_sampler_became(s->sampler, s->pid, &runs);
	if (last && runs > load_relaxed(&s->shm->n_images))
		fl_say("%s has become %s, into which flick did not come (it is static, or was "
		       "given another environment, or fewer rights): %s", s->o->argv[0], last,
		       s->self_is_cpu ? "samples alone tell of it" : "it is not recorded");
}

/* To record a compiler's driver, or a shell, is to ask for what it starts. The first process of
 * a daemon ends at once, and another does what is asked for. */
static void tell_children(const struct fl_session *s)
{
	enum { LEAST_NS = 50000000, NAMED = 3 };
	const struct fl_target_process *t = &s->target;
	int32_t children[64];
	size_t n = 0, alive = 0, at = 0;
	char pids[64] = "";

	if (s->o->follow || s->attached)
		return;
	if (t->children_ns >= LEAST_NS && t->children_ns >= t->cpu_ns)
		fl_say("%s's children took %.2f s of CPU time, itself %.2f: they are not "
		       "recorded; --follow records them", s->o->argv[0],
		       (double)t->children_ns / 1e9, (double)t->cpu_ns / 1e9);
	if (s->sampler)
		n = fl_sampler_children(s->sampler, s->pid, children, ARRAY_LEN(children));
	for (size_t i = 0; i < n; i++) {
		if ((kill(children[i], 0) && errno != EPERM) || fl_os_outside_is(children[i]))
			continue;
		if (alive++ < NAMED)
			at += (size_t)snprintf(pids + at, sizeof(pids) - at, "%s%d",
					       at ? ", " : "", children[i]);
	}
	if (alive)
		fl_say("%s left %zu process%s running (%s%s), not recorded: --follow records "
		       "what a program starts", s->o->argv[0], alive, alive > 1 ? "es" : "",
		       pids, alive > NAMED ? ", ..." : "");
}

void fl_session_tell(struct fl_session *s)
{
	tell_end(s);
	tell_wait(s);
	tell_became(s);
	tell_children(s);
	if (s->o->action == FL_ACT_TIME && s->cost > 100)
		tell_costly(s);
	tell_refusals(s);
	if (*s->watched)
		fl_say("%s", s->watched);
	tell_losses(s);
	tell_left_out(s);
	tell_outside(s);
	tell_unnamed(s);
}
