/*
 * geometry.c - which caches are to be simulated: as a person writes them, or as this
 * machine has them.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"

enum { LEAST_LINE = 8, MOST_LINE = 4096, MOST_WAYS = 4096 };
static const uint64_t most_bytes = (uint64_t)1 << 32;

static int refuse(char why[FL_USE_WHY], const struct fl_cache_level *l, const char *what)
{
	snprintf(why, FL_USE_WHY,
		 "%llu bytes in %u ways with lines of %u bytes are no cache: %s",
		 (unsigned long long)l->size, l->ways, l->line, what);
	return -1;
}

static int check_level(const struct fl_cache_level *l, char why[FL_USE_WHY])
{
	if (l->line < LEAST_LINE || l->line > MOST_LINE || (l->line & (l->line - 1)))
		return refuse(why, l, "a line has a power of two, 8 to 4096");
	if (!l->ways || l->ways > MOST_WAYS || !l->size || l->size > most_bytes)
		return refuse(why, l, "it has 1 to 4096 ways, and up to 4G");
	if (l->size % ((uint64_t)l->ways * l->line))
		return refuse(why, l, "its ways do not divide it into whole sets");
	return 0;
}

static int check_sets(const struct fl_cache_level *l, char why[FL_USE_WHY])
{
	uint64_t sets = l->size / l->ways / l->line;

	return sets & (sets - 1) ? refuse(why, l, "its sets are not a power of two") : 0;
}

/* ---- as it is written ----------------------------------------------------------------- */

/* A number with K, M or G, powers of 1,024. Returns the text behind it, or NULL. */
static const char *read_size(const char *text, uint64_t *out)
{
	static const char units[] = "KMG";
	char *end;
	const char *unit;

	if (!isdigit((unsigned char)*text))
		return NULL;
	errno = 0;
	*out = strtoull(text, &end, 10);
	unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
	if (errno || *out > most_bytes)
		return NULL;
	if (unit)
		*out <<= 10 * (unit - units + 1);
	return end + (unit != NULL);
}

/* `SIZE,WAYS,LINE`. Returns the text behind it, or NULL. */
static const char *read_level(const char *text, struct fl_cache_level *l)
{
	uint64_t of[3];

	for (size_t i = 0; text && i < ARRAY_LEN(of); i++) {
		text = read_size(text, &of[i]);
		if (text && i + 1 < ARRAY_LEN(of) && *text++ != ',')
			return NULL;
	}
	if (!text || of[1] > MOST_WAYS || of[2] > MOST_LINE)
		return NULL;
	*l = (struct fl_cache_level){ of[0], (uint32_t)of[1], (uint32_t)of[2] };
	return text;
}

static int read_levels(struct fl_cache_level *l, uint32_t n, const char *text,
		       char why[FL_USE_WHY])
{
	const char *at = text;
	uint32_t i = 0;

	do {
		at = read_level(at, &l[i]);
		if (at && (check_level(&l[i], why) || check_sets(&l[i], why)))
			return -1;
	} while (at && ++i < n && *at == ':' && *++at);
	if (at && !*at && at[-1] != ':')
		return (int)i;
	snprintf(why, FL_USE_WHY, "it is `host` or SIZE,WAYS,LINE%s, not `%s`",
		 n > 1 ? " of up to four levels, as in 32K,4,64:512K,8,64" : ", as in 32K,8,64",
		 text);
	return -1;
}

/* ---- as this machine has them ------------------------------------------------------------ */

#define CACHES "/sys/devices/system/cpu/cpu0/cache"

/* The first word of the kernel's file `what` of cache `i`; false: there is none. */
static bool ask_kernel(unsigned i, const char *what, char word[32])
{
	char path[96];
	FILE *f;
	bool has;

	snprintf(path, sizeof(path), CACHES "/index%u/%s", i, what);
	f = fopen(path, "re");
	has = f && fscanf(f, "%31s", word) == 1;
	if (f)
		fclose(f);
	return has;
}

static bool ask_number(unsigned i, const char *what, uint64_t *out)
{
	char word[32];

	return ask_kernel(i, what, word) && read_size(word, out);
}

/* Cache `i` of the kernel's list. 1; 0: its type is `unwanted`; -1: there is none. */
static int ask_level(unsigned i, const char *unwanted, uint64_t *level,
		     struct fl_cache_level *l)
{
	uint64_t ways, line;
	char type[32];

	if (!ask_kernel(i, "type", type) || !ask_number(i, "level", level))
		return -1;
	if (!strcmp(type, unwanted))
		return 0;
	if (!ask_number(i, "size", &l->size) ||
	    !ask_number(i, "ways_of_associativity", &ways) ||
	    !ask_number(i, "coherency_line_size", &line))
		return -1;
	l->ways = (uint32_t)ways;
	l->line = (uint32_t)line;
	return 1;
}

/* The kernel lists the nearest first. A last level may consist of slices, whose number need not
 * be a power of two. */
static int read_host(struct fl_cache_level *l, uint32_t n, char why[FL_USE_WHY])
{
	const char *unwanted = n > 1 ? "Instruction" : "Data";
	uint32_t found = 0;
	uint64_t level;

	for (unsigned i = 0; found < n; i++) {
		int is = ask_level(i, unwanted, &level, &l[found]);

		if (is < 0)
			break;
		if (is && level != found + 1)
			continue;
		if (is && (check_level(&l[found], why) || (!found && check_sets(l, why))))
			return -1;
		found += (uint32_t)is;
	}
	if (found)
		return (int)found;
	snprintf(why, FL_USE_WHY, "this machine does not say what its caches are (%s)", CACHES);
	return -1;
}

int fl_cache_parse(struct fl_cache_level *l, uint32_t n, const char *text, char why[FL_USE_WHY])
{
	return strcmp(text, "host") ? read_levels(l, n, text, why) : read_host(l, n, why);
}
