/*
 * monitors.c - functions whose sites lie between a load-exclusive and its store-exclusive.
 *
 * What a probe does there accesses memory, the store fails, and the program tries again for
 * ever. A body without that site would miss an exit, so there is none, and the reason names
 * the pair.
 */
#include "shape.h"

static uint32_t list_parts(const struct fl_outline *o, const struct fl_extent *x,
			   struct fl_held_part parts[FL_SHAPE_PARTS])
{
	uint32_t n = 0;

	for (;; x = &o->extents[x->next]) {
		size_t left;
		const unsigned char *code = fl_file_text(o->m, x->start, &left);

		if (n == FL_SHAPE_PARTS || !code || left < x->end - x->start)
			return 0;
		parts[n++] = (struct fl_held_part){ x->start, code, x->end - x->start };
		if (x->next == FL_EXTENT_NONE)
			return n;
	}
}

static void judge_leavings(const struct fl_outline *o, struct fl_extent *f,
			   const struct fl_extent *x, const void *held)
{
	uint64_t pair;

	for (uint32_t i = 0; i < x->n_left; i++) {
		const struct fl_leaving *l = &o->lefts[x->left + i];
		enum fl_woven when = l->kind == FL_SHAPE_BRANCH_OUT ? FL_WOVEN_LEAVING :
				     FL_WOVEN_BEFORE;

		if (fl_arch_is_held(held, o->lo + l->at, when, &pair))
			fl_refuse(f, FLE_EXCLUSIVE, pair);
	}
}

static void judge_function(struct fl_outline *o, struct fl_extent *f, const void *held)
{
	uint64_t pair;

	if (fl_arch_is_held(held, fl_extent_entry(f), FL_WOVEN_BEFORE, &pair))
		fl_refuse(f, FLE_EXCLUSIVE, pair);
	for (const struct fl_extent *x = f;; x = &o->extents[x->next]) {
		judge_leavings(o, f, x, held);
		if (x->next == FL_EXTENT_NONE)
			return;
	}
}

int fl_refuse_monitors(struct fl_outline *o)
{
	for (size_t k = 0; k < o->n; k++) {
		struct fl_extent *f = &o->extents[k];
		struct fl_held_part parts[FL_SHAPE_PARTS];
		size_t n_parts, bytes;
		void *held;

		if (f->kind != FL_EXTENT_FUNCTION || f->refusal)
			continue;
		n_parts = list_parts(o, f, parts);
		bytes = fl_arch_held_bytes(parts, (uint32_t)n_parts);
		if (!bytes)
			continue;
		held = fl_scratch_open(bytes);
		if (!held)
			return -ENOMEM;
		if (fl_arch_held(parts, (uint32_t)n_parts, held))
			judge_function(o, f, held);
		fl_scratch_close(held, bytes);
	}
	return 0;
}
