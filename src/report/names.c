/*
 * names.c - functions' names as they are shown: simple, full, or as the linker knows
 * them.
 *
 * Hides how a simple name is made. Demangled names of C++ and Rust hold template
 * arguments, parameters and return types; a simple name keeps only the scopes around
 * the function and its own name. So overloads and instances get equal simple names:
 * where a recording has several of them, all of these are shown in full.
 */
#include <stdlib.h>
#include <string.h>

#include "report/table.h"

/* ---- a simple name ------------------------------------------------------------ */

/* The result is never longer than the name, and is written while the name is read. */
struct simple {
	const char *in;			/* what is left of the name */
	char *out, *end;		/* the result so far: [out, end) */
};

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static bool starts(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static bool ends(const struct simple *s, const char *with)
{
	size_t n = strlen(with);

	return (size_t)(s->end - s->out) >= n && !memcmp(s->end - n, with, n);
}

static void copy(struct simple *s, size_t n)
{
	memmove(s->end, s->in, n);	/* a name may be made in its own place */
	s->end += n;
	s->in += n;
}

/* Past the bracket that closes the one at `in`; NULL: none does. The `>` of `->` closes
 * nothing, and a `>` in parentheses closes no `<` before them: it may be an operator. */
static const char *past_bracket(const char *in)
{
	const char open = *in;
	const char close = open == '(' ? ')' : open == '<' ? '>' : open == '{' ? '}' : ']';
	size_t depth = 0;

	for (; *in; in++) {
		if (open == '<' && *in == '(') {
			in = past_bracket(in);
			if (!in)
				return NULL;
			in--;
		} else if (*in == open) {
			depth++;
		} else if (*in == close && !(close == '>' && in[-1] == '-') && !--depth) {
			return in + 1;
		}
	}
	return NULL;
}

static bool skip(struct simple *s)
{
	const char *past = past_bracket(s->in);

	s->in = past ? past : s->in;
	return past;
}

/* Copy `operator` and its symbol or type; false: there is no operator here. */
static bool copy_operator(struct simple *s)
{
	static const char *const symbols[] = {
		"()", "[]", "<=>", "<<=", ">>=", "->*", "->", "<<", ">>", "<=", ">=", "==",
		"!=", "&&", "||", "++", "--", "+=", "-=", "*=", "/=", "%=", "^=", "&=", "|=",
		"+", "-", "*", "/", "%", "^", "&", "|", "~", "!", "=", "<", ">", ",",
		" new[]", " new", " delete[]", " delete", " co_await",
	};

	if (!starts(s->in, "operator") || is_word(s->in[8]) ||
	    (s->end > s->out && is_word(s->end[-1])))
		return false;
	copy(s, 8);
	for (size_t i = 0; i < ARRAY_LEN(symbols); i++)
		if (starts(s->in, symbols[i])) {
			copy(s, strlen(symbols[i]));
			s->in += *s->in == ' ' && s->in[1] == '<';
			return true;
		}
	while (*s->in && *s->in != '(')		/* a type, or a suffix of literals */
		if (*s->in != '<')
			copy(s, 1);
		else if (!skip(s))
			return true;
	s->end -= s->end[-1] == ' ';
	return true;
}

/* Does `<` begin the type that a method of Rust belongs to? `<T as Trait>::f`, `<[T]>::f`,
 * `a::<impl T>::f`. */
static bool is_qualifier(const struct simple *s)
{
	return s->end == s->out || (ends(s, "::") && starts(s->in, "<impl "));
}

/* Drop template arguments, with Rust's `::` before them. */
static bool drop_arguments(struct simple *s)
{
	if (!skip(s))
		return false;
	if (ends(s, "::"))
		s->end -= 2;
	return true;
}

/* Copy a bracket that stays: a type of Rust, without its own arguments, or the name of a
 * lambda, without its parameters. */
static bool copy_bracket(struct simple *s)
{
	const char *past = past_bracket(s->in);
	const bool is_rust = *s->in == '<';
	bool is_good = past;

	if (past)
		copy(s, 1);
	while (is_good && s->in < past) {
		if (*s->in == '<' && (is_word(s->in[-1]) || s->in[-1] == ':'))
			is_good = drop_arguments(s);
		else if (*s->in == '(' && !is_rust)
			is_good = skip(s);
		else
			copy(s, 1);
	}
	return is_good;
}

/* Skip the words behind parameters, either of the function or of one around it. */
static void skip_qualifiers(struct simple *s)
{
	static const char *const words[] = { " const", " volatile", " &&", " &", " noexcept",
					     " restrict" };

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (starts(s->in, words[i])) {
			s->in += strlen(words[i]);
			i = (size_t)-1;		/* once more */
		}
}

static bool take_parameters(struct simple *s, bool *is_over)
{
	if (starts(s->in, "(anonymous namespace)")) {
		copy(s, strlen("(anonymous namespace)"));
		return true;
	}
	if ((s->end == s->out || s->in[-1] == ' ') && (s->in[1] == '*' || s->in[1] == '&')) {
		s->in += 2;		/* f returns a function: `int (*f(int))(int)` */
		s->end = s->out;
		return true;
	}
	if (!skip(s))
		return false;
	skip_qualifiers(s);
	*is_over = !starts(s->in, "::");
	return true;
}

/* Take one step through the name; false: the name is not understood. */
static bool take_step(struct simple *s, bool *is_over)
{
	switch (*s->in) {
	case '<':
		return is_qualifier(s) ? copy_bracket(s) : drop_arguments(s);
	case '{':
		return copy_bracket(s);
	case '[':
		return skip(s);			/* [abi:cxx11] */
	case '(':
		return take_parameters(s, is_over);
	case ' ':				/* what is copied so far is the return type */
		s->in++;
		s->end = s->out;
		return true;
	}
	if (!copy_operator(s))
		copy(s, 1);
	return true;
}

/* Copy a front that belongs to no function's name: "vtable for " of "vtable for X",
 * "non-virtual thunk to " of "non-virtual thunk to X::f()". */
static void copy_kind(struct simple *s)
{
	static const char *const marks[] = { " for ", " to " };

	for (size_t i = 0; i < ARRAY_LEN(marks); i++) {
		const char *of = memmem(s->in, strcspn(s->in, "<({["), marks[i],
					strlen(marks[i]));

		if (of)
			copy(s, (size_t)(of - s->in) + strlen(marks[i]));
	}
	s->out = s->end;
}

/* Write the simple name. Returns its length; 0: the name is not understood. */
static size_t simplify(const char *name, char *out)
{
	struct simple s = { .in = name, .out = out, .end = out };
	bool is_over = false;

	copy_kind(&s);
	while (!is_over && *s.in)
		if (!take_step(&s, &is_over))
			return 0;
	return s.end == s.out ? 0 : (size_t)(s.end - out);
}

/* A compiler's variant of a function keeps its mark, " [clone ...". */
char *fl_name_simple(const char *name)
{
	const char *clone = strstr(name, " [clone ");
	char *own = strndup(name, clone ? (size_t)(clone - name) : strlen(name));
	char *made = malloc(strlen(name) + 1);
	size_t n = own && made ? simplify(own, made) : 0;

	if (n)
		strcpy(made + n, clone ? clone : "");
	else if (own && made)
		strcpy(made, name);
	if (!own) {
		free(made);
		made = NULL;
	}
	free(own);
	return made;
}

/* ---- names that tell functions apart -------------------------------------------- */

struct fl_names {
	size_t n;
	const char **shown;		/* the caller's strings, or those of `made` */
	char **made;			/* simple names; NULL: the same as the full one */
};

int fl_names_first(const char *const *names, size_t n, uint32_t *first)
{
	struct fl_hash by_name = { 0 };
	int err = 0;

	for (uint32_t i = 0; !err && i < n; i++) {
		uint32_t hash = fl_hash_text(0, names[i]), at = hash, same;

		while ((same = fl_hash_next(&by_name, hash, &at)) &&
		       strcmp(names[same - 1], names[i]))
			;
		first[i] = same ? same - 1 : i;
		if (!same)
			err = fl_hash_put(&by_name, hash, i + 1);
	}
	fl_hash_free(&by_name);
	return err;
}

/* Different functions whose simple names are equal get their full names. */
static int tell_apart(struct fl_names *names, const char *const *full)
{
	uint32_t *first = malloc((names->n + 1) * sizeof(*first));
	bool *differ = calloc(names->n + 1, sizeof(*differ));
	int err = first && differ ? fl_names_first(names->shown, names->n, first) : -ENOMEM;

	for (size_t i = 0; !err && i < names->n; i++)
		differ[first[i]] |= strcmp(full[i], full[first[i]]) != 0;
	for (size_t i = 0; !err && i < names->n; i++)
		if (differ[first[i]])
			names->shown[i] = full[i];
	free(first);
	free(differ);
	return err;
}

static int make_simple(struct fl_names *names, const char *const *full,
		       const char *const *linkage)
{
	for (size_t i = 0; i < names->n; i++) {
		if (!strcmp(full[i], linkage[i]))
			continue;
		names->shown[i] = names->made[i] = fl_name_simple(full[i]);
		if (!names->made[i])
			return -ENOMEM;
	}
	return tell_apart(names, full);
}

struct fl_names *fl_names_make(const char *const *full, const char *const *linkage, size_t n,
			       enum fl_demangle how)
{
	struct fl_names *names = calloc(1, sizeof(*names));

	if (!names)
		return NULL;
	names->n = n;
	names->shown = malloc((n + 1) * sizeof(*names->shown));
	names->made = calloc(n + 1, sizeof(*names->made));
	for (size_t i = 0; names->shown && i < n; i++)
		names->shown[i] = how == FL_DEMANGLE_NO ? linkage[i] : full[i];
	if (names->shown && names->made &&
	    (how != FL_DEMANGLE_SIMPLE || !make_simple(names, full, linkage)))
		return names;
	fl_names_free(names);
	return NULL;
}

const char *const *fl_names_shown(const struct fl_names *names)
{
	return names->shown;
}

void fl_names_free(struct fl_names *names)
{
	if (!names)
		return;
	for (size_t i = 0; names->made && i < names->n; i++)
		free(names->made[i]);
	free(names->made);
	free(names->shown);
	free(names);
}
