/*
 * originals.c - samples and return addresses in second bodies, as of their functions.
 *
 * A body stands in memory without a file. Its process tells where, in rows that it can write
 * at any time: they are copied, and nothing in them is followed; what comes out is an
 * address, to be looked up as any other. Fork's child goes on with its parent's bodies at
 * the same places, and tells of those that it makes itself. Each process has its own rows here:
 * of a program that a hundred processes run at the same addresses a body stands there a hundred
 * times.
 *
 * (B) pairs with (A) in channel/body.c: who sees where it is sees whose.
 * (B) pairs with (U) in channel/other.c: the same.
 */
#include <stdlib.h>

#include "cli/originals.h"

/* A target that writes rows all the time shall not keep its reader busy: all of them may be
 * copied or sorted so often, and then some for each sample that is in none. FEW: so many bodies
 * that begin before an address are looked at, and so many parents. */
enum { TIMES = 16, ROWS_A_MISS = 256, FEW = 64 };

void fl_originals_open(struct fl_originals *b, struct fl_region *shm)
{
	*b = (struct fl_originals){ .shm = shm, .rows = fl_shm_bodies(shm),
				 .most = shm->max_sites, .blocks = fl_shm_glue(shm),
				 .most_blocks = shm->max_glue,
				 .credit = TIMES * (uint64_t)shm->max_sites };
}

/* ---- rows, by process ------------------------------------------------------------------- */

static struct fl_originals_of *find_process(const struct fl_originals *b, int32_t pid)
{
	uint32_t hash = fl_hash_of(0, (uint32_t)pid);

	for (uint32_t at = hash, i; (i = fl_hash_next(&b->by_pid, hash, &at));)
		if (b->processes[i - 1].pid == pid)
			return &b->processes[i - 1];
	return NULL;
}

/* NULL: no memory, or a target writes more numbers than there are processes. */
static struct fl_originals_of *add_process(struct fl_originals *b, int32_t pid)
{
	if (b->n == FL_MAX_PROCESSES ||
	    fl_array_room(&b->processes, b->n, sizeof(*b->processes)) ||
	    fl_hash_put(&b->by_pid, fl_hash_of(0, (uint32_t)pid), b->n + 1))
		return NULL;
	b->processes[b->n] = (struct fl_originals_of){ .pid = pid };
	return &b->processes[b->n++];
}

static void add_body(struct fl_originals *b, const struct fl_told_body *body, int32_t pid)
{
	struct fl_originals_of *p = find_process(b, pid);

	p = p ? p : add_process(b, pid);
	if (!p || fl_array_room(&p->of, p->n, sizeof(*p->of)))
		return;
	if (p->n_sorted == p->n && (!p->n || p->of[p->n - 1].lo <= body->lo))
		p->n_sorted++;
	p->of[p->n++] = *body;
}

/* False: it is not written. It is nobody's, until somebody looks again. */
static bool take_written(struct fl_originals *b, uint32_t i)
{
	const struct fl_body_row *row = &b->rows[i];
	/* (B) pairs with (A) in channel/body.c */
	uint64_t lo = load_acquire(&row->lo);

	if (lo)
		add_body(b, &(struct fl_told_body){ lo, load_relaxed(&row->function),
						    load_relaxed(&row->bytes), i },
			 load_relaxed(&row->pid));
	return lo != 0;
}

static void take_late(struct fl_originals *b)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < b->n_late; i++)
		if (!take_written(b, b->late[i]))
			b->late[kept++] = b->late[i];
	b->n_late = kept;
}

/* Is there more than when somebody looked last? What was not written then may be now. */
static bool look_for_more(struct fl_originals *b)
{
	uint32_t claimed = load_relaxed(&b->shm->n_bodies);
	uint32_t told = claimed < b->most ? claimed : b->most;
	uint64_t more = b->n_late + (uint64_t)(told > b->told ? told - b->told : 0);

	b->credit += ROWS_A_MISS;
	if (!more || more > b->credit)
		return false;
	b->credit -= more;
	take_late(b);
	for (; b->told < told; b->told++)
		if (!take_written(b, b->told) &&
		    !fl_array_room(&b->late, b->n_late, sizeof(*b->late)))
			b->late[b->n_late++] = b->told;
	return true;
}

static int by_place(const void *a, const void *b)
{
	const struct fl_told_body *x = a, *y = b;

	if (x->lo != y->lo)
		return x->lo < y->lo ? -1 : 1;
	return x->row < y->row ? -1 : 1;
}

static void sort_bodies(struct fl_originals *b, struct fl_originals_of *p)
{
	if (p->n_sorted == p->n || p->n > b->credit)
		return;
	b->credit -= p->n;
	qsort(p->of, p->n, sizeof(*p->of), by_place);
	p->n_sorted = p->n;
}

/* ---- who has the address --------------------------------------------------------------- */

static const struct fl_told_body *body_of(struct fl_originals *b, struct fl_originals_of *p,
					  uint64_t at)
{
	size_t n;

	if (!p)
		return NULL;
	sort_bodies(b, p);
	n = fl_rows_from(p->of, p->n_sorted, sizeof(*p->of), at);
	for (size_t i = 1; i <= n && i <= FEW; i++)
		if (at - p->of[n - i].lo < p->of[n - i].bytes)
			return &p->of[n - i];
	return NULL;
}

int32_t fl_originals_parent(const struct fl_originals *b, int32_t pid)
{
	return b->parent ? b->parent(b->arg, pid) : 0;
}

static const struct fl_told_body *own_body(struct fl_originals *b, int32_t pid, uint64_t at)
{
	const struct fl_told_body *body = NULL;

	for (int i = 0; pid && !body && i < FEW; i++) {
		body = body_of(b, find_process(b, pid), at);
		pid = fl_originals_parent(b, pid);
	}
	return body;
}

const struct fl_told_body *fl_originals_body(struct fl_originals *b, int32_t pid, uint64_t at)
{
	const struct fl_told_body *body = b->shm ? own_body(b, pid, at) : NULL;

	return !body && b->shm && look_for_more(b) ? own_body(b, pid, at) : body;
}

/* Of whom nobody knows the parents has any other's: those of one program at one address are
 * alike. */
uint64_t fl_originals_at(struct fl_originals *b, int32_t pid, uint64_t at)
{
	const struct fl_told_body *body = fl_originals_body(b, pid, at);

	for (uint32_t i = b->n; !body && i-- > 0;)
		body = body_of(b, &b->processes[i], at);
	return body ? body->function : at;
}

/* A row is written when it counts already: until then it has no table. */
static uint32_t own_block(const struct fl_originals *b, int32_t pid, uint64_t at,
			  struct fl_glue_range *block)
{
	uint32_t n = load_relaxed(&b->shm->n_glue);

	for (uint32_t i = n < b->most_blocks ? n : b->most_blocks; i-- > 0;) {
		if (b->blocks[i].pid != pid)
			continue;
		*block = b->blocks[i];
		if (block->table_bytes && block->lo <= at && at < block->hi)
			return i + 1;
	}
	return 0;
}

uint32_t fl_originals_block(const struct fl_originals *b, int32_t pid, uint64_t at,
			    struct fl_glue_range *block)
{
	uint32_t row = 0;

	for (int i = 0; b->shm && pid && !row && i < FEW; i++) {
		row = own_block(b, pid, at, block);
		pid = fl_originals_parent(b, pid);
	}
	return row;
}

void fl_originals_look(struct fl_originals *b)
{
	b->credit += b->most;
	if (b->shm)
		look_for_more(b);
}

void fl_originals_each(struct fl_originals *b, int32_t pid,
		       void (*each)(void *arg, const struct fl_told_body *), void *arg)
{
	struct fl_originals_of *p = find_process(b, pid);

	if (p)
		sort_bodies(b, p);
	for (uint32_t i = 0; p && i < p->n_sorted; i++)
		each(arg, &p->of[i]);
}

void fl_originals_close(struct fl_originals *b)
{
	for (uint32_t i = 0; i < b->n; i++)
		free(b->processes[i].of);
	free(b->processes);
	free(b->late);
	fl_hash_free(&b->by_pid);
	*b = (struct fl_originals){ 0 };
}
