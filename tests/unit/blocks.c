/*
 * blocks.c - functions of libraries as graphs: who runs through a function instruction by
 * instruction, and sums as paths.c says, has the number of the path that he went.
 *
 *	blocks: FILE, 4451 functions (279 with indirect jumps, ...), 94052 paths told | wrong 0
 *
 * What is left of a path in the middle of a run is dropped. Counts right of the bar must be
 * zero. FLICK_TORTURE=long says of more files what is in them, too.
 */
#include "site-rig.h"

#include "copy/paths.h"

enum { ROOM = 1 << 20, RUN = 2000 };

static struct fl_shape_step steps[ROOM];
static uint32_t ran[RUN + 1];
static struct fl_blocks blocks;
static void *memory;
static size_t memory_bytes;
static uint64_t seed;

static const char *const files[] = {
	"/lib/x86_64-linux-gnu/libc.so.6",
	"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
	"/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
	"/usr/lib/x86_64-linux-gnu/libsqlite3.so.0",
	"/usr/bin/python3.11",
	"/usr/bin/perl",
	"/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus",
};

static struct verdict {
	size_t functions, refused, indirect, pads, cut_long, told, wrong;
	size_t inner, adds;		/* edges inside of paths; that add something */
} v;

static uint32_t below(uint32_t n)
{
	seed = fl_random_next(seed);
	return (uint32_t)((seed >> 16) % n);
}

/* ---- what a run is ----------------------------------------------------------------- */

enum { LEFT = UINT32_MAX };

static bool is_next(uint32_t step)
{
	const struct fl_shape *s = blocks.shape;

	return step + 1 < s->n_steps && s->steps[step].part == s->steps[step + 1].part &&
	       s->steps[step].at + s->steps[step].len == s->steps[step + 1].at;
}

/* The step behind that one; takes: it is a branch that is taken. LEFT: no step is. */
static uint32_t run_step(uint32_t step, bool *takes)
{
	const struct fl_shape_step *i = &steps[step];

	*takes = below(2);
	switch (i->kind) {
	case FL_SHAPE_PLAIN: case FL_SHAPE_RELATIVE: case FL_SHAPE_CALL:
		return is_next(step) ? step + 1 : LEFT;
	case FL_SHAPE_JUMP:
		return i->to;
	case FL_SHAPE_BRANCH:
		return *takes ? i->to : is_next(step) ? step + 1 : LEFT;
	case FL_SHAPE_BRANCH_OUT:
		return *takes || !is_next(step) ? LEFT : step + 1;
	}
	return LEFT;
}

/* A landing pad of branches before the entry is nobody's step. */
static uint32_t in_body(uint32_t step)
{
	return step != LEFT && steps[step].at < blocks.shape->entry && !step ? 1 : step;
}

/* ---- what is woven ----------------------------------------------------------------- */

static bool is_last(uint32_t step)
{
	return blocks.steps[blocks.of[step] + 1] == step + 1;
}

static uint32_t edge_of(uint32_t step, bool takes)
{
	const struct fl_paths *p = &blocks.paths;
	uint32_t first = p->first[blocks.of[step]];

	assert_in_range(p->first[blocks.of[step] + 1] - first, 1, 2);
	if (p->first[blocks.of[step] + 1] == first + 1)
		return first;
	return first + takes;
}

/* Are these the steps of the path of that number? */
static bool is_path(uint32_t number, const uint32_t *run, uint32_t n)
{
	static uint32_t edges[ROOM];
	uint32_t start, k = 0, found = fl_paths_find(&blocks.paths, number, &start, edges);
	uint32_t step = found ? fl_blocks_begin(&blocks, start) : 0;

	for (uint32_t e = 0; e < found; e++) {
		const struct fl_path_edge *edge = &blocks.paths.edges[edges[e]];

		for (; step < blocks.steps[edge->from + 1]; step++, k++)
			if (k == n || run[k] != step)
				return false;
		step = fl_path_ends(edge) ? 0 : blocks.steps[edge->to];
	}
	return found && k == n;
}

static void run_from(uint32_t start)
{
	const struct fl_paths *p = &blocks.paths;
	uint32_t step = fl_blocks_begin(&blocks, start), sum = p->starts[start].set, n = 0;

	for (uint32_t k = 0; k < RUN && step != LEFT; k++) {
		bool takes;
		uint32_t to = in_body(run_step(step, &takes));

		ran[n++] = step;
		if (!is_last(step)) {
			v.wrong += to != step + 1;
		} else {
			const struct fl_path_edge *e = &p->edges[edge_of(step, takes)];

			sum += e->add;
			v.wrong += (e->to == FL_PATH_NONE) != (to == LEFT);
			if (fl_path_ends(e)) {
				v.wrong += !is_path(sum, ran, n);
				v.told++;
				n = 0;
			}
			if (e->cut)
				sum = p->starts[p->begins[e->to]].set;
		}
		step = to;
	}
}

/* ---- whole files ------------------------------------------------------------------- */

struct opened {
	struct fl_obj o;
	struct fl_module m;
	struct fl_outline outline;
};

static void open_whole(struct opened *f, const char *path)
{
	memset(f, 0, sizeof *f);
	assert_int_equal(fl_obj_open(&f->o, path), 0);
	assert_int_equal(fl_obj_lay_out(&f->m, &f->o, path), 0);
	assert_int_equal(fl_outline_open(&f->outline, &f->m), 0);
}

static void close_whole(struct opened *f)
{
	fl_outline_close(&f->outline);
	fl_obj_unlay(&f->m);
	fl_obj_close(&f->o);
}

static void *room_for(size_t n)
{
	if (n > memory_bytes) {
		free(memory);
		memory = malloc(2 * n);
		assert_non_null(memory);
		memory_bytes = 2 * n;
	}
	return memset(memory, 0xa5, n);
}

/* At the entry, where an exception lands, and wherever an indirect jump may lead. */
static void expect_starts(const struct fl_shape *s)
{
	bool is_any = false;
	uint32_t n = 0;

	assert_int_equal(steps[fl_blocks_begin(&blocks, n++)].at, s->entry);
	for (uint32_t i = 0; i < s->n_steps; i++)
		is_any |= steps[i].kind == FL_SHAPE_SWITCH;
	for (uint32_t i = steps[0].at != s->entry; i < s->n_steps; i++)
		if (steps[i].is_pad || (is_any && steps[i].len)) {
			assert_true(n < blocks.paths.n_given);
			assert_int_equal(fl_blocks_begin(&blocks, n++), i);
		}
	assert_int_equal(n, blocks.paths.n_given);
}

static void count_what_is_there(const struct fl_shape *s)
{
	const struct fl_paths *p = &blocks.paths;
	bool is_long = false, is_indirect = false;

	for (uint32_t i = 0; i < s->n_steps; i++) {
		v.pads += steps[i].is_pad;
		is_indirect |= steps[i].kind == FL_SHAPE_SWITCH;
	}
	for (uint32_t e = 0; e < p->n_edges; e++) {
		is_long |= p->edges[e].cut == FL_PATH_CUT_LONG;
		v.inner += !fl_path_ends(&p->edges[e]);
		v.adds += !fl_path_ends(&p->edges[e]) && p->edges[e].add;
	}
	v.cut_long += is_long;
	v.indirect += is_indirect;
}

static void read_function(const struct opened *f, uintptr_t function)
{
	struct fl_shape s = { .steps = steps, .room = ROOM };
	uint64_t datum;

	if (fl_shape_of(&s, &f->outline, function, &datum)) {
		v.refused++;
		return;
	}
	v.functions++;
	if (fl_blocks_number(&blocks, &s, room_for(fl_blocks_memory(&s)))) {
		v.wrong++;
		return;
	}
	expect_starts(&s);
	count_what_is_there(&s);
	for (uint32_t i = 0; i < 3; i++)
		run_from(0);
	for (uint32_t i = 0; i < 3; i++)
		run_from(below(blocks.paths.n_starts));
}

static void a_run_through_a_function_has_its_paths_numbers(void **unused)
{
	const char *torture = getenv("FLICK_TORTURE");
	size_t n = torture && !strcmp(torture, "long") ? sizeof files / sizeof *files : 2;

	(void)unused;
	seed = 1;
	for (size_t k = 0; k < n; k++) {
		struct opened f;

		v = (struct verdict){ 0 };
		if (access(files[k], R_OK))
			continue;
		open_whole(&f, files[k]);
		for (size_t i = 0; i < f.outline.n; i++)
			if (f.outline.extents[i].kind == FL_EXTENT_FUNCTION &&
			    !f.outline.extents[i].refusal)
				read_function(&f, f.outline.extents[i].start);
		close_whole(&f);
		printf("blocks: %s, %zu functions (%zu with indirect jumps, %zu cut shorter),"
		       " %zu of %zu edges add, %zu pads, %zu paths told | wrong %zu\n",
		       files[k], v.functions, v.indirect, v.cut_long, v.adds, v.inner,
		       v.pads, v.told, v.wrong);
		assert_int_equal(v.wrong, 0);
		assert_true(v.functions > 1000 && v.told > v.functions);
		assert_true(v.pads > 0 || k != 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_run_through_a_function_has_its_paths_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
