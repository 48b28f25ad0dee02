/*
 * ctl-answer.c - what the recorder answers to `flick ctl`: a line for each request (ctl.c).
 *
 * Changes themselves are change.c's. None of these waits: where the program is to answer first
 * the client is noted as waiting, and ctl.c comes again.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "session/attach.h"
#include "session/budget/budget.h"
#include "session/change/change.h"
#include "session/change/ctl-client.h"
#include "session/change/named.h"

enum {
	OUT_MOST = 1 << 18,		/* bytes of replies that nobody has read yet */
	LISTED_MOST = 1000,		/* lines of one reply */
	REASONS_MOST = 10
};

/* ---- what is said ------------------------------------------------------------------- */

static void reply(struct fl_ctl_client *k, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* A byte that moves a cursor, or ends a line, is written out, in up to four letters: still a
 * line is no longer than a client has room for. "": there is no memory. */
static size_t print_line(char line[FL_CTL_LINE], const char *text)
{
	FILE *to = fmemopen(line, FL_CTL_LINE, "w");

	*line = '\0';
	if (to) {
		fl_print_plain(to, text);
		fputc('\n', to);
		fclose(to);
	}
	return strlen(line);
}

/* Replies that a client does not read have a bound; beyond it the client is let go. */
static void reply(struct fl_ctl_client *k, const char *format, ...)
{
	char text[FL_CTL_LINE / 4 - 1], line[FL_CTL_LINE];
	va_list args;
	size_t n;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	n = print_line(line, text);
	k->is_over |= !n;
	if (k->n_out + n > k->room_out) {
		size_t room = k->room_out ? 2 * k->room_out : 4096;
		char *grown = room <= OUT_MOST ? realloc(k->out, room) : NULL;

		k->is_over |= !grown;
		if (!grown)
			return;
		k->out = grown;
		k->room_out = room;
	}
	memcpy(k->out + k->n_out, line, n);
	k->n_out += n;
}

void fl_ctl_reply(struct fl_ctl_client *k, const char *line)
{
	reply(k, "%s", line);
}

static const void *owner_of(struct fl_ctl *c, const struct fl_ctl_client *k)
{
	return k->owns ? (const void *)k : (const void *)c;
}

static const char *name_of_site(const struct fl_session *s, uint32_t site)
{
	return fl_functions_name(&s->functions, s->functions.function_of[site]);
}

/* ---- requests ----------------------------------------------------------------------- */

static void tell_sum(struct fl_ctl_client *k, const struct fl_session *s,
		     const struct fl_change_sum *sum)
{
	char same[64] = "", gone[64] = "", refused[320] = "";

	if (sum->same)
		snprintf(same, sizeof(same), "; %u so already", sum->same);
	if (sum->gone)
		snprintf(gone, sizeof(gone), ", %u when loaded again", sum->gone);
	if (sum->refused)
		snprintf(refused, sizeof(refused), "; %u refused: %.240s", sum->refused,
			 fl_reason(load_relaxed(&s->sites[sum->refused_site].refusal)));
	reply(k, "ok %u site%s of %u function%s staged%s%s%s", sum->sites,
	    sum->sites == 1 ? "" : "s", sum->functions, sum->functions == 1 ? "" : "s", gone,
	    same, refused);
}

static bool skip_word(char **text, const char *word)
{
	size_t n = strlen(word);

	if (strncmp(*text, word, n) || ((*text)[n] && (*text)[n] != ' '))
		return false;
	*text += n;
	*text += strspn(*text, " ");
	return true;
}

/* PATTERN is all up to a last word that is an action. */
static enum fl_stage take_action(char *pattern)
{
	size_t n = strlen(pattern);
	const char *last = strrchr(pattern, ' ');

	if (!last || strcmp(last, " count"))
		return FL_STAGE_ON;
	for (n -= strlen(" count"); n && pattern[n - 1] == ' ';)
		n--;
	pattern[n] = '\0';
	return FL_STAGE_COUNT;
}

static void take_stage(struct fl_ctl *c, struct fl_ctl_client *k, char *text)
{
	struct fl_change_sum sum;
	enum fl_stage to = FL_STAGE_OFF;
	char why[FL_WHY];

	if (skip_word(&text, "on"))
		to = take_action(text);
	else if (!skip_word(&text, "off"))
		*text = '\0';
	if (!*text)
		reply(k, "no stage takes `on PATTERN`, `on PATTERN count` or `off PATTERN`");
	else if (fl_change_stage(c->s, owner_of(c, k), to, text, &sum, why))
		reply(k, "no %s", why);
	else
		tell_sum(k, c->s, &sum);
}

/* A line for each function. */
struct change_lines {
	struct fl_ctl_client *k;
	const struct fl_session *s;
	uint32_t function, n;		/* sites of it */
	uint32_t lines, more;		/* that were said; that there was no room for */
	enum fl_stage stage;
	uint32_t site;
};

static void end_function(struct change_lines *l)
{
	static const char *const names[FL_N_STAGES] = { "", "off", "on", "count" };

	bool has_room = l->lines < LISTED_MOST && l->k->n_out < OUT_MOST / 2;

	if (l->n && has_room)
		reply(l->k, " %-5s %.800s (%u site%s)", names[l->stage],
		    name_of_site(l->s, l->site), l->n, l->n == 1 ? "" : "s");
	l->lines += l->n && has_room;
	l->more += l->n && !has_room;
	l->n = 0;
}

static void list_site(void *arg, uint32_t site, enum fl_stage to)
{
	struct change_lines *l = arg;
	uint32_t function = l->s->functions.function_of[site];

	if (l->n && function == l->function) {
		l->stage = to > l->stage ? to : l->stage;
		l->n++;
		return;
	}
	end_function(l);
	l->function = function;
	l->site = site;
	l->stage = to;
	l->n = 1;
}

static void tell_diff(struct fl_ctl *c, struct fl_ctl_client *k)
{
	struct change_lines l = { .k = k, .s = c->s };
	struct fl_change_sum sum = fl_change_diff(c->s, list_site, &l);

	end_function(&l);
	if (l.more)
		reply(k, " ... and %u more", l.more);
	if (sum.sites)
		tell_sum(k, c->s, &sum);
	else
		reply(k, "ok nothing is staged");
}

static double us_of(const struct fl_ctl *c, uint64_t ticks)
{
	uint64_t tsc, ns;

	fl_clocks_read(&tsc, &ns);
	return (double)ticks * (double)(ns - c->s->start_ns) /
	       (double)(tsc - c->s->start_tsc) / 1e3;
}

static void count_session(void *n, const struct fl_named *d)
{
	(void)d;
	++*(uint32_t *)n;
}

static bool is_at_work(struct fl_session *s)
{
	return s->attached ? fl_attach_has_begun(s) : s->start.begun;
}

static void tell_status(struct fl_ctl *c, struct fl_ctl_client *k)
{
	uint32_t sessions = 0;
	char functions[FL_WHY];
	struct fl_change_status is = fl_change_status(c->s);
	struct fl_change_sum sum = fl_change_diff(c->s, NULL, NULL);

	reply(k, " recording  process %d, %.800s%s", c->s->pid, c->s->o->argv[0],
	    is_at_work(c->s) ? "" : " (no probe is on yet)");
	if (!fl_change_write_list(NULL, c->s, NULL, functions))
		reply(k, " functions  %s; `list` names them", functions);
	fl_change_each_session(c->s, count_session, &sessions);
	reply(k, " sessions   the recording's%s", sessions ? ", and those of `session list`" :
	    "; there is one");
	reply(k, " generation %u", is.generation);
	if (is.state == FL_CHANGE_ASKED)
		reply(k, " change     %u sites, being made since %.1f ms", sum.sites,
		    (double)(fl_os_monotonic_ns() - is.asked_ns) / 1e6);
	else if (is.state == FL_CHANGE_STAGED)
		reply(k, " staged     %u sites of %u functions%s", sum.sites, sum.functions,
		    is.by == owner_of(c, k) ? "" : ", by somebody else");
	else
		reply(k, " staged     nothing");
	if (fl_change_never(c->s))
		reply(k, "no %s", fl_change_never(c->s));
	else
		reply(k, "ok");
}

static void begin_waiting(struct fl_ctl_client *k, uint32_t answers)
{
	k->waits = FL_CTL_ANSWER;
	k->answers = answers;
	k->since_ns = fl_os_monotonic_ns();
}

static void begin_commit(struct fl_ctl *c, struct fl_ctl_client *k)
{
	uint32_t answers = fl_change_status(c->s).answers;
	char why[FL_WHY];

	if (fl_change_commit(c->s, owner_of(c, k), why))
		reply(k, "no %s", why);
	else
		begin_waiting(k, answers);
}

bool fl_ctl_is_answered(const struct fl_ctl *c, const struct fl_ctl_client *k)
{
	return fl_change_status(c->s).answers != k->answers;
}

static void tell_refused(struct fl_ctl *c, struct fl_ctl_client *k,
			 const struct fl_change_status *is)
{
	for (uint32_t i = 0; i < is->n_listed && i < REASONS_MOST; i++)
		reply(k, " refused %.400s+0x%llx: %s", name_of_site(c->s, is->listed[i]),
		    (unsigned long long)(c->s->functions.sites[is->listed[i]].at -
					 c->s->functions.sites[is->listed[i]].function),
		    fl_reason(load_relaxed(&c->s->sites[is->listed[i]].refusal)));
	if (k->has_session && !fl_change_session_of(c->s, k))
		reply(k, "no there is no such session: %s", fl_reason(is->error));
	else if (is->error == FLE_REFUSED)
		reply(k, "no %u site%s cannot be switched, so nothing has changed; what is "
			 "left is still staged", is->refused, is->refused == 1 ? "" : "s");
	else
		reply(k, "no nothing has changed: %s", fl_reason(is->error));
}

/* The program has answered, or nobody waits any longer. */
void fl_ctl_end_commit(struct fl_ctl *c, struct fl_ctl_client *k)
{
	struct fl_change_status is = fl_change_status(c->s);

	k->waits = FL_CTL_NOTHING;
	k->since_ns = fl_os_monotonic_ns();
	if (!fl_ctl_is_answered(c, k))
		reply(k, "no %s", fl_change_never(c->s) ? fl_change_never(c->s) :
		      "the program has not answered yet; `status` tells when it has");
	else if (is.error)
		tell_refused(c, k, &is);
	else
		reply(k, "ok generation %u: %u site%s switched in %.0f us", is.generation,
		    is.switched, is.switched == 1 ? "" : "s", us_of(c, is.took_ticks));
	k->has_session &= !is.error || fl_change_session_of(c->s, k);
}

/* Counts up to now are to be known first, which may take a moment. */
static void wait_to_tell(struct fl_ctl_client *k, enum fl_ctl_waiting for_, const char *text)
{
	free(k->text);
	k->text = strdup(text);
	k->waits = k->text ? for_ : FL_CTL_NOTHING;
	k->since_ns = fl_os_monotonic_ns();
	if (!k->text)
		reply(k, "no out of memory");
}

/* The first word of a text, which is cut there. */
static char *cut_word(char **text)
{
	char *word = *text;
	size_t n = strcspn(word, " ");

	*text += n;
	if (**text)
		*(*text)++ = '\0';
	*text += strspn(*text, " ");
	return word;
}

/* `--budget=1` is `--budget 1`. What is wrong, or NULL. */
static const char *take_flags(char **text, struct fl_naming *n)
{
	while (**text == '-') {
		char *word = cut_word(text), *value = strchr(word, '=');

		if (value)
			*value++ = '\0';
		else
			value = cut_word(text);
		if (!strcmp(word, "-a") || !strcmp(word, "--analysis"))
			n->analyses = value;
		else if (strcmp(word, "--budget"))
			return "a session takes -a ANALYSIS and --budget=PERCENT";
		else if (!fl_budget_parse(value, &n->budget))
			return "--budget takes a percentage from 0.1 to 100";
	}
	return NULL;
}

/* NAME [OPTION]... PATTERN [count]: the pattern may have blanks. */
void fl_ctl_begin_session(struct fl_ctl *c, struct fl_ctl_client *k)
{
	struct fl_naming n = { .by = k };
	char *text = k->text, why[FL_WHY];
	uint32_t answers = fl_change_status(c->s).answers;
	const char *wrong;

	k->waits = FL_CTL_NOTHING;
	n.name = cut_word(&text);
	wrong = take_flags(&text, &n);
	n.stage = take_action(text);
	n.glob = text;
	if (!wrong && (!*n.name || !*n.glob))
		wrong = "session new takes `NAME PATTERN` or `NAME PATTERN count`";
	if (!wrong && k->has_session)
		wrong = "there is one of this connection";
	if (!wrong && n.budget > 0 && c->s->o->action != FL_ACT_SAMPLE)
		wrong = "this recording has no budget: it records each call";
	if (!wrong && fl_change_begin_session(c->s, &n, why))
		wrong = why;
	if (wrong) {
		reply(k, "no %s", wrong);
		return;
	}
	k->has_session = true;
	begin_waiting(k, answers);
}

static void tell_session(void *arg, const struct fl_named *d)
{
	char budget[32] = "";

	if (d->budget > 0)
		snprintf(budget, sizeof(budget), " (budget %g %%)", d->budget * 100);
	reply(arg, " %-12s %u site%s of %u function%s: %.200s%s%s%s", d->name, d->sites,
	      d->sites == 1 ? "" : "s", d->functions, d->functions == 1 ? "" : "s", d->glob,
	      d->stage == FL_STAGE_COUNT ? " (counted)" : "", budget,
	      d->is_on ? "" : " (being made)");
}

/* Reply with lines, as many as there is room for. */
static void reply_lines(struct fl_ctl_client *k, char *text)
{
	for (char *rest = text, *line; (line = strsep(&rest, "\n"));)
		if (*line && k->n_out < OUT_MOST / 2)
			reply(k, " %s", line);
		else if (*line && rest && !*rest)
			reply(k, " ... and more, which there is no room for");
}

/* Reply with a session's lines, as many as there is room for. 0, or -1 and it is said why. */
int fl_ctl_tell_table(struct fl_ctl *c, struct fl_ctl_client *k, const char *name)
{
	char *text = NULL, why[FL_WHY];
	size_t n;
	FILE *to = open_memstream(&text, &n);
	int err = to ? fl_change_write_session(to, c->s, k, name, why) : -1;

	if (!to)
		snprintf(why, sizeof(why), "out of memory");
	else
		fclose(to);
	if (err)
		reply(k, "no %s", why);
	else
		reply_lines(k, text);
	free(text);
	return err;
}

/* PATTERN, or "". */
static void tell_list(struct fl_ctl *c, struct fl_ctl_client *k, const char *glob)
{
	char *text = NULL, sum[FL_WHY] = "the program has no probes yet";
	size_t n;
	FILE *to = is_at_work(c->s) ? open_memstream(&text, &n) : NULL;
	int err = to ? fl_change_write_list(to, c->s, *glob ? glob : NULL, sum) : -1;

	if (to)
		fclose(to);
	if (!err)
		reply_lines(k, text);
	reply(k, "%s %s", err ? "no" : "ok", sum);
	free(text);
}

/* Reply with a session's result. A client that asked for its own session's has what it wants:
 * the session ends. */
void fl_ctl_end_result(struct fl_ctl *c, struct fl_ctl_client *k)
{
	const char *own = fl_change_session_of(c->s, k);

	k->waits = FL_CTL_NOTHING;
	k->since_ns = fl_os_monotonic_ns();
	if (fl_ctl_tell_table(c, k, k->text))
		return;
	reply(k, "ok");
	if (!own || strcmp(own, k->text))
		return;
	fl_change_end_session(c->s, k);
	k->has_session = false;
}

static void take_session(struct fl_ctl *c, struct fl_ctl_client *k, char *text)
{
	uint32_t answers = fl_change_status(c->s).answers, n = 0;
	char why[FL_WHY];

	if (skip_word(&text, "new")) {
		wait_to_tell(k, FL_CTL_BEGIN, text);
	} else if (skip_word(&text, "list")) {
		fl_change_each_session(c->s, tell_session, k);
		fl_change_each_session(c->s, count_session, &n);
		reply(k, "ok %u beside the recording's", n);
	} else if (skip_word(&text, "result") && *text) {
		wait_to_tell(k, FL_CTL_RESULT, text);
	} else if (skip_word(&text, "end") && fl_change_session_of(c->s, k)) {
		wait_to_tell(k, FL_CTL_RESULT, fl_change_session_of(c->s, k));
	} else if (!skip_word(&text, "drop") || !*text) {
		reply(k, "no session takes `new NAME PATTERN`, `list`, `result NAME` or "
			 "`drop NAME`");
	} else if (fl_change_drop_session(c->s, text, why)) {
		reply(k, "no %s", why);
	} else {
		begin_waiting(k, answers);
	}
}

static void begin_own(struct fl_ctl *c, struct fl_ctl_client *k)
{
	struct fl_change_status is = fl_change_status(c->s);

	if (is.state == FL_CHANGE_ASKED) {
		reply(k, "no a change is being made just now");
		return;
	}
	if (is.state != FL_CHANGE_IDLE && is.by != k) {
		reply(k, "no somebody else has staged a change, and neither committed nor "
			 "aborted it");
		return;
	}
	k->owns = true;
	reply(k, "ok");
}

static void abort_change(struct fl_ctl *c, struct fl_ctl_client *k)
{
	struct fl_change_status is = fl_change_status(c->s);

	fl_change_abort(c->s, owner_of(c, k));
	if (is.state == FL_CHANGE_ASKED)
		reply(k, "no a change is being made just now");
	else if (is.state == FL_CHANGE_STAGED && is.by != owner_of(c, k))
		reply(k, "no it is somebody else who has staged a change");
	else
		reply(k, "ok nothing is staged");
}

/* Requests of one word. */
static const struct {
	const char *word;
	void (*answer)(struct fl_ctl *, struct fl_ctl_client *);
} alone[] = {
	{ "diff", tell_diff },	   { "commit", begin_commit }, { "abort", abort_change },
	{ "status", tell_status }, { "begin", begin_own },
};

void fl_ctl_answer_line(struct fl_ctl *c, struct fl_ctl_client *k, char *text)
{
	text += strspn(text, " ");
	for (size_t i = 0; i < ARRAY_LEN(alone); i++)
		if (skip_word(&text, alone[i].word)) {
			if (*text)
				reply(k, "no %s takes nothing behind it", alone[i].word);
			else
				alone[i].answer(c, k);
			return;
		}
	if (skip_word(&text, "stage"))
		take_stage(c, k, text);
	else if (skip_word(&text, "list"))
		tell_list(c, k, text);
	else if (skip_word(&text, "session"))
		take_session(c, k, text);
	else
		reply(k, "no such request; there are stage, diff, commit, abort, status, "
			 "list, session");
}
