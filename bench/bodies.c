/*
 * bodies.c - how many functions of a file can have a second body, and why others cannot.
 *
 *	bench/bodies [FILE...]
 *
 * A JSON row a file: functions that a table for unwinding knows, without the linker's stubs;
 * those that have a shape; the rest by reason; what a pass over all code took, and a
 * function's own reading, in ticks an instruction (the least of ROUNDS).
 */
#include <stdio.h>
#include <stdlib.h>

#include "site/site.h"

enum { ROUNDS = 5, ROOM = 1 << 20, FIRST = 5001, LAST = 5100 };

static struct fl_shape_step steps[ROOM];

static const char *const names[LAST - FIRST + 1] = {
#define FLICK_ERR(name, value, text) [-(value) - FIRST] = #name,
#include "flick/errors.def"
#undef FLICK_ERR
};

struct sum {
	size_t functions, shaped, parts, covered, steps;
	uint64_t open_ticks, shape_ticks;
	size_t why[LAST - FIRST + 1];
};

static void take_function(struct sum *s, const struct fl_outline *o, const struct fl_extent *x)
{
	struct fl_shape shape = { .steps = steps, .room = ROOM };
	uint64_t datum;
	int err = fl_shape_of(&shape, o, x->start, &datum);

	if (!x->fde)
		return;
	s->functions++;
	if (err) {
		s->why[-err >= FIRST && -err <= LAST ? -err - FIRST : LAST - FIRST]++;
		return;
	}
	s->shaped++;
	s->covered += shape.covered != 0;
	s->steps += shape.n_steps;
}

static int take_file(struct sum *s, const struct fl_module *m)
{
	uint64_t open_ticks = FL_ARCH_TICKS(), shape_ticks;
	struct fl_outline o;
	int err = fl_outline_open(&o, m);

	if (err)
		return err;
	shape_ticks = FL_ARCH_TICKS();
	open_ticks = shape_ticks - open_ticks;
	for (size_t k = 0; k < o.n; k++) {
		const struct fl_extent *x = &o.extents[k];

		if (x->kind == FL_EXTENT_FUNCTION || (x->kind == FL_EXTENT_PART && x->refusal))
			take_function(s, &o, x);
		s->parts += x->kind == FL_EXTENT_PART && !x->refusal;
	}
	s->shape_ticks = FL_ARCH_TICKS() - shape_ticks;
	s->open_ticks = open_ticks;
	fl_outline_close(&o);
	return 0;
}

static void print_row(const char *path, const struct sum *s)
{
	const char *comma = "";

	printf("{\"name\":\"bodies.%s\",\"functions\":%zu,\"shaped\":%zu,\"percent\":%.2f,"
	       "\"parts\":%zu,\"covered\":%zu,\"instructions\":%zu,\"outline\":%.1f,"
	       "\"shape\":%.1f,\"refused\":{", fl_base_name(path), s->functions, s->shaped,
	       100.0 * (double)s->shaped / (double)s->functions, s->parts, s->covered,
	       s->steps, (double)s->open_ticks / (double)s->steps,
	       (double)s->shape_ticks / (double)s->steps);
	for (size_t i = 0; i < ARRAY_LEN(s->why); i++)
		if (s->why[i]) {
			printf("%s\"%s\":%zu", comma, names[i] ? names[i] : "other", s->why[i]);
			comma = ",";
		}
	printf("}}\n");
}

static int measure(const char *path)
{
	struct sum best = { 0 };
	struct fl_module m;
	struct fl_obj o;
	int err = fl_obj_open(&o, path);

	if (err)
		return err;
	err = fl_obj_lay_out(&m, &o, path);
	for (int i = 0; i < ROUNDS && !err; i++) {
		struct sum s = { 0 };

		err = take_file(&s, &m);
		if (!i || s.open_ticks < best.open_ticks)
			best = s;
	}
	if (!err && best.functions)
		print_row(path, &best);
	fl_obj_unlay(&m);
	fl_obj_close(&o);
	return err;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		int err = measure(argv[i]);

		if (err)
			printf("{\"name\":\"bodies.%s\",\"skipped\":\"%d\"}\n",
			       fl_base_name(argv[i]), err);
	}
	return 0;
}
