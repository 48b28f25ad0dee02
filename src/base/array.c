/*
 * array.c - arrays that grow.
 *
 * READER code: it stays out of the target.
 */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

static int resize(void *array, size_t n, size_t size)
{
	void *grown;

	memcpy(&grown, array, sizeof(grown));
	grown = n <= SIZE_MAX / size ? realloc(grown, n * size) : NULL;
	if (!grown)
		return -ENOMEM;
	memcpy(array, &grown, sizeof(grown));
	return 0;
}

int fl_array_room(void *array, size_t n, size_t size)
{
	enum { FIRST = 64 };

	if (n % FIRST || n & (n - 1))		/* only a power of two may be full */
		return 0;
	return resize(array, n ? 2 * n : FIRST, size);
}

int fl_array_extend(void *array, uint32_t *n, uint32_t want, size_t size)
{
	char *all;

	if (want <= *n)
		return 0;
	if (resize(array, want, size))
		return -ENOMEM;
	memcpy(&all, array, sizeof(all));
	memset(all + *n * size, 0, (want - *n) * size);
	*n = want;
	return 0;
}
