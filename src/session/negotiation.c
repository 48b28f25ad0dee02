/*
 * negotiation.c - the reader's half of the negotiation about new sites.
 *
 * PROTOCOL and the other half are in agent/agent.c. The target has stopped
 * until it is answered, at its start, at each dlopen that brings something new and after each
 * exec.
 *
 * (B) pairs with (A) in agent/agent.c: who sees ASK sees the sites.
 * (C) pairs with (D) in agent/agent.c: who sees GO sees what is wanted.
 */
#include <stdlib.h>
#include <string.h>

#include "os/os.h"
#include "session/change/change.h"
#include "session/cost.h"
#include "session/functions.h"
#include "session/lines.h"
#include "session/negotiation.h"
#include "session/opening.h"
#include "session/readers.h"
#include "session/results.h"
#include "select/select.h"
#include "session/trigger.h"
#include "site/site.h"

bool fl_negotiation_started(const struct fl_session *s)
{
	return load_relaxed(&s->shared->phase) != FL_PHASE_START;
}

/* ---- which sites are wanted -------------------------------------------------- */

static bool wants_entries_only(const struct fl_session *s)
{
	return s->o->action == FL_ACT_COUNT || s->o->entries_only;
}

/* Nothing tells when a function behind a pad returns, nor one that a stub leads to. */
static bool is_entry_only(const struct fl_session *s, const struct fl_shm_site *site)
{
	return !wants_entries_only(s) && (site->provider == FL_PROVIDER_PATCHABLE ||
					  site->provider == FL_PROVIDER_PLT);
}

static bool is_kind_needed(const struct fl_session *s, uint8_t kind)
{
	if (wants_entries_only(s))
		return fl_kind_counts(kind);
	return kind != FL_CALLSITE;
}

/* Is the site counted beside others that are timed, where calls are sampled? A stub is, because
 * a pattern asks for it; pads may be most of a program. */
static bool is_counted_beside(const struct fl_session *s, const struct fl_shm_site *site)
{
	return s->o->action == FL_ACT_SAMPLE && site->provider == FL_PROVIDER_PLT;
}

static bool is_out(const struct fl_session *s, const struct fl_shm_site *site)
{
	return is_entry_only(s, site) && !is_counted_beside(s, site);
}

/* A point is there because a pattern names it. */
static bool is_provider_asked_for(const struct fl_session *s, const struct fl_shm_site *site)
{
	return site->kind == FL_AT_POINT || fl_providers_has(s->o->providers, site->provider);
}

static void add_names(struct fl_session *s, uint32_t f, struct fl_candidate *c)
{
	const char *plain = fl_functions_plain(&s->functions, f);
	const char *simple = fl_functions_simple(&s->functions, f);
	size_t n = 1;

	c->names[n++] = fl_functions_name(&s->functions, f);
	if (plain)
		c->names[n++] = plain;
	if (simple)
		c->names[n++] = simple;
}

static bool ask(struct fl_session *s, struct fl_selection *of, uint32_t f,
		const struct fl_shm_site *site)
{
	const struct fl_shm_module *m = fl_functions_module(&s->functions, site->module);
	struct fl_candidate c = { .path = m->path,
				  .site = fl_candidate_site(site->provider, site->kind,
							    site->at - m->base),
				  .home = fl_functions_module(&s->functions, site->owner)->path,
				  .function = s->functions.all[f].at,
				  .is_stub = site->provider == FL_PROVIDER_PLT &&
					     !s->o->providers };

	c.names[0] = s->functions.all[f].linkage;
	if (site->kind == FL_AT_POINT)
		c.names[1] = fl_functions_name(&s->functions, f);
	else if (fl_symbols_is_plain(c.names[0]) && fl_selection_has_patterns(of))
		fl_symbols_others(s->functions.symbols, c.home, c.function, c.names + 1,
				  ARRAY_LEN(c.names) - 1);
	else if (!fl_symbols_is_plain(c.names[0]) &&
		 fl_selection_may_take(of, c.names[0]))
		add_names(s, f, &c);
	return fl_selection_wants(of, &c);
}

enum { UNASKED, UNWANTED, WANTED };

/* A function's sites have one answer, except where a pattern names a site, and where the
 * function is inlined in another module. */
static bool is_selected(struct fl_session *s, uint32_t f, const struct fl_shm_site *site)
{
	if (site->owner != site->module || fl_selection_names_sites(s->o->selection))
		return ask(s, s->o->selection, f, site);
	if (s->chosen.answers[f] == UNASKED)
		s->chosen.answers[f] = ask(s, s->o->selection, f, site) ? WANTED : UNWANTED;
	return s->chosen.answers[f] == WANTED;
}

bool fl_negotiation_takes(struct fl_session *s, struct fl_selection *of, uint32_t i)
{
	return ask(s, of, s->functions.function_of[i], &s->functions.sites[i]);
}

bool fl_negotiation_may_want(const struct fl_session *s, uint32_t i)
{
	const struct fl_shm_site *site = &s->functions.sites[i];

	return is_kind_needed(s, site->kind) &&
	       is_provider_asked_for(s, site) && !is_out(s, site);
}

void fl_negotiation_ask_again(struct fl_session *s)
{
	memset(s->chosen.answers, UNASKED, s->chosen.n_answers);
}

static bool is_wanted(struct fl_session *s, uint32_t i, const struct fl_shm_site *site)
{
	if (!is_kind_needed(s, site->kind) ||
	    !is_provider_asked_for(s, site) ||
	    !is_selected(s, s->functions.function_of[i], site))
		return false;
	s->chosen.n_entry_only += is_entry_only(s, site);
	s->chosen.n_counted += is_counted_beside(s, site);
	return !is_out(s, site);
}

/* Room for all sites and functions that the function table has. */
static int make_room(struct fl_session *s)
{
	const struct fl_functions *r = &s->functions;
	unsigned char *selected = realloc(s->chosen.marks, r->n_sites + 1), *answers;

	s->chosen.marks = selected ? selected : s->chosen.marks;
	answers = realloc(s->chosen.answers, r->n + 1);
	s->chosen.answers = answers ? answers : s->chosen.answers;
	if (!selected || !answers)
		return -ENOMEM;
	memset(answers + s->chosen.n_answers, UNASKED, r->n - s->chosen.n_answers);
	s->chosen.n_answers = r->n;
	return 0;
}

static int select_sites(struct fl_session *s)
{
	const bool is_awaited = fl_change_awaits(s);
	int err = fl_functions_extend(&s->functions);

	if (!err)
		err = make_room(s);
	if (err)
		return err;
	for (; s->chosen.n < s->functions.n_sites; s->chosen.n++) {
		uint32_t i = s->chosen.n;
		struct fl_shm_site *site = &s->functions.sites[i];

		s->chosen.marks[i] = is_wanted(s, i, site);
		if (is_awaited)
			fl_change_found(s, i);
		site->wanted = s->chosen.marks[i] && !site->refusal;
		s->chosen.has_points |= site->wanted && site->kind == FL_AT_POINT;
		store_relaxed(&s->sites[i].wanted, site->wanted);
	}
	s->view.sites = s->functions.sites;
	s->view.function_of = s->functions.function_of;
	s->view.n_functions = s->functions.n;
	s->view.n_sites = s->chosen.n;
	store_relaxed(&s->shared->n_decided, s->chosen.n);	/* before (C) */
	return 0;
}

/* Select the sites that are new; grows the view the analyses look through. */
static int take_in_sites(struct fl_session *s)
{
	int err;

	fl_readers_hold(s->readers);
	err = select_sites(s);
	fl_readers_release(s->readers);
	return err;
}

/* ---- is there anything to do -------------------------------------------------- */

static bool has_ended(const struct fl_session *s)
{
	return s->drained.wall_ns != 0;
}

/* A file that the glob matches; NULL: no such file that has probes is loaded. */
static const char *find_module(const struct fl_session *s, const char *glob, size_t n)
{
	for (uint32_t i = 0; i < s->functions.n_modules; i++)
		if (fl_glob(glob, n, fl_base_name(s->functions.modules[i].path)))
			return s->functions.modules[i].path;
	return NULL;
}

/* What `flick list` knows: where a name is in PATH, and who reads a script. */
static const char *program_of(const struct fl_session *s)
{
	const struct fl_launch *l = &s->launch;

	return *l->interpreter ? l->interpreter : *l->program ? l->program : s->o->argv[0];
}

/* The functions that there are; NULL: no memory. Free names and paths. */
static bool find_scope(const struct fl_session *s, struct fl_scope *in)
{
	const struct fl_functions *r = &s->functions;
	const char **names = calloc(r->n + 1, sizeof(*names));
	const char **paths = calloc(r->n + 1, sizeof(*paths));

	*in = (struct fl_scope){ .names = names, .paths = paths, .file = program_of(s),
				 .n = r->n };
	for (uint32_t i = 0; names && paths && i < r->n; i++) {
		names[i] = fl_functions_simple(r, i) ? fl_functions_simple(r, i) :
			   fl_functions_name(r, i);
		paths[i] = fl_functions_module(r, r->all[i].module)->path;
	}
	return names && paths;
}

/* Is any site selected? Where calls are timed, one that can be timed. */
static bool has_selected(const struct fl_session *s)
{
	for (uint32_t i = 0; i < s->chosen.n; i++)
		if (s->chosen.marks[i] && !is_entry_only(s, &s->functions.sites[i]))
			return true;
	return false;
}

/* Is none selected, neither of functions that can be timed, nor of others? */
static bool is_empty(const struct fl_session *s)
{
	return !has_selected(s) && !s->chosen.n_entry_only;
}

static void say_no_module(const struct fl_session *s, const char *pattern, size_t n,
			  const struct fl_scope *in)
{
	char hint[FL_HINT];

	fl_selection_hint_module(in, pattern, n, hint, sizeof(hint));
	if (has_ended(s))
		fl_say("no module `%.*s` with probes was loaded, so `%s` matched nothing%s",
		       (int)n, pattern, pattern, hint);
	else if (in->yet)
		fl_say("no module `%.*s` with probes is loaded yet; waiting for it%s", (int)n,
		       pattern, hint);
	else
		fl_say("no module `%.*s` with probes is loaded (--wait waits for one)%s",
		       (int)n, pattern, hint);
}

/* May a pattern match later? With --wait, whatever another module may have; else functions of
 * a module that is not there, if others were found. */
static bool may_come(const struct fl_session *s, const char *module)
{
	return !has_ended(s) && !module && (s->o->wait || !is_empty(s));
}

/* Say that a pattern has matched nothing. Is it a mistake? */
static bool say_idle(const struct fl_session *s, const char *pattern, size_t len,
		     struct fl_scope *in)
{
	const char *module = len ? find_module(s, pattern, len) : NULL;
	const bool is_missing = len && !module;

	in->yet = (is_missing || s->o->wait) && may_come(s, module);
	in->file = module ? module : program_of(s);
	if (is_missing)
		say_no_module(s, pattern, len, in);
	else
		fl_selection_say_idle(s->o->selection, pattern, len, in);
	return !in->yet;
}

/* Say what is wrong with patterns: the first mistake before the program runs; at its end, all
 * of them. */
static bool has_wrong_pattern(struct fl_session *s)
{
	const char *text = NULL;
	struct fl_scope in = { NULL };
	size_t at = 0, len;
	bool wrong = false;

	while ((!wrong || has_ended(s)) &&
	       (text = fl_selection_idle(s->o->selection, &at, &len)))
		if (in.names || find_scope(s, &in))
			wrong |= say_idle(s, text, len, &in);
	free((void *)in.names);
	free((void *)in.paths);
	text = fl_selection_emptied_by(s->o->selection);
	if (wrong || (s->o->wait && !has_ended(s)) || !text || !is_empty(s))
		return wrong;
	fl_say("no function is left to record after `-U %s`; of patterns that match a function "
	       "the last one decides", text);
	return true;
}

/* Was any site there? A site that the program has written over later was. */
static bool has_usable(const struct fl_session *s)
{
	uint32_t entry = FL_NO_ROW;

	for (uint32_t i = 0; i < s->chosen.n; i++) {
		int refusal = fl_session_refusal(s, i, &entry);

		if (s->chosen.marks[i] && (!refusal || refusal == FLE_OVERWRITTEN))
			return true;
	}
	return false;
}

/* Write the one reason, or how often there is each. */
static void write_reasons(struct fl_refusals *r, char *line, size_t room)
{
	if (r->n == 1)
		snprintf(line, room, "%s", fl_reason(r->of[0].refusal));
	else
		fl_refusals_line(r, line, room);
}

/* Samples tell where the time goes, not how often. */
bool fl_negotiation_samples_do(const struct fl_session_options *o)
{
	return o->dir && o->count_instead && !o->wait &&
	       o->action == FL_ACT_SAMPLE && !o->trigger && !o->providers &&
	       !fl_selection_has_patterns(o->selection);
}

static bool can_go_by_samples(struct fl_session *s)
{
	fl_opening_end(s);
	s->start.by_samples = s->sampler && fl_negotiation_samples_do(s->o);
	return s->start.by_samples;
}

static const char by_samples[] = "; samples alone tell where its time goes, and no calls are "
				 "counted";

/* The program has no place for libflick.so. */
static void say_no_way_in(const struct fl_session *s, const char *then)
{
	fl_say("no function of %s can have a probe, as it is linked statically, or for another "
	       "C library%s", s->o->argv[0], then);
}

int fl_negotiation_say_no_samples(const struct fl_session *s)
{
	say_no_way_in(s, ", and this system gives no samples (flick doctor)");
	return -1;
}

void fl_negotiation_skip(struct fl_session *s)
{
	s->go = fl_instant_now();
	if (s->o->follow)			/* what it starts may have probes */
		return;
	say_no_way_in(s, by_samples);
	s->start.asked = s->start.begun = s->start.by_samples = true;
}

/* One refusal is told of a function as it is, because its exits have the entry's reason. */
static bool is_any_usable(struct fl_session *s)
{
	const char *then = has_ended(s) || s->o->wait ? "" :
			   " (--wait records what is loaded later)";
	struct fl_refusals r = { .are_functions = true };
	uint32_t entry = FL_NO_ROW;
	char why[1024];

	if (has_usable(s) || s->start.by_samples)
		return true;
	for (uint32_t i = 0; i < s->chosen.n; i++) {
		int refusal = fl_session_refusal(s, i, &entry);

		if (s->chosen.marks[i] && refusal && !fl_session_is_leave_of(s, i, entry))
			fl_refusals_add(&r, refusal);
	}
	if (!r.all)
		return true;
	write_reasons(&r, why, sizeof(why));
	if (can_go_by_samples(s))
		then = by_samples;
	if (r.all == 1)
		fl_say("the one probe cannot be used: %s%s", why, then);
	else
		fl_say("none of the %llu probes can be used: %s%s", (unsigned long long)r.all,
		       why, then);
	return s->start.by_samples;
}

/* Was anything recorded before all of it was refused? It is kept. */
static bool has_recorded(struct fl_session *s)
{
	uint64_t produced = 0;
	size_t n;
	const struct fl_thread *t = fl_readers_threads(s, &n);

	for (size_t i = 0; i < n; i++)
		produced += t[i].produced;
	return produced != 0;
}

/* Why a function cannot have a body may be known only when the body is to be entered. At the
 * end a trigger has its say (trigger.c), and results are kept. */
bool fl_negotiation_came_to_nothing(struct fl_session *s)
{
	s->chosen.is_empty |= (!has_recorded(s) && !is_any_usable(s)) ||
			    (!has_ended(s) && fl_trigger_is_wrong(s));
	return s->chosen.is_empty;
}

static bool is_all_entry_only(const struct fl_session *s)
{
	return !has_selected(s) && s->chosen.n_entry_only;
}

/* Only a target that has run nothing can be started again, to count. */
static bool is_any_timed(struct fl_session *s)
{
	bool none = is_all_entry_only(s);
	uint32_t n = s->chosen.n_entry_only - (none ? 0 : s->chosen.n_counted);

	s->chosen.all_entry_only = none && !(s->o->follow && s->start.asked);
	if (!n)
		return true;
	fl_say("%u function%s entry probes only: calls %s", n, n == 1 ? " has" : "s have",
	       s->chosen.all_entry_only && s->o->count_instead ? "are counted, not timed" :
	       "cannot be timed; use -a counts");
	return !none;
}

static bool waits_for_sites(struct fl_session *s)
{
	const char *name = s->o->argv[0], *interpreter = s->launch.interpreter;
	bool bodies_alone = s->o->providers == 1u << FL_PROVIDER_BODY;

	/* the agent takes the rules away */
	if (s->attached && (!s->o->providers || bodies_alone) && !s->shm->body_rules.text[0])
		fl_say("%s %sholds 512 MiB of second bodies of earlier recordings: start it "
		       "with `flick record`", name, bodies_alone ? "" :
		       "has no probe sites of a compiler's, and ");
	else if (s->o->wait)
		fl_say("%s has no probe sites; waiting for an exec or dlopen", name);
	else if (*interpreter)
		fl_say("%s is run by %s, which has no probe sites; --follow records the "
		       "programs that it starts, --wait the one it execs", name, interpreter);
	else if (s->o->providers)
		fl_say("%s and its libraries have no probe sites of the kinds that --provider "
		       "names; without it there may be others", name);
	else if (can_go_by_samples(s))
		fl_say("%s and its libraries have no function that can have a probe%s", name,
		       by_samples);
	else
		fl_say("%s and its libraries have no function that can have a probe; -P "
		       "'MODULE!*' takes one of the C library's, --wait what an exec or dlopen "
		       "brings", name);
	s->start.begun |= s->start.by_samples;
	return s->o->wait || s->start.by_samples;
}

/* Any process of a tree may bring what is wanted: so none is stopped for having nothing. */
static bool can_tree_go(struct fl_session *s)
{
	int err = load_relaxed(&s->shared->agent_error);

	if (err && err != s->start.said_error)
		fl_say("cannot record a process of %s: %s", s->o->argv[0],
		       fl_reason(err));
	s->start.said_error = err ? err : s->start.said_error;
	s->start.begun = s->start.begun || has_selected(s) ||
		   (!err && !s->start.asked && !s->chosen.n && s->launch.calls_hooks);
	return s->start.asked || !s->o->count_instead || !is_all_entry_only(s) ||
	       is_any_timed(s);
}

/* When a process tree is gone, say what it never brought; and so of a program that was let go
 * before it had all. Where the first program of a tree cannot ask samples are of all of it. */
void fl_negotiation_close(struct fl_session *s)
{
	s->start.asked |= s->o->follow && s->launch.is_closed;
	if (!s->start.asked || s->start.refused_to_go)
		return;
	if (!s->chosen.n && s->o->follow && !s->start.begun && !s->start.said_error) {
		s->start.begun = can_go_by_samples(s);
		fl_say("neither %s nor what it started has %s%s", s->o->argv[0],
		       s->start.begun ? "a function that can have a probe" : "probe sites",
		       s->start.begun ? by_samples : "");
	}
	if (s->chosen.is_empty)			/* and that was said */
		return;
	if (s->chosen.n || s->start.begun)
		s->chosen.is_empty = has_wrong_pattern(s) && is_empty(s);
	if (!s->chosen.n || s->chosen.is_empty || (s->o->follow && !is_any_timed(s)))
		return;
	s->start.begun |= !fl_negotiation_came_to_nothing(s) && s->o->follow;
}

/* What is wrong with the first sites is said in one line. Later ones stop
 * nothing: the target is at work. */
static bool can_go(struct fl_session *s)
{
	int err;

	if (s->o->follow)
		return can_tree_go(s);
	err = load_relaxed(&s->shared->agent_error);
	if (err) {
		fl_say("cannot record %s: %s", s->o->argv[0], fl_reason(err));
		return s->start.begun;
	}
	if (s->start.begun)
		return true;
	if (s->chosen.n == 0 && s->launch.calls_hooks)
		return s->start.begun = true;	/* its calls are taken in as they are made */
	if (s->chosen.n == 0)
		return s->start.asked || waits_for_sites(s);
	if (s->start.is_waiting) {		/* it is at work: nothing stops it any more */
		s->start.begun = s->chosen.n_entry_only || has_usable(s);
		return true;
	}
	if (has_wrong_pattern(s) || fl_trigger_is_wrong(s))
		return false;
	s->start.is_waiting = s->o->wait && !s->chosen.n_entry_only && !has_usable(s);
	s->start.begun = !s->start.is_waiting && is_any_timed(s) && is_any_usable(s);
	return s->start.begun || s->start.is_waiting;
}

/* The target tells of timed calls what the probes of calls in them took: by these prices. */
static void tell_prices(struct fl_session *s)
{
	struct fl_probes_take *p = &s->shared->probes_take;

	for (int i = 0; i < 2; i++) {
		store_relaxed(&p->timed[i], s->view.overhead[i].timed);
		store_relaxed(&p->counted[i], s->view.overhead[i].counted);
		store_relaxed(&p->looked[i], s->view.overhead[i].looked);
	}
}

bool fl_negotiation_answer(struct fl_session *s)
{
	uint32_t answer = FL_PHASE_GO;
	bool is_first = !s->start.asked;

	/* (B) pairs with (A) in agent/agent.c */
	if (load_acquire(&s->shared->phase) != FL_PHASE_ASK)
		return false;
	if (take_in_sites(s)) {
		fl_say("out of memory for %u sites", s->shm->n_sites);
		answer = FL_PHASE_QUIT;
	} else if (s->start.refused_to_go || !can_go(s)) {
		answer = FL_PHASE_QUIT;
	}
	if (!s->start.asked) {		/* before the first events, and code of its own */
		fl_overhead_end(s);
		tell_prices(s);
		fl_found_take(s);
		fl_opening_go(s);
	}
	if (is_first && answer == FL_PHASE_GO && !s->start.is_waiting)
		fl_trigger_look(s);
	s->start.refused_to_go |= answer == FL_PHASE_QUIT;
	s->start.asked = true;
	if (!s->go.wall_ns)
		s->go = fl_instant_now();
	/* (C) pairs with (D) in agent/agent.c */
	store_release(&s->shared->phase, answer);
	fl_os_futex_wake(&s->shared->phase, 1);
	if (is_first && s->o->dir && answer == FL_PHASE_GO)
		fl_lines_begin(s);
	return true;
}
