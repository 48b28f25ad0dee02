/*
 * use.c - from the text behind -a to an analysis.
 *
 * `NAME` and `NAME:ARG` are built in; a text with a slash, or that ends in .so,
 * is a third party's shared object. Whatever is wrong with an analysis is told in
 * one line before a target starts: for that it is opened once, on an empty view.
 */
#include "analysis/analysis.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(char why[FL_USE_WHY], const char *what, const char *reason)
{
	snprintf(why, FL_USE_WHY, "%s: %s", what, reason);
	return -1;
}

/* ---- a shared object ------------------------------------------------------------ */

/* How long the path in `spec` is; 0: it is no shared object. */
static size_t path_length(const char *spec)
{
	const char *so = strstr(spec, ".so:");
	size_t n = strlen(spec);

	if (so)
		return (size_t)(so + 3 - spec);
	if (strchr(spec, '/') || (n > 3 && !strcmp(spec + n - 3, ".so")))
		return n;
	return 0;
}

/* dlerror() says "PATH: reason", and may say more lines. */
static int fail_to_load(char why[FL_USE_WHY], const char *path)
{
	const char *text = dlerror();
	size_t n = strlen(path);

	if (!text)
		text = "cannot be loaded";
	if (!strncmp(text, path, n) && !strncmp(text + n, ": ", 2))
		text += n + 2;
	fail(why, path, text);
	why[strcspn(why, "\n")] = '\0';
	return -1;
}

static bool is_good_name(const char *name)
{
	if (!name || !*name || strlen(name) > 63)
		return false;
	for (; *name; name++)
		if (!isalnum((unsigned char)*name) && *name != '_' && *name != '-')
			return false;
	return true;
}

static int check(const struct flick_analysis *a, const char *path, char why[FL_USE_WHY])
{
	char text[128];

	if (a->version != FLICK_ANALYSIS_VERSION) {
		snprintf(text, sizeof(text), "is made for version %u of "
			 "flick/analysis.h, this flick has version %u", a->version,
			 FLICK_ANALYSIS_VERSION);
		return fail(why, path, text);
	}
	if (a->size < sizeof(*a))
		return fail(why, path, "its flick_analysis is smaller than version 1's; "
			    "set .size to sizeof(struct flick_analysis)");
	if (!a->open || !a->rows || !a->close)
		return fail(why, path, "its flick_analysis has no open, no rows or no close");
	if (!is_good_name(a->name) || fl_analysis_find(a->name))
		return fail(why, path, "its flick_analysis has a name that is not letters, "
			    "digits, - and _, or one of flick's own");
	return 0;
}

static int load(struct fl_use *use, char *path, char why[FL_USE_WHY])
{
	char *real = realpath(path, NULL);

	if (!real)
		return fail(why, path, strerror(errno));
	use->library = dlopen(real, RTLD_NOW | RTLD_LOCAL);
	if (!use->library) {
		fail_to_load(why, real);
		free(real);
		return -1;
	}
	free(real);
	use->analysis = dlsym(use->library, "flick_analysis");
	if (!use->analysis)
		return fail(why, path, "exports no flick_analysis; see flick/analysis.h");
	return check(use->analysis, path, why);
}

/* ---- a name ---------------------------------------------------------------------- */

static int find(struct fl_use *use, const char *name, char why[FL_USE_WHY])
{
	size_t n;

	use->analysis = fl_analysis_find(name);
	if (use->analysis)
		return 0;
	n = (size_t)snprintf(why, FL_USE_WHY, "there is no analysis `%.64s`; there are ",
			     name);
	for (size_t i = 0; fl_analyses[i]; i++)
		n += (size_t)snprintf(why + n, FL_USE_WHY - n, "%s%s", i == 0 ? "" :
				      fl_analyses[i + 1] ? ", " : " and ",
				      fl_analyses[i]->name);
	return -1;
}

/* ---- the argument ------------------------------------------------------------------ */

static const char *no_name(const struct flick_view *v, uint32_t function)
{
	(void)v;
	(void)function;
	return "?";
}

/* Does it open? */
static int try_out(const struct fl_use *use, char why[FL_USE_WHY])
{
	const struct flick_analysis *a = use->analysis;
	struct flick_view nothing = { .size = sizeof(nothing), .ns_per_tick = 1.0,
				      .name = no_name };
	void *state = NULL;
	int err = use->arg && !a->args ? -EINVAL : a->open(&state, &nothing, use->arg);

	if (!err)
		a->close(state);
	else if (err == -EINVAL && use->arg)
		snprintf(why, FL_USE_WHY, "analysis `%s` does not take `%s`; it takes %s",
			 a->name, use->arg, a->args ? a->args : "nothing");
	else
		snprintf(why, FL_USE_WHY, "analysis `%s` does not start: %s", a->name,
			 strerror(err < 0 && err > -4096 ? -err : EIO));
	return err ? -1 : 0;
}

/* The result's name has the argument, so that one analysis can be asked for
 * twice. */
static int name_result(struct fl_use *use)
{
	int n = asprintf(&use->name, "%s%s%s", use->analysis->name, use->arg ? ":" : "",
			 use->arg ? use->arg : "");

	if (n < 0)
		use->name = NULL;
	return n < 0 ? -1 : 0;
}

static int choose(struct fl_use *use, char *text, size_t path, char why[FL_USE_WHY])
{
	char *colon = strchr(text + path, ':');

	if (colon) {
		use->arg = strdup(colon + 1);
		*colon = '\0';
	}
	if (path ? load(use, text, why) : find(use, text, why))
		return -1;
	return try_out(use, why);
}

int fl_use_open(struct fl_use *use, const char *spec, char why[FL_USE_WHY])
{
	char *text = strdup(spec);
	int err = -1;

	*use = (struct fl_use){ 0 };
	snprintf(why, FL_USE_WHY, "out of memory");
	if (text)
		err = choose(use, text, path_length(text), why);
	if (!err)
		err = name_result(use);
	free(text);
	if (err)
		fl_use_close(use);
	return err;
}

void fl_use_close(struct fl_use *use)
{
	free(use->arg);
	free(use->name);
	if (use->library)
		dlclose(use->library);
	*use = (struct fl_use){ 0 };
}

/* Counters suffice for counts alone. Where another analysis is asked for besides,
 * counts need every record. */
enum fl_action fl_use_action(const struct fl_use *uses, size_t n,
			     enum fl_action samples)
{
	bool counts = false, others = false, calls = false;

	for (size_t i = 0; i < n; i++) {
		counts |= uses[i].analysis->needs == FLICK_NEEDS_COUNTS;
		calls |= uses[i].analysis->needs >= FLICK_NEEDS_CALLS;
		others |= uses[i].analysis->needs == FLICK_NEEDS_SAMPLES;
	}
	if (counts && !others && !calls)
		return FL_ACT_COUNT;
	return counts || calls ? FL_ACT_TIME : samples;
}

static bool wants_calls(const struct flick_analysis *a)
{
	return a->enter || a->leave || a->stray;
}

uint32_t fl_use_weaves(const struct fl_use *uses, size_t n)
{
	uint32_t weaves = 0;

	for (size_t i = 0; i < n; i++) {
		if (uses[i].analysis->needs == FLICK_NEEDS_ACCESSES)
			weaves |= FL_WEAVE_ACCESSES |
				  (wants_calls(uses[i].analysis) ? FL_WEAVE_CALLS : 0);
		if (uses[i].analysis->needs == FLICK_NEEDS_PATHS)
			weaves |= FL_WEAVE_PATHS;
	}
	return weaves;
}
