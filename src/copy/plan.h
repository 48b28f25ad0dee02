/*
 * plan.h - what a body is made of, as data: an ordered list of items. Private to copy.
 *
 * A weaver (plan-entry.c, plan-paths.c) makes the list from a shape. build.c makes code of the
 * list, and does not know why an item is there.
 */
#ifndef FL_COPY_PLAN_H
#define FL_COPY_PLAN_H

#include "probe/probe.h"
#include "site/site.h"

enum fl_item_kind {
	FL_ITEM_STEP,		/* the step's instruction; a branch to a step: to its items */
	FL_ITEM_RUN,		/* `to` steps in a row, with the bytes of the original */
	FL_ITEM_JUMP,		/* to where the step's branch leads, out of the function */
	FL_ITEM_ON,		/* to the original, behind the step */
	FL_ITEM_SKIP,		/* past `to` items, if the step's branch is not taken */
	FL_ITEM_NOP,		/* a place: FL_FORM_BODY_TAIL */
	FL_ITEM_POINT,		/* a place: FL_FORM_BODY_POINT, before the step */
	FL_ITEM_RET,		/* a place: FL_FORM_BODY_RET */
	FL_ITEM_SWITCH,		/* a place: FL_FORM_BODY_SWITCH, with the step's jump */
	FL_ITEM_LOOKUP,		/* of the step's indirect jump; goes on behind if that leaves */
	FL_ITEM_CALL,		/* of glue, behind the look-up of a SWITCH */
	FL_ITEM_LANDING,	/* of look-ups: to the step's items */
	FL_ITEM_LANDINGS,	/* a LANDING for each of `to` steps in a row */
	FL_ITEM_GLUE,		/* the call of the entry's probe */
	FL_ITEM_ASIDE,		/* does what tells[to] says, before the step, by a call */
	FL_ITEM_PATH,		/* does what tells[to] says, before the step, inline */
	FL_ITEM_PATH_COLD,	/* of tells[to]: the seldom part, behind all steps */
	FL_ITEM_GO,		/* to the step `to` */
	FL_ITEM_AGAIN,		/* a second copy of a STEP: branches lead to the first */
	FL_ITEM_BACK,		/* to the item `to` */
	FL_ITEM_PAIR,		/* for the step: part `to` of a rewritten pair */
	FL_ITEM_TELL,		/* group `to` of accesses */
	FL_ITEM_COLD		/* of group `to`: the seldom part, behind all steps */
};

struct fl_item {
	uint8_t kind;			/* enum fl_item_kind */
	uint8_t is_short;		/* W emit.c */
	uint16_t size;			/* bytes; W emit.c, of RUN and LANDINGS plan-entry.c */
	uint32_t step;			/* index */
	uint32_t to;			/* of a branch: the step that it leads to; FL_NO_STEP:
					 * out */
	uint32_t at;			/* offset from the code's beginning; W emit.c */
};
_Static_assert(sizeof(struct fl_item) % sizeof(uintptr_t) == 0, "what is behind is aligned");
enum { FL_NO_STEP = UINT32_MAX, FL_PLAN_LINE = 128 };

/* Accesses that are told in one go, before `step` (plan-memory.c). */
struct fl_group {
	uint32_t step, first, n;	/* of told[] */
	bool keeps_flags;
};

/* One thing that a body does to tell its paths. */
struct fl_plan_tell {
	enum fl_path_what what;
	struct fl_path_tell of;
	uint32_t live;			/* registers, FL_LIVE_FLAGS */
	uint32_t item;			/* its PATH; FL_NO_STEP: it is an ASIDE */
	uint32_t cold;			/* its PATH_COLD */
	uint32_t n_spare;		/* as in fl_path_code */
	int32_t spare[FL_PATH_SPARE];
	bool at_home;
	struct fl_path_code code;	/* W emit.c: as it was put last */
};

/* The routine that does it where no inline sequence does. */
static inline enum fl_path_what fl_plan_routine(const struct fl_plan_tell *t)
{
	return t->at_home ? FL_PATH_HOME : t->what;
}

/* Has it inline code with a part elsewhere, a PATH_COLD? */
static inline bool fl_plan_has_cold(const struct fl_plan_tell *t)
{
	return t->item != UINT32_MAX && (!t->at_home || t->what == FL_PATH_CUT ||
					 t->what == FL_PATH_LEAVE);
}

/* What a step reads, and what it sets whatever was there before: registers, FL_LIVE_FLAGS. */
struct fl_step_use {
	struct fl_needs needs;
	uint32_t reads, sets;
};

/*
 * The list, in the order of addresses: the call of glue, the steps part by part, the landings,
 * the cold parts. Items of a step are together; a branch to the step leads to the first one.
 */
struct fl_plan {
	const struct fl_shape *shape;
	struct fl_item *items;
	uint32_t n;
	uint32_t *first;		/* by step: its first item, or the RUN with the step.
					 * One more: behind the last */
	uint32_t entry;			/* the step */
	uint32_t n_lookups, n_places;
	bool has_numbers;		/* tables of look-ups have numbers of landings */
	struct fl_plan_tell *tells;
	uint32_t n_tells;
	struct fl_step_use *uses;	/* by step, once live.c has looked */
	int32_t *depth;			/* by step: how far the way back (home.c) is above the
					 * stack pointer, if that is known; one more */
	int32_t home;			/* how far below the way back the sum is; 0: a frame
					 * has the sum */
	uint32_t spare;			/* words below the way back that are nobody's */
	uint32_t cells;			/* paths that may have cells of their own, at most */
	uint32_t n_cells;		/* W plan-paths.c: paths that have */
	bool runs;			/* several steps may be one item, a RUN */
	size_t held_bytes;		/* held.c; 0: there are no exclusives */
	bool may_go_on;			/* indirect jumps may go on in the original */
	bool accesses;			/* accesses to memory are told: */
	struct fl_tellable *told;	/* in order, FL_PLAN_TOLD a step at most */
	uint32_t *told_at;		/* by access: its step */
	struct fl_group *groups;	/* ascending by step; one an access at most */
	uint32_t n_told, n_groups;
	uint32_t *tell_of;		/* by group: its item */
	uint32_t cold;			/* the first COLD, of group 0, or PATH_COLD */
	uintptr_t to_file[FL_SHAPE_PARTS];	/* by part: distance from addresses to bytes
						 * in the file; 0: it has no steps */
};

/* How many items a plan has at most, and how many tells. */
size_t fl_plan_items(const struct fl_shape *);
/* plan-entry.c: plan a body with places for entry, exits and jumps that leave. The plan has its
 * shape and memory. 0, or FLE_UNKNOWN and where. */
int fl_plan_entry(struct fl_plan *, uint64_t *datum);

/* held.c: bytes that it takes to look at exclusives; 0: there are none. */
size_t fl_plan_held_bytes(const struct fl_plan *);
/* Rewrite pairs of exclusives as chosen. 0; FLE_EXCLUSIVE with the pair that an item would come
 * between; -ENOMEM. */
int fl_plan_check(struct fl_plan *, enum fl_exclusive, uint64_t *datum);
/* plan-paths.c: plan a body that tells its paths as well. `memory`: fl_blocks_memory() bytes,
 * and more (build.c). The same errors; FLE_HEIGHT, FLE_UNWIND: nobody knows where a frame is;
 * FLE_PAD: see weave_pad(). */
int fl_plan_paths(struct fl_plan *, void *memory, uint64_t *datum);

/* For weavers. begin: the items that all plans begin with, or why there is no plan. weave: one
 * more item. weave_step: what plan-entry.c has for a step. weave_gap: the jump behind a step
 * that falls through to the original. */
int fl_plan_begin(struct fl_plan *, uint64_t *datum);
void fl_plan_weave(struct fl_plan *, enum fl_item_kind, uint32_t step);
void fl_plan_weave_step(struct fl_plan *, uint32_t step);
void fl_plan_weave_gap(struct fl_plan *, uint32_t step);

/* plan-memory.c: choose the accesses to tell, and where. 0, or FLE_OPERAND and where,
 * FLE_SEQUENCE. */
enum { FL_PLAN_TOLD = 3 };
int fl_plan_memory(struct fl_plan *, uint64_t *datum);

/* live.c: find, by step, the general registers whose values code behind may need, and whether
 * it may need the flags. Notes what each step uses. */
enum { FL_LIVE_FLAGS = 1 << 16 };
void fl_plan_look(const struct fl_plan *, uint32_t *live);

/* home.c: find_home sets `home`, `spare` and, where one of these is not 0, `depth`. enters_at:
 * the step before which a sum at home begins. spare_words: up to FL_PATH_SPARE of the spare
 * words, as distances from the stack pointer before a step. */
enum { FL_DEPTH_UNKNOWN = INT32_MIN };
void fl_plan_find_home(struct fl_plan *);
uint32_t fl_plan_enters_at(const struct fl_plan *);
uint32_t fl_plan_spare_words(const struct fl_plan *, uint32_t step, int32_t *at);

/* spots.c: a path's end is to be told before step `last`. The step from `first` to `last`
 * before which it is told best; these are a block, or end one. */
uint32_t fl_plan_spot(const struct fl_plan *, const uint32_t *live, uint32_t first,
		      uint32_t last, enum fl_path_what what);

/* heights.c: true if no indirect jump of the function leads to one of the steps that the
 * entry's jump covers, from the `from`th on. */
bool fl_plan_switches_avoid(const struct fl_shape *, uint32_t from);
/* May indirect jumps go on in the original? */
bool fl_plan_may_go_on(const struct fl_shape *);

/* Does the step run on into what is behind it? */
static inline bool fl_plan_falls_through(const struct fl_shape_step *s)
{
	switch (s->kind) {
	case FL_SHAPE_PLAIN: case FL_SHAPE_RELATIVE: case FL_SHAPE_CALL:
	case FL_SHAPE_BRANCH: case FL_SHAPE_BRANCH_OUT:
		return true;
	default:
		return false;
	}
}

/* Does the next step stand right behind this one? */
static inline bool fl_plan_is_followed(const struct fl_shape *shape, uint32_t step)
{
	const struct fl_shape_step *s = &shape->steps[step];

	return step + 1 < shape->n_steps && s[1].at == s->at + s->len &&
	       s[1].part == s->part;
}

/* Does the step run on into the next step? */
static inline bool fl_plan_goes_on(const struct fl_shape *shape, uint32_t step)
{
	return fl_plan_falls_through(&shape->steps[step]) && fl_plan_is_followed(shape, step);
}

static inline const struct fl_shape_step *fl_plan_step(const struct fl_plan *p,
						       const struct fl_item *i)
{
	return &p->shape->steps[i->step];
}

/* Where the step's items begin; for a landing pad at the entry: where the next step's do. */
static inline uint32_t fl_plan_offset(const struct fl_plan *p, uint32_t step)
{
	const struct fl_item *i = &p->items[p->first[step]];

	if (i->kind != FL_ITEM_RUN || step < i->step)
		return i->at;
	return i->at + (uint32_t)(p->shape->steps[step].at - p->shape->steps[i->step].at);
}

/* The bytes of a step, from the file. */
static inline const unsigned char *fl_plan_bytes(const struct fl_plan *p, uint32_t step)
{
	const struct fl_shape_step *s = &p->shape->steps[step];

	return (const unsigned char *)(s->at + p->to_file[s->part]);
}

#endif
