/*
 * text.h - areas of text that can be stored to. Private to patch/.
 */
#ifndef FL_TEXT_H
#define FL_TEXT_H

#include "os/os.h"
#include "patch.h"

/* One mapping of the process as it was when flick first came to it. */
struct fl_area {
	struct fl_area *next;
	uintptr_t lo, hi;
	uint64_t offset, inode;		/* of its file; inode 0: it has none */
	size_t bytes;			/* of the mapping that this struct stands in */
	char *path;
	intptr_t view;			/* 0: none */
	uint8_t *holders;		/* a page: enum fl_text_holder, FL_TEXT_LEFT */
	uint8_t *wanted;		/* a page: PROT_*, by the program */
};

enum { FL_TEXT_LEFT = 1 };		/* closed, but not yet mapped from its file again */

extern struct fl_area *fl_areas;	/* under the lock, as all of an area */
extern struct fl_lock fl_text_lock;

struct fl_area *fl_area_of(uintptr_t at);

static inline uint8_t *fl_area_holders(const struct fl_area *a, uintptr_t at)
{
	return &a->holders[(at - a->lo) / FL_PAGE];
}

static inline uint8_t *fl_area_wanted(const struct fl_area *a, uintptr_t at)
{
	return &a->wanted[(at - a->lo) / FL_PAGE];
}

static inline bool fl_area_is_open(const struct fl_area *a, uintptr_t at)
{
	return *fl_area_holders(a, at) & ~FL_TEXT_LEFT;
}

/* Pages from `lo` on, up to `hi`, that are all open or all not, and wanted alike. */
uintptr_t fl_area_alike(const struct fl_area *, uintptr_t lo, uintptr_t hi);

/* How pages become ready for stores. text-way.c */
struct fl_text_way {
	const char *name;
	int (*probe)(void);
	int (*enter)(struct fl_area *);		/* once an area */
	/* pages that are wanted alike */
	int (*open)(const struct fl_area *, uintptr_t lo, uintptr_t hi);
	int (*shut)(const struct fl_area *, uintptr_t lo, uintptr_t hi);
	bool emulated;			/* the program runs under an emulator with threads */
};
extern const struct fl_text_way *fl_text_way;

/* From now on, what the program asks for in this area passes through text-asked.c. False: it
 * did so before. */
bool fl_text_reach_out(const struct fl_area *);

/* From now on [lo, hi) is code of flick's own, readable and executable, and one mapping;
 * until disown. */
void fl_text_own(uintptr_t lo, uintptr_t hi);
void fl_text_disown(uintptr_t lo);

#endif
