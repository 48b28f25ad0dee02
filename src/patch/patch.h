/* patch.h - step 2 of 7: change bytes under running threads. next: probe.h */
#ifndef FL_PATCH_H
#define FL_PATCH_H

#include "arch/arch.h"
#include "base/base.h"
#include "os/os.h"

/* Choose a way to synchronise cores, once per process: the one of that name, or
 * NULL for the one that FL_SYNC_ENV names, else the best that works. 0,
 * FLE_NOSYNC, FLE_SIGBLOCK, FLE_OPTION: there is no such; the one's error. */
#define FL_SYNC_ENV "FLICK_SYNC"
int fl_patch_open(const char *sync);
void fl_patch_close(void);
const char *fl_patch_sync_name(void);
/* The ways there are, the best first; NULL behind the last. Would it work here? */
const char *fl_patch_sync_row(size_t i, const char **about);
int fl_patch_sync_works(const char *name);
/* Every thread has executed a serialising instruction before this returns. */
void fl_patch_sync(void);
/* Do tickets pass by time alone (strategy wait)? */
bool fl_patch_sync_waits(void);

/* ---- near memory: within branch reach of a module's text ---------------- */

/* Code and data. Code is written at `write` until fl_near_seal(). No page is there before it
 * is touched. */
struct fl_near {
	unsigned char *code;		/* page-aligned */
	size_t code_bytes;
	unsigned char *data;
	size_t data_bytes;
	unsigned char *write;		/* == code, or another view of it; NULL: sealed */
};
/* Both are within reach of every byte of [lo, hi), a module or a part of one; with hi = 0
 * anywhere. They lie below it or, as far as branches reach, above: so what was allocated before
 * may lie far from them. They are within reach of [other, other_end), too, if that is not 0. */
struct fl_near_to {
	uintptr_t lo, hi, other, other_end;
};
#define FL_NEAR_TO(from, to) ((struct fl_near_to){ .lo = (from), .hi = (to) })
int fl_near_alloc(struct fl_near *, struct fl_near_to, size_t code, size_t data);
int fl_near_seal(struct fl_near *);	/* code: read and execute */
void fl_near_free(struct fl_near *);

/* Does a branch lead from any byte of one range to any of the other? */
static inline bool fl_spans_reach(uintptr_t lo, uintptr_t hi, uintptr_t from, uintptr_t to)
{
	return (hi > to ? hi : to) - (lo < from ? lo : from) < FL_ARCH_REACH;
}

static inline bool fl_near_reaches(const struct fl_near *near, uintptr_t from, uintptr_t to)
{
	uintptr_t code = (uintptr_t)near->code;

	return fl_spans_reach(code, code + near->code_bytes, from, to);
}

/* ---- text that can be stored to ------------------------------------------- */

/* Choose how, once per process: "mprotect" (pages become writable), "alias" (a
 * second mapping; no page is ever writable and executable), NULL: the one that
 * FL_TEXT_ENV names, else the first that works. 0, FLE_OPTION, FLE_NOWRITE, FLE_NOALIAS. */
#define FL_TEXT_ENV "FLICK_TEXT"
int fl_text_choose(const char *name);
/* Would that one work here? The same errors. */
int fl_text_probe(const char *name);
bool fl_text_is_aliased(void);
/* Make the pages of [lo, hi) ready for stores at their address + shift(). With
 * "alias", pages that are open already are made anew: nobody may store to them
 * meanwhile; those that a CALLER holds stay. Each holder opens for itself; a
 * page is put back as it was, from
 * its file if no byte differs, when the last of its holders closes. close() takes
 * any range and closes what the holder has in it. 0 or -errno. Thread-safe. */
enum fl_text_holder { FL_TEXT_PROBES = 16, FL_TEXT_LOADER = 32, FL_TEXT_CALLER = 64 };
int fl_text_open(uintptr_t lo, uintptr_t hi, int holder);
int fl_text_close(uintptr_t lo, uintptr_t hi, int holder);
/* From `at`, in a page that is open, to where it is stored to. */
intptr_t fl_text_shift(uintptr_t at);
/* PROT_* of the page at `at`, or -EFAULT. */
int fl_text_prot(uintptr_t at);
/* The program's mprotect(2), and with a key from 0 on pkey_mprotect(2): what is open
 * stays so, and is what was asked for when it is closed. 0 or -errno. Callable from a
 * handler. */
int fl_text_protect(uintptr_t lo, size_t n, int prot, int pkey);
/* May a part of [lo, hi) be open? */
bool fl_text_reaches(uintptr_t lo, uintptr_t hi);
/* [lo, hi) has been unmapped by its owner. */
void fl_text_forget(uintptr_t lo, uintptr_t hi);
/* In fork's child: text of its own. Not so: it still shares its parent's and must
 * not store there. */
int fl_text_unshare(void);
bool fl_text_is_shared(void);

/* Around what a fork should not cut in two, from making text ready to the last byte;
 * enter waits for a fork under way, but not for long (patch/fork.c). Not nested. */
void fl_fork_enter(void);
void fl_fork_leave(void);

/* ---- claims: which bytes are whose ----------------------------------------- */

/* Lock, claim any number, unlock. fl_claim: 0, FLE_OVERLAP with the place that
 * has some of the bytes, -ENOMEM. The memory stays until it is unclaimed. */
void fl_claims_lock(uint64_t *signals);
void fl_claims_unlock(const uint64_t *signals);
int fl_claim(struct fl_patch *, const struct fl_patch **other);
void fl_unclaim(struct fl_patch *);
/* Does a claimed place have some of these bytes? */
bool fl_claim_meets(uintptr_t at, size_t len);
/* All of this for a single place. */
int fl_claim_alone(struct fl_patch *);
void fl_unclaim_alone(struct fl_patch *);

/* ---- a set: staged, verified, committed ---------------------------------- */

/* A store is fetched everywhere once its ticket has passed, see sync.h. */
struct fl_ticket { uint64_t number, ticks; };

/*
 * A list of changes of claimed places. Staging
 * only notes; beginning verifies all and, once the first byte is written, the
 * set completes. Sets over different places may be under way at once; of two
 * that have a place in common the second is told FLE_BUSY.
 */
struct fl_change {		/* four to a line: a set may be larger than a cache */
	struct fl_patch *patch;
	uint8_t from, to;		/* enum fl_state */
	uint8_t tactic;			/* enum fl_tactic; W fl_set_stage() */
};
/* Of a wide one move all that its phases store. */
struct fl_wide {
	uintptr_t at;			/* where the window is stored to */
	struct fl_move move;
	uint8_t bytes[5];		/* its new ones */
	bool is_all;			/* it is the only move, and its bytes are few */
};
struct fl_set {
	struct fl_change *changes;
	struct fl_wide *wide;	/* as many, W commit.c before the first phase; NULL: phases
				 * work it out, each anew */
	uint32_t n, room;
	uint32_t n_taken;	/* the first, whose places are ours; W commit.c */
	bool quiet;		/* no thread can reach these sites yet */
	/* W commit.c */
	uint8_t phase;
	bool any_wide : 1, any_row : 1;
	bool held : 1;		/* threads will be */
	struct fl_ticket ticket;
};
/* So many places ahead of the one it is at a set has them fetched: they lie in their
 * owners' memory. */
enum { FL_AHEAD = 16 };
/* Memory for a set of `n` changes: 0 or -ENOMEM. It may also be the caller's own. */
int fl_set_make(struct fl_set *, size_t n);
void fl_set_free(struct fl_set *);
/* 0 or -ENOSPC when `room` is used up. */
int fl_set_stage(struct fl_set *, struct fl_patch *, int from, int to);
/* 0, FLE_BUSY, FLE_CHANGED, FLE_THREADS, FLE_STANDS, FLE_STUCK, FLE_LOOPS, or why cores cannot
 * be synchronised; *bad is the index at fault. On return every core executes the new bytes;
 * running threads may execute every site meanwhile. Blocks for at most three syncs, or
 * holds all other threads for a moment (halt.c). Not callable from a handler. */
int fl_set_commit(struct fl_set *, size_t *bad);

/* The same of a switch between off and on, from where the place stands when it is
 * taken. There is room. */
enum { FL_AS_IT_IS = FL_N_STATES };
static inline void fl_set_stage_switch(struct fl_set *set, struct fl_patch *p, int to)
{
	struct fl_change *c = &set->changes[set->n++];

	c->patch = p;
	c->from = FL_AS_IT_IS;
	c->to = (uint8_t)to;
}

/* Take the places that are staged; nobody else moves them. Errors as of commit, which
 * takes what has not been taken. Abandon gives all back. */
int fl_set_take(struct fl_set *, size_t *bad);
void fl_set_abandon(struct fl_set *);

/* The same in steps. begin writes the first phase; step, when the set's ticket
 * has passed, the next: 1 there is more, 0 complete, or an error, and then
 * every byte is as before begin. wait passes the ticket; passed asks. */
int fl_set_begin(struct fl_set *, size_t *bad);
int fl_set_step(struct fl_set *);
void fl_set_wait(const struct fl_set *);
bool fl_set_passed(const struct fl_set *);
/* The last byte has been stored: places are at rest, cores will follow. */
bool fl_set_stored(const struct fl_set *);

/* ---- threads that are held while several instructions become one ------------- */

/* After FLE_STUCK and FLE_STANDS: until what stood against the set does not, or until then. */
void fl_halt_await(uint64_t until_ns);
/* Who holds them where no child of the program may trace it: whoever sees `mail`, as long
 * as it is there; NULL: nobody. Before the first commit. */
void fl_halt_by(struct fl_halt *mail, bool (*is_there)(void));
/* That one's part, once `mail` says ASKED: hold the threads of process `pid`, until they may
 * go on. `memory` is a process that has its memory: that, or the caller's. The caller is a
 * process that has no other thread, and ends then: who stopped in time goes on by that. */
void fl_halt_serve(int pid, int memory, struct fl_halt *mail);

/* ---- what `flick calibrate` found out on this machine --------------------- */

#define FL_WAIT_FLOOR 3000		/* ticks; no kept t_max is below it */
#define FL_CALIBRATION_MAGIC "flick-calibration 1"
enum { FL_CALIBRATION_KEY = 96, FL_CALIBRATION_PATH = 1024,
       FL_CALIBRATION_BYTES = 2048 };

struct fl_calibration {
	uint64_t t_max;			/* ticks after which every core has refetched */
	bool line;			/* one store within a line is fetched whole */
};
/* 0, FLE_UNCALIBRATED, FLE_OTHERCPU. Reads files; not on a probe's path. */
int fl_calibration_load(struct fl_calibration *);
/* Where it is kept; the length, or -errno where no place is known. */
long fl_calibration_path(char *to, size_t room);
/* What the result depends on: processor, microcode, hypervisor. */
void fl_calibration_key(char key[FL_CALIBRATION_KEY]);

/* ---- a single switch ------------------------------------------------------ */

/* Switch an armed patch whose tactic is one store; never fails, from any
 * thread. */
static inline void fl_patch_flip(const struct fl_patch *p, int state)
{
	uintptr_t at = p->at + p->view + p->flip_at;
	const uint8_t *bytes = p->bytes[state] + p->flip_at;

	if (p->tactic == FL_FLIP)
		fl_arch_flip_unit(at, p->flip[state]);
	else if (p->tactic == FL_WORD)
		fl_arch_flip(at, bytes, p->flip_bytes);
	else
		fl_arch_flip_line(at, bytes, p->flip_bytes);
}

#endif
