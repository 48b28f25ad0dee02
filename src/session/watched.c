/*
 * watched.c - how much of the program is told of by accesses and paths.
 *
 * Functions without a second body are in neither result, so either result is of a part of the
 * program. Samples of the program counter say how much of the time that part has, so that a
 * partial result is not shown as if it were the whole. Code that tells is woven into the bodies
 * of that part, and makes it longer than it is alone: the share is the most that it may be.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session/results.h"
#include "session/watched.h"

enum { WATCHED = 1, REFUSED = 2, NAMED = 4, MOST_NAMED = 3 };

bool fl_watched_is_asked(const struct fl_session *s)
{
	for (size_t i = 0; i < s->o->n_analyses; i++) {
		enum flick_needs needs = s->o->analyses[i].analysis->needs;

		if (needs == FLICK_NEEDS_ACCESSES || needs == FLICK_NEEDS_PATHS)
			return true;
	}
	return false;
}

static unsigned char *find_watched(const struct fl_session *s)
{
	unsigned char *is = calloc(s->functions.n + 1, 1);

	for (uint32_t i = 0; is && i < s->chosen.n; i++)
		if (s->chosen.marks[i] && fl_is_function(&s->functions.sites[i]))
			is[s->functions.function_of[i]] =
				s->sites[i].refusal ? REFUSED : WATCHED;
	return is;
}

/* The one of these with most samples that has no name in the text yet; UINT32_MAX: none. */
static uint32_t find_largest(unsigned char *is, const uint64_t *samples, uint32_t n)
{
	uint32_t most = UINT32_MAX;

	for (uint32_t f = 0; f < n; f++)
		if (is[f] == REFUSED && samples[f] &&
		    (most == UINT32_MAX || samples[f] > samples[most]))
			most = f;
	if (most != UINT32_MAX)
		is[most] |= NAMED;
	return most;
}

int fl_watched_look(struct fl_session *s, const uint64_t *samples, uint32_t n)
{
	unsigned char *is = find_watched(s);
	uint64_t all = 0, of[REFUSED + 1] = { 0 };
	char names[160] = "";
	size_t at = 0;

	if (!is)
		return -ENOMEM;
	for (uint32_t f = 0; f < n; f++) {
		all += samples[f];
		of[is[f]] += samples[f];
	}
	for (int i = 0; all && i < MOST_NAMED; i++) {
		uint32_t f = find_largest(is, samples, n);

		if (f != UINT32_MAX)
			at += (size_t)snprintf(names + at, sizeof(names) - at,
					       "%s%.36s %.1f", i ? ", " : " (",
					       fl_functions_name(&s->functions, f),
					       100.0 * (double)samples[f] / (double)all);
	}
	if (all)
		snprintf(s->watched, sizeof(s->watched), "rows are of functions that "
			 "had at most %.1f %% of %llu samples; functions that cannot be "
			 "watched had at least %.1f %%%s%s",
			 100.0 * (double)of[WATCHED] / (double)all, (unsigned long long)all,
			 100.0 * (double)of[REFUSED] / (double)all, names, at ? ")" : "");
	free(is);
	return 0;
}
