/*
 * finish.c - what a session leaves behind: its file and its status.
 */
#include <signal.h>
#include <stdarg.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "arch/arch.h"
#include "os/os.h"
#include "session/samples/bare.h"
#include "session/change/change.h"
#include "session/samples/contexts.h"
#include "session/cost.h"
#include "session/functions.h"
#include "session/lines.h"
#include "session/results.h"
#include "session/trigger.h"
#include "site/site.h"

#define MAX_PAIRS 48

struct pairs {
	struct fl_pair pair[MAX_PAIRS];
	size_t n;
};

__attribute__((format(printf, 3, 4)))
static void put(struct pairs *p, const char *key, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	p->pair[p->n].key = key;
	vsnprintf(p->pair[p->n].value, sizeof(p->pair[p->n].value), format, ap);
	va_end(ap);
	p->n++;
}

static const char *mode_of(const struct fl_session *s)
{
	if (s->o->rate)
		return "windows";
	switch (s->o->action) {
	case FL_ACT_SAMPLE: return "sampled";
	case FL_ACT_COUNT:  return "counted";
	default:	    return "exhaustive";
	}
}

static void put_arguments(struct pairs *p, char **argv)
{
	char line[FL_VALUE] = "";
	size_t n = 0;

	for (; *argv && n < sizeof(line) - 1; argv++) {
		int more = snprintf(line + n, sizeof(line) - n, "%s%s", n ? " " : "", *argv);

		n += more > 0 ? (size_t)more : 0;
	}
	put(p, "command", "%s", line);
}

/* What the recording ended with. */
static void put_account(struct pairs *p, const struct fl_account *a)
{
	put(p, "produced", "%llu", (unsigned long long)a->produced);
	put(p, "delivered", "%llu", (unsigned long long)a->delivered);
	put(p, "lost", "%llu", (unsigned long long)a->lost);
	put(p, "filtered", "%llu", (unsigned long long)a->filtered);
	put(p, "active", "%llu", (unsigned long long)a->active);
	put(p, "refused", "%llu", (unsigned long long)a->refused);
	put(p, "bodies", "%llu", (unsigned long long)a->bodies);
	put(p, "without_body", "%llu", (unsigned long long)a->without);
	put(p, "cost", "%s", a->cost);
}

int fl_store_warn(struct fl_store *store)
{
	const enum fl_unfinished left = fl_store_unfinished(store);
	uint64_t lost = 0;
	char why[FL_WHY];
	int err = fl_store_number(store, "lost", &lost, why);

	if (!err && left != FL_ALL_FINISHED)
		fl_say("a later recording into this directory %s: these are results of the "
		       "one before", left == FL_UNDER_WAY ? "has not ended" :
		       "was killed and left none");

	if (err)
		fl_say("%s", why);
	else if (lost)
		fl_say("%llu events were lost when this was recorded: calls are missing",
		       (unsigned long long)lost);
	return err;
}

static void put_machine(struct pairs *p)
{
	struct utsname u;

	if (uname(&u))
		return;
	put(p, "kernel", "%s", u.release);
	put(p, "machine", "%s", u.machine);
}

/* Rates in percent. */
static void put_rate(struct pairs *p, const struct fl_session *s)
{
	if (!s->o->rate)
		return;
	put(p, "rate", "%.*f", s->rate < 0.01 ? 2 : 1, 100 * s->rate);
	put(p, "rate_wished", "%s", s->o->rate_text);
	put(p, "windows", "%llu", (unsigned long long)s->n_windows);
}

static void describe(struct pairs *p, const struct fl_session *s)
{
	uint64_t ns = fl_os_monotonic_ns() - s->start_ns;
	char when[32], bare[256], switched[FL_CHANGE_SAYS];
	time_t now = time(NULL);

	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
	put(p, "version", "%s", FLICK_VERSION);
	put(p, "ended", "%s", when);
	put(p, "duration_ns", "%llu", (unsigned long long)ns);
	put(p, "pid", "%d", s->pid);
	put(p, "status", "%d", s->target.status);
	put(p, "mode", "%s", mode_of(s));
	put_rate(p, s);
	put(p, "samples", "%u", s->o->samples);
	put(p, "epoch_ms", "%u", s->o->epoch_ms);
	if (s->o->action == FL_ACT_SAMPLE)
		put(p, "budget", "%g", 100 * s->o->budget);
	put(p, "start_tsc", "%llu", (unsigned long long)s->start_tsc);
	if (s->begun_ns)
		put(p, "begun_ns", "%llu", (unsigned long long)s->begun_ns);
	put(p, "ns_per_tick", "%.9f", s->view.ns_per_tick);
	put_account(p, &s->account);
	put(p, "overhead", "%u %u %u %u", s->view.overhead[0].inside,
	    s->view.overhead[0].pair, s->view.overhead[1].inside, s->view.overhead[1].pair);
	put(p, "self", "%s", s->self_is_cpu ? "samples" : s->o->raw ? "raw" : "clock");
	put(p, "processes", "%llu", (unsigned long long)s->account.processes);
	put(p, "images", "%u", s->shm->n_images);
	if (*s->watched)
		put(p, "watched", "%s", s->watched);
	if (s->sampler) {
		put(p, "pc_samples", "%llu",
		    (unsigned long long)(s->pcs.taken - s->pcs.taken_own));
		put(p, "pc_own", "%llu", (unsigned long long)s->pcs.taken_own);
		put(p, "pc_sample_ns", "%u", s->prices.sample_ns);
		put(p, "pc_lost", "%llu", (unsigned long long)fl_sampler_lost(s->sampler));
		put(p, "user_ns", "%llu", (unsigned long long)fl_cost_user_ns(s));
		put(p, "kernel_ns", "%llu", (unsigned long long)fl_cost_kernel_ns(s));
	}
	put(p, "stacks", "%s", s->has_stacks ? "" : fl_contexts_lack(s));
	if (s->has_stacks) {
		put(p, "stacks_completed", "%llu",
		    (unsigned long long)s->stack_ends.completed);
		put(p, "stacks_unknown", "%llu", (unsigned long long)s->stack_ends.unknown);
	}
	put(p, "preempted", "%s", fl_preempt_is_told(s->preempt) ? "out" : "in");
	fl_bare_say(s, bare, sizeof(bare));
	if (*bare)
		put(p, "bare", "%s", bare);
	fl_change_say(s, switched, sizeof(switched));
	if (*switched)
		put(p, "switched", "%s", switched);
	put(p, "toggles", "%llu", (unsigned long long)s->shared->toggles);
	put(p, "rearm_ticks", "%llu", (unsigned long long)s->shared->rearm_ticks);
	put_arguments(p, s->o->argv);
	put_machine(p);
}

struct fl_shm_site fl_session_site(const struct fl_session *s, uint32_t i)
{
	const struct fl_shm_site now = fl_site_copy(&s->sites[i]);
	struct fl_shm_site site = s->functions.sites[i];

	/* A site has room for more providers than there are. */
	site.provider = site.provider < FL_N_PROVIDERS ? site.provider : 0;
	site.refusal = now.refusal;
	site.datum = now.datum;
	site.tactic = now.tactic;
	site.state = now.state;
	return site;
}

bool fl_session_is_leave_of(const struct fl_session *s, uint32_t i, uint32_t entry)
{
	const struct fl_shm_site *sites = s->functions.sites;

	return entry != FL_NO_ROW && i != entry && sites[i].provider == FL_PROVIDER_BODY &&
	       sites[i].function == sites[entry].function;
}

int fl_session_refusal(const struct fl_session *s, uint32_t i, uint32_t *entry)
{
	if (fl_is_function(&s->functions.sites[i]))
		*entry = i;
	else if (fl_session_is_leave_of(s, i, *entry))
		i = *entry;
	return load_relaxed(&s->sites[i].refusal);
}

enum { IN_RESULT = 1, PROBED = 2 };

static void mark_column(const struct fl_session *s, const struct flick_rows *rows, size_t c,
			unsigned char *shown)
{
	for (size_t i = 0; i < rows->n_rows; i++) {
		uint64_t f = rows->cells[i * rows->n_columns + c];

		if (f < s->functions.n)
			shown[f] |= IN_RESULT;
	}
}

static void mark_result(const struct fl_session *s, const struct flick_rows *rows,
			unsigned char *shown)
{
	for (size_t c = 0; c < rows->n_columns; c++)
		if (rows->columns[c].type == FLICK_COL_FUNCTION)
			mark_column(s, rows, c, shown);
}

static unsigned char *mark_functions(const struct fl_session *s)
{
	unsigned char *marks = calloc(s->functions.n + 1, 1);

	for (size_t i = 0; marks && i < s->o->n_analyses; i++)
		if (s->has_result[i])
			mark_result(s, &s->results[i], marks);
	for (size_t i = 0; marks && i < FL_N_SAMPLED; i++)
		mark_result(s, &s->sampled[i], marks);
	return marks;
}

/* Sites and functions that have a row. */
struct kept_rows {
	struct fl_shm_site *sites;
	unsigned char *is_kept;		/* index: site */
	uint32_t *row_of;		/* index: function */
};

/* Only sites whose rows tell something have one: sites of functions that a result names, and
 * refused ones. A large program calls few of its functions. Beside a trace all sites have rows,
 * and all functions. */
static bool choose_rows(struct kept_rows *k, const struct fl_session *s, unsigned char *marks)
{
	uint32_t n = 0;

	*k = (struct kept_rows){
		malloc((s->chosen.n + 1) * sizeof(*k->sites)), malloc(s->chosen.n + 1),
		malloc((s->functions.n + 1) * sizeof(*k->row_of)),
	};
	if (!k->sites || !k->is_kept || !k->row_of)
		return false;
	for (uint32_t i = 0; i < s->chosen.n; i++) {
		uint32_t f = s->functions.function_of[i];
		bool tells = marks[f] & IN_RESULT || s->sites[i].refusal;

		k->is_kept[i] = s->trace || (s->chosen.marks[i] && tells);
		if (!k->is_kept[i])
			continue;
		k->sites[i] = fl_session_site(s, i);
		marks[f] |= s->chosen.marks[i] ? PROBED : 0;
	}
	for (uint32_t f = 0; f < s->functions.n; f++)
		k->row_of[f] = marks[f] || s->trace ? n++ : FL_NO_ROW;
	return true;
}

/* A thread that makes the names of all that is kept, and looks up source lines of functions
 * that are in a result and have a probe: for others the files with lines, which are as large
 * as all else, need not be read. Meanwhile the rest is written. */
struct lines {
	struct fl_session *s;
	unsigned char *marks;
	pthread_t thread;
	bool is_alone;			/* there is no thread */
};

static void *look_up_lines(void *arg)
{
	struct lines *l = arg;

	for (uint32_t f = 0; f < l->s->functions.n; f++)
		if (l->marks[f] || l->s->trace)
			l->marks[f] = FL_FUNCTIONS_NAME | (l->marks[f] == (IN_RESULT | PROBED) ?
							FL_FUNCTIONS_LINES : 0);
	fl_lines_end(l->s->lines);
	fl_functions_lines(&l->s->functions, l->s->lines, l->marks);
	return NULL;
}

static void begin_lines(struct lines *l)
{
	l->is_alone = pthread_create(&l->thread, NULL, look_up_lines, l) != 0;
	if (l->is_alone)
		look_up_lines(l);
}

static void await_lines(void *arg)
{
	struct lines *l = arg;

	if (!l->is_alone)
		pthread_join(l->thread, NULL);
	l->is_alone = true;
}

static int save_with(struct fl_session *s, const struct kept_rows *kept,
		     struct lines *lines)
{
	const char *names[FL_MAX_ANALYSES + FL_N_SAMPLED], *providers[FL_N_PROVIDERS];
	struct flick_rows results[FL_MAX_ANALYSES + FL_N_SAMPLED];
	struct fl_recording r = {
		.modules = s->functions.modules, .n_modules = s->functions.n_modules,
		.symbols = s->functions.symbols,
		.sites = kept->sites, .n_sites = s->chosen.n, .kept = kept->is_kept,
		.function_of = s->functions.function_of,
		.providers = providers, .tactics = fl_tactic_names,
		.functions = s->functions.all, .n_functions = s->functions.n,
		.lines = await_lines, .lines_of = lines, .row_of = kept->row_of,
		.names = names, .results = results,
	};
	struct pairs p = { .n = 0 };
	char why[FL_WHY] = "";

	for (int i = 0; i < FL_N_PROVIDERS; i++)
		providers[i] = fl_providers[i]->name;
	for (size_t i = 0; i < s->o->n_analyses; i++) {
		if (!s->has_result[i])
			continue;
		names[r.n_results] = s->o->analyses[i].name;
		results[r.n_results++] = s->results[i];
	}
	for (size_t i = 0; i < FL_N_SAMPLED; i++) {
		if (!s->sampled[i].n_columns)
			continue;
		names[r.n_results] = fl_sampled_results[i].name;
		results[r.n_results++] = s->sampled[i];
	}
	r.threads = fl_readers_threads(s, &r.n_threads);
	describe(&p, s);
	r.session = p.pair;
	r.n_session = p.n;
	if (fl_store_save(s->store, &r, why)) {
		fl_say("cannot write results: %s; nothing of this recording is kept", why);
		return -1;
	}
	if (!s->trace || !fl_trigger_has_fired(s->trigger) || !fl_trace_save(s->trace, why))
		return 0;
	fl_say("the trace ends early: %s; all else is kept", why);
	return -1;
}

static int save(struct fl_session *s)
{
	struct lines lines = { .s = s, .marks = mark_functions(s) };
	struct kept_rows kept = { NULL, NULL, NULL };
	int err = -1;

	if (lines.marks && choose_rows(&kept, s, lines.marks)) {
		begin_lines(&lines);
		err = save_with(s, &kept, &lines);
		await_lines(&lines);
	} else {
		fl_say("cannot write results: %s", fl_reason(-ENOMEM));
	}
	free(kept.sites);
	free(kept.is_kept);
	free(kept.row_of);
	free(lines.marks);
	return err;
}

/* ---- the end ------------------------------------------------------------------------ */

static int exit_status(const struct fl_session *s)
{
	uint32_t left_out = s->shm->left_out & (FL_LEFT_SITES | FL_LEFT_MODULES);
	bool is_cut = s->is_spent && !fl_session_is_left(s);

	if ((s->account.lost || left_out || is_cut) && !s->o->allow_loss)
		return FL_EXIT_LOST;
	if (s->o->exit_code)
		return WIFSIGNALED(s->target.status) ? 128 + WTERMSIG(s->target.status) :
		       WEXITSTATUS(s->target.status);
	return FL_EXIT_WELL;
}

int fl_session_finish(struct fl_session *s)
{
	int status = exit_status(s);

	if ((s->store && save(s)) || s->result_failed)
		status = FL_EXIT_FAILED;
	if (s->store && status != FL_EXIT_FAILED && isatty(STDERR_FILENO))
		fl_say("kept in %s; `flick report%s%s` shows it", s->o->dir,
		       strcmp(s->o->dir, "flick.data") ? " " : "",
		       strcmp(s->o->dir, "flick.data") ? s->o->dir : "");
	fl_session_tell(s);
	return status;
}
