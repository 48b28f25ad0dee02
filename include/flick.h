/*
 * flick.h - switch probes in a running program on and off, fast.
 *
 * For a program that instruments itself. Its sites are what the compiler left:
 * -finstrument-functions, -fpatchable-function-entry=N or -fxray-instrument.
 *
 *	flick_open(&f, &opt)			become part of this process
 *	flick_stage(f, "libfoo*!parse_*", FLICK_ON)	as often as you like
 *	flick_stage_id(f, id, FLICK_OFF)
 *	flick_commit(f)				the whole set, as one step
 *	flick_on(f, id, handler, arg)		one probe, at once, from any thread
 *	flick_off(f, id)
 *	flick_drain(f, -1)			no handler of those runs any more
 *	flick_why(f, id, text, sizeof text)	why a probe cannot be switched
 *	flick_close(f)				every original byte is back
 *
 * Every call that can fail returns 0 (or a count) or a negative error: -errno,
 * or one of enum flick_err; flick_error() has a sentence for it. A call that
 * fails has changed nothing. Nothing here may be called from a probe handler
 * unless its comment says so.
 *
 * Paper 1 (Chamith et al., PLDI 2016, Figure 3) has the same calls under other
 * names: register_callback and ProbeMetaData are flick_opt.discovered and
 * struct flick_probe, activate is flick_on, deactivate is flick_off.
 */
#ifndef FLICK_H
#define FLICK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

#define FLICK_VERSION_MAJOR 0
#define FLICK_VERSION_MINOR 1

typedef struct flick flick;		/* opaque; one per process */

enum flick_err {
#define FLICK_ERR(name, value, text) FLICK_E_##name = value,
#include "flick/errors.def"
#undef FLICK_ERR
	FLICK_E_NONE = 0
};

enum flick_state { FLICK_OFF, FLICK_ON };

enum flick_kind { FLICK_ENTRY, FLICK_EXIT, FLICK_TAIL, FLICK_CALLSITE };

/* What is known of a probe. Strings live until flick_close(). */
struct flick_probe {
	size_t size;			/* of this struct, as the library has it */
	uint32_t id;			/* dense, from 0 */
	enum flick_kind kind;
	const void *site;		/* address of the site */
	const void *function;		/* whose body the site belongs to */
	const char *module;		/* path of the file, "" when unknown */
	const char *name;		/* of the function, mangled; "" when unknown */
	int refusal;			/* 0, or why it can never be switched on */
};

/* Runs at the probe, in the thread that met it, on its stack. It may call
 * flick_on() and flick_off(). It should not be instrumented itself, must not
 * throw or longjmp out, and owes the program what a signal handler owes it:
 * the thread may stand anywhere in its own code. `arg` is what flick_on() was
 * given. */
typedef void flick_handler(uint32_t id, void *arg);

struct flick_opt {
	size_t size;			/* sizeof(struct flick_opt): lets it grow */
	uint32_t flags;			/* none yet; unknown bits are refused */
	uint32_t max_probes;		/* 0: 262,144 */
	/* Called once for every probe: during flick_open(), at a later dlopen()
	 * and at the first call of a site no scan had found; NULL: not called.
	 * One call at a time, in a thread that has found some, and with no lock of
	 * flick's: it may call what is thread-safe here. */
	void (*discovered)(const struct flick_probe *, void *arg);
	void *arg;
};

/* Find every site and make it switchable; every probe is off. `opt` may be
 * NULL. Fails with FLICK_E_OPEN when open, FLICK_E_OPTION, FLICK_E_NOSYNC, FLICK_E_FULL,
 * -ENOMEM. Blocks while it scans. Not thread-safe, not signal-safe.
 * Beside `flick record` the same: neither sees what the other one switches. There are as
 * many probes as the recorder has room for, and flick_on() and flick_off() wait for who
 * switches just now. FLICK_E_RECORDED where the recorder works by another libflick
 * than this one (libflick.a), or has ended. */
int flick_open(flick **f, const struct flick_opt *opt);

/* Put every original byte back; beside a recorder, which keeps them, all are off. Other
 * threads may run through every site meanwhile. NULL is allowed. Not thread-safe against
 * any other call. */
void flick_close(flick *f);

/* How many probes there are; ids are below. Thread-safe, signal-safe. */
uint32_t flick_count(const flick *f);

/* What is known of probe `id`. Set out->size first. FLICK_E_NOPROBE,
 * FLICK_E_OPTION. Thread-safe. */
int flick_describe(const flick *f, uint32_t id, struct flick_probe *out);

/* What staged probes that are switched on without flick_on() run. Default: a
 * counter, see flick_hits(). Thread-safe. */
int flick_handle(flick *f, uint32_t id, flick_handler *handler, void *arg);

/* Stage every probe whose function matches `pattern` for `to`; pattern is
 * [MODULE!]FUNCTION with globs, or MODULE!0xOFFSET. Returns how many matched;
 * FLICK_E_PATTERN, FLICK_E_NOMATCH. Refused probes are counted and keep their
 * reason. flick_stage_id returns 0. Thread-safe. */
int flick_stage(flick *f, const char *pattern, enum flick_state to);
int flick_stage_id(flick *f, uint32_t id, enum flick_state to);

/* Switch the staged set. When it returns, every thread runs the new state at
 * every site of the set. Where probes of it have handlers these go from all that was to all
 * that is to be in one step: no thread calls one as it was behind one as it is to be; but not
 * while a dlclose() is unmapping modules. Returns how many were switched. Blocks for up to
 * three synchronisations of all cores, and for no dlclose(), see flick_on(). Thread-safe. */
int flick_commit(flick *f);
/* Forget what is staged. */
void flick_abort(flick *f);

/* Switch probe `id` on with `handler` (NULL: as it is), or off. One store to
 * code: other cores follow in bounded time, unsynchronised. FLICK_E_NOPROBE,
 * FLICK_E_REFUSED, FLICK_E_GONE, -ENOMEM. Waits for nobody: while a dlclose() is
 * unmapping modules it is noted, and done at the end of that, and flick_commit()'s
 * switches likewise. Thread-safe; may be called from a handler. A changed
 * handler is changed data: a thread already past the site still calls the old
 * one, with the old argument; flick_drain() waits for it. */
int flick_on(flick *f, uint32_t id, flick_handler *handler, void *arg);
int flick_off(flick *f, uint32_t id);

/* Wait until no thread runs a handler that is called no more: each probe that had it was
 * switched off before, or given another handler or `arg`. Then what the handler needs may go:
 * its `arg`, or by dlclose() its code. Waits `wait_ms` milliseconds at most; negative: until
 * those handlers have returned, and so holds no lock that they take. Other handlers may run
 * all the time. 0; -ETIMEDOUT, when one still runs; -EDEADLK, from a handler. Thread-safe. */
int flick_drain(flick *f, int wait_ms);

/* How often a probe without a handler was met while on, over all threads.
 * Exact once the threads that meet it have stopped. Thread-safe. */
uint64_t flick_hits(const flick *f, uint32_t id);

/* Write into `text` why probe `id` cannot be switched; "" when it can. Returns
 * the error. Thread-safe. */
int flick_why(const flick *f, uint32_t id, char *text, size_t n);

/* The sentence for any error of this library; never NULL. Thread-safe. */
const char *flick_error(int err);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
