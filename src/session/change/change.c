/*
 * change.c - what is recorded changes while the program runs.
 *
 * The other half is in agent/control.c, which has the protocol. This half knows what is staged,
 * by whom, and what functions that are loaded later are to be: committed patterns become the
 * last ones of the recording's selection. What is staged is of the recording's own session.
 * Other sessions (named.c) want functions beside it. A site is on while any session wants it,
 * and the program is asked only for the difference from what is in force.
 *
 * (A) pairs with (B) in agent/control.c: who sees the wish sees what is staged.
 * (D) pairs with (C) in agent/control.c: who sees it answered sees the answer.
 * Beside another recorder it is agent/joint.c that answers:
 * (A) pairs with (D) in agent/joint.c, and (D) pairs with (E) in agent/joint.c.
 */
#include <stdlib.h>
#include <string.h>

#include "os/os.h"
#include "session/budget/afford.h"
#include "session/attach.h"
#include "session/budget/budget.h"
#include "session/change/change.h"
#include "session/change/named.h"
#include "session/negotiation.h"
#include "session/readers.h"
#include "select/select.h"
#include "session/watched.h"

enum { MAX_PATTERNS = 1024 };		/* of one change */

struct fl_changes {
	struct fl_change_box *box;	/* the region's, as the next; the target may write */
	uint8_t *shown;
	uint8_t *staged;		/* index: probe id; enum fl_stage, as below */
	uint8_t *now;			/* in force; NONE here and in `own`: as selected */
	uint8_t *own;			/* what the recording's own session wants */
	uint8_t *asked;			/* of the program: what is to be in force */
	bool *switched;			/* index: probe id; its calls are of a part of the
					 * time, as they were told before or behind a change */
	bool asks_staged;		/* what is staged is part of that */
	struct fl_beside names;		/* sessions beside it */
	uint32_t max;			/* sites, at most; constant */
	uint32_t wish;			/* of the box */
	struct wished {
		char *glob;
		bool on;
	} patterns[MAX_PATTERNS];	/* that staged something */
	uint32_t n_patterns;
	struct fl_change_status is;
};

int fl_change_open(struct fl_session *s)
{
	struct fl_changes *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->box = &s->shared->change;
	c->shown = fl_shm_staged(s->shm);
	c->max = s->shm->max_sites;
	c->staged = calloc(c->max, 1);
	c->now = calloc(c->max, 1);
	c->own = calloc(c->max, 1);
	c->asked = calloc(c->max, 1);
	c->switched = calloc(c->max, sizeof(*c->switched));
	s->change = c;
	return c->staged && c->now && c->own && c->asked && c->switched ? 0 : -ENOMEM;
}

static void drop_patterns(struct fl_changes *c)
{
	while (c->n_patterns)
		free(c->patterns[--c->n_patterns].glob);
}

void fl_change_close(struct fl_session *s)
{
	if (!s->change)
		return;
	drop_patterns(s->change);
	free(s->change->staged);
	free(s->change->now);
	free(s->change->own);
	free(s->change->asked);
	free(s->change->switched);
	for (int k = 0; k < FL_NAMED_MOST; k++)
		fl_beside_remove(&s->change->names.of[k]);
	free(s->change);
	s->change = NULL;
}

struct fl_change_status fl_change_status(const struct fl_session *s)
{
	return s->change ? s->change->is : (struct fl_change_status){ 0 };
}

/* Windows stand for functions that were on in all of them. Bodies that tell accesses or paths
 * go on telling when their probes are off. */
const char *fl_change_never(const struct fl_session *s)
{
	if (!s->change)
		return "nothing is recorded";
	if (s->o->follow)
		return "several processes are recorded (--follow): what is recorded of them "
		       "cannot be changed";
	if (s->trigger)
		return "what is kept of the last calls would not know of changes (--trigger)";
	if (s->o->trace)
		return "what is made of a trace later would not know of changes (--trace)";
	if (s->o->rate)
		return "what --rate records cannot be changed while it does";
	if (s->attached ? fl_attach_is_unwatched(s) : s->target.watch_signal != 0)
		return "what waits for flick beside the program (flick-watch) was killed: "
		       "nothing can be changed any more";
	if (fl_watched_is_asked(s))
		return "functions that tell their accesses or paths go on to when they are "
		       "off: what is recorded of these cannot be changed";
	return NULL;
}

/* ---- what there is ------------------------------------------------------------------ */

enum fl_stage fl_change_now(const struct fl_session *s, uint32_t i)
{
	const struct fl_changes *c = s->change;

	if (i >= s->chosen.n || load_relaxed(&s->sites[i].refusal))
		return FL_STAGE_OFF;
	if (c && i < c->max && c->now[i])
		return c->now[i];
	return s->chosen.marks[i] ? FL_STAGE_ON : FL_STAGE_OFF;
}

/* What the recording's own session wants. */
static enum fl_stage own_stage(const struct fl_session *s, uint32_t i)
{
	const struct fl_changes *c = s->change;

	if (load_relaxed(&s->sites[i].refusal))
		return FL_STAGE_OFF;
	if (i < c->max && c->own[i])
		return c->own[i];
	return s->chosen.marks[i] ? FL_STAGE_ON : FL_STAGE_OFF;
}

/* What any session wants, with what is staged if that is asked for. ON goes before COUNT,
 * because a timed call is counted, too. */
static enum fl_stage any_stage(const struct fl_session *s, uint32_t i)
{
	const struct fl_changes *c = s->change;
	enum fl_stage own = c->asks_staged && c->staged[i] ? c->staged[i] : own_stage(s, i);
	enum fl_stage beside = load_relaxed(&s->sites[i].refusal) ? FL_STAGE_NONE :
			       fl_beside_want(&c->names, i);

	return beside == FL_STAGE_ON || (beside && own == FL_STAGE_OFF) ? beside : own;
}

uint32_t fl_change_payer(const struct fl_session *s, uint32_t i)
{
	enum fl_stage own = s->change ? own_stage(s, i) : FL_STAGE_ON;

	return own == FL_STAGE_ON || own == FL_STAGE_COUNT ? 0 :
	       fl_beside_payer(&s->change->names, i);
}

bool fl_change_is_off(const struct fl_session *s, uint32_t i)
{
	const struct fl_changes *c = s->change;

	return c && i < c->max && (c->now[i] == FL_STAGE_OFF ||
				   (c->is.state == FL_CHANGE_ASKED &&
				    c->asked[i] == FL_STAGE_OFF));
}

bool fl_change_is_on(const struct fl_session *s, uint32_t function)
{
	for (uint32_t i = 0; i < s->chosen.n; i++)
		if (s->functions.function_of[i] == function &&
		    fl_change_now(s, i) != FL_STAGE_OFF)
			return true;
	return false;
}

/* ---- staging ------------------------------------------------------------------------ */

static int say_why(char why[FL_WHY], const char *text)
{
	snprintf(why, FL_WHY, "%s", text);
	return -1;
}

static int begin(struct fl_session *s, const void *by, char why[FL_WHY])
{
	struct fl_changes *c = s->change;
	const char *never = fl_change_never(s);

	if (never)
		return say_why(why, never);
	if (!s->start.begun)
		return say_why(why, "the program has no probes yet");
	if (c->is.state == FL_CHANGE_ASKED)
		return say_why(why, "a change is being made just now");
	if (c->is.state == FL_CHANGE_STAGED && c->is.by != by)
		return say_why(why, "somebody else has staged a change, and neither committed "
				    "nor aborted it");
	return 0;
}

/* The exits of a function that is only counted are off. */
static enum fl_stage stage_for(const struct fl_session *s, uint32_t i, enum fl_stage stage)
{
	return stage == FL_STAGE_COUNT && !fl_kind_counts(s->functions.sites[i].kind) ?
	       FL_STAGE_OFF : stage;
}

static void stage_site(struct fl_session *s, uint32_t i, enum fl_stage stage,
		      struct fl_change_sum *sum)
{
	struct fl_changes *c = s->change;
	uint8_t state = load_relaxed(&s->sites[i].state);

	stage = stage_for(s, i, stage);
	if (state == FL_SITE_OTHERS || i >= c->max)
		return;
	if (load_relaxed(&s->sites[i].refusal)) {
		sum->refused++;
		sum->refused_site = i;
	} else if (own_stage(s, i) == stage) {
		c->staged[i] = FL_STAGE_NONE;
		sum->same++;
	} else {
		c->staged[i] = (uint8_t)stage;
		sum->sites++;
		sum->gone += state == FL_SITE_GONE;
	}
}

static int note_pattern(struct fl_changes *c, enum fl_stage stage, const char *glob)
{
	struct wished *w = &c->patterns[c->n_patterns];

	w->glob = strdup(glob);
	w->on = stage != FL_STAGE_OFF;
	c->n_patterns += w->glob != NULL;
	return w->glob ? 0 : -ENOMEM;
}

static void note_state(struct fl_session *s, const void *by)
{
	struct fl_changes *c = s->change;

	if (!fl_change_diff(s, NULL, NULL).sites && !c->n_patterns) {
		c->is.state = FL_CHANGE_IDLE;
		c->is.by = NULL;
		return;
	}
	c->is.state = FL_CHANGE_STAGED;
	c->is.by = by;
}

/* Only where calls are sampled there are counters beside what is timed. */
static int check_stage(const struct fl_session *s, enum fl_stage stage, char why[FL_WHY])
{
	if (stage != FL_STAGE_COUNT || s->o->action == FL_ACT_SAMPLE)
		return 0;
	return say_why(why, s->o->action == FL_ACT_COUNT ? "this recording counts all calls" :
		    "this recording times every call; `count` is for one that samples");
}

/* Stage the sites that `of` takes. Returns how many there were. */
static uint32_t stage_matching(struct fl_session *s, enum fl_stage stage,
			       struct fl_selection *of, struct fl_change_sum *sum)
{
	uint32_t n = 0, last = UINT32_MAX;

	for (uint32_t i = 0; i < s->chosen.n; i++) {
		uint32_t before = sum->sites;

		if (!fl_negotiation_may_want(s, i) || !fl_negotiation_takes(s, of, i))
			continue;
		stage_site(s, i, stage, sum);
		sum->functions += sum->sites > before && s->functions.function_of[i] != last;
		if (sum->sites > before)
			last = s->functions.function_of[i];
		n++;
	}
	return n;
}

int fl_change_stage(struct fl_session *s, const void *by, enum fl_stage stage,
		    const char *glob, struct fl_change_sum *sum, char why[FL_WHY])
{
	struct fl_selection *of;
	int err = begin(s, by, why) || check_stage(s, stage, why);
	uint32_t n;

	*sum = (struct fl_change_sum){ 0 };
	if (err)
		return -1;
	if (s->change->n_patterns == MAX_PATTERNS)
		return say_why(why, "too many patterns in one change; commit some first");
	of = fl_selection_only(glob, &err);
	if (!of) {
		snprintf(why, FL_WHY, "`%.100s`: %s; write [MODULE!]FUNCTION or "
			 "MODULE!0xOFFSET", glob, fl_reason(err));
		return -1;
	}
	n = stage_matching(s, stage, of, sum);
	fl_selection_free(of);
	if (!n) {
		snprintf(why, FL_WHY, "no function with a probe matches `%.180s`", glob);
		return -1;
	}
	if (note_pattern(s->change, stage, glob))
		return say_why(why, "out of memory");
	note_state(s, by);
	return 0;
}

int fl_change_stage_marked(struct fl_session *s, const void *by, enum fl_stage stage,
			   const bool *marks, struct fl_change_sum *sum, char why[FL_WHY])
{
	uint32_t n = 0, last = UINT32_MAX;

	*sum = (struct fl_change_sum){ 0 };
	if (begin(s, by, why) || check_stage(s, stage, why))
		return -1;
	for (uint32_t i = 0; i < s->chosen.n; i++) {
		uint32_t f = s->functions.function_of[i], before = sum->sites;

		if (!marks[f] || !fl_negotiation_may_want(s, i))
			continue;
		stage_site(s, i, stage, sum);
		sum->functions += sum->sites > before && f != last;
		last = sum->sites > before ? f : last;
		n++;
	}
	if (!n)
		return say_why(why, "none of these has a probe that this recording can use");
	note_state(s, by);
	return 0;
}

int fl_change_stage_site(struct fl_session *s, const void *by, enum fl_stage stage,
			 uint32_t site, struct fl_change_sum *sum, char why[FL_WHY])
{
	*sum = (struct fl_change_sum){ 0 };
	if (begin(s, by, why) || check_stage(s, stage, why))
		return -1;
	if (site >= s->chosen.n || !fl_negotiation_may_want(s, site))
		return say_why(why, "there is no such site that this recording can use");
	stage_site(s, site, stage, sum);
	sum->functions = sum->sites != 0;
	note_state(s, by);
	return 0;
}

struct fl_change_sum fl_change_diff(const struct fl_session *s,
				    void (*each)(void *arg, uint32_t site, enum fl_stage),
				    void *arg)
{
	const struct fl_changes *c = s->change;
	struct fl_change_sum sum = { 0 };
	uint32_t last = UINT32_MAX;

	for (uint32_t i = 0; c && i < s->chosen.n && i < c->max; i++) {
		if (!c->staged[i])
			continue;
		sum.sites++;
		sum.functions += s->functions.function_of[i] != last;
		last = s->functions.function_of[i];
		if (each)
			each(arg, i, c->staged[i]);
	}
	return sum;
}

static void forget_staged(struct fl_changes *c)
{
	memset(c->staged, 0, c->max);
	drop_patterns(c);
	c->is.state = FL_CHANGE_IDLE;
	c->is.by = NULL;
}

void fl_change_abort(struct fl_session *s, const void *by)
{
	struct fl_changes *c = s->change;

	if (c && c->is.state == FL_CHANGE_STAGED && c->is.by == by)
		forget_staged(c);
}

/* ---- committing --------------------------------------------------------------------- */

/* A function that was counted in windows alone when it went off is counted so when it goes on
 * again: counted whole, its calls would be taken for those of windows. */
static void say_if_seldom(struct fl_session *s, uint32_t i)
{
	if (fl_budget_is_seldom(s->budget, i))
		store_relaxed(&s->sites[i].wanted, FL_SELDOM);
}

/* Ask the program to put in force what any session wants. */
static void ask(struct fl_session *s)
{
	struct fl_changes *c = s->change;
	uint32_t n = s->chosen.n < c->max ? s->chosen.n : c->max;

	for (uint32_t i = 0; i < n; i++) {
		enum fl_stage to = any_stage(s, i);

		c->asked[i] = to == fl_change_now(s, i) ? FL_STAGE_NONE : (uint8_t)to;
		if (c->asked[i] && fl_change_now(s, i) == FL_STAGE_OFF)
			say_if_seldom(s, i);
	}
	memcpy(c->shown, c->asked, n);
	store_relaxed(&c->box->n, n);
	fl_beside_asked(&c->names);
	c->is.state = FL_CHANGE_ASKED;
	c->is.asked_ns = fl_os_monotonic_ns();
	/* (A) pairs with (B) in agent/control.c */
	store_release(&c->box->wish, ++c->wish);
}

int fl_change_commit(struct fl_session *s, const void *by, char why[FL_WHY])
{
	struct fl_changes *c = s->change;

	if (begin(s, by, why))
		return -1;
	if (c->is.state != FL_CHANGE_STAGED)
		return say_why(why, "nothing is staged");
	c->asks_staged = true;
	ask(s);
	return 0;
}

/* The site is recorded from now on; what it brings is kept at the end, even if it is switched
 * off again. */
static void take_in(struct fl_session *s, uint32_t i)
{
	s->change->own[i] = (uint8_t)own_stage(s, i);
	s->chosen.marks[i] = 1;
	if (s->functions.sites[i].wanted)
		return;
	s->functions.sites[i].wanted = FL_WANTED;
	fl_budget_want(s->budget, i);
}

/* Index: function; whose probes were switched. NULL: out of memory. */
static bool *switched_functions(const struct fl_session *s)
{
	const struct fl_changes *c = s->change;
	bool *of = calloc(s->functions.n + 1, sizeof(*of));

	for (uint32_t i = 0; of && i < s->chosen.n && i < c->max; i++)
		of[s->functions.function_of[i]] |= c->switched[i];
	return of;
}

int fl_change_fill(const struct fl_session *s, struct flick_rows *r)
{
	int function = fl_sheet_column(r, "function");
	int switched = fl_sheet_column(r, "switched");
	bool *of;

	if (!s->change || !s->change->is.generation || switched < 0)
		return 0;
	of = switched_functions(s);
	if (!of)
		return -ENOMEM;
	for (size_t i = 0; i < r->n_rows; i++)
		r->cells[i * r->n_columns + (size_t)switched] =
			of[r->cells[i * r->n_columns + (size_t)function]];
	free(of);
	return 0;
}

void fl_change_say(const struct fl_session *s, char *to, size_t room)
{
	enum { NAMED = 3, LONGEST = 60 };
	const struct fl_functions *fs = &s->functions;
	bool *of = s->change && s->change->is.generation ? switched_functions(s) : NULL;
	size_t n = 0, at = 0;

	*to = '\0';
	for (uint32_t f = 0; of && f < fs->n; f++) {
		const char *name;

		if (!of[f] || n++ >= NAMED)
			continue;
		name = fl_functions_simple(fs, f);
		at += (size_t)snprintf(to + at, room - at, "%s%.*s", at ? ", " : "", LONGEST,
				       name ? name : fl_functions_name(fs, f));
	}
	if (n > NAMED)
		snprintf(to + at, room - at, " and %zu more", n - NAMED);
	for (; *to; to++)
		*to = *to == '\n' ? ' ' : *to;		/* one line */
	free(of);
}

/* Functions whose probes, or some, have gone off. */
static void forget_calls(struct fl_session *s)
{
	const struct fl_change_box *box = s->change->box;
	unsigned char *of = calloc(s->functions.n + 1, 1);

	if (!of) {
		s->feed_error = -ENOMEM;
		return;
	}
	for (uint32_t i = 0; i < s->chosen.n && i < s->change->max; i++)
		if (s->change->asked[i] == FL_STAGE_OFF)
			of[s->functions.function_of[i]] = 1;
	fl_readers_forget(s, load_relaxed(&box->passed), of, s->functions.n);
	free(of);
}

static void take_staged(struct fl_session *s)
{
	struct fl_changes *c = s->change;

	for (uint32_t i = 0; i < s->chosen.n && i < c->max; i++)
		if (c->staged[i])
			c->own[i] = c->staged[i];
	for (uint32_t k = 0; k < c->n_patterns; k++)
		fl_selection_amend(s->o->selection, c->patterns[k].on, c->patterns[k].glob);
	fl_negotiation_ask_again(s);
	forget_staged(c);
}

static void take_made(struct fl_session *s)
{
	struct fl_changes *c = s->change;

	fl_readers_hold(s->readers);
	forget_calls(s);
	for (uint32_t i = 0; i < s->chosen.n && i < c->max; i++) {
		if (!c->asked[i])
			continue;
		if ((c->asked[i] == FL_STAGE_OFF) != (fl_change_now(s, i) == FL_STAGE_OFF))
			c->switched[i] = fl_kind_counts(s->functions.sites[i].kind);
		c->now[i] = c->asked[i];
		if (c->now[i] != FL_STAGE_OFF)
			take_in(s, i);
	}
	fl_readers_release(s->readers);
	if (c->asks_staged)
		take_staged(s);
	else
		note_state(s, c->is.by);
}
/* Sites that stood against the change are no part of it any more. */
static void take_refused(struct fl_session *s)
{
	struct fl_changes *c = s->change;

	for (uint32_t i = 0; i < s->chosen.n && i < c->max; i++) {
		if (!c->asked[i] || !load_relaxed(&s->sites[i].refusal))
			continue;
		c->staged[i] = FL_STAGE_NONE;
		if (c->is.n_listed < ARRAY_LEN(c->is.listed))
			c->is.listed[c->is.n_listed++] = i;
	}
	note_state(s, c->is.by);
}

/* ---- sessions beside it --------------------------------------------------------------- */

/* The session gets the sites that it matches, if they can be had. */
static void want_matching(struct fl_session *s, struct fl_named *d)
{
	for (uint32_t i = 0; i < s->chosen.n && i < s->change->max; i++)
		if (load_relaxed(&s->sites[i].state) != FL_SITE_OTHERS &&
		    !load_relaxed(&s->sites[i].refusal))
			fl_named_take(d, s, i);
}

int fl_change_begin_session(struct fl_session *s, const struct fl_naming *n, char why[FL_WHY])
{
	struct fl_changes *c = s->change;
	struct fl_named *d;
	int err;

	if (begin(s, c ? c->is.by : NULL, why) || check_stage(s, n->stage, why))
		return -1;
	d = fl_beside_add(&c->names, c->max, n, why);
	if (!d)
		return -1;
	want_matching(s, d);
	err = d->sites ? fl_named_begin(d, s, n->analyses, why) : -1;
	if (!d->sites)
		snprintf(why, FL_WHY, "no function with a probe matches `%.180s`", n->glob);
	if (err) {
		fl_beside_remove(d);
		return -1;
	}
	c->asks_staged = false;
	ask(s);
	return 0;
}

bool fl_change_awaits(const struct fl_session *s)
{
	return s->change && fl_beside_awaits(&s->change->names);
}

void fl_change_found(struct fl_session *s, uint32_t i)
{
	struct fl_changes *c = s->change;

	if (!c || i >= c->max || !fl_beside_found(&c->names, s, i) || s->chosen.marks[i])
		return;
	c->own[i] = FL_STAGE_OFF;
	s->chosen.marks[i] = 1;
}

void fl_change_end_session(struct fl_session *s, const void *by)
{
	struct fl_named *d = s->change ? fl_beside_of(&s->change->names, by) : NULL;

	if (d)
		fl_beside_end(d);
}

static int say_no_session(char why[FL_WHY], const char *name)
{
	snprintf(why, FL_WHY, "there is no session `%.31s`; `session list` names them", name);
	return -1;
}

int fl_change_drop_session(struct fl_session *s, const char *name, char why[FL_WHY])
{
	struct fl_changes *c = s->change;
	struct fl_named *d = c && *name ? fl_beside_find(&c->names, name) : NULL;

	if (!d || d->is_going)
		return say_no_session(why, name);
	if (begin(s, c->is.by, why))
		return -1;
	fl_change_end_session(s, d->by);
	fl_change_turn(s);
	return 0;
}

int fl_change_write_session(FILE *to, struct fl_session *s, const void *by, const char *name,
			    char why[FL_WHY])
{
	struct fl_changes *c = s->change;
	const struct fl_named *d = c && *name ? fl_beside_find(&c->names, name) : NULL;

	if (!d || !d->is_on || d->is_going)
		return say_no_session(why, name);
	fl_named_write(to, d, d->by == by ? FL_TELL_LAST : FL_TELL_SO_FAR);
	return 0;
}

const char *fl_change_session_of(const struct fl_session *s, const void *by)
{
	const struct fl_named *d = s->change ? fl_beside_of(&s->change->names, by) : NULL;

	return d ? d->name : NULL;
}

void fl_change_each_session(const struct fl_session *s,
			    void (*each)(void *arg, const struct fl_named *), void *arg)
{
	for (int k = 0; s->change && k < FL_NAMED_MOST; k++)
		if (*s->change->names.of[k].name && !s->change->names.of[k].is_going)
			each(arg, &s->change->names.of[k]);
}

bool fl_change_turn(struct fl_session *s)
{
	struct fl_changes *c = s->change;

	if (c && c->is.state != FL_CHANGE_ASKED && fl_beside_are_going(&c->names)) {
		c->asks_staged = false;
		ask(s);
	}
	/* (D) pairs with (C) in agent/control.c */
	if (!c || c->is.state != FL_CHANGE_ASKED || load_acquire(&c->box->done) != c->wish)
		return false;
	c->is.answers++;
	c->is.n_listed = 0;
	c->is.late = load_relaxed(&c->box->n_late);
	c->is.error = load_relaxed(&c->box->error);
	c->is.switched = load_relaxed(&c->box->n_switched);
	c->is.refused = load_relaxed(&c->box->n_refused);
	c->is.generation = load_relaxed(&c->box->generation);
	c->is.took_ticks = load_relaxed(&c->box->ended) - load_relaxed(&c->box->begun);
	if (c->is.error)
		take_refused(s);
	else
		take_made(s);
	fl_beside_answered(&c->names, c->is.error);
	_Static_assert(FL_PAYERS == FL_NAMED_MOST + 1, "each may have a budget");
	for (uint32_t k = 0; k < FL_NAMED_MOST; k++)
		fl_budget_change(s->budget, k + 1, fl_beside_pays(&c->names, k));
	return true;
}
