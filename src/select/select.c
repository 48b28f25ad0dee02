/*
 * select.c - which functions -P, -U and --match ask for.
 *
 * Patterns apply in order, the last one that matches decides. Without any -P
 * everything is on before the first pattern. What a pattern means is known only with
 * --match, which may stand behind the pattern: until then the pattern is only kept.
 */
#include <ctype.h>
#include <dlfcn.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "report/report.h"
#include "select/rules.h"

struct pattern {
	const char *text;
	int on;
	enum fl_match_by by;
	bool matched;
	char *own;			/* its text, if it is the selection's own */
	struct fl_pattern glob;		/* its module part serves regex too */
	regex_t regex;
};

struct fl_selection {
	enum fl_match_by by;
	struct pattern *patterns;
	size_t n, n_ready;		/* the first n_ready are parsed */
	bool is_amended, was_on_at_first;
};

struct fl_selection *fl_selection_new(void)
{
	return calloc(1, sizeof(struct fl_selection));
}

void fl_selection_match_by(struct fl_selection *s, enum fl_match_by by)
{
	s->by = by;
}

const char *fl_match_each(size_t i)
{
	static const char *const names[] = { [FL_BY_GLOB] = "glob", [FL_BY_REGEX] = "regex" };

	return i < ARRAY_LEN(names) ? names[i] : NULL;
}

int fl_selection_take_match(void *to, const struct fl_option *o, const char *how)
{
	struct fl_selection *s = *(struct fl_selection **)to;

	return fl_take_choice(&s->by, o, how);
}

int fl_selection_take_on(void *to, const struct fl_option *o, const char *pattern)
{
	(void)o;
	return fl_selection_add(*(struct fl_selection **)to, 1, pattern);
}

int fl_selection_take_off(void *to, const struct fl_option *o, const char *pattern)
{
	(void)o;
	return fl_selection_add(*(struct fl_selection **)to, 0, pattern);
}

struct fl_selection *fl_selection_only(const char *glob, int *err)
{
	struct fl_selection *s = fl_selection_new();

	*err = -ENOMEM;
	if (!s)
		return NULL;
	s->is_amended = true;			/* and nothing is on at first */
	*err = fl_selection_amend(s, 1, glob);
	if (!*err)
		return s;
	fl_selection_free(s);
	return NULL;
}

static const char *function_part(const struct pattern *p)
{
	const char *mark = strchr(p->text, '!');

	return mark ? mark + 1 : p->text;
}

static int compile(struct pattern *p)
{
	char why[128];
	int err = regcomp(&p->regex, function_part(p), REG_EXTENDED | REG_NOSUB);

	if (!err)
		return 0;
	regerror(err, &p->regex, why, sizeof(why));
	fl_say("`%s` is no regular expression: %s", p->text, why);
	return FLE_PATTERN;
}

static const char stub_prefix[] = "plt:", stub_suffix[] = "@plt";

/* `plt:MODULE!NAME` is `MODULE!NAME@plt`, which is how stubs are called. */
static int name_stub(struct pattern *p)
{
	const char *name, *mark;
	int n;

	if (strncmp(p->text, stub_prefix, strlen(stub_prefix)))
		return 0;
	p->text += strlen(stub_prefix);
	mark = strchr(p->text, '!');
	name = function_part(p);
	n = asprintf(&p->own, p->by == FL_BY_REGEX ? "%.*s(%s)%s$" : "%.*s%s%s",
		     mark ? (int)(name - p->text) : 0, p->text, name, stub_suffix);
	if (n < 0) {
		p->own = NULL;
		return -ENOMEM;
	}
	p->text = p->own;
	return 0;
}

/* With regular expressions only [MODULE!] is parsed as a glob. */
static int parse_pattern(struct pattern *p)
{
	int err = name_stub(p);
	const char *mark = strchr(p->text, '!');

	if (err)
		return err;
	if (p->by == FL_BY_REGEX) {
		p->glob.module = mark ? p->text : NULL;
		p->glob.module_len = mark ? (size_t)(mark - p->text) : 0;
		p->glob.function = "*";
		return compile(p);
	}
	err = fl_pattern_parse(&p->glob, p->text);
	if (err)
		fl_say("`%s`: %s; write [MODULE!]FUNCTION or MODULE!0xOFFSET", p->text,
		       fl_reason(err));
	return err;
}

int fl_selection_add(struct fl_selection *s, int on, const char *text)
{
	if (fl_array_room(&s->patterns, s->n, sizeof(*s->patterns))) {
		fl_say("out of memory for patterns");
		return -ENOMEM;
	}
	s->patterns[s->n++] = (struct pattern){ .text = text, .on = on };
	return 0;
}

static bool is_on_at_first(const struct fl_selection *s)
{
	if (s->is_amended)
		return s->was_on_at_first;
	for (size_t i = 0; i < s->n; i++)
		if (s->patterns[i].on)
			return false;
	return true;
}

int fl_selection_ready(struct fl_selection *s)
{
	int err = 0;

	while (!err && s->n_ready < s->n) {
		s->patterns[s->n_ready].by = s->by;
		err = parse_pattern(&s->patterns[s->n_ready]);
		s->n_ready += !err;
	}
	return err;
}

/* The glob has been parsed once, and has matched. What was on before the first pattern stays
 * on. */
int fl_selection_amend(struct fl_selection *s, int on, const char *glob)
{
	char *own = strdup(glob);
	struct pattern *p;

	if (!s->is_amended)
		s->was_on_at_first = is_on_at_first(s);
	if (!own || fl_selection_add(s, on, own)) {
		free(own);
		return -ENOMEM;
	}
	p = &s->patterns[s->n - 1];
	p->by = FL_BY_GLOB;
	if (name_stub(p))
		return -ENOMEM;
	if (p->own)
		free(own);
	else
		p->own = own;
	p->matched = true;
	s->is_amended = true;
	s->n_ready = s->n;
	return fl_pattern_parse(&p->glob, p->text);
}

/* Is the pattern the name as it is printed? A user who copies `f[abi:cxx11](int*)` means no
 * glob. */
static bool is_name_itself(const struct pattern *p, const char *path, const char *name)
{
	return p->glob.function && !strcmp(p->glob.function, name) &&
	       (!p->glob.module ||
		fl_glob(p->glob.module, p->glob.module_len, fl_base_name(path)));
}

static bool takes_name(const struct pattern *p, const char *path, const char *name,
		       uint64_t at)
{
	bool takes = fl_pattern_takes(&p->glob, path, name, at);

	if (p->by == FL_BY_REGEX)
		return takes && !regexec(&p->regex, name, 0, NULL, 0);
	return takes || is_name_itself(p, path, name);
}

/* A word stands in the mangled name of each function that is called so. Text with other signs
 * need not. */
static bool is_word(const char *text)
{
	for (; *text; text++)
		if (!isalnum((unsigned char)*text) && *text != '_')
			return false;
	return true;
}

bool fl_selection_has_patterns(const struct fl_selection *s)
{
	return s->n;
}

bool fl_selection_may_take(const struct fl_selection *s, const char *linkage)
{
	for (size_t i = 0; i < s->n; i++) {
		const char *text = s->patterns[i].glob.function;

		if (s->patterns[i].by == FL_BY_REGEX ||
		    (text && (!is_word(text) || strstr(linkage, text))))
			return true;
	}
	return false;
}

static bool names_site(const struct pattern *p)
{
	return p->by == FL_BY_GLOB && !p->glob.function;
}

bool fl_selection_names_sites(const struct fl_selection *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (names_site(&s->patterns[i]))
			return true;
	return false;
}

const struct fl_pattern *fl_selection_point(const struct fl_selection *s, size_t *at)
{
	while (*at < s->n) {
		const struct pattern *p = &s->patterns[(*at)++];

		if (p->on && p->glob.module && names_site(p))
			return &p->glob;
	}
	return NULL;
}

bool fl_selection_module(const struct fl_selection *s, size_t *at, const char **glob,
			 size_t *len)
{
	while (*at < s->n) {
		const struct pattern *p = &s->patterns[(*at)++];

		if (!p->on || !p->glob.module)
			continue;
		*glob = p->glob.module;
		*len = p->glob.module_len;
		return true;
	}
	return false;
}

bool fl_selection_has_stubs(const struct fl_selection *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->patterns[i].on && strstr(s->patterns[i].text, stub_suffix))
			return true;
	return false;
}

/* A library's function that is inlined in a program is of both modules. A stub is taken only by
 * a pattern that names stubs. */
static bool takes(const struct pattern *p, const struct fl_candidate *c)
{
	if (c->is_stub && !strstr(p->text, stub_suffix))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(c->names) && c->names[i]; i++)
		if (takes_name(p, c->home, c->names[i], c->function) ||
		    (c->path != c->home && p->glob.function &&
		     takes_name(p, c->path, c->names[i], c->function)))
			return true;
	return names_site(p) && fl_pattern_takes(&p->glob, c->path, "", c->site);
}

bool fl_selection_wants(struct fl_selection *s, const struct fl_candidate *c)
{
	bool on = is_on_at_first(s);

	for (size_t i = 0; i < s->n; i++) {
		if (!takes(&s->patterns[i], c))
			continue;
		s->patterns[i].matched = true;
		on = s->patterns[i].on;
	}
	return on;
}

const char *fl_selection_idle(const struct fl_selection *s, size_t *at,
			      size_t *module_len)
{
	while (*at < s->n) {
		const struct pattern *p = &s->patterns[(*at)++];

		if (p->matched)
			continue;
		*module_len = p->glob.module ? p->glob.module_len : 0;
		return p->text;
	}
	return NULL;
}

const char *fl_selection_emptied_by(const struct fl_selection *s)
{
	for (size_t i = s->n; i-- > 0;)
		if (!s->patterns[i].on && s->patterns[i].matched)
			return s->patterns[i].text;
	return NULL;
}

/* ---- patterns that have matched nothing ------------------------------------------ */

/* "a, b, c" or "`a`, `b` or `c`". */
static void join_names(char *out, size_t room, const char *const *names, size_t n,
		       const char *quote, const char *last)
{
	size_t at = 0;

	*out = '\0';
	for (size_t i = 0; i < n && at < room; i++)
		at += (size_t)snprintf(out + at, room - at, "%s%s%s%s",
				       !i ? "" : i + 1 < n ? ", " : last, quote, names[i],
				       quote);
}

/* The shorter a name, the less it has beside the part. The list is ascending; when it is full,
 * its last name falls out. */
static size_t put_near(const char *near[FL_NEAR_MOST], size_t n, const char *name)
{
	size_t at = n;

	for (size_t i = 0; i < n; i++)
		if (!strcmp(near[i], name))
			return n;
	for (; at && strlen(near[at - 1]) > strlen(name); at--)
		if (at < FL_NEAR_MOST)
			near[at] = near[at - 1];
	if (at < FL_NEAR_MOST)
		near[at] = name;
	return n < FL_NEAR_MOST ? n + 1 : n;
}

/* Names that a pattern's text is a part of: how many, and the nearest of these. */
static size_t find_parts(const char *part, const char *const *names, size_t n,
			 const char *near[FL_NEAR_MOST], size_t *n_near)
{
	size_t found = 0;

	*n_near = 0;
	for (size_t i = 0; i < n; i++) {
		if (!names[i] || !strstr(names[i], part))
			continue;
		*n_near = put_near(near, *n_near, names[i]);
		found++;
	}
	return found;
}

static const char *path_of(const struct fl_scope *in, size_t i)
{
	return in->paths ? in->paths[i] : in->file;
}

/* Names in modules that a glob matches; `len` 0: all. NULL: no memory; free it. */
static const char **names_in(const struct fl_scope *in, const char *glob, size_t len,
			     size_t *n)
{
	const char **names = malloc((in->n + 1) * sizeof(*names));

	*n = 0;
	for (size_t i = 0; names && i < in->n; i++)
		if (!len || fl_glob(glob, len, fl_base_name(path_of(in, i))))
			names[(*n)++] = in->names[i];
	return names;
}

/* The modules of the scope, each once. */
enum { MODULES_MOST = 64 };

static size_t list_modules(const struct fl_scope *in, const char *out[MODULES_MOST])
{
	size_t n = 0, k;

	for (size_t i = 0; i < in->n && n < MODULES_MOST; i++) {
		const char *name = fl_base_name(path_of(in, i));

		if (!*name || (i && path_of(in, i) == path_of(in, i - 1)))
			continue;
		for (k = 0; k < n && strcmp(out[k], name);)
			k++;
		if (k == n)
			out[n++] = name;
	}
	return n;
}

/* The module that was meant: `foo` is a part of libfoo.so.1, `fop` is near foo; else one that
 * has such a function. */
static const char *near_module(const struct fl_scope *in, const char *const *modules,
			       size_t n_modules, const char *glob, size_t len)
{
	const char *function = glob + len + 1, *near;
	char word[64];

	for (size_t i = 0; i < n_modules; i++)
		if (memmem(modules[i], strlen(modules[i]), glob, len))
			return modules[i];
	snprintf(word, sizeof(word), "%.*s", (int)len, glob);
	near = fl_nearest(word, modules, n_modules);
	for (size_t i = 0; !near && i < in->n; i++)
		if (*path_of(in, i) && fl_glob(function, strlen(function), in->names[i]))
			near = fl_base_name(path_of(in, i));
	return near;
}

void fl_selection_hint_module(const struct fl_scope *in, const char *pattern, size_t len,
			      char *hint, size_t room)
{
	const char *modules[MODULES_MOST], *function = pattern + len + 1, **names;
	const char *some[FL_NEAR_MOST];
	size_t n = list_modules(in, modules), n_names;
	const char *near = near_module(in, modules, n, pattern, len);
	char list[512];

	*hint = '\0';
	if (!near && n) {
		join_names(list, sizeof(list), modules, n < FL_NEAR_MOST ? n : FL_NEAR_MOST,
			   "", ", ");
		snprintf(hint, room, "; there %s %s%s", n == 1 ? "is" : "are", list,
			 n > FL_NEAR_MOST ? ", ..." : "");
	}
	if (!near)
		return;
	names = names_in(in, near, strlen(near), &n_names);
	if (names && !strpbrk(function, "*?[") && strncmp(function, "0x", 2) &&
	    fl_near(function, names, n_names, some))
		function = some[0];
	snprintf(hint, room, "; did you mean `%.250s!%.250s`?", near, function);
	free(names);
}

/* Is that a function of the C library that flick runs with? */
static bool is_of_c_library(const char *name)
{
	void *at = dlsym(RTLD_DEFAULT, name);
	Dl_info of;

	return at && dladdr(at, &of) && of.dli_fname && strstr(of.dli_fname, "/libc.");
}

/* A pattern's module is there, but no function matches. What is called by its address,
 * MODULE!0xOFFSET, nobody has meant by a word: `*f*` matches digits there. */
static void say_no_function(const struct fl_selection *s, const char *pattern,
			    const struct fl_scope *in, const char **names, size_t n)
{
	const char *mark = strchr(pattern, '!'), *part = mark ? mark + 1 : pattern;
	const char *some[FL_NEAR_MOST];
	const char *what = in->file ? "with a probe" : "of this recording";
	const char *yet = in->yet ? " yet" : "";
	char list[1024];
	size_t n_near = 0, found = 0, named = 0;

	for (size_t i = 0; i < n; i++) {
		names[i] = names[i] && strstr(names[i], "!0x") ? NULL : names[i];
		named += names[i] != NULL;
	}
	if (s->by == FL_BY_GLOB && *part && !strpbrk(part, "*?["))
		found = find_parts(part, names, n, some, &n_near);
	if (found) {
		join_names(list, sizeof(list), some, n_near, "", ", ");
		fl_say("no function %s matches `%s`%s; `%.*s*%s*` matches %zu: %s%s", what,
		       pattern, yet, (int)(part - pattern), pattern, part, found, list,
		       found > n_near ? ", ..." : "");
		return;
	}
	found = fl_near(part, names, n, some);
	join_names(list, sizeof(list), some, found, "`", " or ");
	if (strstr(part, stub_suffix))
		fl_say("no function %s matches `%s`%s: no stub leads there, and calls by "
		       "pointers (-fno-plt, dlsym) have none", what, pattern, yet);
	else if (found)
		fl_say("no function %s matches `%s`%s; did you mean %s?", what, pattern,
		       yet, list);
	else if (!in->file)
		fl_say("no function %s matches `%s`%s", what, pattern, yet);
	else if (!mark && is_of_c_library(pattern))
		fl_say("no function %s matches `%s`%s; did you mean the C library's, "
		       "`libc.so*!%s`, or calls of it, `plt:%s`?", what, pattern, yet,
		       pattern, pattern);
	else
		fl_say("no function with a probe matches `%s`%s; %s`flick list %s` shows what "
		       "there is", pattern, yet,
		       named || !n ? "" : "none has a name, as of a stripped program: ",
		       in->file);
}

void fl_selection_say_idle(const struct fl_selection *s, const char *pattern, size_t len,
			   const struct fl_scope *in)
{
	size_t n;
	const char **names = names_in(in, pattern, len, &n);
	char hint[FL_HINT];

	if (!names) {
		fl_say("out of memory for names");
	} else if (len && !n) {
		fl_selection_hint_module(in, pattern, len, hint, sizeof(hint));
		fl_say("%s has no module `%.*s`%s", in->file ? in->file : "this recording",
		       (int)len, pattern, hint);
	} else {
		say_no_function(s, pattern, in, names, n);
	}
	free(names);
}

void fl_selection_free(struct fl_selection *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n_ready; i++)
		if (s->patterns[i].by == FL_BY_REGEX)
			regfree(&s->patterns[i].regex);
	for (size_t i = 0; i < s->n; i++)
		free(s->patterns[i].own);
	free(s->patterns);
	free(s);
}
