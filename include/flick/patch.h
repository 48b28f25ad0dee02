/*
 * flick/patch.h - change instructions of a running program.
 *
 * For JIT compilers, tracers and live updaters that know their own code. Other
 * threads may run through every place meanwhile: each of them executes the old
 * instruction or the new one, whole, and none of them is stopped.
 *
 *	flick_patch_open(NULL)			choose a way to synchronise cores
 *	flick_text_writable(f, n)		pages that hold the places
 *
 *	flick_call_init(&c, at, target, 0)	a call that can be switched
 *	flick_call_on(&c); flick_call_off(&c);
 *
 *	flick_patch_init(&p, at, new, n)	any instruction, any other
 *	flick_patch_switch(&p, FLICK_ON);	and back: FLICK_OFF
 *	flick_patch_start(&p, FLICK_ON);	the same, without waiting
 *	while (flick_patch_finish(&p) == -EAGAIN) ...
 *	flick_patch_commit(changes, n, &bad)	many, all or none
 *
 *	flick_patch_release(&p)			the bytes of before
 *
 * HOW A CHANGE IS MADE is chosen when the place is taken, see
 * flick_patch_tactic(): `flip` stores one byte, `word` bytes of one aligned
 * 8-byte word, `line` bytes of one cache line where `flick calibrate` has seen
 * that this machine fetches such a store whole, and `wide` anything else, in
 * three phases with a synchronisation of all cores between them. The first
 * three are one store and never wait. Meanwhile threads pass a wide place of
 * which one instruction is a NOP, and wait at any other, whatever signals they
 * block. Whatever the tactic, other cores follow the last store in bounded time;
 * flick_patch_barrier() waits for that.
 *
 * WHAT THE CALLER OWES (paper 1 section 4; what can be checked is):
 *	- the pages are writable: FLICK_E_READONLY
 *	- old and new are one instruction each, of equal length: FLICK_E_INSN
 *	- no other patch or probe has any of these bytes: FLICK_E_OVERLAP
 *	- nothing jumps into the middle of the place	(not checked)
 *	- nobody else writes there: FLICK_E_CHANGED, where one store is not enough
 *
 * Every call that can fail returns 0 or a negative error: -errno, or one of
 * enum flick_err; flick_error() has a sentence for it. A call that fails has
 * changed nothing.
 *
 * THREADS Any number of threads may patch disjoint places at once. Of several
 * that switch the same place at the same time exactly one wins; the others
 * get FLICK_E_BUSY and may try again. A switch of one store may be called from
 * a signal handler; everything else may not, nor from a probe's handler.
 *
 * Paper 1 (Chamith et al., PLDI 2016, Figure 3) has these calls under other
 * names: patch is flick_patch, or flick_patch_switch for a place that is kept;
 * start_patch and finish_patch are flick_patch_start and flick_patch_finish;
 * activate_call and deactivate_call are flick_call_on and flick_call_off.
 */
#ifndef FLICK_PATCH_H
#define FLICK_PATCH_H

#include "flick.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

#define FLICK_PATCH_MAX 15		/* bytes of the longest instruction */

/* One place. The caller's memory, zeroed or not; it stays where it is from
 * init to release. Its content is flick's. */
struct flick_patch {
	uint64_t opaque[24];
};

/* Choose how cores are synchronised: NULL for the best that works here, or
 * "membarrier", "signal", "stop", "wait" (`flick doctor` lists them). The
 * environment's FLICK_SYNC overrides NULL. A second call may repeat the choice
 * or give NULL; FLICK_E_OPTION for another or an unknown one. FLICK_E_NOSYNC
 * when nothing works, FLICK_E_UNCALIBRATED or FLICK_E_OTHERCPU for "wait"
 * without a calibration of this machine. flick_open() calls it with NULL. */
int flick_patch_open(const char *sync);
/* The name of the choice; "none" before. */
const char *flick_patch_sync(void);

/* Make the pages of [at, at + n) ready for patches; put them back as they were.
 * They become writable, or, where the environment's FLICK_TEXT is "alias" or the
 * system allows no more, get a second mapping that is. -errno; -EFAULT where
 * nothing is mapped; FLICK_E_NOWRITE. Not needed for memory that is writable
 * already. Thread-safe. */
int flick_text_writable(const void *at, size_t n);
int flick_text_restore(const void *at, size_t n);

/* Take the place at `at`: FLICK_OFF is the instruction that stands there,
 * FLICK_ON the `n` bytes at `on`. Nothing is written yet. FLICK_E_INSN,
 * FLICK_E_OVERLAP (also when the struct is taken already), FLICK_E_READONLY,
 * FLICK_E_UNOPENED before flick_patch_open(), FLICK_E_STRADDLE where threads can
 * neither be led past it nor held, FLICK_E_SIGBLOCK where they must be held and
 * cores are synchronised by signals. Thread-safe. */
int flick_patch_init(struct flick_patch *, void *at, const void *on, size_t n);

enum {
	/* The processor's flags are dead at `at`, as at any call and at a
	 * function's first instruction: the call can be switched by one byte. */
	FLICK_FLAGS_DEAD = 1
};
/* Take the direct call, or the NOP of five bytes or more, at `at` for a call to
 * `target`, which must lie within 2 GB (FLICK_E_NOREACH). A call stays on, a
 * NOP off; a call elsewhere goes to `target` from now on. At a call the flags
 * are known to be dead. Blocks for up to three synchronisations.
 * FLICK_E_UNKNOWN when neither a call nor a NOP stands there, FLICK_E_OPTION
 * for unknown flags, and what flick_patch_init() fails with. Thread-safe. */
int flick_call_init(struct flick_patch *, void *at, const void *target,
		    unsigned int flags);

/* Put back the bytes that stood there before init and give the place up;
 * blocks like a switch. FLICK_E_BUSY while another thread switches it. */
int flick_patch_release(struct flick_patch *);

/* Switch. FLICK_E_BUSY when another thread is at it (it will win), or when
 * flick_patch_start() has not been finished; 0 at once if it is in that state.
 * FLICK_E_CHANGED when somebody else has written there. `wide` blocks for two
 * synchronisations. */
int flick_patch_switch(struct flick_patch *, enum flick_state to);
static inline int flick_call_on(struct flick_patch *p)
{
	return flick_patch_switch(p, FLICK_ON);
}
static inline int flick_call_off(struct flick_patch *p)
{
	return flick_patch_switch(p, FLICK_OFF);
}

/* Begin a switch and return; finish moves it on. finish returns 0 when the last
 * byte is stored, as a switch does, and -EAGAIN when it must be called again.
 * Any thread may finish. Thousands may be under way at once: their
 * synchronisations are shared, two rounds over all of them cost two. Errors as
 * flick_patch_switch(), and -EINVAL for a place that is not taken. Where a
 * switch is one store, start makes it and finish has nothing left to do: such a
 * place may be switched again meanwhile. Where threads wait for it, start makes the whole
 * switch. finish never blocks where cores are synchronised by "wait"; otherwise it does for
 * at most one synchronisation. */
int flick_patch_start(struct flick_patch *, enum flick_state to);
int flick_patch_finish(struct flick_patch *);

/* Switch many, all or none: `bad` (may be NULL) is the index at fault. The
 * synchronisations are shared. No place may be in it twice (FLICK_E_BUSY). On
 * return every thread executes the new instruction at every place. */
struct flick_change {
	struct flick_patch *patch;
	enum flick_state to;
};
int flick_patch_commit(const struct flick_change *, size_t n, size_t *bad);

/* init, switch on and forget: the place keeps the new instruction. */
int flick_patch(void *at, const void *bytes, size_t n);

/* Every thread executes what has been stored before this call. */
void flick_patch_barrier(void);

enum flick_state flick_patch_state(const struct flick_patch *);
/* How it is switched: "flip", "word", "line" or "wide"; and why so, a sentence
 * for a user, cut to `n` bytes. Thread-safe. */
const char *flick_patch_tactic(const struct flick_patch *);
void flick_patch_why(const struct flick_patch *, char *text, size_t n);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
