/*
 * analyses.c - which analyses a session has, and what they have found.
 */
#include <stdlib.h>
#include <string.h>

#include "session/functions.h"
#include "session/results.h"

/* ---- asked for -------------------------------------------------------------------- */

const char *fl_analysis_each(size_t i)
{
	return fl_analyses[i] ? fl_analyses[i]->name : NULL;
}

#define OF_TREES ", with --follow,", \
	"record --follow has it, where it has self times of samples"
#define OF_THREADS "", \
	"recordings of several threads have it, where they have self times of samples"

const struct fl_sampled_result fl_sampled_results[FL_N_SAMPLED] = {
	[FL_R_STACKS] = { FL_STACKS, "", NULL },
	[FL_R_PROGRAMS] = { FL_PROGRAMS, OF_TREES },
	[FL_R_PROGRAM_FUNCTIONS] = { FL_PROGRAM_FUNCTIONS, OF_TREES },
	[FL_R_BY_THREAD] = { FL_BY_THREAD, OF_THREADS },
	[FL_R_THREAD_FUNCTIONS] = { FL_THREAD_FUNCTIONS, OF_THREADS },
	[FL_R_PLACES] = { FL_PLACES, "", "recordings with self times of samples have it" },
};

/* Names of tables have no case. */
const struct fl_sampled_result *fl_sampled_result(const char *name)
{
	for (size_t i = 0; i < FL_N_SAMPLED; i++)
		if (!strcasecmp(name, fl_sampled_results[i].name))
			return &fl_sampled_results[i];
	return NULL;
}

int fl_session_use(struct fl_session_options *o, const char *spec)
{
	const struct fl_sampled_result *sampled;
	char why[FL_USE_WHY];
	struct fl_use use;

	if (o->n_analyses == FL_MAX_ANALYSES) {
		fl_say("too many analyses: %d at most", FL_MAX_ANALYSES);
		return -1;
	}
	sampled = fl_sampled_result(spec);
	if (sampled) {
		fl_say("`%s` needs no -a: recordings without one%s have it, and `flick report "
		       "-a %s` shows it", spec, sampled->with, spec);
		return -1;
	}
	if (fl_use_open(&use, spec, why)) {
		fl_say("%s", why);
		return -1;
	}
	o->analyses[o->n_analyses++] = use;
	if (!fl_store_takes(use.name) || fl_is_of_samples(use.name)) {
		fl_say("%s: `%s` is the name of another table in results.db", spec, use.name);
		return -1;
	}
	for (size_t i = 0; i + 1 < o->n_analyses; i++) {
		if (strcasecmp(o->analyses[i].name, use.name))
			continue;
		fl_say("there are two analyses called `%s`; name it once", use.name);
		return -1;
	}
	return 0;
}

struct fl_use *fl_session_find_use(struct fl_session_options *o, const char *name)
{
	for (size_t i = 0; i < o->n_analyses; i++)
		if (!strcmp(o->analyses[i].name, name))
			return &o->analyses[i];
	return NULL;
}

/* Options of `cache` take it, too; the arguments of -a have no room for a geometry's commas. */
static struct fl_use *use_cache(struct fl_session_options *o)
{
	if (!fl_session_find_use(o, "cache") && fl_session_use(o, "cache"))
		return NULL;
	return fl_session_find_use(o, "cache");
}

int fl_session_take_lines(void *options, const struct fl_option *o, const char *text)
{
	struct fl_session_options *to = options;

	(void)o;
	(void)text;
	to->lines = true;
	return use_cache(to) ? 0 : -1;
}

int fl_session_take_cache(void *options, const struct fl_option *o, const char *geometry)
{
	struct fl_cache_level levels[FL_CACHE_LEVELS];
	struct fl_session_options *to = options;
	char why[FL_USE_WHY];
	struct fl_use *use;

	(void)o;
	if (fl_cache_parse(levels, FL_CACHE_LEVELS, geometry, why) < 0) {
		fl_say("--cache=%s: %s", geometry, why);
		return -1;
	}
	use = use_cache(to);
	if (!use)
		return -1;
	free(use->arg);
	use->arg = strdup(geometry);
	return use->arg ? 0 : -1;
}

/* A path may not hold a comma. */
int fl_session_take_uses(void *options, const struct fl_option *o, const char *list)
{
	char *names = strdup(list), *rest = names;
	const char *name;
	int err = names ? 0 : -1;

	(void)o;
	while (!err && (name = strsep(&rest, ",")))
		if (strcmp(name, "cache") || !fl_session_find_use(options, name))
			err = fl_session_use(options, name);
	free(names);
	return err;
}

void fl_session_drop_uses(struct fl_session_options *o)
{
	while (o->n_analyses)
		fl_use_close(&o->analyses[--o->n_analyses]);
}

/* ---- found -------------------------------------------------------------------------- */

/* A result that cannot be had is told; the others are kept. */
void fl_session_make_results(struct fl_session *s)
{
	for (size_t i = 0; i < s->o->n_analyses; i++) {
		int err = fl_run_rows(s->run, i, &s->results[i]);

		s->has_result[i] = !err;
		s->result_failed |= err != 0;
		if (err)
			fl_say("analysis `%s` failed: %s", s->o->analyses[i].name,
			       err == -EBADMSG ? "its rows are not as flick/analysis.h says" :
			       fl_reason(err));
	}
}

struct flick_rows *fl_session_result(struct fl_session *s, const char *name)
{
	for (size_t i = 0; i < s->o->n_analyses; i++)
		if (s->has_result[i] && !strcmp(s->o->analyses[i].name, name))
			return &s->results[i];
	return NULL;
}

/* Each of these has a call in one row alone; the first ones have calls as they were counted. */
const struct flick_rows *fl_session_calls(struct fl_session *s)
{
	static const char *const of[] = { "latency", "counts", "graph", "tree", "spread",
					  "cache-tree" };
	const struct flick_rows *rows = NULL;

	for (size_t i = 0; !rows && i < ARRAY_LEN(of); i++)
		rows = fl_session_result(s, of[i]);
	return rows;
}

struct fl_names *fl_session_names(const struct fl_session *s)
{
	const struct fl_functions *r = &s->functions;
	const char **full = calloc(2 * (r->n + 1), sizeof(*full)), **linkage = full + r->n;
	struct fl_names *names = NULL;

	for (uint32_t i = 0; full && i < r->n; i++) {
		full[i] = fl_functions_name(r, i);
		linkage[i] = r->all[i].linkage;
	}
	if (full)
		names = fl_names_make(full, linkage, r->n, s->o->demangle);
	free(full);
	return names;
}

/* The modules that tell functions of one name apart; NULL: there are none, or no memory. */
static struct fl_modules *modules_of(const struct fl_session *s, const struct fl_sheet *sheet)
{
	const struct fl_functions *r = &s->functions;
	struct fl_home *homes = fl_sheet_has_twins(sheet) ? calloc(r->n, sizeof(*homes)) : NULL;
	struct fl_modules *modules = NULL;

	for (uint32_t i = 0; homes && i < r->n; i++)
		homes[i] = (struct fl_home){
			fl_functions_module(r, r->all[i].module)->path, "", r->all[i].at };
	if (homes)
		modules = fl_modules_make(sheet, homes, FL_BY_BASE_NAME);
	free(homes);
	return modules;
}

const char *fl_usual_order(const struct fl_sheet *s)
{
	static const char *const keys[] = { "total_ns", "calls", "l1_misses", "self_ns" };
	const bool is_latency = s->name && !strcmp(s->name, "latency");
	const bool is_spread = s->name && !strcmp(s->name, "spread");

	if (is_spread && fl_sheet_column(s->result, "function") >= 0)
		return "function";
	if (is_latency && s->sampled && fl_sheet_sum(s->result, "self_ns"))
		return "self_ns";
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (fl_sheet_column(s->result, keys[i]) >= 0)
			return keys[i];
	return s->result->columns[0].name;
}

struct fl_sheet fl_session_sheet(struct fl_session *s, const char *name,
				 const struct fl_names *names)
{
	struct fl_sheet sheet = { .functions = fl_names_shown(names),
				  .n_functions = s->functions.n, .width = fl_terminal_width(),
				  .sampled = s->view.sampled };

	for (size_t i = 0; i < s->o->n_analyses; i++)
		if (!strcmp(s->o->analyses[i].name, name))
			sheet.result = &s->results[i];
	sheet.modules = modules_of(s, &sheet);
	return sheet;
}
