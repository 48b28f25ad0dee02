/*
 * list.c - what each function is just now: recorded, counted, off, refused.
 *
 * Hides that sites are switched, and that a function's sites need not stand side by side nor
 * be alike: the function is what its strongest site is.
 */
#include <stdlib.h>

#include "session/change/change.h"
#include "session/negotiation.h"
#include "select/select.h"

struct standing {
	uint32_t sites, gone;		/* gone: those in unloaded modules */
	enum fl_stage stage;		/* NONE: all are refused */
	int refusal;			/* why one is; 0: none */
};

static const struct {
	enum fl_stage stage;
	const char *word, *in_sum;
} order[] = {
	{ FL_STAGE_ON, "on", "on" }, { FL_STAGE_COUNT, "count", "counted" },
	{ FL_STAGE_OFF, "off", "off" }, { FL_STAGE_NONE, "no", "refused" },
};

static bool is_stronger(enum fl_stage a, enum fl_stage b)
{
	return a == FL_STAGE_ON || (a == FL_STAGE_COUNT && b != FL_STAGE_ON) || !b;
}

static void take_site(const struct fl_session *s, uint32_t i, struct standing *f)
{
	int refusal = load_relaxed(&s->sites[i].refusal);
	enum fl_stage now = refusal ? FL_STAGE_NONE : fl_change_now(s, i);

	f->sites++;
	f->gone += load_relaxed(&s->sites[i].state) == FL_SITE_GONE;
	if (refusal)
		f->refusal = refusal;
	else if (is_stronger(now, f->stage))
		f->stage = now;
}

/* How each function stands; index: function. NULL: there is no memory. */
static struct standing *gather_standings(struct fl_session *s, struct fl_selection *of)
{
	struct standing *all = calloc(s->functions.n + 1, sizeof(*all));

	for (uint32_t i = 0; all && i < s->chosen.n; i++)
		if (fl_negotiation_may_want(s, i) &&
		    load_relaxed(&s->sites[i].state) != FL_SITE_OTHERS &&
		    (!of || fl_negotiation_takes(s, of, i)))
			take_site(s, i, &all[s->functions.function_of[i]]);
	return all;
}

static void write_line(FILE *to, const char *word, const char *name, const struct standing *f)
{
	fprintf(to, "%-5s ", word);
	fl_print_plain(to, name);
	fprintf(to, "%s%s%s\n", f->gone == f->sites ? " (unloaded)" : "",
		f->stage ? "" : ": ", f->stage ? "" : fl_reason(f->refusal));
}

/* Write all functions of one kind; returns how many there are. */
static uint32_t write_kind(FILE *to, const struct fl_session *s, const struct standing *all,
			   size_t kind)
{
	uint32_t n = 0;

	for (uint32_t f = 0; f < s->functions.n; f++) {
		if (!all[f].sites || all[f].stage != order[kind].stage)
			continue;
		n++;
		if (to)
			write_line(to, order[kind].word, fl_functions_name(&s->functions, f),
				   &all[f]);
	}
	return n;
}

/* "3 on, 1 counted, 20 off": how many are on is said always. */
static uint32_t write_all(FILE *to, const struct fl_session *s, const struct standing *all,
			  char told[FL_WHY])
{
	uint32_t sum = 0;
	size_t at = 0;

	for (size_t kind = 0; kind < ARRAY_LEN(order); kind++) {
		uint32_t n = write_kind(to, s, all, kind);

		if (n || !kind)
			at += (size_t)snprintf(told + at, FL_WHY - at, "%s%u %s",
					       kind ? ", " : "", n, order[kind].in_sum);
		sum += n;
	}
	return sum;
}

int fl_change_write_list(FILE *to, struct fl_session *s, const char *glob, char told[FL_WHY])
{
	int err = 0;
	struct fl_selection *of = glob ? fl_selection_only(glob, &err) : NULL;
	struct standing *all = err ? NULL : gather_standings(s, of);
	uint32_t n = all ? write_all(to, s, all, told) : 0;

	if (err)
		snprintf(told, FL_WHY, "`%.100s`: %s; write [MODULE!]FUNCTION or "
			 "MODULE!0xOFFSET", glob, fl_reason(err));
	else if (!all)
		snprintf(told, FL_WHY, "out of memory");
	else if (glob && !n)
		snprintf(told, FL_WHY, "no function with a probe matches `%.180s`", glob);
	free(all);
	fl_selection_free(of);
	return err || !all || (glob && !n) ? -1 : 0;
}
