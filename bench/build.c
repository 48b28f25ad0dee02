/*
 * build.c - what it costs to build second bodies: of every function of the C library that can
 * have one.
 *
 *	body.build           from a function's bytes to its body, an instruction
 *	body.build.shape     the part of it that finds out what the function is made of
 *	body.build.outline   before the first: reading the whole module, an instruction of a
 *	                     function that gets a body
 *	body.build.bytes     of a body, in hundredths of its original
 */
#include "bench.h"

#include "copy/build.h"
#include "copy/copy.h"

#define RUNS 15
#define ROOM (1 << 20)

static const char library[] = "/lib/x86_64-linux-gnu/libc.so.6";
static struct fl_shape_step steps[ROOM];

struct sums {
	uint64_t outline, shape, build, instructions, from, to;
};

static void build_one(struct sums *sums, const struct fl_outline *o, uintptr_t function,
		      struct fl_copies *copies)
{
	struct fl_shape s = { .steps = steps, .room = ROOM };
	struct fl_copy copy;
	uint64_t datum, begun = bench_ticks(), shaped;

	if (fl_shape_of(&s, o, function, &datum))
		return;
	shaped = bench_ticks();
	if (fl_copy_build(copies, &s, &copy, &datum))
		return;
	sums->build += bench_ticks() - shaped;
	sums->shape += shaped - begun;
	sums->instructions += s.n_steps;
	sums->to += copy.n_code;
	for (uint32_t k = 0; k < s.n_parts; k++)
		sums->from += s.parts[k].end - s.parts[k].start;
}

static int build_all(struct sums *sums, const struct fl_module *m)
{
	struct fl_copies copies = { .n = 0 };
	struct fl_outline o;
	uint64_t begun = bench_ticks();
	int err = fl_outline_open(&o, m);

	if (err)
		return err;
	sums->outline += bench_ticks() - begun;
	fl_copies_begin(&copies, m->lo, m->hi);
	for (size_t k = 0; k < o.n; k++)
		if (o.extents[k].kind == FL_EXTENT_FUNCTION && !o.extents[k].refusal)
			build_one(sums, &o, o.extents[k].start, &copies);
	begun = bench_ticks();
	err = fl_copies_end(&copies);
	sums->build += bench_ticks() - begun;
	fl_outline_close(&o);
	return err;
}

static int measure(const struct fl_module *m)
{
	static struct series all, shape, outline, bytes;

	for (int i = 0; i < RUNS; i++) {
		struct sums s = { 0 };
		double n;

		if (build_all(&s, m) || !s.instructions)
			return 1;
		n = (double)s.instructions;
		series_add(&all, (double)(s.shape + s.build) / n);
		series_add(&shape, (double)s.shape / n);
		series_add(&outline, (double)s.outline / n);
		series_add(&bytes, 100.0 * (double)s.to / (double)s.from);
	}
	bench_report("body.build", "ticks", &all);
	bench_report("body.build.shape", "ticks", &shape);
	bench_report("body.build.outline", "ticks", &outline);
	bench_report("body.build.bytes", "%", &bytes);
	return 0;
}

int main(int argc, char **argv)
{
	struct fl_module m;
	struct fl_obj file;

	bench_options(argc, argv);
	bench_pin(BENCH_VICTIM);
	fl_unwind_serve();
	if (fl_text_choose("mprotect") || fl_obj_open(&file, library) ||
	    fl_obj_lay_out(&m, &file, library))
		return 1;
	return measure(&m);
}
