/*
 * array.c - arrays that grow, and the hash tables that find what is in them.
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

/* ---- hash tables --------------------------------------------------------------------- */

static int by_first_word(const void *x, const void *y)
{
	const uint64_t *a = x, *b = y;

	return (*a > *b) - (*a < *b);
}

void fl_rows_sort(void *array, size_t n, size_t size)
{
	if (n)
		qsort(array, n, size, by_first_word);
}

static void put(struct fl_hash *t, struct fl_hashed h)
{
	uint32_t at = h.hash;

	while (t->of[at & (t->room - 1)].item)
		at++;
	t->of[at & (t->room - 1)] = h;
}

int fl_hash_put(struct fl_hash *t, uint32_t hash, uint32_t item)
{
	struct fl_hash old = *t;

	if ((t->n + 1) * 2 > t->room) {
		t->room = old.room ? old.room * 2 : 256;
		t->of = calloc(t->room, sizeof(*t->of));
		if (!t->of) {
			*t = old;
			return -ENOMEM;
		}
		for (uint32_t i = 0; i < old.room; i++)
			if (old.of[i].item)
				put(t, old.of[i]);
		free(old.of);
	}
	put(t, (struct fl_hashed){ hash, item });
	t->n++;
	return 0;
}

void fl_hash_free(struct fl_hash *t)
{
	free(t->of);
	*t = (struct fl_hash){ 0 };
}

uint32_t fl_hash_text(uint32_t before, const char *text)
{
	uint64_t h = before ^ 0xcbf29ce484222325ull;

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 0x100000001b3ull;
	return (uint32_t)(h ^ h >> 32);
}
