/*
 * sync.h - ways to make every core refetch its instructions. Private to patch/.
 *
 * all_cores() returns when every thread of this process that runs, or will run
 * again, has executed a core-serialising instruction since the call: no core
 * holds bytes it fetched before. It cannot fail once probe() said 0.
 */
#ifndef FL_SYNC_H
#define FL_SYNC_H

struct fl_sync {
	const char *name, *about;
	int (*probe)(void);		/* 0 when it works here, or an error */
	void (*all_cores)(void);
};

extern const struct fl_sync fl_sync_membarrier;

/* The one chosen by fl_patch_open(). */
extern const struct fl_sync *fl_sync;

#endif
