/*
 * named-result.c - what a session beside the recording's own has seen.
 *
 * Each session has analyses of its own, which are told of calls of its functions alone, from
 * when it begins. So a caller is the nearest one that the session wants, and what another
 * session records meanwhile is no more in its times than a probe that is off: the time that
 * the probes of others took is taken out (fl_batch.skipped).
 *
 * All that was recorded before is taken in before the session listens. Chunks that are being
 * filled are taken, too, as proved in channel/drain.c. Where calls are counted and few are
 * timed, the number of calls is the difference of two looks at the budget (budget.c): one when
 * the session begins, and one when its result is asked for, after a wait for that look.
 *
 * LOCKING	Readers take turns with a session's run. To ask for a result holds them all.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "session/budget/budget.h"
#include "session/change/named.h"
#include "session/readers.h"

enum { SOME = 512 };

struct fl_named_seen {
	const struct fl_named *of;
	struct fl_session *s;
	struct fl_use uses[FL_MAX_ANALYSES];
	size_t n_uses;
	struct fl_run *run;
	int error;			/* the first of its analyses */
	struct fl_sum *before;		/* by function: when it began; n_before of these */
	uint32_t n_before;
	pthread_mutex_t turn;		/* whose these are: */
	uint64_t *skipped;		/* by thread: ticks of probes of others' calls since
					 * its last record that was handed on; n_threads */
	uint32_t n_threads;
	struct flick_record records[SOME];
	uint64_t before_each[SOME];
};

/* ---- what it is told ------------------------------------------------------------------ */

static void note_error(struct fl_named_seen *d, int err)
{
	if (err && !d->error)
		d->error = err;
}

/* Each reader has numbers of its own for the program's threads. */
static uint32_t thread_of(const struct fl_named_seen *d, uint32_t reader, uint32_t thread)
{
	uint32_t readers = d->s->o->readers ? d->s->o->readers : 1;

	return thread * readers + reader;
}

static bool is_its_own(const struct fl_named_seen *d, uint32_t probe)
{
	return probe < d->of->n_wants && d->of->wants[probe] != FL_STAGE_NONE;
}

/* Each of a call's two probes takes half of what both take. Calls that were sampled bring that
 * time along. */
static uint64_t ticks_of(const struct fl_named_seen *d, const struct flick_record *r)
{
	const struct fl_view *v = &d->s->view;
	uint32_t probe = fl_record_probe(r);

	if (v->sampled || probe >= v->n_sites)
		return 0;
	return v->overhead[v->framed >> v->sites[probe].provider & 1].pair / 2;
}

static void hand_on(struct fl_named_seen *d, struct fl_batch *b)
{
	note_error(d, fl_run_feed(d->run, b));
	b->n = 0;
	b->paused = 0;
}

/* A session that only counts does not get what others have timed. A wait for room stands behind
 * the first record of all. */
static void hand_on_own(struct fl_named_seen *d, const struct fl_batch *b, uint64_t *skipped)
{
	struct fl_batch own = { .thread = b->thread, .records = d->records,
				.skipped = d->before_each };

	for (size_t i = 0; i < b->n; i++) {
		const struct flick_record *r = &b->records[i];

		if (is_its_own(d, fl_record_probe(r))) {
			d->records[own.n] = *r;
			d->before_each[own.n++] = *skipped;
			*skipped = 0;
		} else {
			*skipped += ticks_of(d, r);
		}
		if (i == 0 && own.n)
			own.paused = b->paused;
		else if (i == 0)
			*skipped += b->paused;
		if (own.n == SOME)
			hand_on(d, &own);
	}
	if (own.n)
		hand_on(d, &own);
}

static void take_batch(void *arg, uint32_t reader, const struct fl_batch *b)
{
	struct fl_named_seen *d = arg;
	struct fl_batch its = *b;

	if (d->of->stage == FL_STAGE_COUNT)
		return;
	its.thread = thread_of(d, reader, b->thread);
	pthread_mutex_lock(&d->turn);
	if (fl_array_extend(&d->skipped, &d->n_threads, its.thread + 1, sizeof(*d->skipped)))
		note_error(d, -ENOMEM);
	else
		hand_on_own(d, &its, &d->skipped[its.thread]);
	pthread_mutex_unlock(&d->turn);
}

static void take_count(void *arg, uint32_t reader, uint32_t thread, uint32_t probe, uint64_t n)
{
	struct fl_named_seen *d = arg;

	if (!is_its_own(d, probe))
		return;
	pthread_mutex_lock(&d->turn);
	note_error(d, fl_run_count(d->run, thread_of(d, reader, thread), probe, n));
	pthread_mutex_unlock(&d->turn);
}

static void take_end(void *arg, uint32_t reader, uint32_t thread, uint64_t alive)
{
	struct fl_named_seen *d = arg;

	thread = thread_of(d, reader, thread);
	pthread_mutex_lock(&d->turn);
	note_error(d, fl_run_thread_end(d->run, thread, alive));
	if (thread < d->n_threads)
		d->skipped[thread] = 0;
	pthread_mutex_unlock(&d->turn);
}

/* ---- its begin ------------------------------------------------------------------------ */

/* Can this recording give what analysis `a` needs? */
static bool is_to_be_had(const struct fl_session *s, const struct flick_analysis *a)
{
	switch (s->o->action) {
	case FL_ACT_COUNT:
		return a->needs == FLICK_NEEDS_COUNTS;
	case FL_ACT_SAMPLE:
		return a->needs == FLICK_NEEDS_SAMPLES;
	default:
		return a->needs <= FLICK_NEEDS_CALLS;
	}
}

static int open_use(struct fl_named_seen *d, const char *name, char why[FL_WHY])
{
	struct fl_use *use = &d->uses[d->n_uses];
	char text[FL_USE_WHY] = "";

	if (d->n_uses == ARRAY_LEN(d->uses)) {
		snprintf(why, FL_WHY, "there are more than %d analyses", FL_MAX_ANALYSES);
		return -1;
	}
	if (strchr(name, '/') || strstr(name, ".so")) {
		snprintf(why, FL_WHY, "`%.60s`: a session beside the recording's takes "
			 "analyses that flick has; `flick record -p` takes others", name);
		return -1;
	}
	if (fl_use_open(use, name, text)) {
		snprintf(why, FL_WHY, "%.200s", text);
		return -1;
	}
	d->n_uses++;
	if (is_to_be_had(d->s, use->analysis))
		return 0;
	snprintf(why, FL_WHY, "`%.60s` needs what this recording does not have: %s", name,
		 d->s->o->action == FL_ACT_COUNT ? "it counts calls, and times none" :
		 use->analysis->needs > FLICK_NEEDS_CALLS ? "it tells of calls alone" :
		 "it times a few calls of each function; with --all it times each");
	return -1;
}

static int open_uses(struct fl_named_seen *d, const char *names, char why[FL_WHY])
{
	char *copy = strdup(names), *rest = copy, *name;
	int err = copy ? 0 : -1;

	if (err)
		snprintf(why, FL_WHY, "out of memory");
	while (!err && (name = strsep(&rest, ",")))
		err = open_use(d, name, why);
	free(copy);
	return err;
}

/* NULL: no memory. */
static struct fl_sum *look_at_budget(const struct fl_session *s, uint32_t *n)
{
	struct fl_sum *of = calloc(s->functions.n + 1, sizeof(*of));

	*n = of ? s->functions.n : 0;
	for (uint32_t f = 0; f < *n && s->budget; f++)
		fl_budget_tell(s->budget, f, &of[f]);
	return of;
}

static int begin(struct fl_named_seen *d)
{
	const struct fl_listener listener = { d, take_batch, take_count, take_end };
	int err;

	fl_readers_gather(d->s);
	d->before = look_at_budget(d->s, &d->n_before);
	fl_readers_hold(d->s->readers);
	err = d->before ? fl_run_open(&d->run, d->uses, d->n_uses, &d->s->view) : -ENOMEM;
	if (!err)
		err = fl_readers_listen(d->s->readers, &listener);
	fl_readers_release(d->s->readers);
	return err;
}

int fl_named_begin(struct fl_named *of, struct fl_session *s, const char *analyses,
		   char why[FL_WHY])
{
	struct fl_named_seen *d = calloc(1, sizeof(*d));
	int err;

	of->seen = d;
	if (!d) {
		snprintf(why, FL_WHY, "out of memory");
		return -1;
	}
	d->of = of;
	d->s = s;
	pthread_mutex_init(&d->turn, NULL);
	if (!analyses)
		analyses = s->o->action == FL_ACT_COUNT ? "counts" : "latency";
	if (open_uses(d, analyses, why))
		return -1;
	err = begin(d);
	if (err)
		snprintf(why, FL_WHY, "%s", fl_reason(err));
	return err ? -1 : 0;
}

void fl_named_end(struct fl_named_seen *d)
{
	if (!d)
		return;
	fl_readers_hold(d->s->readers);
	fl_readers_part(d->s->readers, d);
	fl_readers_release(d->s->readers);
	fl_run_close(d->run);
	while (d->n_uses)
		fl_use_close(&d->uses[--d->n_uses]);
	pthread_mutex_destroy(&d->turn);
	free(d->skipped);
	free(d->before);
	free(d);
}

/* ---- its result ----------------------------------------------------------------------- */

bool fl_named_can_tell(const struct fl_session *s, uint64_t since_ns)
{
	return fl_budget_looked_ns(s->budget) > since_ns;
}

/* Calls of the session's functions since it began, as a budget has them. The errors of calls
 * before and after add up as those of independent estimates do. */
static int tell_estimates(struct fl_named_seen *d)
{
	const struct fl_session *s = d->s;
	uint32_t n;
	struct fl_sum *now = look_at_budget(s, &n);
	int err = now ? 0 : -ENOMEM;

	for (uint32_t i = 0; !err && i < s->chosen.n; i++) {
		uint32_t f = s->functions.function_of[i];
		struct fl_sum was = f < d->n_before ? d->before[f] : (struct fl_sum){ 0 };

		if (!is_its_own(d, i) || f >= n || now[f].calls <= was.calls)
			continue;
		err = fl_run_estimate(d->run, f, now[f].calls - was.calls,
				      now[f].counted - was.counted,
				      (uint64_t)sqrt(now[f].error_squared > was.error_squared ?
						     now[f].error_squared -
						     was.error_squared : 0));
	}
	free(now);
	return err;
}

static void write_use(FILE *to, struct fl_named_seen *d, size_t i)
{
	struct flick_rows rows = { 0 };
	struct fl_names *names = fl_session_names(d->s);
	struct fl_sheet sheet = { .result = &rows, .functions = fl_names_shown(names),
				  .n_functions = d->s->functions.n, .name = d->uses[i].name,
				  .sampled = d->s->view.sampled };
	bool is_usual = !strcmp(d->uses[i].name, "latency");
	int err = d->error ? d->error : fl_run_rows(d->run, i, &rows);

	if (!err && !fl_sheet_sort(&sheet, fl_usual_order(&sheet)))
		err = -ENOMEM;
	if (!err && is_usual)
		fl_sheet_choose(&sheet, d->of->stage == FL_STAGE_COUNT ? "calls,function" :
				"total,calls,avg,p50,p99,function");
	if (d->n_uses > 1)
		fprintf(to, "%s:\n", d->uses[i].name);
	if (err || !names)
		fprintf(to, "the analysis failed: %s\n", fl_reason(err ? err : -ENOMEM));
	else if (!rows.n_rows)
		fprintf(to, "no call of its functions was recorded\n");
	else
		fl_exporters[0]->write(to, &sheet);
	fl_sheet_free(&sheet);
	fl_names_free(names);
}

void fl_named_write(FILE *to, const struct fl_named *of, enum fl_telling how)
{
	struct fl_named_seen *d = of->seen;

	fl_readers_gather(d->s);
	fl_readers_hold(d->s->readers);
	fl_session_measure_tick(d->s);
	if (d->s->budget)
		note_error(d, tell_estimates(d));
	if (how == FL_TELL_LAST)
		note_error(d, fl_run_end(d->run));
	else
		fl_run_settle(d->run);
	for (size_t i = 0; i < d->n_uses; i++)
		write_use(to, d, i);
	fl_readers_release(d->s->readers);
}
