/*
 * replay.c - run analyses on a recording's trace.
 *
 * What the reader knew of the target comes from results.db; names, too.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/replay.h"
#include "report/schema.h"

/* ---- what was known of the target -------------------------------------------- */

static const char *name_of(const void *owner, uint32_t function)
{
	const struct fl_store *s = owner;

	return function < s->n_functions ? s->functions[function] : NULL;
}

#define FRAMED 1	/* providers, as far as they matter here; 0: may be inlined */

static uint8_t kind_of(const char *name)
{
	for (int k = 0; name && k < FL_N_KINDS; k++)
		if (!strcmp(fl_kind_names[k], name))
			return (uint8_t)k;
	return FL_N_KINDS;
}

/* Ids are dense, as they are written; a row that is not is damage. */
static int read_sites(struct fl_store *s, sqlite3_stmt *st, struct fl_view *v, size_t n)
{
	struct fl_shm_site *sites = fl_store_own(s, calloc(n + 1, sizeof(*sites)));
	uint32_t *function_of = fl_store_own(s, calloc(n + 1, sizeof(*function_of)));

	if (!sites || !function_of)
		return -1;
	while (v->n_sites < n && sqlite3_step(st) == SQLITE_ROW) {
		int64_t function = sqlite3_column_int64(st, 1);

		if (sqlite3_column_int64(st, 0) != v->n_sites || function < 0 ||
		    (uint64_t)function >= s->n_functions)
			return -1;
		sites[v->n_sites].kind = kind_of((const char *)sqlite3_column_text(st, 2));
		sites[v->n_sites].jump = sqlite3_column_int(st, 3) != 0;
		sites[v->n_sites].provider = sqlite3_column_int(st, 4) ? FRAMED : 0;
		function_of[v->n_sites++] = (uint32_t)function;
	}
	v->sites = sites;
	v->function_of = function_of;
	return v->n_sites == n ? 0 : -1;
}

/* Ticks become times by it: what is no length of time makes none. */
static int read_tick(struct fl_store *s, double *tick)
{
	char value[256] = "1", *end;

	fl_store_value(s, "ns_per_tick", value);
	*tick = strtod(value, &end);
	return end != value && !*end && isfinite(*tick) && *tick > 0 ? 0 : -1;
}

int fl_store_view(struct fl_store *s, struct fl_view *v, char why[FL_WHY])
{
	static const char select[] = "SELECT id, function, kind, jump, "
				     "provider <> 'cyg' FROM sites ORDER BY id";
	sqlite3_stmt *count = NULL, *st = NULL;
	char value[256];
	int err = -1;

	*v = (struct fl_view){
		.framed = 1u << FRAMED, .name = name_of, .owner = s,
		.n_functions = (uint32_t)s->n_functions,
	};
	v->sampled = fl_store_value(s, "mode", value) && !strcmp(value, "sampled");
	if (!read_tick(s, &v->ns_per_tick) &&
	    sqlite3_prepare_v2(s->db, "SELECT count(*) FROM sites", -1, &count, NULL) ==
	    SQLITE_OK && sqlite3_step(count) == SQLITE_ROW &&
	    sqlite3_prepare_v2(s->db, select, -1, &st, NULL) == SQLITE_OK)
		err = read_sites(s, st, v, (size_t)sqlite3_column_int64(count, 0));
	sqlite3_finalize(count);
	sqlite3_finalize(st);
	return err ? fl_store_fail(s, why, "damaged: record again") : 0;
}

/* What was recorded before there was a column `pid` has the session's. */
static sqlite3_stmt *ask_thread(struct fl_store *s)
{
	static const char *const queries[] = {
		"SELECT tid, name, pid FROM threads WHERE id = ?",
		"SELECT tid, name, (SELECT value FROM session WHERE key = 'pid') "
		"FROM threads WHERE id = ?",
	};
	sqlite3_stmt *st = NULL;

	for (size_t i = 0; i < ARRAY_LEN(queries); i++)
		if (sqlite3_prepare_v2(s->db, queries[i], -1, &st, NULL) == SQLITE_OK)
			return st;
	return NULL;
}

bool fl_store_thread(struct fl_store *s, uint32_t i, struct fl_thread *t)
{
	sqlite3_stmt *st = ask_thread(s);
	bool found = false;

	*t = (struct fl_thread){ 0 };
	if (!st)
		return false;
	sqlite3_bind_int64(st, 1, i);
	if (sqlite3_step(st) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(st, 1);

		t->tid = sqlite3_column_int(st, 0);
		t->pid = sqlite3_column_int(st, 2);
		snprintf(t->name, sizeof(t->name), "%s", name ? name : "");
		found = true;
	}
	sqlite3_finalize(st);
	return found;
}

/* ---- running ------------------------------------------------------------------- */

struct replay {
	struct fl_run *run;
	int err;
};

static void feed(void *arg, const struct fl_batch *b)
{
	struct replay *r = arg;

	if (!r->err)
		r->err = fl_run_feed(r->run, b);
}

static void thread_end(void *arg, uint32_t thread)
{
	struct replay *r = arg;

	if (!r->err)
		r->err = fl_run_thread_end(r->run, thread);
}

int fl_replay(const char *dir, const struct fl_view *view, const struct fl_use *use,
	      struct flick_rows *rows, char why[FL_WHY])
{
	struct replay r = { 0 };
	struct fl_sink sink = { .arg = &r, .feed = feed, .thread_end = thread_end };
	int status = -1;

	r.err = fl_run_open(&r.run, use, 1, view);
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

int fl_trace_tree(struct fl_store *s, const char *dir, struct flick_rows *rows,
		  char why[FL_WHY])
{
	struct fl_use use = { .analysis = fl_analysis_find("tree") };
	struct fl_view view;

	if (fl_store_view(s, &view, why))
		return -1;
	if (view.sampled) {
		fl_why(why, dir, "was sampled, so it has no callers");
		return -1;
	}
	return fl_replay(dir, &view, &use, rows, why);
}
