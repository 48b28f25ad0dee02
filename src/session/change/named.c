/*
 * named.c - sessions beside the recording's own: who they are, and what each wants.
 *
 * A session begins with its owner, which is a connection to the recorder (ctl.c), and goes with
 * it, however it goes: the kernel closes what a killed process had. No session knows of
 * another one. A site is on while any wants it (change.c).
 *
 *	state		is_on	is_going	is_asked	becomes
 *	new		-	-		yes		on, or nothing if refused
 *	on		yes	-		- or yes	going
 *	going		any	yes		- or yes	nothing, when what was asked
 *								since has been made so
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "session/change/named.h"
#include "session/negotiation.h"
#include "select/select.h"

static bool is_wanting(const struct fl_named *d)
{
	return *d->name && !d->is_going;
}

enum fl_stage fl_beside_want(const struct fl_beside *t, uint32_t i)
{
	enum fl_stage most = FL_STAGE_NONE;

	for (int k = 0; k < FL_NAMED_MOST; k++) {
		const struct fl_named *d = &t->of[k];

		if (is_wanting(d) && d->wants[i] && most != FL_STAGE_ON)
			most = d->wants[i];
	}
	return most;
}

double fl_beside_pays(const struct fl_beside *t, uint32_t k)
{
	return is_wanting(&t->of[k]) && t->of[k].is_on ? t->of[k].budget : 0;
}

uint32_t fl_beside_payer(const struct fl_beside *t, uint32_t i)
{
	for (uint32_t k = 0; k < FL_NAMED_MOST; k++)
		if (fl_beside_pays(t, k) > 0 && t->of[k].wants[i])
			return k + 1;
	return 0;
}

/* The exits of a function that is only counted are not wanted. */
bool fl_named_take(struct fl_named *d, struct fl_session *s, uint32_t i)
{
	if (!fl_negotiation_may_want(s, i) || !fl_negotiation_takes(s, d->of, i) ||
	    (d->stage == FL_STAGE_COUNT && !fl_kind_counts(s->functions.sites[i].kind)))
		return false;
	d->wants[i] = (uint8_t)d->stage;
	d->sites++;
	d->functions += !d->functions || s->functions.function_of[i] != d->last;
	d->last = s->functions.function_of[i];
	return true;
}

bool fl_beside_awaits(const struct fl_beside *t)
{
	bool awaits = false;

	for (int k = 0; k < FL_NAMED_MOST; k++)
		awaits |= is_wanting(&t->of[k]);
	return awaits;
}

bool fl_beside_found(struct fl_beside *t, struct fl_session *s, uint32_t i)
{
	bool is_wanted = false;

	for (int k = 0; k < FL_NAMED_MOST; k++)
		is_wanted |= is_wanting(&t->of[k]) && fl_named_take(&t->of[k], s, i);
	return is_wanted;
}

struct fl_named *fl_beside_find(struct fl_beside *t, const char *name)
{
	for (int k = 0; k < FL_NAMED_MOST; k++)
		if (!strcmp(t->of[k].name, name))
			return &t->of[k];
	return NULL;
}

struct fl_named *fl_beside_of(struct fl_beside *t, const void *by)
{
	for (int k = 0; k < FL_NAMED_MOST; k++)
		if (*t->of[k].name && t->of[k].by == by)
			return &t->of[k];
	return NULL;
}

static bool is_good(const char *name)
{
	size_t n = strlen(name);

	for (const char *c = name; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("-_.", *c))
			return false;
	return n && n < FL_NAME_MOST;
}

struct fl_named *fl_beside_add(struct fl_beside *t, uint32_t n_sites,
			       const struct fl_naming *n, char why[FL_WHY])
{
	struct fl_named *d = fl_beside_find(t, "");
	int err;

	if (!is_good(n->name)) {
		snprintf(why, FL_WHY, "a session's name has up to %d letters, digits, - _ .",
			 FL_NAME_MOST - 1);
		return NULL;
	}
	if (!strcmp(n->name, "recording") || fl_beside_find(t, n->name)) {
		snprintf(why, FL_WHY, "there is a session `%s` already", n->name);
		return NULL;
	}
	if (!d) {
		snprintf(why, FL_WHY, "there are %d sessions, and no room for more",
			 FL_NAMED_MOST);
		return NULL;
	}
	*d = (struct fl_named){ .stage = n->stage, .by = n->by, .budget = n->budget };
	d->wants = calloc(n_sites, 1);
	d->n_wants = n_sites;
	d->glob = strdup(n->glob);
	d->of = d->glob ? fl_selection_only(d->glob, &err) : NULL;
	if (d->glob && !d->of)
		snprintf(why, FL_WHY, "`%.100s`: %s; write [MODULE!]FUNCTION or "
			 "MODULE!0xOFFSET", n->glob, fl_reason(err));
	else if (!d->wants || !d->glob)
		snprintf(why, FL_WHY, "out of memory");
	if (!d->wants || !d->of) {
		fl_beside_remove(d);
		return NULL;
	}
	strcpy(d->name, n->name);
	return d;
}

void fl_beside_remove(struct fl_named *d)
{
	fl_named_end(d->seen);
	fl_selection_free(d->of);
	free(d->wants);
	free(d->glob);
	*d = (struct fl_named){ 0 };
}

bool fl_beside_are_going(const struct fl_beside *t)
{
	for (int k = 0; k < FL_NAMED_MOST; k++)
		if (*t->of[k].name && t->of[k].is_going && !t->of[k].is_asked)
			return true;
	return false;
}

void fl_beside_asked(struct fl_beside *t)
{
	for (int k = 0; k < FL_NAMED_MOST; k++) {
		t->of[k].is_asked = *t->of[k].name;
		t->of[k].was_going = t->of[k].is_going;
	}
}

/* The session has no owner any more. What was loaded while it was asked for was switched for
 * it, too: all of it is undone. */
void fl_beside_end(struct fl_named *d)
{
	d->by = NULL;
	d->is_going = true;
}

/* A refusal is of what a new session, or the recording's own, wants: a session that goes asks
 * again, unless there is no program any more. */
void fl_beside_answered(struct fl_beside *t, int err)
{
	for (int k = 0; k < FL_NAMED_MOST; k++) {
		struct fl_named *d = &t->of[k];

		if (!d->is_asked)
			continue;
		d->is_asked = false;
		if (d->was_going && err != FLE_REFUSED)
			fl_beside_remove(d);
		else if (err && !d->is_on)
			fl_beside_end(d);
		else
			d->is_on |= !err;
	}
}
