/*
 * fuzz/ctl - what a client of who records says (session/change/ctl.c): any bytes, in pieces.
 * What it asks for is answered here, by chance; the session has a handful of functions.
 *
 * Each line of a reply is a line of text, and begins as the protocol says.
 *
 * timeout: 600
 */
#include <stdbool.h>
#include <stdint.h>

#include "session/change/change.h"
#include "session/change/ctl.h"
#include "session/change/named.h"
#include "fuzz.h"

enum { SITES = 8 };

static struct fl_shm_site sites[SITES];
static uint32_t function_of[SITES] = { 0, 0, 1, 1, 2, 3, 3, 3 };
static struct fl_change_status is;
static uint32_t chance;

static uint32_t draw(uint32_t below)
{
	chance = chance * 1103515245 + 12345;
	return (chance >> 16) % below;
}

const char *fl_functions_name(const struct fl_functions *f, uint32_t function)
{
	static const char *const names[] = { "f", "a\033[2Jb", "longer\nthan a line", "" };

	(void)f;
	return names[function % 4];
}

int fl_change_stage(struct fl_session *s, const void *by, enum fl_stage stage,
		    const char *glob, struct fl_change_sum *sum, char why[FL_WHY])
{
	(void)s;
	if (!*glob || strchr(glob, '\n') || stage >= FL_N_STAGES)
		abort();
	*sum = (struct fl_change_sum){
		.functions = draw(9), .sites = draw(9), .gone = draw(2), .same = draw(2),
		.refused = draw(2), .refused_site = draw(SITES),
	};
	if (draw(2) || is.state == FL_CHANGE_ASKED || (is.by && is.by != by)) {
		snprintf(why, FL_WHY, "no function with a probe matches `%.180s`", glob);
		return -1;
	}
	is.state = FL_CHANGE_STAGED;
	is.by = by;
	return 0;
}

struct fl_change_sum fl_change_diff(const struct fl_session *s,
				    void (*each)(void *arg, uint32_t site, enum fl_stage),
				    void *arg)
{
	struct fl_change_sum sum = { .sites = draw(2000) };

	(void)s;
	for (uint32_t i = 0; each && i < sum.sites; i++)
		each(arg, draw(SITES), 1 + draw(3));
	return sum;
}

int fl_change_commit(struct fl_session *s, const void *by, char why[FL_WHY])
{
	(void)s;
	snprintf(why, FL_WHY, "nothing is staged");
	if (is.state != FL_CHANGE_STAGED || is.by != by)
		return -1;
	is.state = draw(2) ? FL_CHANGE_ASKED : FL_CHANGE_IDLE;
	is.answers += is.state == FL_CHANGE_IDLE;
	is.error = draw(2) ? FLE_REFUSED : 0;
	is.n_listed = draw(16);
	return 0;
}

void fl_change_abort(struct fl_session *s, const void *by)
{
	(void)s;
	if (is.by == by)
		is = (struct fl_change_status){ 0 };
}

/* ---- one session ------------------------------------------------------------------- */

static struct fl_named named;

int fl_change_begin_session(struct fl_session *s, const struct fl_naming *n, char why[FL_WHY])
{
	(void)s;
	if (!*n->name || !*n->glob || strchr(n->name, ' ') || n->stage <= FL_STAGE_OFF ||
	    (n->analyses && strchr(n->analyses, ' ')) ||
	    !(n->budget == 0 || (n->budget >= 0.001 && n->budget <= 1)))
		abort();
	snprintf(why, FL_WHY, "there is a session `%.31s` already", n->name);
	if (*named.name || draw(2))
		return -1;
	named = (struct fl_named){ .name = "some", .glob = (char *)"a\033[2J*", .by = n->by,
				   .budget = n->budget };
	is.state = draw(2) ? FL_CHANGE_ASKED : FL_CHANGE_IDLE;
	is.answers += is.state == FL_CHANGE_IDLE;
	is.error = draw(2) ? FLE_REFUSED : 0;
	return 0;
}

void fl_change_end_session(struct fl_session *s, const void *by)
{
	(void)s;
	if (named.by == by)
		named = (struct fl_named){ 0 };
}

int fl_change_drop_session(struct fl_session *s, const char *name, char why[FL_WHY])
{
	(void)s;
	snprintf(why, FL_WHY, "there is no session `%.31s`", name);
	if (!*named.name)
		return -1;
	named = (struct fl_named){ 0 };
	is.answers += draw(2);
	return 0;
}

const char *fl_change_session_of(const struct fl_session *s, const void *by)
{
	(void)s;
	return *named.name && named.by == by ? named.name : NULL;
}

int fl_change_write_session(FILE *to, struct fl_session *s, const void *by, const char *name,
			    char why[FL_WHY])
{
	(void)s;
	(void)by;
	if (!*name)
		abort();
	snprintf(why, FL_WHY, "there is no session `%.31s`", name);
	if (draw(2))
		return -1;
	for (uint32_t i = draw(1 << 16); i; i--)
		fprintf(to, "%*s\033[2J\t\n", (int)draw(9), "a");
	return 0;
}

int fl_change_write_list(FILE *to, struct fl_session *s, const char *glob, char told[FL_WHY])
{
	(void)s;
	if (glob && (!*glob || strchr(glob, '\n')))
		abort();
	snprintf(told, FL_WHY, "no function with a probe matches `%.180s`", glob ? glob : "");
	if (draw(2))
		return -1;
	for (uint32_t i = to ? draw(1 << 16) : 0; i; i--)
		fprintf(to, "on %*s\033[2J\t\n", (int)draw(9), "a");
	return 0;
}

bool fl_attach_has_begun(struct fl_session *s)
{
	(void)s;
	return draw(2);
}

bool fl_named_can_tell(const struct fl_session *s, uint64_t since_ns)
{
	(void)s;
	return since_ns;
}

void fl_change_each_session(const struct fl_session *s,
			    void (*each)(void *arg, const struct fl_named *), void *arg)
{
	(void)s;
	if (*named.name)
		each(arg, &named);
}

struct fl_change_status fl_change_status(const struct fl_session *s)
{
	(void)s;
	return is;
}

const char *fl_change_never(const struct fl_session *s)
{
	(void)s;
	return draw(8) ? NULL : "it cannot be changed";
}

static bool is_reply(const char *line)
{
	if (*line != ' ' && strncmp(line, "ok", 2) && strncmp(line, "no ", 3))
		return false;
	for (; *line; line++)
		if ((unsigned char)*line < ' ' || *line == 127)
			return false;
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static char *argv[] = { (char *)"program", NULL };
	static const struct fl_session_options o = { .argv = argv, .action = FL_ACT_SAMPLE };
	static struct fl_session s = { .o = &o, .sites = sites, .start_ns = 1, .pid = 7 };
	char *said = NULL, *line, *rest;
	size_t room;
	FILE *to;

	if (n > 1 << 14)
		return 0;
	chance = (uint32_t)n;
	is = (struct fl_change_status){ 0 };
	named = (struct fl_named){ 0 };
	s.functions.function_of = function_of;
	s.functions.sites = sites;
	s.chosen.n = SITES;
	to = open_memstream(&said, &room);
	fl_ctl_feed(&s, (const char *)data, n, to);
	fclose(to);
	if (strlen(said) != room || named.by)	/* who has gone owns nothing */
		abort();
	for (rest = said; (line = strsep(&rest, "\n")) && rest;)
		if (!is_reply(line))
			abort();
	free(said);
	return 0;
}
