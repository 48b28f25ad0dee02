/* known.h - private to probe/: modules that this process has, or had (known.c). The table
 * is locked. */
#ifndef FL_KNOWN_H
#define FL_KNOWN_H

#include "os/os.h"
#include "table.h"

/* What a module was loaded from (known.c). */
struct fl_origin {
	struct fl_file file;
	uint64_t path;			/* a hash of it */
	uint64_t loaded;		/* a hash of its code and constants */
	bool is_known;			/* else nothing is said by it */
	bool is_settled;		/* who writes to it from now on changes its time */
	uint64_t since;			/* ticks: when it was first met so */
};

/* A module that was taken in. */
struct fl_known {
	uintptr_t lo, hi, bias;
	struct fl_origin origin;	/* as its sites were found, in a module just loaded */
	uint32_t module;		/* its row in the region, or FL_NO_MODULE */
	uint32_t first, end;		/* probes that a scan found: [first, end) */
	uint32_t late;			/* the last probe met at a call, or FL_NO_PROBE */
	uint32_t seen;			/* stamp of the last walk that met it */
	struct fl_near near;		/* of its glue for such calls, the newest block */
	uint32_t n_block, n_spare;	/* glues in that block, made before their probes; and
					 * how many of them, the last ones, nobody has yet */
	uint32_t n_without;		/* so many probes go without glue, untried */
	uint32_t before;		/* another at the same place; UINT32_MAX: none */
	uint32_t next;			/* in the list of those that are there */
	bool gone;
	bool may_go;			/* nobody says when: no text of it is stored to */
};
#define FL_NO_MODULE UINT16_MAX

int fl_known_open(void);
/* Where a module that is being loaded comes from: nobody has stored to its code yet. */
void fl_known_look(struct fl_origin *, const struct fl_module *);
/* find: a module that is there. find_gone: one that is gone, and may have been the same; is_of:
 * it was, so its sites are. Or NULL. */
struct fl_known *fl_known_find(const struct fl_module *);
struct fl_known *fl_known_find_gone(const struct fl_module *, const struct fl_origin *);
bool fl_known_is_of(const struct fl_known *, const struct fl_origin *);
/* Its sites have been found in what comes from there. */
void fl_known_note(struct fl_known *, const struct fl_origin *);
/* add: a new one; NULL where there is no room. is_back: one that was gone is there again. */
struct fl_known *fl_known_add(const struct fl_module *);
void fl_known_is_back(struct fl_known *);
/* give: a row of its own in the region; false where there is no room. take: the row that was
 * given last is free again. need: give a module a row if it has none and is among those listed,
 * which are there. */
bool fl_known_give_row(struct fl_known *, const char *path);
void fl_known_take_row(struct fl_known *);
void fl_known_need_row(struct fl_known *, const struct fl_modules *listed);
/* Its row as a module of this process, or FLE_FULL. A row that is shared says where the module
 * is in another process. */
int fl_known_own_row(const struct fl_known *);
/* The module that is at an address, or NULL. */
struct fl_known *fl_known_around(uintptr_t at);
/* see: the module is there, at this walk. each: all that are there. each_unseen: all that no
 * walk since the stamp has seen: they are gone. */
void fl_known_see(uintptr_t bias);
void fl_known_each(void (*each)(const struct fl_known *, void *arg), void *arg);
void fl_known_each_unseen(void (*forget)(struct fl_known *));

/* Is the module there, and `at` in it? */
static inline bool fl_known_has(const struct fl_known *k, uintptr_t at)
{
	return !k->gone && at - k->lo < k->hi - k->lo;
}

#endif
