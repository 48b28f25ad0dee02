/*
 * sync.h - ways to make every core refetch its instructions. Private to patch/.
 *
 * all_cores() returns when every core that runs a thread of this process, or
 * will run one again, has executed a core-serialising instruction or switched
 * threads since the call (OS1, OS18): no core holds bytes it fetched before.
 * Once ready() said 0 it cannot fail; it may wait for a thread that has begun to
 * block signals meanwhile and never leaves its core.
 */
#ifndef FL_SYNC_H
#define FL_SYNC_H

#include "patch.h"

struct fl_sync {
	const char *name, *about;
	bool by_choice;			/* only when asked for by name */
	bool asks;			/* waits for threads that run to answer: none may
					 * be held meanwhile */
	int (*probe)(void);		/* once: 0 when it works here, or an error */
	int (*ready)(void);		/* 0 if it works just now; one caller at a time; NULL:
					 * always */
	void (*all_cores)(void);	/* blocks; one caller at a time; NULL: see ticks */
	/* Ticks after which every core fetches what was stored, without a call to
	 * all_cores(); NULL: never. */
	uint64_t (*ticks)(void);
};

extern const struct fl_sync fl_sync_membarrier, fl_sync_signal, fl_sync_stop,
			    fl_sync_wait;

/* In order of preference; ends with NULL. sync.c */
extern const struct fl_sync *const fl_syncs[];
/* The one that fl_patch_open() has chosen; NULL before. */
extern const struct fl_sync *fl_sync;

/* Choose: the one of that name; NULL: the one that the environment names, else
 * the first of fl_syncs that works and is not by_choice. */
int fl_sync_choose(const char *name);

/* No more syncs for now: signals are the program's own again. */
void fl_sync_close(void);
/* From lock to unlock nobody else synchronises. */
void fl_sync_lock(uint64_t *signals);
void fl_sync_unlock(const uint64_t *signals);
/* Could the cores be synchronised now? 0, FLE_SIGBLOCK, ... */
int fl_sync_ready(void);

/*
 * Many changes share a sync. A ticket is taken after a store to text, and has passed
 * when every core has refetched since.
 */
struct fl_ticket fl_sync_ticket(void);
bool fl_sync_passed(struct fl_ticket);
/* Make the ticket pass: blocks for at most two syncs. */
void fl_sync_pass(struct fl_ticket);

#endif
