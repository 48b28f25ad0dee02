/*
 * originals.c - samples and return addresses in second bodies, as of their functions.
 *
 * A body stands in memory without a file. Its process tells where, in rows that it can write
 * at any time: so rows are copied, and nothing in them is followed; what comes out is an
 * address, to be looked up as any other. A child of fork() goes on with its parent's bodies at
 * the same places, and tells of those that it makes itself. Each process has its own rows here:
 * if a hundred processes run a program at the same addresses, each of its bodies has a hundred
 * rows.
 *
 * A block of rows is given back when its image has ended and no image lives that was forked of
 * it. An image has ended if another one of its process has joined since: by then the kernel had
 * killed the threads of the one before. Or the kernel says that the process is gone, or that
 * its only thread executes nothing any more. Samples of before are looked at first.
 *
 * (B) pairs with (A) in channel/body.c: who sees where it is sees whose.
 * (K) pairs with (L) in channel/body.c: blocks that were counted have owners.
 * (F) pairs with (C) in channel/body.c: who claims a block finds its rows empty.
 */
#include <stdlib.h>

#include "os/os.h"
#include "perf/originals.h"

/* A target that writes rows all the time shall not keep its reader busy: all rows may be copied
 * or sorted TIMES times, and after that some for each sample that is in none; rows of an image
 * that the kernel says has ended may be again. FEW: so many bodies that begin before an address
 * are looked at, and so many parents. */
enum { TIMES = 16, ROWS_A_MISS = 256, FEW = 64 };

int fl_originals_open(struct fl_originals **out, struct fl_region *shm)
{
	struct fl_originals *b = malloc(sizeof(*b));

	*out = b;
	if (!b)
		return -ENOMEM;
	*b = (struct fl_originals){ .shm = shm, .rows = fl_shm_bodies(shm),
				 .n_rows = shm->body_rows, .blocks = fl_shm_glue(shm),
				 .most_blocks = shm->max_glue,
				 .told = calloc(shm->n_body_blocks + 1, sizeof(*b->told)),
				 .open = calloc(shm->n_body_blocks + 1, sizeof(*b->open)),
				 .n_told = shm->n_body_blocks,
				 .credit = TIMES * (uint64_t)shm->n_body_blocks *
					   shm->body_rows };
	if (b->told && b->open)
		return 0;
	b->n_told = 0;
	fl_originals_close(b);
	*out = NULL;
	return -ENOMEM;
}

uint32_t fl_originals_room(const struct fl_originals *b)
{
	return b->n_told * b->n_rows;
}

/* ---- images ------------------------------------------------------------------------------ */

static struct fl_originals_of *find_process(const struct fl_originals *b, int32_t pid)
{
	uint32_t hash = fl_hash_of(0, (uint32_t)pid);

	for (uint32_t at = hash, i; (i = fl_hash_next(&b->by_pid, hash, &at));)
		if (b->processes[i - 1].pid == pid)
			return &b->processes[i - 1];
	return NULL;
}

static struct fl_told_image *find_image(const struct fl_originals *b, uint64_t owner)
{
	struct fl_originals_of *p = find_process(b, (int32_t)(uint32_t)owner);
	struct fl_told_image *image = p ? p->newest : NULL;

	while (image && image->number != owner >> 32)
		image = image->older;
	return image;
}

/* Images of a process have ascending numbers. NULL: no memory, or a target writes more numbers
 * than there are processes. */
static struct fl_told_image *add_image(struct fl_originals *b, uint64_t owner)
{
	int32_t pid = (int32_t)(uint32_t)owner;
	struct fl_originals_of *p = find_process(b, pid);
	struct fl_told_image *image, **at;

	if (!p && b->n < FL_MAX_PROCESSES &&
	    !fl_array_room(&b->processes, b->n, sizeof(*b->processes)) &&
	    !fl_hash_put(&b->by_pid, fl_hash_of(0, (uint32_t)pid), b->n + 1)) {
		p = &b->processes[b->n++];
		*p = (struct fl_originals_of){ .pid = pid };
	}
	image = p ? calloc(1, sizeof(*image)) : NULL;
	if (!image)
		return NULL;
	image->number = (uint32_t)(owner >> 32);
	at = &p->newest;
	while (*at && (*at)->number > image->number)
		at = &(*at)->older;
	image->older = *at;
	*at = image;
	return image;
}

/* ---- blocks of rows ---------------------------------------------------------------------- */

/* Remove a block's rows from a list of rows, or the block from a list of blocks (`each` is 1).
 * Returns how many stay. */
static uint32_t remove_of(uint32_t *list, uint32_t n, uint32_t each, uint32_t block)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i++)
		if (list[i] / each != block)
			list[kept++] = list[i];
	return kept;
}

/* An image that has no block is not kept: so there are no more images than blocks, whatever
 * stands there. */
static void forget_block(struct fl_originals *b, uint32_t block)
{
	uint64_t owner = b->told[block].owner;
	struct fl_told_image *image = find_image(b, owner), **at;

	if (!image || !owner)
		return;
	b->n_open = remove_of(b->open, b->n_open, 1, block);
	b->n_late = remove_of(b->late, b->n_late, b->n_rows, block);
	b->told[block] = (struct fl_body_block){ 0 };
	b->n_used--;
	if (--image->n_blocks)
		return;
	at = &find_process(b, (int32_t)(uint32_t)owner)->newest;
	while (*at != image)
		at = &(*at)->older;
	*at = image->older;
	b->n_held -= image->n;
	b->n_ended -= image->ended_ns != 0;
	free(image->of);
	free(image);
}

static void meet_block(struct fl_originals *b, uint32_t block, uint64_t owner)
{
	struct fl_told_image *image;

	forget_block(b, block);
	image = owner ? find_image(b, owner) : NULL;
	image = image || !owner ? image : add_image(b, owner);
	if (!image)
		return;
	image->n_blocks++;
	b->told[block].owner = owner;
	b->open[b->n_open++] = block;
	b->n_used++;
}

static void look_at_claims(struct fl_originals *b)
{
	const struct fl_body_block *blocks = fl_shm_body_blocks(b->shm);
	/* (K) pairs with (L) in channel/body.c */
	uint32_t claims = load_acquire(&b->shm->body_claims);

	if (claims == b->claims)
		return;
	b->claims = claims;
	for (uint32_t i = 0; i < b->n_told; i++) {
		uint64_t owner = load_relaxed(&blocks[i].owner);

		if (owner != b->told[i].owner)
			meet_block(b, i, owner);
	}
}

static uint32_t claimed_rows(const struct fl_originals *b, uint32_t block)
{
	uint32_t n = load_relaxed(&fl_shm_body_blocks(b->shm)[block].n);

	return n < b->n_rows ? n : b->n_rows;
}

/* ---- rows -------------------------------------------------------------------------------- */

/* Keep a body, but no more bodies than there are rows in all. */
static void add_body(struct fl_originals *b, struct fl_told_image *p,
		     const struct fl_told_body *body)
{
	if (!p || b->n_held >= (uint64_t)b->n_told * b->n_rows ||
	    fl_array_room(&p->of, p->n, sizeof(*p->of)))
		return;
	if (p->n_sorted == p->n && (!p->n || p->of[p->n - 1].lo <= body->lo))
		p->n_sorted++;
	p->of[p->n++] = *body;
	b->n_held++;
}

/* False: the row is not written yet. It is nobody's until somebody looks again. */
static bool take_written(struct fl_originals *b, uint32_t i)
{
	const struct fl_body_row *row = &b->rows[i];
	/* (B) pairs with (A) in channel/body.c */
	uint64_t lo = load_acquire(&row->lo);

	if (lo)
		add_body(b, find_image(b, b->told[i / b->n_rows].owner),
			 &(struct fl_told_body){ lo, load_relaxed(&row->function),
						 load_relaxed(&row->bytes), b->next_number++ });
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

static void take_open(struct fl_originals *b)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < b->n_open; i++) {
		uint32_t block = b->open[i], first = block * b->n_rows;
		uint32_t n = claimed_rows(b, block), *told = &b->told[block].n;

		for (; *told < n; *told += 1)
			if (!take_written(b, first + *told) &&
			    !fl_array_room(&b->late, b->n_late, sizeof(*b->late)))
				b->late[b->n_late++] = first + *told;
		if (*told < b->n_rows)
			b->open[kept++] = block;
	}
	b->n_open = kept;
}

/* Is there more than when somebody looked last? What was not written then may be now. */
static bool look_for_more(struct fl_originals *b)
{
	uint64_t more = b->n_late;

	look_at_claims(b);
	for (uint32_t i = 0; i < b->n_open; i++)
		more += claimed_rows(b, b->open[i]) - b->told[b->open[i]].n;
	b->credit += ROWS_A_MISS;
	if (!more || more > b->credit)
		return false;
	b->credit -= more;
	take_late(b);
	take_open(b);
	return true;
}

static int bodies_by_place(const void *a, const void *b)
{
	const struct fl_told_body *x = a, *y = b;

	if (x->lo != y->lo)
		return x->lo < y->lo ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

static void sort_bodies(struct fl_originals *b, struct fl_told_image *p)
{
	if (p->n_sorted == p->n || p->n > b->credit)
		return;
	b->credit -= p->n;
	qsort(p->of, p->n, sizeof(*p->of), bodies_by_place);
	p->n_sorted = p->n;
}

/* ---- who has ended ----------------------------------------------------------------------- */

/* A thread that is about to end executes nothing of the program. */
static bool is_process_gone(int32_t pid)
{
	struct fl_process_status status;
	int err = fl_os_process_status(pid, &status);

	return err ? err == -ENOENT || err == -ESRCH :
	       status.ends && fl_os_thread_count(pid) <= 1;
}

/* The first process does not count as gone, because all of it may be asked for at the end. */
static void find_ended(struct fl_originals *b)
{
	const struct fl_process *rows = fl_shm_processes(b->shm);
	uint32_t n = load_relaxed(&b->shm->n_processes);

	for (uint32_t i = 0; i < n && i < FL_MAX_PROCESSES; i++) {
		struct fl_originals_of *p = find_process(b, load_relaxed(&rows[i].pid));

		if (p)
			p->image = load_relaxed(&rows[i].image);
	}
	for (uint32_t i = 0; i < b->n; i++) {
		const struct fl_originals_of *p = &b->processes[i];
		bool is_gone = p->newest && p->pid != load_relaxed(&rows[0].pid) &&
			       is_process_gone(p->pid);

		for (struct fl_told_image *image = p->newest; image; image = image->older) {
			if (image->ended_ns || !(is_gone || image->number < p->image))
				continue;
			image->ended_ns = fl_os_monotonic_ns();
			b->n_ended++;
		}
	}
}

static void free_block(struct fl_originals *b, uint32_t block)
{
	struct fl_body_block *row = &fl_shm_body_blocks(b->shm)[block];

	for (uint32_t i = claimed_rows(b, block); i-- > 0;)
		store_relaxed(&b->rows[block * b->n_rows + i].lo, 0);
	store_relaxed(&row->n, 0);
	/* (F) pairs with (C) in channel/body.c */
	store_release(&row->owner, 0);
	store_relaxed(&b->shm->body_freed, load_relaxed(&b->shm->body_freed) + 1);
	b->credit += TIMES * (uint64_t)b->n_rows;
}

static bool is_needed_no_more(const struct fl_originals *b, uint64_t owner, uint64_t settled)
{
	const struct fl_told_image *image = find_image(b, owner);

	return image && image->ended_ns && image->ended_ns < settled &&
	       !(b->has_heirs && b->has_heirs(b->arg, (int32_t)(uint32_t)owner));
}

static void free_ended(struct fl_originals *b, uint64_t settled)
{
	const struct fl_body_block *blocks = fl_shm_body_blocks(b->shm);

	for (uint32_t i = 0; i < b->n_told && b->n_ended; i++) {
		uint64_t owner = b->told[i].owner;

		if (!owner || load_relaxed(&blocks[i].owner) != owner ||
		    !is_needed_no_more(b, owner, settled))
			continue;
		free_block(b, i);
		forget_block(b, i);
	}
}

/* As long as most blocks are free it costs nothing to let them be. A claim counts twice. A
 * target that claims all the time has a part of the reader's time. */
void fl_originals_turn(struct fl_originals *b, uint64_t settled)
{
	enum { FULL_NS = 20000000, PARTS = 16 };
	uint32_t claims = b->shm ? load_relaxed(&b->shm->body_claims) : b->swept_claims;
	uint64_t now = fl_os_monotonic_ns();
	bool is_due = claims - b->swept_claims > b->n_told / 4 ||
		      (b->n_used > b->n_told / 4 * 3 && now - b->swept_ns > FULL_NS);

	if (is_due && now - b->swept_ns > PARTS * b->sweep_took_ns) {
		b->swept_claims = claims;
		look_at_claims(b);
		find_ended(b);
		b->swept_ns = fl_os_monotonic_ns();
		b->sweep_took_ns = b->swept_ns - now;
	}
	if (b->n_ended)
		free_ended(b, settled);
}

/* ---- who has the address --------------------------------------------------------------- */

static const struct fl_told_body *body_in(struct fl_originals *b, struct fl_told_image *p,
					  uint64_t at)
{
	size_t n;

	sort_bodies(b, p);
	n = fl_rows_from(p->of, p->n_sorted, sizeof(*p->of), at);
	for (size_t i = 1; i <= n && i <= FEW; i++)
		if (at - p->of[n - i].lo < p->of[n - i].bytes)
			return &p->of[n - i];
	return NULL;
}

static const struct fl_told_body *body_of(struct fl_originals *b,
					  const struct fl_originals_of *p, uint64_t at)
{
	const struct fl_told_body *body = NULL;

	for (struct fl_told_image *i = p ? p->newest : NULL; i && !body; i = i->older)
		body = body_in(b, i, at);
	return body;
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

/* A process whose parents are not known has any other process's bodies: bodies of one program
 * at one address are alike. */
uint64_t fl_originals_at(struct fl_originals *b, int32_t pid, uint64_t at)
{
	const struct fl_told_body *body = fl_originals_body(b, pid, at);

	for (uint32_t i = b->n; !body && i-- > 0;)
		body = body_of(b, &b->processes[i], at);
	return body ? body->function : at;
}

/* A row counts before it is written: until then it has no table. */
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
	b->credit += (uint64_t)b->n_told * b->n_rows;
	if (b->shm)
		look_for_more(b);
}

void fl_originals_each(struct fl_originals *b, int32_t pid,
		       void (*each)(void *arg, const struct fl_told_body *), void *arg)
{
	const struct fl_originals_of *p = find_process(b, pid);

	for (struct fl_told_image *image = p ? p->newest : NULL; image; image = image->older) {
		sort_bodies(b, image);
		for (uint32_t i = 0; i < image->n_sorted; i++)
			each(arg, &image->of[i]);
	}
}

void fl_originals_close(struct fl_originals *b)
{
	if (!b)
		return;
	for (uint32_t i = 0; i < b->n_told; i++)
		forget_block(b, i);
	free(b->told);
	free(b->open);
	free(b->processes);
	free(b->late);
	fl_hash_free(&b->by_pid);
	free(b);
}
