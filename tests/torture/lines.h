/*
 * lines.h - a torture test of several lines: all of them, or the one that is named.
 */
#ifndef TORTURE_LINES_H
#define TORTURE_LINES_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct line {
	const char *name;
	int (*run)(uint64_t factor);	/* 0: all well */
};

/* FLICK_TORTURE makes each of them ten times as long. */
static inline int run_lines(const struct line *lines, size_t n, int argc, char **argv)
{
	uint64_t factor = getenv("FLICK_TORTURE") ? 10 : 1;
	int bad = 0;

	for (size_t i = 0; i < n; i++)
		if (argc < 2 || !strcmp(argv[1], lines[i].name))
			bad |= lines[i].run(factor);
	return bad;
}

#endif
