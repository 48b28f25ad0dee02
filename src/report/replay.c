/*
 * replay.c - run analyses on a recording's trace.
 *
 * What the reader knew of the target, names too, comes from results.db.
 */
#include <stdlib.h>
#include <string.h>

#include "report/replay.h"
#include "report/schema.h"

/* ---- what was known of the target -------------------------------------------- */

static const char *name_of(const void *owner, uint32_t function)
{
	const struct fl_store *s = owner;
	const char *const *names = s->names ? fl_names_shown(s->names) :
				   (const char *const *)s->functions;

	return function < s->n_functions ? names[function] : NULL;
}

#define FRAMED 1	/* stands for every provider except cyg (0), which may inline */

/* The kind called `name`, or FL_N_KINDS. */
static uint8_t kind_of(const char *name)
{
	uint8_t k = 0;

	while (k < FL_N_KINDS && strcmp(fl_kind_names[k], name))
		k++;
	return k;
}

/* Ids are dense: they were written so. */
static struct fl_shm_site read_site(struct fl_query *q, uint32_t id)
{
	struct fl_shm_site site = { .kind = kind_of(fl_query_text(q, 2)) };

	fl_query_number(q, 0, id, id);
	q->is_wrong |= site.kind == FL_N_KINDS;
	site.jump = fl_query_number(q, 3, 0, 1) != 0;
	site.provider = strcmp(fl_query_text(q, 4), "cyg") ? FRAMED : 0;
	return site;
}

/* 0 or -ENOMEM. */
static int read_sites(struct fl_store *s, struct fl_query *q, struct fl_view *v)
{
	const int64_t last = (int64_t)s->n_functions - 1;
	struct fl_shm_site *sites = NULL;
	uint32_t *function_of = NULL, n = 0;
	bool fits = true;

	while (fits && fl_query_row(q)) {
		fits = n < UINT32_MAX && !fl_array_room(&sites, n, sizeof(*sites)) &&
		       !fl_array_room(&function_of, n, sizeof(*function_of));
		if (!fits)
			break;
		sites[n] = read_site(q, n);
		function_of[n++] = (uint32_t)fl_query_number(q, 1, 0, last);
	}
	v->sites = fl_store_own(s, sites);
	v->function_of = fl_store_own(s, function_of);
	v->n_sites = n;
	return !fits || (n && (!v->sites || !v->function_of)) ? -ENOMEM : 0;
}

/* Ticks become times by `tick`, so it must be a sensible length of time. */
static int read_tick(struct fl_store *s, double *tick)
{
	char value[256] = "1", *end;

	fl_store_value(s, "ns_per_tick", value, sizeof(value));
	*tick = strtod(value, &end);
	return end != value && !*end && *tick >= 1e-6 && *tick <= 1e6 ? 0 : -1;
}

/* The overhead that was taken out of times while they were recorded. */
static void read_overhead(struct fl_store *s, struct fl_overhead o[2])
{
	enum { MOST = 100000 };		/* ticks: no probe takes longer */
	unsigned v[4];
	char value[256];

	if (!fl_store_value(s, "overhead", value, sizeof(value)) ||
	    sscanf(value, "%u %u %u %u", &v[0], &v[1], &v[2], &v[3]) != 4)
		return;
	for (int i = 0; i < 2; i++)
		if (v[2 * i] <= MOST && v[2 * i + 1] <= MOST)
			o[i] = (struct fl_overhead){ .inside = v[2 * i], .pair = v[2 * i + 1] };
}

int fl_store_view(struct fl_store *s, struct fl_view *v, char why[FL_WHY])
{
	char value[256];
	struct fl_query q;
	int err;

	*v = (struct fl_view){
		.framed = 1u << FRAMED, .name = name_of, .owner = s,
		.n_functions = (uint32_t)s->n_functions,
	};
	if (fl_query_check_table(s, "sites", why))
		return -1;
	v->sampled = fl_store_value(s, "mode", value, sizeof(value)) &&
		     !strcmp(value, "sampled");
	read_overhead(s, v->overhead);
	if (read_tick(s, &v->ns_per_tick))
		return fl_store_damaged(s, why);
	fl_query_open(&q, s, "SELECT id, function, kind, jump, provider FROM sites "
			     "ORDER BY id");
	err = read_sites(s, &q, v);
	if (fl_query_close(&q))
		return fl_store_damaged(s, why);
	return err ? fl_store_fail(s, why, "out of memory") : 0;
}

void fl_view_make_raw(struct fl_view *v)
{
	memset(v->overhead, 0, sizeof(v->overhead));
	v->has_pauses = true;
}

/* ---- where its functions are ---------------------------------------------------- */

/* A column that a recording may be too old for. */
static bool has_column(struct fl_store *s, const char *sql)
{
	struct fl_query q;

	fl_query_open(&q, s, sql);
	return !fl_query_close(&q);
}

/* By module's id; NULL: no memory, or the query is wrong. */
static struct fl_home *read_modules(struct fl_store *s, struct fl_query *q, uint32_t *n)
{
	struct fl_home *modules = NULL;

	*n = 0;
	while (!fl_array_room(&modules, *n, sizeof(*modules)) && fl_query_row(q)) {
		struct fl_home *m = &modules[*n];

		fl_query_number(q, 0, *n, *n);
		m->path = fl_store_own(s, strdup(fl_query_text(q, 1)));
		m->build_id = fl_store_own(s, strdup(fl_query_text(q, 2)));
		if (!m->path || !m->build_id)
			break;
		++*n;
	}
	return fl_store_own(s, modules);
}

int fl_store_homes(struct fl_store *s, const struct fl_home **out, char why[FL_WHY])
{
	struct fl_home *homes = fl_store_own(s, calloc(s->n_functions + 1, sizeof(*homes)));
	const struct fl_home *modules;
	struct fl_query q;
	uint32_t n;

	if (fl_query_check_table(s, "modules", why))
		return -1;
	fl_query_open(&q, s, has_column(s, "SELECT build_id FROM modules") ?
		      "SELECT id, path, coalesce(build_id, '') FROM modules ORDER BY id" :
		      "SELECT id, path, '' FROM modules ORDER BY id");
	modules = read_modules(s, &q, &n);
	if (fl_query_close(&q))
		return fl_store_damaged(s, why);
	fl_query_open(&q, s, "SELECT module, offset FROM functions ORDER BY id");
	for (size_t i = 0; homes && modules && i < s->n_functions && fl_query_row(&q); i++) {
		int64_t module = fl_query_number(&q, 0, 0, UINT16_MAX);

		homes[i] = module < n ? modules[module] : (struct fl_home){ "", "", 0 };
		homes[i].at = (uint64_t)fl_query_number(&q, 1, INT64_MIN + 1, INT64_MAX);
	}
	if (fl_query_close(&q))
		return fl_store_damaged(s, why);
	*out = homes;
	return homes && modules ? 0 : fl_store_fail(s, why, "out of memory");
}

/* ---- its threads --------------------------------------------------------------------- */

/* The pid of all threads of a recording that is older than the column `pid`. */
static int32_t session_pid(struct fl_store *s)
{
	char why[FL_WHY];
	uint64_t pid;

	return fl_store_number(s, "pid", &pid, why) || pid > INT32_MAX ? 0 : (int32_t)pid;
}

static struct fl_thread read_thread(struct fl_query *q, uint32_t id)
{
	struct fl_thread t = { .tid = (int32_t)fl_query_number(q, 1, INT32_MIN, INT32_MAX) };

	fl_query_number(q, 0, id, id);
	snprintf(t.name, sizeof(t.name), "%s", fl_query_text(q, 2));
	t.delivered = (uint64_t)fl_query_number(q, 3, 0, INT64_MAX);
	return t;
}

int fl_store_threads(struct fl_store *s, const struct fl_thread **out, uint32_t *n,
		     char why[FL_WHY])
{
	bool has_pid, fits = true;
	struct fl_thread *t = NULL;
	struct fl_query q;

	*n = 0;
	if (fl_query_check_table(s, "threads", why))
		return -1;
	has_pid = has_column(s, "SELECT pid FROM threads");
	fl_query_open(&q, s, has_pid ?
		      "SELECT id, tid, name, delivered, pid FROM threads ORDER BY id" :
		      "SELECT id, tid, name, delivered FROM threads ORDER BY id");
	while (fits && fl_query_row(&q)) {
		fits = !fl_array_room(&t, *n, sizeof(*t));
		if (!fits)
			break;
		t[*n] = read_thread(&q, *n);
		t[*n].pid = has_pid ? (int32_t)fl_query_number(&q, 4, INT32_MIN, INT32_MAX) :
			    session_pid(s);
		++*n;
	}
	*out = t = fl_store_own(s, t);
	if (fl_query_close(&q))
		return fl_store_damaged(s, why);
	return fits && (t || !*n) ? 0 : fl_store_fail(s, why, "out of memory");
}

/* ---- a part ------------------------------------------------------------------------ */

/* A span counts ticks from the session's `start_tsc`. */
int fl_span_of(struct fl_span *span, struct fl_store *s, const struct fl_view *view,
	       const struct fl_part *part, char why[FL_WHY])
{
	const double from = (double)part->from_ns / view->ns_per_tick;
	const double until = (double)part->until_ns / view->ns_per_tick;
	uint64_t start;

	if (fl_store_number(s, "start_tsc", &start, why))
		return -1;
	*span = (struct fl_span){
		start + (from < 4e18 ? (uint64_t)from : 1ull << 62),
		until < 4e18 ? start + (uint64_t)until : UINT64_MAX };
	return 0;
}

/* Nobody knows when a call ended that was left without a return: its begin counts. */
bool fl_span_is_behind(const struct fl_span *span, const struct flick_call *call)
{
	uint64_t end = call->how == FLICK_ENDED ? call->begin + call->raw_total : call->begin;

	return call->how != FLICK_OPEN && end < span->from;
}

/* An analysis that is given only the calls of a span. A call that it is not given ended
 * before every call that it is given, so it still sees all callers of those. Of a call that was
 * left nobody knows when: what seems to lie in it may be of the span. */
struct part {
	const struct flick_analysis *of;
	void *state;
	const struct fl_span *span;
	bool is_in;			/* the batch begins in the span */
};

/* An analysis takes no argument but a text, so its part waits here while it opens; one
 * analysis opens at a time. */
static struct part *opening;

static int open_part(void **state, const struct flick_view *view, const char *arg)
{
	*state = opening;
	return opening->of->open(&opening->state, view, arg);
}

static int leave_part(void *state, const struct flick_call *call, void **mark, void **caller)
{
	struct part *p = state;
	struct flick_call left = *call;

	if (!fl_span_is_behind(p->span, call))
		return p->of->leave(p->state, call, mark, caller);
	left.flags |= FL_CALL_BEHIND;
	return call->how == FLICK_UNWOUND ? p->of->leave(p->state, &left, mark, caller) : 0;
}

static int stray_part(void *state, uint32_t thread, uint32_t function, void **root)
{
	struct part *p = state;

	return p->is_in && p->of->stray ? p->of->stray(p->state, thread, function, root) : 0;
}

static int thread_end_part(void *state, uint32_t thread, void **root)
{
	struct part *p = state;

	return p->of->thread_end ? p->of->thread_end(p->state, thread, root) : 0;
}

static int rows_part(void *state, struct flick_rows *r)
{
	struct part *p = state;

	return p->of->rows(p->state, r);
}

static void close_part(void *state)
{
	struct part *p = state;

	p->of->close(p->state);
}

static const struct flick_analysis part_analysis = {
	.size = sizeof(struct flick_analysis), .version = FLICK_ANALYSIS_VERSION,
	.needs = FLICK_NEEDS_CALLS, .name = "part", .about = "",
	.open = open_part, .leave = leave_part, .stray = stray_part,
	.thread_end = thread_end_part, .rows = rows_part, .close = close_part,
};

/* ---- running ------------------------------------------------------------------- */

struct replay {
	struct fl_run *run;
	const struct fl_span *span;
	struct part part;
	int err;
};

static void feed(void *arg, const struct fl_batch *b)
{
	struct replay *r = arg;
	struct fl_batch cut = *b;

	while (r->span && cut.n && cut.records[cut.n - 1].tsc > r->span->until)
		cut.n--;
	r->part.is_in = r->span && cut.n && cut.records[0].tsc >= r->span->from;
	if (!r->err && (cut.n || !b->n))
		r->err = fl_run_feed(r->run, &cut);
}

static void thread_end(void *arg, uint32_t thread, uint64_t alive)
{
	struct replay *r = arg;

	if (!r->err)
		r->err = fl_run_thread_end(r->run, thread, alive);
}

static int open_run(struct replay *r, struct fl_view *view, const struct fl_use *use)
{
	struct fl_use part = { .analysis = &part_analysis, .name = use->name };

	if (!r->span || use->analysis->enter)
		return fl_run_open(&r->run, use, 1, view);
	view->from = r->span->from;
	view->is_cut = r->span->until != UINT64_MAX;
	r->part.of = use->analysis;
	r->part.span = r->span;
	opening = &r->part;
	return fl_run_open(&r->run, &part, 1, view);
}

int fl_replay(const char *dir, const struct fl_view *of, const struct fl_use *use,
	      const struct fl_span *span, struct flick_rows *rows, char why[FL_WHY])
{
	struct replay r = { .span = span };
	struct fl_view view = *of;
	struct fl_sink sink = { .arg = &r, .feed = feed, .thread_end = thread_end };
	int status = -1;

	r.err = open_run(&r, &view, use);
	if (!r.err)
		status = fl_trace_read(dir, &sink, why);
	if (!r.err && status >= 0)
		r.err = fl_run_end(r.run);
	if (!r.err && status >= 0 && rows)
		r.err = fl_run_rows(r.run, 0, rows);
	if (r.err) {
		fl_why(why, dir, "the analysis of its trace failed: %s", fl_reason(r.err));
		status = -1;
	}
	fl_run_close(r.run);
	return status;
}

int fl_trace_rows(struct fl_store *s, const char *dir, const char *analysis,
		  const struct fl_part *part, struct flick_rows *rows, char why[FL_WHY])
{
	struct fl_use use = { .analysis = fl_analysis_find(analysis) };
	struct fl_span span;
	struct fl_view view;

	if (fl_store_view(s, &view, why) || (part && fl_span_of(&span, s, &view, part, why)))
		return -1;
	if (view.sampled) {
		fl_why(why, dir, "was sampled, so it has no callers");
		return -1;
	}
	return fl_replay(dir, &view, &use, part ? &span : NULL, rows, why);
}
