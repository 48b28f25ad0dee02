/*
 * path.h - private to probe/: what a thread keeps of paths (path.c), for routines.S, too.
 */
#ifndef FL_PATH_H
#define FL_PATH_H

#include "table.h"

/* An open call that has paths, and its sum. */
struct fl_path_frame {
	uint64_t owner;			/* where its way back lies; 0: nobody's */
	uint32_t sum, unused;
};

/* The thread's last frame: how far it is from the thread pointer; 0: it has no memory yet. */
extern __thread uintptr_t fl_path
	__attribute__((visibility("hidden"), tls_model("initial-exec")));

_Static_assert(offsetof(struct fl_path_frame, owner) == FL_PATH_OWNER &&
	       offsetof(struct fl_path_frame, sum) == FL_PATH_SUM &&
	       sizeof(struct fl_path_frame) == 16, "layout.h");

/* In routines.S. */
FL_HIDDEN void fl_path_enter(void);
FL_HIDDEN void fl_path_add(void);
FL_HIDDEN void fl_path_cut(void);
FL_HIDDEN void fl_path_leave(void);
FL_HIDDEN void fl_path_at(void);
FL_HIDDEN void fl_path_done(void);
FL_HIDDEN void fl_path_only(void);
FL_HIDDEN void fl_path_home(void);

/* The ends of these where the last frame is not the call's, or there is no room. */
FL_HIDDEN void fl_path_enter_cold(const struct fl_path_tell *, uintptr_t frame);
FL_HIDDEN void fl_path_add_cold(const struct fl_path_tell *, uintptr_t frame);
FL_HIDDEN void fl_path_cut_cold(const struct fl_path_tell *, uintptr_t frame);
FL_HIDDEN void fl_path_leave_cold(const struct fl_path_tell *, uintptr_t frame);
FL_HIDDEN void fl_path_at_cold(const struct fl_path_tell *, uintptr_t frame);
FL_HIDDEN void fl_path_done_cold(const struct fl_path_tell *, uintptr_t frame);
FL_HIDDEN void fl_path_home_cold(const struct fl_path_tell *, uintptr_t home);
/* A path of `probe`'s function (FLICK_TYPE_PATH) came to its end. */
FL_HIDDEN void fl_path_put(uint32_t probe, uint32_t number);

#endif
