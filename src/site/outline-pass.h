/*
 * outline-pass.h - private to outline*.c: one look at all code of a module.
 */
#ifndef FL_SITE_OUTLINE_PASS_H
#define FL_SITE_OUTLINE_PASS_H

#include "shape.h"

enum {
	FL_STUB_ALIGNED = 8,		/* the linker's stubs */
	FL_OUTLINE_SLICES = 8		/* threads that read a module's code, at most */
};

struct pass {
	struct fl_outline *o;
	const struct fl_module *m;
	uintptr_t lo, hi;
	/* a bit a byte of text: */
	uint64_t *heads;		/* functions' starts, and entries behind their pads */
	uint64_t *named;		/* what is called, or its address written somewhere */
	uint64_t *targets;		/* of direct branches into what is no head */
	struct call {
		uint32_t from, to;	/* an extent, and what it calls */
	} *calls;			/* direct ones that leave it */
	size_t n_calls, room_calls;
	struct said {
		uintptr_t at;
		int why;		/* fl_err; 0: nothing */
	} *others;			/* by extent: why the code of another refuses it */
	struct fl_askers askers;
	bool is_fixed;			/* it names addresses without relocations */
	bool any_flags;			/* an extent is X_FLAGS */
};

/* Bytes of each of these maps. */
static inline size_t fl_map_bytes(const struct pass *p)
{
	return ((p->hi - p->lo) / 64 + 2) * sizeof *p->heads;
}

static inline void fl_note_named(struct pass *p, uintptr_t a)
{
	if (a - p->lo < p->hi - p->lo)
		fl_set_bit(p->named, a - p->lo);
}

static inline bool fl_is_head(const struct pass *p, uintptr_t a)
{
	return a - p->lo < p->hi - p->lo && fl_bit(p->heads, a - p->lo);
}

/* outline-share.c: what all code says, once the heads are known. 0 or -ENOMEM. */
int fl_outline_read_code(struct pass *);
/* outline-read.c: the same of one extent. */
void fl_outline_read_extent(struct pass *, struct fl_extent *);
/* Are flags set from `to` on before one is read, or is it returned there? */
bool fl_outline_sets_flags(const struct pass *, uintptr_t to);
/* Does code that goes on behind what stands before extent `k` come to an instruction at `at`?
 * What lies between two extents, and is short, nobody has read. */
bool fl_outline_begins(const struct pass *, uint32_t k, uintptr_t at);

/* outline-parts.c: what looks like a function and is a part; whose each part is, as jumps
 * tell; then lists of them. */
void fl_outline_find_hidden(struct pass *);
void fl_outline_join_parts(struct pass *);
void fl_outline_list_parts(struct fl_outline *);

/* outline-judge.c: which functions call one that asks for its caller; which do not begin as
 * compilers have it; which the tables for unwinding pass over; and, when parts are listed, who
 * leads into whom, and whether each entry has room. */
void fl_outline_find_askers(struct pass *);
void fl_outline_judge_begins(struct pass *);
void fl_outline_judge_rows(struct fl_outline *);
void fl_outline_judge(struct pass *);

/* outline-into.c: may extent `k` leave by a jump to another function's middle? And where does
 * the jump stand that leads to its body, or why nowhere? */
bool fl_outline_may_go_into(const struct pass *, uint32_t k, uintptr_t to);
void fl_outline_judge_entry(struct pass *, uint32_t k);

#endif
