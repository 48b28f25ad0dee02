/*
 * trigger.c - the flight recorder: `record --trigger 'FUNCTION>5ms' --last 2s`.
 *
 * Every call is recorded, and the last seconds of events are kept in memory (last.c). The
 * trigger's own analysis sees each call when it ends. The first call of FUNCTION that took
 * longer has all events that are kept, and those still in the rings, written into the trace.
 * Then the program is left alone: its probes go off, and it goes on.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "os/os.h"
#include "session/last.h"
#include "session/limits.h"
#include "session/negotiation.h"
#include "select/select.h"
#include "session/trigger.h"

#define LAST_NS 2000000000ull

struct fl_trigger {
	struct fl_session *s;
	struct fl_selection *of;	/* which functions */
	struct fl_last *last;		/* NULL: the clock is not known yet */
	bool *marks;			/* index: function */
	uint32_t n_marks, n_sites;	/* n_sites: so many have been looked at */
	uint64_t least;			/* ticks */
	bool has_fired, is_written;
	uint32_t function;		/* that has fired, ... */
	uint64_t took;			/* ... by a call of so many ticks */
};

/* ---- options -------------------------------------------------------------------------- */

#define YEAR_NS (365 * 86400 * 1000000000ull)

/* A time must have its unit: some would take 5 for seconds. Ticks of more than a year have no
 * place. */
static bool read_time(const char *text, uint64_t *ns)
{
	size_t n = fl_parse_time(text, ns);

	return n && !text[n] && isalpha((unsigned char)text[n - 1]) && *ns && *ns < YEAR_NS;
}

int fl_trigger_take(void *options, const struct fl_option *o, const char *text)
{
	struct fl_session_options *s = options;
	const char *than = strrchr(text, '>');

	(void)o;
	if (!than || than == text || !read_time(than + 1, &s->trigger_ns)) {
		fl_say("--trigger takes FUNCTION>TIME, as in 'do_page>5ms', not `%s`", text);
		return -1;
	}
	s->trigger = text;
	s->trace = true;
	return 0;
}

int fl_trigger_take_last(void *options, const struct fl_option *o, const char *text)
{
	struct fl_session_options *s = options;

	if (read_time(text, &s->last_ns))
		return 0;
	fl_say("--%s takes a time, as in 2s or 500ms, not `%s`", o->name, text);
	return -1;
}

int fl_trigger_use(struct fl_session_options *o)
{
	extern const struct flick_analysis fl_trigger_analysis;

	if (!o->trigger && o->last_ns) {
		fl_say("--last is for --trigger, which says when to keep it");
		return -1;
	}
	if (!o->trigger)
		return 0;
	o->last_ns = o->last_ns ? o->last_ns : LAST_NS;
	if (o->follow) {
		fl_say("--trigger cannot be used with --follow: it is for one process");
		return -1;
	}
	if (o->n_analyses == FL_MAX_ANALYSES) {
		fl_say("too many analyses beside --trigger: %d at most", FL_MAX_ANALYSES - 1);
		return -1;
	}
	o->analyses[o->n_analyses++] = (struct fl_use){
		.analysis = &fl_trigger_analysis, .name = strdup(fl_trigger_analysis.name) };
	return 0;
}

/* ---- each call, as it ends --------------------------------------------------------------- */

static struct fl_trigger *opening;	/* whose analysis is being opened */

static int open_watch(void **state, const struct flick_view *view, const char *arg)
{
	(void)view;
	(void)arg;
	*state = opening;
	return opening ? 0 : -EINVAL;
}

static int leave(void *state, const struct flick_call *call, void **mark, void **caller)
{
	struct fl_trigger *t = state;

	(void)mark;
	(void)caller;
	if (t->has_fired || call->how != FLICK_ENDED || call->total <= t->least || !t->last ||
	    call->function >= t->n_marks || !t->marks[call->function])
		return 0;
	t->has_fired = true;
	t->function = call->function;
	t->took = call->total;
	return 0;
}

static int no_rows(void *state, struct flick_rows *rows)
{
	static const struct flick_column columns[] = { { "function", FLICK_COL_FUNCTION } };

	(void)state;
	*rows = (struct flick_rows){ columns, 1, calloc(1, sizeof(uint64_t)), 0 };
	return rows->cells ? 0 : -ENOMEM;
}

static void close_watch(void *state)
{
	(void)state;			/* the session's */
}

extern const struct flick_analysis fl_trigger_analysis;
const struct flick_analysis fl_trigger_analysis = {
	.size = sizeof(struct flick_analysis),
	.version = FLICK_ANALYSIS_VERSION,
	.needs = FLICK_NEEDS_CALLS,
	.name = "trigger", .about = "the call that fires",
	.open = open_watch, .leave = leave, .rows = no_rows, .close = close_watch,
};

/* ---- its life --------------------------------------------------------------------------- */

int fl_trigger_open(struct fl_session *s)
{
	struct fl_trigger *t;
	const char *text = s->o->trigger;
	char *glob;
	int err = -ENOMEM;

	if (!text)
		return 0;
	t = s->trigger = opening = calloc(1, sizeof(*t));
	glob = strndup(text, (size_t)(strrchr(text, '>') - text));
	if (t && glob)
		t->of = fl_selection_only(glob, &err);
	if (!t || !t->of) {
		fl_say("--trigger `%s`: %s", text, fl_reason(err));
		free(glob);
		return -1;
	}
	t->s = s;
	s->trigger_glob = glob;
	return 0;
}

/* Functions that are recorded and may fire, as of now. */
struct firing {
	uint32_t there, refused;
	int refusal;			/* of one of these */
};

static bool may_fire(struct fl_session *s, uint32_t i)
{
	return s->chosen.marks[i] && s->functions.sites[i].kind == FL_ENTRY &&
	       fl_negotiation_takes(s, s->trigger->of, i);
}

bool fl_trigger_needs(struct fl_session *s, uint32_t function)
{
	for (uint32_t i = 0; s->trigger && i < s->chosen.n; i++)
		if (s->functions.function_of[i] == function && may_fire(s, i))
			return true;
	return false;
}

static struct firing find_firing(struct fl_session *s)
{
	struct firing f = { 0 };

	for (uint32_t i = 0; i < s->chosen.n; i++) {
		int refusal = load_relaxed(&s->sites[i].refusal);
		bool is_refused = refusal && refusal != FLE_OVERWRITTEN;

		if (!may_fire(s, i))
			continue;
		f.there += !is_refused;
		f.refused += is_refused;
		f.refusal = is_refused ? refusal : f.refusal;
	}
	return f;
}

static bool is_module_missing(const struct fl_session *s)
{
	const char *glob;
	size_t at = 0, len;

	if (!fl_selection_module(s->trigger->of, &at, &glob, &len))
		return false;
	for (uint32_t i = 0; i < s->functions.n_modules; i++)
		if (fl_glob(glob, len, fl_base_name(s->functions.modules[i].path)))
			return false;
	return true;
}

/* May the function that is meant come later? It may from a library that is named but not there,
 * with --wait from anywhere, and so it may where no site is known yet, because calls tell where
 * they are. */
static bool may_come(const struct fl_session *s)
{
	return s->o->wait || !s->chosen.n || is_module_missing(s);
}

/* tail: what may be done, or that nothing is. */
static void say_nobody_fires(struct fl_session *s, const char *yet, const char *tail)
{
	const char **names = calloc(s->chosen.n + 1, sizeof(*names)), *near = NULL;
	size_t n = 0;

	for (uint32_t i = 0; names && i < s->chosen.n; i++)
		if (s->chosen.marks[i] && s->functions.sites[i].kind == FL_ENTRY)
			names[n++] = fl_functions_name(&s->functions,
						       s->functions.function_of[i]);
	near = names ? fl_nearest(s->trigger_glob, names, n) : NULL;
	if (near)
		fl_say("no function that is recorded is called `%s`%s, as --trigger has it; "
		       "did you mean `%s`?%s", s->trigger_glob, yet, near, tail);
	else
		fl_say("no function that is recorded is called `%s`%s, as --trigger has it%s",
		       s->trigger_glob, yet, tail);
	free(names);
}

static void say_refused(const struct fl_session *s, const struct firing *f, const char *tail)
{
	fl_say("`%s`, as --trigger has it, cannot be timed: %s%s", s->trigger_glob,
	       fl_reason(f->refusal), tail);
}

bool fl_trigger_is_wrong(struct fl_session *s)
{
	static const char tail[] = " (--wait records what is loaded later)";
	struct firing f;

	if (!s->trigger)
		return false;
	f = find_firing(s);
	if (f.there || may_come(s))
		return false;
	if (f.refused)
		say_refused(s, &f, tail);
	else
		say_nobody_fires(s, "", tail);
	return true;
}

void fl_trigger_look(struct fl_session *s)
{
	struct firing f;

	if (!s->trigger)
		return;
	f = find_firing(s);
	if (!f.there && !f.refused)
		say_nobody_fires(s, " yet", "");
}

/* A quarter of the memory that flick may use is for what is kept. */
static int begin_keeping(struct fl_trigger *t)
{
	const struct fl_session_options *o = t->s->o;

	fl_session_measure_tick(t->s);
	t->least = (uint64_t)((double)o->trigger_ns / t->s->view.ns_per_tick);
	t->last = fl_last_open(&t->s->view, (uint64_t)((double)o->last_ns /
						       t->s->view.ns_per_tick),
			       fl_limits_memory(o->memory_mib) / 4);
	return t->last ? 0 : -ENOMEM;
}

/* Mark functions that have come since. */
static int mark_functions_of(struct fl_trigger *t)
{
	struct fl_session *s = t->s;

	if (fl_array_extend(&t->marks, &t->n_marks, s->functions.n, sizeof(*t->marks)))
		return -ENOMEM;
	for (; t->n_sites < s->chosen.n; t->n_sites++) {
		uint32_t i = t->n_sites;

		if (may_fire(s, i))
			t->marks[s->functions.function_of[i]] = true;
	}
	return 0;
}

int fl_trigger_put(struct fl_trigger *t, const struct fl_batch *b)
{
	int err = 0;

	if (t->is_written)
		return 0;
	if (!t->last)
		err = begin_keeping(t);
	if (!err)
		err = mark_functions_of(t);
	return err ? err : fl_last_put(t->last, b);
}

int fl_trigger_thread_end(struct fl_trigger *t, uint32_t thread)
{
	return t->last && !t->is_written ? fl_last_thread_end(t->last, thread) : 0;
}

static void write_batch(void *trace, const struct fl_batch *b)
{
	fl_trace_put(trace, b);
}

static void write_end(void *trace, uint32_t thread, uint64_t alive)
{
	(void)alive;
	fl_trace_thread_end(trace, thread);
}

bool fl_trigger_turn(struct fl_session *s)
{
	struct fl_trigger *t = s->trigger;

	if (!t || !t->has_fired || t->is_written)
		return false;
	if (s->attached)
		fl_target_end(s);	/* to be left, which takes a moment */
	else
		fl_shm_leave(s->shm);
	while (fl_reader_poll(s->reader, !s->attached))
		;
	fl_last_write(t->last, &(struct fl_sink){ .arg = s->trace, .feed = write_batch,
						  .thread_end = write_end });
	t->is_written = true;
	return !s->attached;
}

bool fl_trigger_has_fired(const struct fl_trigger *t)
{
	return !t || t->is_written;
}

static void drop_result(struct fl_session *s)
{
	for (size_t i = 0; i < s->o->n_analyses; i++)
		if (s->o->analyses[i].analysis == &fl_trigger_analysis)
			s->has_result[i] = false;
}

/* It is a failure if the function never came; it is none if no call took so long. */
static void say_not_fired(struct fl_session *s)
{
	struct firing f = find_firing(s);

	s->result_failed |= !f.there;
	if (f.there)
		fl_say("no call of %s took longer than --trigger says: there is no trace",
		       s->trigger_glob);
	else if (f.refused)
		say_refused(s, &f, ": there is no trace");
	else
		say_nobody_fires(s, "", ": there is no trace");
}

void fl_trigger_end(struct fl_session *s)
{
	struct fl_trigger *t = s->trigger;
	uint64_t kept;
	double us;

	if (!t)
		return;
	fl_trigger_turn(s);		/* the last call of all may fire */
	drop_result(s);
	if (!t->is_written) {
		say_not_fired(s);
		return;
	}
	kept = fl_last_short(t->last);
	us = (double)t->took * s->view.ns_per_tick / 1e3;
	fl_say("%s took %.3f %s, and what came before is kept: flick replay shows it",
	       fl_functions_name(&s->functions, t->function), us < 1000 ? us : us / 1000,
	       us < 1000 ? "us" : "ms");
	if (kept)
		fl_say("there was memory for the last %.3f s of events only; --memory=MIB "
		       "allows more, -P and -U record less", (double)kept *
		       s->view.ns_per_tick / 1e9);
}

void fl_trigger_close(struct fl_session *s)
{
	struct fl_trigger *t = s->trigger;

	if (!t)
		return;
	fl_selection_free(t->of);
	fl_last_close(t->last);
	free(t->marks);
	free(t);
	free(s->trigger_glob);
	s->trigger = NULL;
}
