/*
 * values.c - options that take one of some names: which name it is, what is said of a
 * wrong one, and the names for a shell to complete (tools/completion).
 */
#include <string.h>

#include "args/args.h"

/* "a, b or c". */
static void list_names(const char *(*each)(size_t), char *out, size_t room)
{
	size_t at = 0;

	for (size_t i = 0; each(i) && at < room; i++)
		at += (size_t)snprintf(out + at, room - at, "%s%s", !i ? "" : each(i + 1) ?
				       ", " : " or ", each(i));
}

int fl_choose(const char *option, const char *(*each)(size_t), const char *word)
{
	char names[512] = "";

	for (size_t i = 0; each(i); i++)
		if (!strcmp(each(i), word))
			return (int)i;
	list_names(each, names, sizeof(names));
	fl_say("%s is %s, not `%s`", option, names, word);
	return -1;
}

static const struct fl_option *find_option(const struct fl_cmd *cmd, const char *word)
{
	for (const struct fl_option *o = cmd->options; o && o->name; o++)
		if ((!strncmp(word, "--", 2) && !strcmp(word + 2, o->name)) ||
		    (o->letter && word[0] == '-' && word[1] == o->letter && !word[2]))
			return o;
	return NULL;
}

int fl_print_values(const struct fl_cmd *cmd, const char *word)
{
	const struct fl_option *o = word ? find_option(cmd, word) : NULL;

	if (!o || !o->value)
		return FL_EXIT_USAGE;
	if (!strcmp(o->value, "DIR") || !strcmp(o->value, "PATTERN"))
		puts(o->value);		/* for shells to know */
	for (size_t i = 0; o->each && o->each(i); i++)
		puts(o->each(i));
	return FL_EXIT_WELL;
}
