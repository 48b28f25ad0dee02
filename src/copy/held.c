/*
 * held.c - nothing is woven in between a load-exclusive and its store-exclusive.
 *
 * The whole plan is looked at, whichever weaver made it. First pairs are rewritten as chosen
 * (--exclusive), so that they hold no monitor. Then each item is looked at that accesses memory
 * where the original does not. Inside of a pair that is left, such an item would make the
 * function's store fail each time. So a function with such an item has no body
 * (FLE_EXCLUSIVE), and its original runs.
 */
#include <sys/mman.h>

#include "copy/plan.h"
#include "os/os.h"

_Static_assert((int)FL_SHAPE_PARTS <= (int)FL_HELD_PARTS, "all parts of a shape are looked at");

/* May the item access memory, and when? Items of which that is not known may. */
static bool accesses(const struct fl_plan *p, const struct fl_item *i, enum fl_woven *when)
{
	*when = FL_WOVEN_BEFORE;
	switch (i->kind) {
	case FL_ITEM_JUMP: case FL_ITEM_ON: case FL_ITEM_SKIP:
	case FL_ITEM_LANDING: case FL_ITEM_LANDINGS:
		return false;
	case FL_ITEM_STEP:
		*when = FL_WOVEN_MOVED;
		return true;
	case FL_ITEM_NOP:
		if (i > p->items && i[-1].kind == FL_ITEM_SKIP && i[-1].step == i->step)
			*when = FL_WOVEN_LEAVING;
		return true;
	default:
		return true;
	}
}

/* Steps that are parts of rewritten pairs become PAIR items. */
static void put_pairs(struct fl_plan *p, const void *held)
{
	for (uint32_t k = 0; k < p->n; k++) {
		struct fl_item *i = &p->items[k];
		unsigned int part = i->kind != FL_ITEM_STEP ? 0 :
				    fl_arch_exclusive_part(held, fl_plan_step(p, i)->at);

		if (!part)
			continue;
		i->kind = FL_ITEM_PAIR;
		i->to = part;
	}
}

static int check_items(const struct fl_plan *p, const void *held, uint64_t *datum)
{
	for (uint32_t k = 0; k < p->n; k++) {
		const struct fl_item *i = &p->items[k];
		enum fl_woven when;

		if (accesses(p, i, &when) &&
		    fl_arch_is_held(held, fl_plan_step(p, i)->at, when, datum))
			return FLE_EXCLUSIVE;
	}
	return 0;
}

/* Inside of a pair that is rewritten other accesses do no harm. */
static int rewrite(struct fl_plan *p, void *held, enum fl_exclusive how, uint64_t *datum)
{
	uint32_t left = fl_arch_rewrite_exclusives(held, how);

	put_pairs(p, held);
	return left ? check_items(p, held, datum) : 0;
}

static void list_held(const struct fl_plan *p, struct fl_held_part parts[FL_SHAPE_PARTS])
{
	const struct fl_shape *s = p->shape;

	for (uint32_t k = 0; k < s->n_parts; k++)
		parts[k] = (struct fl_held_part){
			.start = s->parts[k].start,
			.code = p->to_file[k] ? (const unsigned char *)(s->parts[k].start +
									p->to_file[k]) : NULL,
			.bytes = p->to_file[k] ? s->parts[k].end - s->parts[k].start : 0,
		};
}

size_t fl_plan_held_bytes(const struct fl_plan *p)
{
	struct fl_held_part parts[FL_SHAPE_PARTS];

	list_held(p, parts);
	return fl_arch_held_bytes(parts, p->shape->n_parts);
}

int fl_plan_check(struct fl_plan *p, enum fl_exclusive how, uint64_t *datum)
{
	struct fl_held_part parts[FL_SHAPE_PARTS];
	size_t n = p->held_bytes;
	void *held;
	int err;

	if (!n)
		return 0;
	list_held(p, parts);
	held = fl_os_map(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (fl_is_err(held))
		return -ENOMEM;
	err = fl_arch_held(parts, p->shape->n_parts, held) ? rewrite(p, held, how, datum) : 0;
	fl_os_unmap(held, n);
	return err;
}
