/*
 * select.h - the door of select/: which functions patterns ask for, and which modules that
 * concerns.
 *
 * Pure: it knows names, paths and offsets, no session and no process. Functions are for one
 * thread at a time. Where a line is printed it is one on stderr, for people.
 */
#ifndef FL_SELECT_H
#define FL_SELECT_H

#include "args/args.h"
#include "channel/channel.h"
#include "site/site.h"

/* ---- patterns (select.c) -------------------------------------------------------------- */

/* Patterns in the order they were given; each switches functions on or off. */
struct fl_selection;
enum fl_match_by { FL_BY_GLOB, FL_BY_REGEX };
struct fl_selection *fl_selection_new(void);
void fl_selection_match_by(struct fl_selection *, enum fl_match_by);
const char *fl_match_each(size_t);
/* What options say to the selection that `to` points to. */
int fl_selection_take_match(void *to, const struct fl_option *, const char *how);
int fl_selection_take_on(void *to, const struct fl_option *, const char *pattern);
int fl_selection_take_off(void *to, const struct fl_option *, const char *pattern);
/* `text` must outlive the selection. 0 or an error with a line printed. */
int fl_selection_add(struct fl_selection *, int on, const char *text);
/* All patterns are there, and how they match is known: parse them. Likewise. */
int fl_selection_ready(struct fl_selection *);

/* A function as patterns see it; any of its names may match. */
struct fl_candidate {
	const char *path;		/* of the module that the site is in */
	const char *home;		/* of the one that the function is in */
	const char *names[6];		/* NULL: as many as there are; the linker's first */
	uint64_t function, site;	/* ELF addresses */
	bool is_stub;			/* patterns that do not name stubs do not take it */
};
/* The offset by which patterns may name a site. A body's exit has none, because a point may
 * stand at the same offset. */
static inline uint64_t fl_candidate_site(unsigned int provider, unsigned int kind,
					 uint64_t offset)
{
	return provider == FL_PROVIDER_BODY && kind != FL_ENTRY ? UINT64_MAX : offset;
}
/* Is it wanted? Notes which patterns matched something. */
bool fl_selection_wants(struct fl_selection *, const struct fl_candidate *);
/* The next pattern from *at on that has matched nothing, or NULL. `module_len`
 * is the length of its module part, 0 without. */
const char *fl_selection_idle(const struct fl_selection *, size_t *at,
			      size_t *module_len);
/* The functions among which patterns have matched nothing. */
struct fl_scope {
	const char *const *names;
	const char *const *paths;	/* of the modules they are in; NULL: of `file` */
	size_t n;
	const char *file;		/* whose list shows them; NULL: of a recording */
	bool yet;			/* others may come */
};
/* Say in one line what a pattern that has matched nothing could have meant. */
void fl_selection_say_idle(const struct fl_selection *, const char *pattern,
			   size_t module_len, const struct fl_scope *);
void fl_selection_free(struct fl_selection *);
/* Add a glob while the recording runs. 0 or an error, and no line is printed. */
int fl_selection_amend(struct fl_selection *, int on, const char *glob);
/* A selection of what a glob takes; NULL and an error, but no line. */
struct fl_selection *fl_selection_only(const char *glob, int *err);
/* May a function with this mangled name have another one that is wanted, or not? */
bool fl_selection_may_take(const struct fl_selection *, const char *linkage);
bool fl_selection_has_patterns(const struct fl_selection *);
/* Does a pattern name single sites? */
bool fl_selection_names_sites(const struct fl_selection *);
/* The module part of the next pattern from *at on that switches functions on and has one;
 * false: no more. */
bool fl_selection_module(const struct fl_selection *, size_t *at, const char **glob,
			 size_t *len);
/* The last pattern that switches functions off and has matched; NULL: none has. */
const char *fl_selection_emptied_by(const struct fl_selection *);
/* What a pattern whose module is not there could have meant, into `hint`: "; did you mean
 * ...?", or what modules there are. */
enum { FL_HINT = 640 };
void fl_selection_hint_module(const struct fl_scope *, const char *pattern, size_t module_len,
			      char *hint, size_t room);
/* do_: what is done with the functions of a pattern. */
#define FL_SELECTION_OPTIONS(do_, at_) \
	{ 'P', "patch", "PATTERN", do_ " matching functions", fl_selection_take_on, at_ }, \
	{ 'U', "unpatch", "PATTERN", "leave out matching functions", \
	  fl_selection_take_off, at_ }, \
	{ 0, "match", "HOW", "patterns are glob (default) or regex", \
	  fl_selection_take_match, at_, .each = fl_match_each }

/* ---- providers, and which modules have second bodies (providers.c) ------------------ */

/* "cyg,body": into bits. 0, or -1 and a line printed. */
int fl_providers_take(void *bits, const struct fl_option *, const char *list);
const char *fl_provider_each(size_t);
/* Were the sites of provider `i` asked for? */
bool fl_providers_has(uint32_t bits, uint32_t i);
/* Which modules get second bodies, into what the target is told: by patterns and the bits of
 * --provider. 0, or -1 and a line printed. */
int fl_providers_rule(struct fl_body_rules *, const struct fl_selection *, uint32_t bits);
/* The same of one file that is only looked at. */
int fl_providers_rule_all(struct fl_body_rules *, const struct fl_selection *, uint32_t bits);
#define FL_PROVIDER_OPTION(at_) \
	{ 0, "provider", "NAME,...", "use these kinds of probe sites alone, see flick(1)", \
	  fl_providers_take, at_, .each = fl_provider_each }

#endif
