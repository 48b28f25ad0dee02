/*
 * area.c - near memory that second bodies stand in, in blocks of code and data.
 *
 * Hides that nobody knows beforehand how much code there will be: each block is twice the one
 * before it, and the system gives pages as far as they are used. Code that was taken is
 * executed for ever; the rest of a sealed block costs addresses alone. Where nothing is free
 * within branch reach of the whole module, a block is near the function that is built next,
 * and as small as it must be. Glue may stand below a module and a block above: a block is
 * within reach of the glue, too.
 */
#include <sys/mman.h>

#include "copy/build.h"
#include "copy/copy.h"
#include "os/os.h"

/* Builders of one module look for ground at the same time: the lock keeps their gaps apart. */
static struct fl_lock lock = { .rank = FL_LOCK_GROUND };
static size_t mapped;			/* W the lock's holder */

size_t fl_copy_bytes(void)
{
	return mapped;
}

enum { FIRST = 1 << 17, LARGEST = 1 << 26 };

void fl_copies_begin(struct fl_copies *c, uintptr_t lo, uintptr_t hi)
{
	*c = (struct fl_copies){ .lo = lo, .hi = hi, .from = lo, .to = hi };
}

void fl_copies_lead(struct fl_copies *c, uintptr_t lo, uintptr_t hi)
{
	c->glue = lo;
	c->glue_end = hi;
	c->none_near = 0;
}

/* A copy of code in [lo, hi) leads back there, and to the glue. */
static struct fl_near_to near_to(const struct fl_copies *c, uintptr_t lo, uintptr_t hi)
{
	return (struct fl_near_to){ lo, hi, c->glue, c->glue_end };
}

static bool reaches(const struct fl_ground_block *b, const struct fl_copies *c)
{
	return fl_near_reaches(&b->near, c->from, c->to) &&
	       (!c->glue || fl_near_reaches(&b->near, c->glue, c->glue_end));
}

/* Fault in pages up to `need`, and as many more as there are from `begin` on, in one call: a
 * fault for each takes longer. */
static void make_ready(unsigned char **ready, const unsigned char *begin, unsigned char *need,
		       unsigned char *end)
{
	enum { LEAST = 1 << 14, MOST = 1 << 16 };
	unsigned char *from = *ready;
	ptrdiff_t more = need - begin;

	if (need <= from || from >= end)
		return;
	more = more < LEAST ? LEAST : more < MOST ? more : MOST;
	*ready = need < end && end - need > more ? need + more : end;
	*ready = (unsigned char *)fl_round_up((uintptr_t)*ready, FL_PAGE);
	fl_os_advise(from, (size_t)(*ready - from), MADV_POPULATE_WRITE);
}

static void make_block_ready(struct fl_ground_block *b, size_t code, size_t data)
{
	enum { TOLD = 1 << 13 };	/* enough for most bodies; the rest faults */
	unsigned char *half = b->near.data + b->near.data_bytes / 2;
	size_t told;
	const unsigned char *frames = fl_unwind_frames(&b->unwind, &told);

	make_ready(&b->ready[0], b->near.write, b->near.write + b->used + code,
		   b->near.write + b->near.code_bytes);
	make_ready(&b->ready[1], b->near.data, b->near.data + b->data_used + data, half);
	make_ready(&b->ready[2], frames, b->unwind.next + TOLD,
		   half + b->near.data_bytes / 2);
}

/* At least `code` and `data`; `want` of code if that is more. Places, tables of look-ups and
 * gdb's names have as many bytes as code has, and tables for unwinders, too: a landing of ten
 * bytes has eight of these. What is not used costs addresses alone. */
static int alloc_near(struct fl_near *near, struct fl_near_to to, size_t code, size_t data,
		      size_t want)
{
	size_t n = code > want ? code : want;

	return fl_near_alloc(near, to, n, 2 * (data > n ? data : n));
}

static int find_ground(struct fl_near *near, const struct fl_copies *c, size_t code,
		       size_t data, size_t want)
{
	struct fl_near_to module = near_to(c, c->lo, c->hi);
	struct fl_near_to function = near_to(c, c->from, c->to);
	int err = alloc_near(near, module, code, data, want);

	if (err == FLE_NOREACH)
		err = alloc_near(near, function, code, data, want);
	while (err == FLE_NOREACH && want > code) {
		want /= 2;
		err = alloc_near(near, function, code, data, want);
	}
	return err;
}

/* Has a search near a neighbour failed? Then none is made: each one reads the whole list of
 * mappings, and a hundred thousand functions may have no room. */
static bool is_in_vain(const struct fl_copies *c, size_t code)
{
	enum { NEIGHBOURS = 1 << 20 };

	return c->none_near && code >= c->none_of &&
	       c->from - c->none_near + NEIGHBOURS < 2 * NEIGHBOURS;
}

static int add_block(struct fl_copies *c, size_t code, size_t data)
{
	struct fl_ground_block *b = &c->blocks[c->n];
	size_t want = (size_t)FIRST << c->n;
	int err;

	want = want < LARGEST ? want : LARGEST;
	*b = (struct fl_ground_block){ .data_used = FL_JIT_BYTES };
	if (is_in_vain(c, code))
		return FLE_NOREACH;
	err = find_ground(&b->near, c, code, data + FL_JIT_BYTES, want);
	if (err == FLE_NOREACH) {
		c->none_near = c->from;
		c->none_of = code;
	}
	if (err)
		return err;
	/* the second half of the data is for unwinders */
	err = fl_unwind_open(&b->unwind, (uintptr_t)b->near.code,
			     (uintptr_t)b->near.code + b->near.code_bytes,
			     b->near.data + b->near.data_bytes / 2, b->near.data_bytes / 2);
	if (err) {
		fl_near_free(&b->near);
		return err;
	}
	b->ready[0] = b->near.write;
	b->ready[1] = b->near.data;
	b->ready[2] = (unsigned char *)fl_round_down((uintptr_t)b->unwind.next, FL_PAGE);
	c->n++;
	mapped += b->near.code_bytes + b->near.data_bytes;
	return 0;
}

static int add_locked(struct fl_copies *c, size_t code, size_t data)
{
	uint64_t signals;
	int err;

	if (c->n == ARRAY_LEN(c->blocks))
		return -ENOMEM;
	fl_os_lock(&lock, &signals);
	err = add_block(c, code, data);
	fl_os_unlock(&lock, &signals);
	return err;
}

int fl_copies_reserve(struct fl_copies *c, size_t code, size_t data, struct fl_ground *to)
{
	struct fl_ground_block *b = c->n ? &c->blocks[c->n - 1] : NULL;
	int err = 0;

	if (!b || !reaches(b, c) ||
	    b->near.code_bytes - b->used < code ||
	    b->near.data_bytes / 2 - b->data_used < data)
		err = add_locked(c, code, data);
	if (err)
		return err;
	b = &c->blocks[c->n - 1];
	make_block_ready(b, code, data);
	*to = (struct fl_ground){
		.at = (uintptr_t)b->near.code + b->used,
		.write = b->near.write + b->used,
		.data = b->near.data + b->data_used, .unwind = &b->unwind,
	};
	return 0;
}

void fl_copies_take(struct fl_copies *c, size_t code, size_t data)
{
	struct fl_ground_block *b = &c->blocks[c->n - 1];
	size_t used = fl_round_up(b->used + code, 16);

	b->used = used < b->near.code_bytes ? used : b->near.code_bytes;
	used = fl_round_up(b->data_used + data, 8);
	b->data_used = used < b->near.data_bytes / 2 ? used : b->near.data_bytes / 2;
}

void fl_copies_fill(struct fl_copies *c)
{
	struct fl_ground_block *b = &c->blocks[c->n - 1];

	b->used = b->near.code_bytes;
}

/* Tell the reader of the block. The table's length includes the FDEs that it leads to. */
static void tell_reader(const struct fl_ground_block *b)
{
	uintptr_t code = (uintptr_t)b->near.code, table = (uintptr_t)b->unwind.table;
	size_t n;
	const unsigned char *frames = fl_unwind_frames(&b->unwind, &n);

	fl_channel_tell_glue((struct fl_glue_range){
		.lo = code, .hi = code + b->near.code_bytes,
		.table = table, .table_bytes = (uintptr_t)frames + n - table });
}

int fl_copies_end(struct fl_copies *c)
{
	int err = 0;

	for (uint32_t i = 0; i < c->n; i++) {
		int failed = fl_near_seal(&c->blocks[i].near);

		fl_jit_tell(&c->blocks[i]);
		tell_reader(&c->blocks[i]);
		err = err ? err : failed;
	}
	if (c->scratch)
		fl_os_unmap(c->scratch, c->scratch_bytes);
	*c = (struct fl_copies){ .n = 0 };
	return err;
}

struct fl_ground_block *fl_copies_block(const struct fl_copies *c, uintptr_t at)
{
	for (uint32_t i = 0; i < c->n; i++)
		if (at - (uintptr_t)c->blocks[i].near.code < c->blocks[i].near.code_bytes)
			return (struct fl_ground_block *)&c->blocks[i];
	return NULL;
}
