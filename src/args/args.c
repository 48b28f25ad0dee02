/*
 * args.c - options from tables: parsing, help, manual pages.
 */
#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "args/screen.h"
#include "report/report.h"

/* The line goes out in one write: standard error has no buffer of its own. */
void fl_say(const char *format, ...)
{
	char *text = NULL, *line = NULL;
	size_t bytes;
	FILE *to = open_memstream(&line, &bytes);
	va_list ap;

	va_start(ap, format);
	if (vasprintf(&text, format, ap) < 0)
		text = NULL;
	va_end(ap);
	if (to) {
		fputs("flick: ", to);
		fl_print_plain(to, text ? text : "out of memory");
		fputc('\n', to);
	}
	if (to && !fclose(to))
		fwrite(line, 1, bytes, stderr);
	free(line);
	free(text);
}

/* ---- near names --------------------------------------------------------------- */

#define NEAR_LONGEST 64

/* Levenshtein's distance, over the first NEAR_LONGEST letters. */
static size_t edit_distance(const char *a, const char *b)
{
	size_t row[NEAR_LONGEST + 1];
	size_t n = strnlen(b, NEAR_LONGEST);

	for (size_t j = 0; j <= n; j++)
		row[j] = j;
	for (size_t i = 0; a[i] && i < NEAR_LONGEST; i++) {
		size_t diagonal = row[0]++;

		for (size_t j = 0; j < n; j++) {
			size_t best = diagonal + (a[i] != b[j]);

			diagonal = row[j + 1];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (diagonal + 1 < best)
				best = diagonal + 1;
			row[j + 1] = best;
		}
	}
	return row[n];
}

/* The distance to the whole name, or to its last part: `push_bak` is near
 * std::vector::push_back. */
static size_t distance_of(const char *word, const char *name)
{
	const char *last = name;
	size_t whole = edit_distance(word, name), end;

	for (const char *c = name; (c = strstr(c, "::")); c += 2)
		last = c + 2;
	end = last == name ? whole : edit_distance(word, last);
	return end < whole ? end : whole;
}

size_t fl_near(const char *word, const char *const *names, size_t n,
	       const char *near[FL_NEAR_MOST])
{
	size_t letters = strnlen(word, NEAR_LONGEST), distance[FL_NEAR_MOST], found = 0;
	size_t limit = letters > 3 ? letters / 3 + 1 : 1;	/* `sum` is not near `run` */

	for (size_t i = 0; i < n; i++) {
		size_t d = names[i] ? distance_of(word, names[i]) : limit + 1, at = found;

		for (size_t k = 0; d <= limit && k < found; k++)
			d = strcmp(near[k], names[i]) ? d : limit + 1;
		if (d > limit)
			continue;
		for (; at && distance[at - 1] > d; at--)
			if (at < FL_NEAR_MOST) {
				near[at] = near[at - 1];
				distance[at] = distance[at - 1];
			}
		if (at == FL_NEAR_MOST)
			continue;
		near[at] = names[i];
		distance[at] = d;
		found += found < FL_NEAR_MOST;
	}
	return found;
}

const char *fl_nearest(const char *word, const char *const *names, size_t n)
{
	const char *near[FL_NEAR_MOST];

	return fl_near(word, names, n, near) ? near[0] : NULL;
}

/* ---- parsing --------------------------------------------------------------------- */

static const struct fl_option *fail(bool *failed)
{
	*failed = true;
	return NULL;
}

static const struct fl_option *find_long_option(const struct fl_cmd *cmd,
					 const char *name, size_t n)
{
	for (const struct fl_option *o = cmd->options; o && o->name; o++)
		if (strlen(o->name) == n && !strncmp(o->name, name, n))
			return o;
	return NULL;
}

static const struct fl_option *find_letter(const struct fl_cmd *cmd, char letter)
{
	for (const struct fl_option *o = cmd->options; o && o->name; o++)
		if (o->letter == letter)
			return o;
	return NULL;
}

static bool take_value(struct fl_args *a, const struct fl_option *o)
{
	if (a->at < a->argc) {
		a->value = a->argv[a->at++];
		return true;
	}
	fl_say("--%s needs %s; see `flick %s --help`", o->name, o->value, a->cmd->name);
	return false;
}

static const struct fl_option *no_such_option(const struct fl_args *a, const char *name,
					      int n, bool *failed)
{
	const char *names[32], *near;
	char word[64];
	size_t k = 0;

	for (const struct fl_option *o = a->cmd->options; o && o->name; o++)
		if (k < ARRAY_LEN(names))
			names[k++] = o->name;
	snprintf(word, sizeof(word), "%.*s", n, name);
	near = fl_nearest(word, names, k);
	if (near)
		fl_say("%s has no option --%s; did you mean --%s?", a->cmd->name, word,
		       near);
	else
		fl_say("%s has no option --%s; see `flick %s --help`", a->cmd->name, word,
		       a->cmd->name);
	return fail(failed);
}

/* Wherever options may stand, --help is all that was wanted. */
static void help_and_exit(const struct fl_cmd *cmd)
{
	fl_print_help(stdout, cmd);
	exit(fl_flush_output() ? FL_EXIT_FAILED : FL_EXIT_WELL);
}

static const struct fl_option *next_long(struct fl_args *a, bool *failed)
{
	const char *word = a->argv[a->at++] + 2;
	size_t n = strcspn(word, "=");
	const struct fl_option *o = find_long_option(a->cmd, word, n);

	if (!o && !strcmp(word, "help"))
		help_and_exit(a->cmd);
	if (!o)
		return no_such_option(a, word, (int)n, failed);
	if (!o->value && word[n]) {
		fl_say("--%s takes no value", o->name);
		return fail(failed);
	}
	if (word[n])
		a->value = word + n + 1;
	else if (o->value && !take_value(a, o))
		return fail(failed);
	return o;
}

static const struct fl_option *next_letter(struct fl_args *a, bool *failed)
{
	const struct fl_option *o = find_letter(a->cmd, *a->cluster);

	if (!o && *a->cluster == 'h')
		help_and_exit(a->cmd);
	if (!o) {
		fl_say("%s has no option -%c; see `flick %s --help`", a->cmd->name,
		       *a->cluster, a->cmd->name);
		return fail(failed);
	}
	a->cluster++;
	if (!o->value)
		return o;
	if (*a->cluster)
		a->value = a->cluster;
	else if (!take_value(a, o))
		return fail(failed);
	a->cluster = "";
	return o;
}

/* NULL at the end, or with `failed` set and a line printed. */
static const struct fl_option *next_option(struct fl_args *a, bool *failed)
{
	const char *word;

	a->value = NULL;
	if (a->cluster && *a->cluster)
		return next_letter(a, failed);
	if (a->at >= a->argc)
		return NULL;
	word = a->argv[a->at];
	if (word[0] != '-' || !word[1])
		return NULL;
	if (!strcmp(word, "--")) {
		a->at++;
		return NULL;
	}
	if (word[1] == '-')
		return next_long(a, failed);
	a->cluster = word + 1;
	a->at++;
	return next_letter(a, failed);
}

int fl_args_take(struct fl_args *a, void *wish)
{
	const struct fl_option *o;
	bool failed = false;

	while ((o = next_option(a, &failed)))
		if (o->take((char *)wish + o->at, o, a->value))
			return -1;
	return failed ? -1 : 0;
}

int fl_args_directory(const struct fl_cmd *cmd, int argc, char **argv, const char **dir,
		      void *wish)
{
	struct fl_args a = { .cmd = cmd, .argv = argv, .argc = argc, .at = 1 };
	int words = 0;

	do {
		if (fl_args_take(&a, wish))
			return -1;
		if (a.at < argc) {
			*dir = argv[a.at++];
			words++;
		}
	} while (a.at < argc);
	if (words < 2)
		return 0;
	fl_say("more than one directory; usage: flick %s %s", cmd->name, cmd->args);
	return -1;
}

bool fl_parse_number(const struct fl_option *o, const char *text, uint64_t lo,
		     uint64_t hi, uint64_t *out)
{
	char *end;
	unsigned long long v;

	errno = 0;
	v = strtoull(text, &end, 10);
	if (!isdigit((unsigned char)*text) || *end || errno || v < lo || v > hi) {
		fl_say("--%s takes a number from %llu to %llu, not `%s`", o->name,
		       (unsigned long long)lo, (unsigned long long)hi, text);
		return false;
	}
	*out = v;
	return true;
}

int fl_take_flag(void *to, const struct fl_option *o, const char *value)
{
	(void)o;
	(void)value;
	*(bool *)to = true;
	return 0;
}

int fl_take_text(void *to, const struct fl_option *o, const char *value)
{
	(void)o;
	*(const char **)to = value;
	return 0;
}

int fl_take_number(void *to, const struct fl_option *o, const char *value)
{
	uint64_t n;

	if (!fl_parse_number(o, value, o->least, o->most, &n))
		return -1;
	*(uint32_t *)to = (uint32_t)n;
	return 0;
}

int fl_take_choice(void *to, const struct fl_option *o, const char *value)
{
	char option[32];
	int i;

	snprintf(option, sizeof(option), "--%s", o->name);
	i = fl_choose(option, o->each, value);
	if (i >= 0)
		*(unsigned *)to = (unsigned)i;
	return i < 0 ? -1 : 0;
}

int fl_take_name(void *to, const struct fl_option *o, const char *value)
{
	unsigned i;

	*(const char **)to = value;
	return fl_take_choice(&i, o, value);
}

int fl_take_seconds(void *to, const struct fl_option *o, const char *value)
{
	char *end;
	double seconds = strtod(value, &end);

	*(double *)to = seconds;
	if (end != value && !*end && seconds > 0 && seconds < 1e9)
		return 0;
	fl_say("--%s takes seconds, not `%s`", o->name, value);
	return -1;
}

const char *fl_demangle_each(size_t i)
{
	static const char *const names[] = {
		[FL_DEMANGLE_SIMPLE] = "simple", [FL_DEMANGLE_FULL] = "full",
		[FL_DEMANGLE_NO] = "no",
	};

	return i < ARRAY_LEN(names) ? names[i] : NULL;
}

/* ---- output ------------------------------------------------------------------------- */

size_t fl_parse_time(const char *text, uint64_t *ns)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 }, { "m", 6e10 },
		      { "", 1 } };
	size_t n = strspn(text, "0123456789."), u = 0;
	char *end;
	double v = strtod(text, &end);

	if (!isdigit((unsigned char)*text) || end != text + n)
		return 0;
	while (strncmp(end, units[u].unit, strlen(units[u].unit)) ||
	       isalpha((unsigned char)end[strlen(units[u].unit)]))
		if (++u == ARRAY_LEN(units))
			return 0;
	v *= units[u].ns;
	*ns = v < 9e18 ? (uint64_t)v : UINT64_MAX;
	return n + strlen(units[u].unit);
}

int fl_take_part(void *part, const struct fl_option *o, const char *text)
{
	struct fl_part p = { 0, UINT64_MAX, true };
	size_t from = fl_parse_time(text, &p.from_ns), to = 0;

	if (text[from] == '~')
		to = fl_parse_time(text + from + 1, &p.until_ns);
	*(struct fl_part *)part = p;
	if (text[from] == '~' && !text[from + 1 + to] && from + to && p.from_ns <= p.until_ns)
		return 0;
	fl_say("--%s takes FROM~TO, as in 1ms~2.5s, not `%s`", o->name, text);
	return -1;
}

int fl_flush_output(void)
{
	bool failed = ferror(stdout);		/* earlier: errno is not from then */

	errno = 0;
	if ((!fflush(stdout) && !failed) || fl_screen_has_quit())
		return 0;
	if (!errno) {				/* nothing was left: one byte more hears why */
		clearerr(stdout);
		putchar('\n');
		fflush(stdout);
	}
	fl_say("cannot write the output: %s", strerror(errno ? errno : EIO));
	clearerr(stdout);			/* that is said once */
	return -1;
}

size_t fl_terminal_width(void)
{
	enum { USUAL = 80 };
	const char *said = getenv("COLUMNS");
	struct winsize size;

	if (!isatty(STDOUT_FILENO))
		return 0;
	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col)
		return size.ws_col;
	return said && atoi(said) > 0 ? (size_t)atoi(said) : USUAL;
}

/* ---- help ---------------------------------------------------------------------------- */

static void print_option(FILE *to, const struct fl_option *o)
{
	char left[64], letter[8] = "    ";

	if (o->letter)
		snprintf(letter, sizeof(letter), "-%c, ", o->letter);
	snprintf(left, sizeof(left), "%s--%s%s%s", letter, o->name, o->value ? " " : "",
		 o->value ? o->value : "");
	fprintf(to, "  %-26s %s\n", left, o->about);
}

void fl_print_help(FILE *to, const struct fl_cmd *cmd)
{
	fprintf(to, "usage: flick %s %s\n\n%s.\n", cmd->name, cmd->args, cmd->about);
	if (cmd->options)
		fputs("\nOptions:\n", to);
	for (const struct fl_option *o = cmd->options; o && o->name; o++)
		print_option(to, o);
	if (cmd->list)
		cmd->list(to);
	if (cmd->more)
		fprintf(to, "\n%s\n", cmd->more);
}

/* A hyphen that is to be copied and pasted is `\-` in a manual page. */
static void print_roff(FILE *to, const char *text)
{
	for (; *text; text++) {
		if (*text == '-' || *text == '\\')
			fputc('\\', to);
		if (*text == '\\')
			fputs("e", to);
		else
			fputc(*text, to);
	}
}

void fl_print_man(FILE *to, const struct fl_cmd *cmd)
{
	for (const struct fl_option *o = cmd->options; o && o->name; o++) {
		fputs(".TP\n.B ", to);
		if (o->letter)
			fprintf(to, "\\-%c, ", o->letter);
		fputs("\\-\\-", to);
		print_roff(to, o->name);
		if (o->value)
			fprintf(to, " \\fI%s\\fR", o->value);
		fputc('\n', to);
		print_roff(to, o->about);
		fputc('\n', to);
	}
}
