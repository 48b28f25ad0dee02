/*
 * originals.c - samples and return addresses in second bodies, as of their functions.
 *
 * A body stands in memory without a file. Its process tells where, in rows that it can write
 * at any time: they are copied, and nothing in them is followed; what comes out is an
 * address, to be looked up as any other. Fork's child goes on with its parent's bodies at
 * the same places, and tells of those that it makes itself.
 *
 * (B) pairs with (A) in channel/body.c: who sees where it is sees whose.
 * (B) pairs with (U) in channel/other.c: the same.
 */
#include <stdlib.h>

#include "cli/originals.h"

/* A target that writes rows all the time shall not keep its reader busy: all of them may be
 * copied so often, and then some for each sample that is in none. */
enum { TIMES = 16, ROWS_A_MISS = 256 };

void fl_originals_open(struct fl_originals *b, struct fl_region *shm)
{
	*b = (struct fl_originals){ .shm = shm, .rows = fl_shm_bodies(shm),
				 .most = shm->max_sites, .blocks = fl_shm_glue(shm),
				 .most_blocks = shm->max_glue,
				 .credit = TIMES * (uint64_t)shm->max_sites };
}

static int by_place(const void *a, const void *b)
{
	const struct fl_body_row *x = a, *y = b;

	return x->lo < y->lo ? -1 : x->lo > y->lo;
}

/* One that is not written is nobody's, until somebody looks again. */
static void copy_written(struct fl_originals *b, uint32_t told)
{
	b->n = 0;
	for (uint32_t i = 0; i < told; i++) {
		const struct fl_body_row *row = &b->rows[i];
		/* (B) pairs with (A) in channel/body.c */
		uint64_t lo = load_acquire(&row->lo);

		if (!lo)
			continue;
		b->of[b->n++] = (struct fl_body_row){ .lo = lo,
			.function = load_relaxed(&row->function),
			.bytes = load_relaxed(&row->bytes), .pid = load_relaxed(&row->pid) };
	}
	qsort(b->of, b->n, sizeof(*b->of), by_place);
}

/* Is there more than when somebody looked last? What was not written then may be now. */
static bool look_for_more(struct fl_originals *b)
{
	uint32_t claimed = load_relaxed(&b->shm->n_bodies);
	uint32_t told = claimed < b->most ? claimed : b->most;
	void *grown;

	b->credit += ROWS_A_MISS;
	if ((told <= b->told && b->n == b->told) || told > b->credit)
		return false;
	told = told > b->told ? told : b->told;
	grown = realloc(b->of, (told + 1) * sizeof(*b->of));
	if (!grown)
		return false;		/* what was copied stays */
	b->credit -= told < b->credit ? told : b->credit;
	b->of = grown;
	b->told = told;
	copy_written(b, told);
	return true;
}

/* A child's are its parent's, whoever that was: where no row of its own has the place, any
 * other's. Those of one program at one address are alike, so a few say it. */
static const struct fl_body_row *body_around(const struct fl_originals *b, int32_t pid,
					       uint64_t at)
{
	enum { FEW = 64 };
	size_t n = fl_rows_from(b->of, b->n, sizeof(*b->of), at);
	const struct fl_body_row *any = NULL;

	for (size_t i = 1; i <= n && i <= FEW; i++) {
		const struct fl_body_row *r = &b->of[n - i];

		if (at - r->lo >= r->bytes)
			continue;
		if (r->pid == pid)
			return r;
		any = any ? any : r;
	}
	return any;
}

uint64_t fl_originals_at(struct fl_originals *b, int32_t pid, uint64_t at)
{
	const struct fl_body_row *r = b->shm ? body_around(b, pid, at) : NULL;

	if (!r && b->shm && look_for_more(b))
		r = body_around(b, pid, at);
	return r ? r->function : at;
}

/* A row is written when it counts already: until then it has no table. */
bool fl_originals_block(const struct fl_originals *b, uint64_t at, struct fl_glue_range *block)
{
	uint32_t n = b->shm ? load_relaxed(&b->shm->n_glue) : 0;

	for (uint32_t i = n < b->most_blocks ? n : b->most_blocks; i-- > 0;) {
		*block = b->blocks[i];
		if (block->table_bytes && block->lo <= at && at < block->hi)
			return true;
	}
	return false;
}

void fl_originals_each(struct fl_originals *b, int32_t pid,
		       void (*each)(void *arg, const struct fl_body_row *), void *arg)
{
	b->credit += b->most;
	if (b->shm)
		look_for_more(b);
	for (size_t i = 0; i < b->n; i++)
		if (b->of[i].pid == pid)
			each(arg, &b->of[i]);
}

void fl_originals_close(struct fl_originals *b)
{
	free(b->of);
	*b = (struct fl_originals){ 0 };
}
