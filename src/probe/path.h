/*
 * path.h - private to probe/: what a thread keeps of paths (path.c), for routines.S, too.
 */
#ifndef FL_PATH_H
#define FL_PATH_H

#include "table.h"

/* What was laid aside of a call that another one interrupts. */
struct fl_path_frame {
	uint64_t owner, sum;
};

/* W its thread alone. */
struct fl_path {
	uint64_t owner;			/* 0 less the address of the frame whose sum it is */
	uint64_t sum;			/* its low half */
	struct fl_path_frame *top, *limit, *base;	/* all NULL: no memory yet */
};
extern __thread struct fl_path fl_path
	__attribute__((visibility("hidden"), tls_model("initial-exec")));

_Static_assert(offsetof(struct fl_path, owner) == FL_PATH_OWNER &&
	       offsetof(struct fl_path, sum) == FL_PATH_SUM &&
	       offsetof(struct fl_path, top) == FL_PATH_TOP &&
	       offsetof(struct fl_path, limit) == FL_PATH_LIMIT &&
	       offsetof(struct fl_path, base) == FL_PATH_BASE, "layout.h");

/* routines.S. */
FL_HIDDEN void fl_path_enter(void);
FL_HIDDEN void fl_path_add(void);
FL_HIDDEN void fl_path_cut(void);
FL_HIDDEN void fl_path_leave(void);
FL_HIDDEN void fl_path_at(void);
FL_HIDDEN void fl_path_done(void);
FL_HIDDEN void fl_path_only(void);

/* Where these end that do not find the call to be the owner, or have no room. */
FL_HIDDEN void fl_path_enter_cold(const struct fl_path_tell *, uintptr_t frame);
FL_HIDDEN void fl_path_add_cold(const struct fl_path_tell *, uintptr_t frame);
FL_HIDDEN void fl_path_cut_cold(const struct fl_path_tell *, uintptr_t frame);
FL_HIDDEN void fl_path_leave_cold(const struct fl_path_tell *, uintptr_t frame);
FL_HIDDEN void fl_path_at_cold(const struct fl_path_tell *, uintptr_t frame);
/* A path of `probe`'s function (FLICK_TYPE_PATH) came to its end. */
FL_HIDDEN void fl_path_put(uint32_t probe, uint32_t number);

#endif
