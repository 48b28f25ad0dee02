/* patch.h - step 2 of 7: change bytes under running threads. next: probe.h */
#ifndef FL_PATCH_H
#define FL_PATCH_H

#include "arch/arch.h"
#include "base/base.h"
#include "os/os.h"

/* Choose a way to synchronise cores, once per process: the one of that name; with NULL
 * the one that FL_SYNC_ENV names, else the best that works. 0, FLE_NOSYNC,
 * FLE_SIGBLOCK, FLE_OPTION: no way has that name; or the error of the chosen way. */
#define FL_SYNC_ENV "FLICK_SYNC"
int fl_patch_open(const char *sync);
void fl_patch_close(void);
const char *fl_patch_sync_name(void);
/* The names of all ways, the best first; NULL behind the last. Would that way work here? */
const char *fl_patch_sync_row(size_t i, const char **about);
int fl_patch_sync_works(const char *name);
/* Every thread has executed a serialising instruction before this returns. */
void fl_patch_sync(void);
/* Do tickets pass by time alone (strategy wait)? */
bool fl_patch_sync_waits(void);

/* ---- near memory: within branch reach of a module's text ---------------- */

/* Code and data. Code is written at `write` until fl_near_seal(). A page costs no memory
 * before it is touched. */
struct fl_near {
	unsigned char *code;		/* page-aligned */
	size_t code_bytes;
	unsigned char *data;
	size_t data_bytes;
	unsigned char *write;		/* == code, or another view of it; NULL: sealed */
};
/* Code and data are within reach of every byte of [lo, hi), a module or a part of one; with
 * hi = 0 they may lie anywhere. They lie below the range or, as far as branches reach, above:
 * so an earlier allocation may lie far from them. They are within reach of
 * [other, other_end), too, if `other_end` is not 0. */
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
/* Would the way of that name work here? The same errors. */
int fl_text_probe(const char *name);
bool fl_text_is_aliased(void);
/* Make the pages of [lo, hi) ready for stores at their address + shift(). With
 * "alias", pages that are open already are made anew, so nobody may store to them
 * meanwhile; pages that a CALLER holds stay as they are. Each holder opens for
 * itself. A page is put back when the last of its holders closes: as it was, and
 * from its file if no byte differs. close() takes any range, and closes each page
 * that the holder has open in it. 0 or -errno. Thread-safe. */
enum fl_text_holder { FL_TEXT_PROBES = 16, FL_TEXT_LOADER = 32, FL_TEXT_CALLER = 64 };
int fl_text_open(uintptr_t lo, uintptr_t hi, int holder);
int fl_text_close(uintptr_t lo, uintptr_t hi, int holder);
/* The distance from `at`, in a page that is open, to where stores to `at` go. */
intptr_t fl_text_shift(uintptr_t at);
/* PROT_* of the page at `at`, or -EFAULT. */
int fl_text_prot(uintptr_t at);
/* The program's mprotect(2), or with a key >= 0 its pkey_mprotect(2). A page that is open
 * stays open, and gets what the program asked for when it is closed. 0 or -errno.
 * Callable from a handler. */
int fl_text_protect(uintptr_t lo, size_t n, int prot, int pkey);
/* May a part of [lo, hi) be open? */
bool fl_text_reaches(uintptr_t lo, uintptr_t hi);
/* [lo, hi) has been unmapped by its owner. */
void fl_text_forget(uintptr_t lo, uintptr_t hi);
/* The loader has just mapped this text, and nobody has asked anything for it: who opens it
 * need not look. NULL: from now on nothing is so any more. */
void fl_text_told(const struct fl_mapping *);
/* In fork's child: give the child text of its own. After an error is_shared() is true: the
 * child still shares its parent's text, and must not store there. */
int fl_text_unshare(void);
bool fl_text_is_shared(void);

/* Called around a change that a fork should not cut in two, from making text ready to the
 * last byte. enter waits for a fork under way, but not for long (patch/fork.c). Not nested. */
void fl_fork_enter(void);
void fl_fork_leave(void);

/* ---- claims: which bytes are whose ----------------------------------------- */

/* Lock, claim any number, unlock. fl_claim: 0, FLE_OVERLAP with the place that
 * has some of the bytes, -ENOMEM. A patch's memory must stay until it is unclaimed. */
void fl_claims_lock(uint64_t *signals);
void fl_claims_unlock(const uint64_t *signals);
int fl_claim(struct fl_patch *, const struct fl_patch **other);
void fl_unclaim(struct fl_patch *);
/* Does a claimed place have some of these bytes? */
bool fl_claim_meets(uintptr_t at, size_t len);
/* Lock, claim or unclaim, and unlock, for a single place. */
int fl_claim_alone(struct fl_patch *);
void fl_unclaim_alone(struct fl_patch *);

/* ---- a set: staged, verified, committed ---------------------------------- */

/* Every core fetches the new bytes of a store once the ticket of the store has passed, see
 * sync.h. */
struct fl_ticket { uint64_t number, ticks; };

/*
 * A list of changes of claimed places. Staging only notes a change. Beginning verifies all
 * changes; once the first byte is written, the set completes. Sets over different places may
 * be under way at once. If two sets have a place in common, the second gets FLE_BUSY.
 */
struct fl_span { uint8_t first, n; };	/* bytes of a window that one store changes */
struct fl_change {		/* four to a line: a set may be larger than a cache */
	struct fl_patch *patch;
	uint8_t from, to;		/* enum fl_state */
	uint8_t tactic;			/* enum fl_tactic; W fl_set_stage() */
	struct fl_span span;		/* where one store does it; W the same */
};
/* All that the phases of a wide change store, if the change is one move. */
struct fl_wide {
	uintptr_t at;			/* where the window is stored to */
	struct fl_move move;
	uint8_t bytes[5];		/* new bytes of the move */
	bool is_all;			/* no other move, and few bytes: the rest is valid */
};
struct fl_set {
	struct fl_change *changes;
	struct fl_wide *wide;	/* as many, W commit.c before the first phase; NULL: each
				 * phase works the moves out anew */
	uint32_t n, room;
	uint32_t n_taken;	/* so many changes, from the first on, have places that are
				 * ours; W commit.c */
	bool quiet;		/* no thread can reach these sites yet */
	/* W commit.c */
	uint8_t phase;
	bool any_wide : 1, any_row : 1;
	bool held : 1;		/* threads will be held */
	struct fl_ticket ticket;
};
/* A pass over a set prefetches the place that is FL_AHEAD changes ahead: places lie in the
 * memory of their owners. */
enum { FL_AHEAD = 16 };
/* Get memory for a set of `n` changes: 0 or -ENOMEM. A caller may also use memory of its
 * own. */
int fl_set_make(struct fl_set *, size_t n);
void fl_set_free(struct fl_set *);
/* 0 or -ENOSPC when `room` is used up. */
int fl_set_stage(struct fl_set *, struct fl_patch *, int from, int to);
/* 0, FLE_BUSY, FLE_CHANGED, FLE_THREADS, FLE_STANDS, FLE_STUCK, FLE_LOOPS, or why cores cannot
 * be synchronised; *bad is the index at fault. On return every core executes the new bytes;
 * running threads may execute every site meanwhile. Blocks for at most three syncs, or
 * holds all other threads for a moment (halt.c). Not callable from a handler. */
int fl_set_commit(struct fl_set *, size_t *bad);

/* Stage a switch to off or on, from the state that the place has when it is taken. The set
 * must have room. */
enum { FL_AS_IT_IS = FL_N_STATES };
static inline void fl_set_stage_switch(struct fl_set *set, struct fl_patch *p, int to)
{
	struct fl_change *c = &set->changes[set->n++];

	c->patch = p;
	c->from = FL_AS_IT_IS;
	c->to = (uint8_t)to;
}

/* Take the places that are staged: nobody else moves them from then on. The same errors as
 * commit, which takes what has not been taken yet. Abandon gives all places back. */
int fl_set_take(struct fl_set *, size_t *bad);
void fl_set_abandon(struct fl_set *);

/* Commit in steps. begin writes the first phase; after an error every byte is as it was.
 * step, called when the set's ticket has passed, writes the next phase: 1 there is more, 0
 * complete. wait makes the ticket pass; passed asks whether it has. */
int fl_set_begin(struct fl_set *, size_t *bad);
int fl_set_step(struct fl_set *);
void fl_set_wait(const struct fl_set *);
bool fl_set_passed(const struct fl_set *);
/* Has the last byte been stored? Places are at rest then; cores refetch by the next sync. */
bool fl_set_stored(const struct fl_set *);

/* ---- threads that are held while several instructions become one ------------- */

/* After FLE_STUCK and FLE_STANDS: wait until the thread or the frame that stood against the
 * set is gone, or until `until_ns`. */
void fl_halt_await(uint64_t until_ns);
/* Name the process that holds threads where no child of the program may trace: the one that
 * sees `mail`, as long as is_there() says so; NULL: nobody. Before the first commit. */
void fl_halt_by(struct fl_halt *mail, bool (*is_there)(void));
/* The part of that process, once `mail` says ASKED: hold the threads of process `pid` until
 * they may go on. `memory` is a process with the memory of `pid`: `pid` itself, or the caller.
 * The caller is a process with one thread, and ends afterwards: its end releases each thread
 * that has not been let go. */
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
/* 0, FLE_UNCALIBRATED, FLE_OTHERCPU. Reads files, so probes do not call it. */
int fl_calibration_load(struct fl_calibration *);
/* The path of the kept file; its length, or -errno where no path is known. */
long fl_calibration_path(char *to, size_t room);
/* What a calibration depends on, as text: processor, microcode, hypervisor. */
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
