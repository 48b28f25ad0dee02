/*
 * places.c - what was found out about a profiling call at its first.
 *
 * Hides a hash. Its key is what a call is known by: the address it returns to, or its function.
 * It is asked at each call that no glue serves, so it is asked without a lock. It grows, and
 * forgets nothing: where a module was unloaded, the caller sees that by the state of the probe
 * that is found.
 *
 * PROTOCOL
 *	who notes (the table is locked)		who asks (any thread)
 *	cell->what = what	(A)		load map		(D)
 *	cell->key = key		(A)		load cell->key		(B)
 *	map is half full: the same in the	load cell->what		(B)
 *	next, and then map = next	(C)
 * INVARIANT
 *	1 A thread that finds a key finds what was noted with it, or noted later.
 *	2 A thread that finds none is told that none is known, and asks again with the lock.
 * WHY
 *	1 (A) pairs with (B); (C) pairs with (D). A cell keeps its key for good.
 *	2 A thread may still look at a map that has been replaced. It stays mapped, and
 *	  is complete up to then: all old ones together are as large as the new one.
 * FAILURE
 *	No memory for a larger map: the one there is takes all but its last cell. From
 *	then on a note is refused, and what was not noted is FLE_FULL for everybody.
 */
#include "late.h"
#include "os/os.h"
#include "table.h"

struct cell {
	uint64_t key;			/* 0: free */
	int32_t what;
};

struct map {
	struct cell *cell;
	uint32_t n, n_cells;		/* taken; of a power of two. W the lock's holder */
};

enum { FIRST_CELLS = 1 << 10, MAPS = 22 };	/* the last takes 1 G */

static struct cell first[FIRST_CELLS];
static struct map maps[MAPS];
static struct map *map;			/* the newest; NULL: nothing was noted yet */
static int unknown = -ENOENT;		/* what was not noted; FLE_FULL: nor will be */

static struct cell *cell_at(struct map *m, uint64_t hash)
{
	return &m->cell[hash & (m->n_cells - 1)];
}

static uint64_t hash_of(uint64_t key)
{
	return key * 0x9e3779b97f4a7c15ull >> 32;
}

int fl_place_find(uint64_t key)
{
	struct map *m = load_acquire(&map);			/* (D) pairs with (C) */
	uint64_t there = m != NULL;

	for (uint64_t h = hash_of(key); there; h++) {
		struct cell *c = cell_at(m, h);

		there = load_acquire(&c->key);			/* (B) pairs with (A) */
		if (there == key)
			return load_acquire(&c->what);		/* (B) pairs with (A) */
	}
	return load_relaxed(&unknown);
}

/* Where `key` is, or would go. */
static struct cell *cell_of(struct map *m, uint64_t key)
{
	uint64_t h = hash_of(key);
	struct cell *c = cell_at(m, h);

	while (c->key && c->key != key)
		c = cell_at(m, ++h);
	return c;
}

static void put(struct map *m, uint64_t key, int what)
{
	struct cell *c = cell_of(m, key);

	store_release(&c->what, what);				/* (A) pairs with (B) */
	FL_POINT("places.put");
	m->n += !c->key;
	store_release(&c->key, key);				/* (A) pairs with (B) */
}

/* Make the next map, with all that is in this one. */
static void grow(void)
{
	struct map *m = map + 1;
	uint32_t n = 2 * map->n_cells;
	struct cell *cell = m < maps + MAPS ? fl_table_map(n * sizeof *cell) : NULL;

	if (!cell)
		return;
	*m = (struct map){ .cell = cell, .n_cells = n };
	for (uint32_t i = 0; i < map->n_cells; i++)
		if (map->cell[i].key)
			put(m, map->cell[i].key, map->cell[i].what);
	FL_POINT("places.grown");
	store_release(&map, m);					/* (C) pairs with (D) */
}

int fl_place_note(uint64_t key, int what)
{
	if (map->n >= map->n_cells / 2)
		grow();
	if (map->n + 1 == map->n_cells && !cell_of(map, key)->key) {
		store_relaxed(&unknown, FLE_FULL);
		return FLE_FULL;
	}
	put(map, key, what);
	return 0;
}

/* What an earlier use has left is for nobody: begin empty. */
void fl_places_open(void)
{
	__builtin_memset(first, 0, sizeof first);
	maps[0] = (struct map){ .cell = first, .n_cells = FIRST_CELLS };
	unknown = -ENOENT;
	store_release(&map, &maps[0]);				/* (C) pairs with (D) */
}
