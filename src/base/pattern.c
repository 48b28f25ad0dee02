/*
 * pattern.c - which functions a user means.
 *
 * Hides the syntax `[MODULE!]FUNCTION`, `MODULE!0xOFFSET` and the globs in it.
 * Matching allocates nothing, does not recurse and takes time in proportion
 * to glob times text at worst, whatever the glob.
 */
#include "base/base.h"

static bool is_negation(char c)
{
	return c == '!' || c == '^';
}

/* Does g[0, i) end with `word`? */
static bool is_behind(const char *g, size_t i, const char *word)
{
	size_t n = 0;

	while (word[n])
		n++;
	while (n && i && word[n - 1] == g[i - 1])
		n--, i--;
	return !n;
}

/* C++'s own brackets open no set: `operator[]`, `operator new[]`. */
static bool is_operator(const char *g, size_t i)
{
	return g[i] == '[' && g[i + 1] == ']' &&
	       (is_behind(g, i, "operator") || is_behind(g, i, "operator new") ||
		is_behind(g, i, "operator delete"));
}

/* Index of the `]` that closes the set opened at g[i]; n when nothing does.
 * A `]` that comes first in a set stands for itself. */
static size_t end_of_set(const char *g, size_t i, size_t n)
{
	if (is_operator(g, i))
		return n;
	i++;
	if (i < n && is_negation(g[i]))
		i++;
	if (i < n && g[i] == ']')
		i++;
	while (i < n && g[i] != ']')
		i++;
	return i;
}

/* Is `c` in the set g[i] = '[' ... g[end] = ']'? */
static bool set_takes(const char *g, size_t i, size_t end, char c)
{
	bool negated = is_negation(g[i + 1]);
	bool found = false;

	i += negated ? 2 : 1;
	while (i < end) {
		bool range = i + 2 < end && g[i + 1] == '-';
		char last = range ? g[i + 2] : g[i];

		found |= g[i] <= c && c <= last;
		i += range ? 3 : 1;
	}
	return found != negated;
}

/* Length of the one-character unit at g[i] when it takes `c`, else 0. */
static size_t unit_takes(const char *g, size_t i, size_t n, char c)
{
	size_t end;

	if (i == n)
		return 0;
	if (g[i] == '?')
		return 1;
	end = g[i] == '[' ? end_of_set(g, i, n) : n;
	if (end == n)
		return g[i] == c;
	return set_takes(g, i, end, c) ? end - i + 1 : 0;
}

bool fl_glob(const char *glob, size_t glob_len, const char *text)
{
	const char *retry = text;	/* where the last star's tail began */
	size_t star = glob_len;		/* the last star met; glob_len: none */
	size_t i = 0;

	while (*text) {
		size_t unit;

		if (i < glob_len && glob[i] == '*') {
			star = i++;
			retry = text;
		} else if ((unit = unit_takes(glob, i, glob_len, *text))) {
			i += unit;
			text++;
		} else if (star < glob_len) {
			i = star + 1;	/* let the star take one more */
			text = ++retry;
		} else {
			return false;
		}
	}
	while (i < glob_len && glob[i] == '*')
		i++;
	return i == glob_len;
}

/* Length of `text` up to `stop` outside sets, or up to its end. False when a
 * set is never closed. */
static bool find_outside_sets(const char *text, char stop, size_t *len)
{
	size_t n = 0, i = 0;

	while (text[n])
		n++;
	for (; i < n && text[i] != stop; i++) {
		if (text[i] != '[' || is_operator(text, i))
			continue;
		i = end_of_set(text, i, n);
		if (i == n)
			return false;
	}
	*len = i;
	return true;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 'a' - 'A';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The number behind 0x: 1 to 16 digits and nothing else. */
static bool parse_hex(const char *s, uint64_t *value)
{
	uint64_t v = 0;
	size_t n = 0;

	for (; s[n] && n <= 16; n++) {
		int digit = hex_digit(s[n]);

		if (digit < 0)
			return false;
		v = v << 4 | (unsigned int)digit;
	}
	*value = v;
	return n >= 1 && n <= 16;
}

/* FUNCTION or 0xOFFSET; no function's name begins with 0x. */
static int parse_function(struct fl_pattern *p, const char *text)
{
	size_t len;

	if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
		p->function = NULL;
		return p->module && parse_hex(text + 2, &p->offset) ?
			0 : FLE_PATTERN;
	}
	if (!text[0] || !find_outside_sets(text, '\0', &len))
		return FLE_PATTERN;
	p->function = text;
	return 0;
}

int fl_pattern_parse(struct fl_pattern *p, const char *text)
{
	struct fl_pattern out = { 0 };
	size_t len;
	int err;

	if (!find_outside_sets(text, '!', &len))
		return FLE_PATTERN;
	if (text[len] == '!') {
		if (len == 0)
			return FLE_PATTERN;
		out.module = text;
		out.module_len = len;
		text += len + 1;
	}
	err = parse_function(&out, text);
	if (!err)
		*p = out;
	return err;
}

bool fl_pattern_takes(const struct fl_pattern *p, const char *path,
		      const char *name, uint64_t offset)
{
	size_t len = 0;

	if (p->module && !fl_glob(p->module, p->module_len, fl_base_name(path)))
		return false;
	if (!p->function)
		return p->offset == offset;
	while (p->function[len])
		len++;
	return fl_glob(p->function, len, name);
}

const char *fl_base_name(const char *path)
{
	const char *base = path;

	for (; *path; path++)
		if (*path == '/')
			base = path + 1;
	return base;
}
