/*
 * array.h - arrays that grow.
 */
#ifndef FL_ANALYSIS_ARRAY_H
#define FL_ANALYSIS_ARRAY_H

#include <stdlib.h>
#include <string.h>

#include "base/base.h"

/* An array of `n` elements of `size` bytes becomes `want`, new ones zero. 0 or
 * -ENOMEM. */
static inline int fl_array_extend(void **array, uint32_t *n, uint32_t want,
				  size_t size)
{
	char *grown;

	if (want <= *n)
		return 0;
	grown = realloc(*array, want * size);
	if (!grown)
		return -ENOMEM;
	memset(grown + *n * size, 0, (want - *n) * size);
	*array = grown;
	*n = want;
	return 0;
}

/* Room for one more behind `n`: at least doubles, so it costs little. */
static inline int fl_array_room(void **array, size_t n, size_t *room, size_t size)
{
	size_t want = *room ? *room * 2 : 64;
	void *grown;

	if (n < *room)
		return 0;
	grown = realloc(*array, want * size);
	if (!grown)
		return -ENOMEM;
	*array = grown;
	*room = want;
	return 0;
}

#endif
