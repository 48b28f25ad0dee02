/*
 * make.c - the bodies of one module are built, by several threads where that helps.
 *
 * Hides who builds a body. Before the program runs its CPUs are idle: then helpers build
 * bodies from the last wanted one downwards, while the asking thread goes on from the first.
 * Each builder has ground, steps and scratch of its own. What all builders read does not
 * change: the outline, the points, the module's file. Where bodies tell paths or accesses,
 * which are numbered as bodies are built, there is one builder.
 *
 * PROTOCOL	any builder				the asking thread
 *		FREE -> TAKEN		(A)		MADE: read it		(C)
 *		build					FREE: build it, as any builder
 *		-> MADE			(B)		TAKEN -> AWAITED, sleep
 *		it was AWAITED: wake
 * INVARIANT	A body is built once, and read when it is whole.
 * WHY		(A) is an exchange, which one builder wins. (B) pairs with (C). A thread sleeps
 *		only while the state is AWAITED, which it has stored instead of TAKEN.
 * FAILURE	If a helper cannot be started, the others build all. Helpers are threads of the
 *		process, so none is killed alone.
 */
#include <sys/mman.h>

#include "copy/copy.h"
#include "copy/make.h"
#include "os/os.h"

enum { FREE, TAKEN, AWAITED, MADE };
enum {
	FIRST_STEPS = 1 << 14,
	HELPERS = 7,
	WORTH = 256,			/* so many bodies take ten times what a thread takes */
	AT_ONCE = 16,			/* neighbours stay neighbours in a helper's ground */
	LOOKS = 1000			/* a body takes some ten microseconds */
};

struct worker {
	struct fl_copies copies;
	struct fl_shape_step *steps;
	uint32_t room;			/* of steps */
	uint32_t id;			/* a helper's: 0 when it has ended */
	int tid;
};

/* Between begin and end. */
static struct {
	const struct fl_outline *outline;
	uintptr_t points[FL_POINTS_MOST];	/* ascending */
	uint32_t n_points;
	struct fl_built *made;		/* by extent */
	size_t n;
	uint32_t *wanted;		/* extents */
	uint32_t n_wanted;
	int64_t left;			/* helpers take wanted[] below this */
	bool is_begun;			/* the first body was asked for */
	struct worker own, helpers[HELPERS];
	uint32_t n_helpers;
} now;

/* ---- one body ----------------------------------------------------------------------- */

/* Pages are had when they are touched. NULL: there is no memory. */
static void *map_rows(size_t bytes)
{
	void *p = fl_os_map(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return fl_is_err(p) ? NULL : p;
}

static int map_steps(struct worker *b, uint32_t room)
{
	struct fl_shape_step *steps = map_rows(room * sizeof *steps);

	if (!steps)
		return -ENOMEM;
	if (b->steps)
		fl_os_unmap(b->steps, b->room * sizeof *b->steps);
	b->steps = steps;
	b->room = room;
	return 0;
}

static int find_shape(struct worker *b, struct fl_shape *s, uintptr_t function,
		      uint64_t *datum)
{
	int err = b->steps ? 0 : map_steps(b, FIRST_STEPS);

	while (!err) {
		*s = (struct fl_shape){ .steps = b->steps, .room = b->room };
		err = fl_shape_of(s, now.outline, function, datum);
		if (err != -ENOSPC)
			return err;
		err = map_steps(b, s->n_steps > 2 * b->room ? s->n_steps : 2 * b->room);
	}
	return err;
}

/* Give a shape the points, if any of them is in its parts. */
static void add_points(struct fl_shape *s)
{
	bool has_any = false;

	for (uint32_t i = 0; i < now.n_points; i++)
		for (uint32_t k = 0; k < s->n_parts; k++)
			has_any |= now.points[i] - s->parts[k].start <
				   s->parts[k].end - s->parts[k].start;
	s->points = now.points;
	s->n_points = has_any ? now.n_points : 0;
}

/* Are all bytes as in the file, of which the body is made? A debugger has its traps anywhere in
 * a function, and a program that changes code of its own does so where it likes. Who has
 * changed an entry may want to change it back, too. */
static bool is_as_in_file(const struct fl_shape *s)
{
	const struct fl_shape_step *first = s->steps, *last = first + s->n_steps - 1;

	for (const struct fl_shape_step *step = first; step <= last; step++) {
		uintptr_t end = step->at + step->len;

		if (step < last && step[1].at == end && step[1].part == step->part)
			continue;		/* they are compared together */
		if (__builtin_memcmp((const void *)first->at, fl_shape_bytes(s, first),
				     end - first->at))
			return false;
		first = step + 1;
	}
	return true;
}

static int build(struct worker *b, uintptr_t function, struct fl_copy *c, uint64_t *datum)
{
	struct fl_shape shape = { .n_parts = 0 };
	int err = find_shape(b, &shape, function, datum);

	add_points(&shape);
	if (!err && !is_as_in_file(&shape)) {
		*datum = shape.entry;
		err = FLE_CHANGED;
	}
	if (!err)
		err = fl_copy_build(&b->copies, &shape, c, datum);
	if (!err)			/* from `off` on time is the function's, not glue's */
		fl_channel_tell_body(b->copies.pid, function, c->off,
				     c->code + c->n_code - c->off);
	return err;
}

/* False: another builder has it. */
static bool build_if_free(struct worker *b, size_t i)
{
	struct fl_built *m = &now.made[i];
	uint32_t is = FREE;

	/* (A): relaxed, because nothing is read that was written before */
	if (!__atomic_compare_exchange_n(&m->state, &is, TAKEN, false, __ATOMIC_RELAXED,
					 __ATOMIC_RELAXED))
		return false;
	FL_POINT("make.taken");
	m->refusal = build(b, now.outline->extents[i].start, &m->copy, &m->datum);
	/* (B) pairs with (C) */
	if (__atomic_exchange_n(&m->state, MADE, __ATOMIC_RELEASE) == AWAITED)
		fl_os_futex_wake(&m->state, 1);
	return true;
}

/* ---- helpers ------------------------------------------------------------------------ */

static int help(void *arg)
{
	struct worker *b = arg;
	int64_t end;

	/* ordering: none, a body's state says who takes it */
	while ((end = __atomic_fetch_sub(&now.left, AT_ONCE, __ATOMIC_RELAXED)) > 0)
		for (int64_t k = end; k-- > 0 && k >= end - AT_ONCE;)
			build_if_free(b, now.wanted[k]);
	return 0;
}

static bool start_helper(struct worker *b)
{
	b->copies = now.own.copies;	/* which has no ground yet */
	b->tid = fl_os_helper_start(help, b, &b->id);
	return b->tid > 0;
}

static void start_helpers(void)
{
	bool helps = !now.own.copies.weaves && now.n_wanted >= WORTH;
	uint32_t most = helps ? fl_os_spare.n : 0;

	if (2 * (size_t)now.n_wanted > now.n)
		fl_os_expect(now.made, now.n * sizeof *now.made);
	now.left = now.n_wanted;
	while (now.n_helpers < HELPERS && now.n_helpers < most &&
	       start_helper(&now.helpers[now.n_helpers]))
		now.n_helpers++;
}

static void wait_until_made(struct fl_built *m)
{
	uint32_t is = TAKEN;

	for (int i = 0; i < LOOKS && load_relaxed(&m->state) != MADE; i++)
		fl_arch_pause();
	/* ordering: none, (C) is in the caller; futex_wait returns unless it is AWAITED */
	__atomic_compare_exchange_n(&m->state, &is, AWAITED, false, __ATOMIC_RELAXED,
				    __ATOMIC_RELAXED);
	FL_POINT("make.awaited");
	fl_os_futex_wait(&m->state, AWAITED, 100000);
}

const struct fl_built *fl_make_body(size_t i)
{
	struct fl_built *m = &now.made[i];

	if (!now.is_begun)
		start_helpers();
	now.is_begun = true;
	build_if_free(&now.own, i);
	while (load_acquire(&m->state) != MADE)		/* (C) pairs with (B) */
		wait_until_made(m);
	return m;
}

/* ---- all of a module ---------------------------------------------------------------- */

int fl_make_begin(const struct fl_outline *o, uintptr_t lo, uintptr_t hi, uint32_t module)
{
	now.outline = o;
	now.n = o->n;
	now.made = map_rows((now.n + 1) * sizeof *now.made);
	now.wanted = map_rows((now.n + 1) * sizeof *now.wanted);
	fl_copies_begin(&now.own.copies, lo, hi);
	now.own.copies.pid = fl_os_pid();
	now.own.copies.bias = o->m->bias;
	now.own.copies.module = module;
	now.own.copies.weaves = fl_channel_weaves();
	fl_copies_pairs(&now.own.copies);
	return now.made && now.wanted ? 0 : -ENOMEM;
}

void fl_make_lead(uintptr_t lo, uintptr_t hi)
{
	fl_copies_lead(&now.own.copies, lo, hi);
}

void fl_make_point(uintptr_t at)
{
	if (now.n_points < FL_POINTS_MOST)
		now.points[now.n_points++] = at;
}

/* Sites of a function follow one another: so a function is wanted once. */
void fl_make_want(uintptr_t function)
{
	size_t i = now.wanted ? fl_outline_find(now.outline, function) : now.n;
	uint32_t n = now.n_wanted;

	if (i < now.n && n < now.n && (!n || now.wanted[n - 1] != i))
		now.wanted[now.n_wanted++] = (uint32_t)i;
}

struct fl_built *fl_make_built(size_t i)
{
	return now.made[i].state == MADE && !now.made[i].refusal ? &now.made[i] : NULL;
}

struct fl_ground_block *fl_make_block(uintptr_t at)
{
	struct fl_ground_block *b = fl_copies_block(&now.own.copies, at);

	for (uint32_t i = 0; !b && i < now.n_helpers; i++)
		b = fl_copies_block(&now.helpers[i].copies, at);
	return b;
}

unsigned char *fl_make_write(uintptr_t at)
{
	const struct fl_ground_block *b = fl_make_block(at);

	return b ? b->near.write + (at - (uintptr_t)b->near.code) : NULL;
}

void fl_make_stop(void)
{
	/* ordering: none; a helper that goes on for some more is waited for */
	store_relaxed(&now.left, 0);
	for (uint32_t i = 0; i < now.n_helpers; i++)
		fl_os_helper_join(now.helpers[i].tid, &now.helpers[i].id);
}

static int end_builder(struct worker *b)
{
	if (b->steps)
		fl_os_unmap(b->steps, b->room * sizeof *b->steps);
	return fl_copies_end(&b->copies);
}

int fl_make_end(void)
{
	int err = end_builder(&now.own);

	for (uint32_t i = 0; i < now.n_helpers; i++) {
		int failed = end_builder(&now.helpers[i]);

		err = err ? err : failed;
	}
	if (now.made)
		fl_os_unmap(now.made, (now.n + 1) * sizeof *now.made);
	if (now.wanted)
		fl_os_unmap(now.wanted, (now.n + 1) * sizeof *now.wanted);
	__builtin_memset(&now, 0, sizeof now);
	return err;
}
