/*
 * torture.h - what the torture tests share. Private to trial/.
 *
 * A test runs in a child process of its own. It lays places: small functions
 * around one instruction, which patchers switch through flick/patch.h. Executors
 * call the places meanwhile; the value that a place returns tells which
 * instruction was met.
 */
#ifndef FL_TORTURE_H
#define FL_TORTURE_H

#include <pthread.h>

#include "flick/patch.h"
#include "trial.h"

/* ---- places (CPU/places.c) ---------------------------------------------------- */

/* The instruction that is switched, off <-> on. */
enum fl_placing {
	FL_SHAPE_BYTE,		/* load a constant, one byte of which changes */
	FL_SHAPE_CALL,		/* a call <-> none, by flick_call_init() */
	FL_SHAPE_LOAD,		/* load a constant: threads are held */
	FL_SHAPE_LONG,		/* load a constant of 8 bytes; likewise */
	FL_SHAPE_CALLS,		/* a call <-> a call to elsewhere; likewise */
	FL_SHAPE_JUMPS,		/* the same with jumps */
	FL_SHAPE_NOP,		/* a NOP <-> a call: passed by a jump */
	FL_SHAPE_STUBS,		/* a jump <-> a jump that differs in a byte: a body's entry */
	FL_N_SHAPES
};

struct fl_torture_place {
	uint64_t (*entry)(void);
	unsigned char *at;	/* the instruction */
	uint8_t shape, offset;	/* of `at` in its cache line */
	uint8_t len;
	uint8_t tactic;		/* W when the place is taken; constant from then on */
	uint8_t bytes[2][16];	/* off, on; not of FL_SHAPE_CALL */
	const void *target;	/* of FL_SHAPE_CALL */
	uint64_t values[2];	/* what a call returns, off and on */
	struct flick_patch patch;
	_Alignas(64) uint32_t seq;	/* W the place's patcher (A), R executors (B) */
};

/* Map room for FL_RIG_PLACES, and for what surrounds them; NULL on failure. */
unsigned char *fl_places_map(size_t *bytes);
/* Lay number `i`, at `offset` of its line. */
void fl_place_lay(struct fl_torture_place *, unsigned char *room, size_t i,
		  enum fl_placing, unsigned offset);

/* Store so that other cores may see it late: at this core's next synchronisation. */
void fl_store_lazily(uint32_t *, uint32_t);

/* ---- the rig (torture-rig.c) -------------------------------------------------- */

enum {
	FL_RIG_EXECUTORS = 4, FL_RIG_PATCHERS = 4, FL_RIG_PLACES = 4096
};

/* The memory that outlives the child. Each thread has a tally in a line of its own. */
struct fl_ledger {
	int error;			/* the test could not be run */
	uint8_t done, skipped;
	uint32_t noted;			/* atomic: the note is taken */
	char note[FL_TORTURE_NOTE];	/* the first fault */
	_Alignas(64) struct fl_tally shared;	/* by fl_tally_merge() only */
	_Alignas(64) struct fl_rig_tally {
		_Alignas(64) struct fl_tally t;
	} executors[FL_RIG_EXECUTORS], patchers[FL_RIG_PATCHERS];
};

struct fl_worker;
enum fl_rig_cpus { FL_CPUS_ANY, FL_CPUS_APART };	/* APART: executors from patchers */
struct fl_rig {
	struct fl_ledger *ledger;
	uint64_t end_ns;
	unsigned n_executors, n_patchers;	/* constant */
	enum fl_rig_cpus cpus;
	unsigned char *room;
	size_t room_bytes;
	struct fl_torture_place *places;
	size_t n;
	/* The places that executors run: first place << 32 | number; W the patcher. */
	uint64_t current[FL_RIG_PATCHERS];
	/* What an executor does again and again; at first, to run the current places. */
	void (*execute)(struct fl_worker *);
	uint32_t stop;
};

/* The tests. A test is given a rig without places, and returns when the rig's time is over. */
typedef void fl_torture_fn(struct fl_rig *);
fl_torture_fn fl_torture_sync, fl_torture_flip, fl_torture_body;
fl_torture_fn fl_torture_word, fl_torture_line, fl_torture_wide;
fl_torture_fn fl_torture_set, fl_torture_async, fl_torture_contest;
fl_torture_fn fl_torture_signals, fl_torture_threads, fl_torture_fork;

/* Lay `n` places: shapes of the mask `shapes` in turn, at all offsets, except places that
 * flick refuses. There are fewer if there is no room for more. */
void fl_rig_lay(struct fl_rig *, size_t n, unsigned int shapes);
/* Lay a place of each shape and offset, and keep the places of one tactic. */
void fl_rig_lay_tactic(struct fl_rig *, enum fl_tactic);
/* Release all places; every byte must be as it was. */
void fl_rig_release(struct fl_rig *);

/* Run executors, and patch(worker) in `n_patchers` threads, until all patchers
 * have returned. */
struct fl_worker {
	struct fl_rig *rig;
	unsigned i;			/* which patcher */
	size_t first, n;		/* its share of the places */
	struct fl_tally *tally;
	uint64_t seed;
	pthread_t thread;
	void *(*run)(void *);
};
void fl_rig_run(struct fl_rig *, void (*patch)(struct fl_worker *));
/* Is the test over? Not before its time, nor before old and new have been seen, unless that
 * takes too long. */
bool fl_rig_is_over(const struct fl_rig *);
/* Executors run `n` places from `first` on from now on. */
void fl_rig_show(struct fl_worker *, size_t first, size_t n);

/* Call a place and judge what came back. */
void fl_place_run(struct fl_torture_place *, struct fl_tally *);
/* Say that the place is about to be switched: old and new are both right from now on. */
void fl_place_loosen(struct fl_torture_place *);
/* Say that all cores have been synchronised: only `state` is right from now on. */
void fl_place_settle(struct fl_torture_place *, enum flick_state);
/* Synchronise all cores, and settle `n` places as they stand. */
void fl_rig_settle(struct fl_torture_place *, size_t n);
/* Switch a place, or start to: an error counts as lost. True: there was no error. */
bool fl_place_switch(struct fl_worker *, struct fl_torture_place *, enum flick_state);
bool fl_place_start(struct fl_worker *, struct fl_torture_place *, enum flick_state);
/* Finish a switch, or wait until another thread that is at it has. */
void fl_place_finish(struct fl_worker *, struct fl_torture_place *);

/* Add a tally of a thread's own to one that many share. */
void fl_tally_merge(struct fl_tally *to, const struct fl_tally *from);
/* Keep the first fault's description. */
void fl_rig_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A number below `n`. */
uint64_t fl_any(uint64_t *seed, uint64_t n);

/* In the child: make the rig, run the test. */
void fl_rig_main(struct fl_ledger *, fl_torture_fn *, const char *sync, enum fl_rig_cpus,
		 unsigned ms);

#endif
