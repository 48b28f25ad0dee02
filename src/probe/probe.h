/* probe.h - step 3 of 7: what runs at a site, and when. next: channel.h */
#ifndef FL_PROBE_H
#define FL_PROBE_H

#include "base/base.h"
#include "channel/channel.h"
#include "site/site.h"

/* When sites are taken in. LOADING: the loader has mapped a module, has not
 * relocated it yet, and no thread can run its code. MET: at a call, in code that
 * runs. */
enum fl_moment { FL_RUNNING, FL_LOADING, FL_MET };

/* Set up the table over the site table of `m`. 0 or an error. Not thread-safe. */
int fl_probes_open(struct fl_region *m);
/* Every original byte back; glue stays mapped, a thread may stand in it. */
void fl_probes_close(void);

/* Take in the sites of modules that were not seen before, forget modules that
 * are gone; *from is the lowest id that now awaits its arming. How many sites
 * are new; FLE_FULL when the table had no room for all, and then those it had
 * room for are there. */
/* ... -EAGAIN when others have begun to unload modules since they were listed, but
 * for LOADING. `now` is taken over. No lock but the negotiation's is held. */
int fl_probes_discover(struct fl_modules *now, enum fl_moment, uint32_t *from);
/* List the modules of this process, at a moment at which none is being unloaded by
 * another thread. No lock is held. 0 or -ENOMEM. */
int fl_probes_list(struct fl_modules *now);
/* The loader does not say when modules come and go. */
void fl_probes_unheard(void);
/* Is there something that commit() left alone, as modules were being unloaded? */
bool fl_probes_await_arming(void);
/* What the profiling call that returns to `ret` is: the id of a probe; FLE_NOPROBE,
 * of no site; FLE_FULL, there is no room for it; -ENOENT, nobody has decided yet.
 * Takes no lock. */
int fl_probe_met(uintptr_t ret);
/* Take in the site of a profiling call that was met, `room` bytes long; or find that
 * a scan has. Its id, FLE_NOPROBE or FLE_FULL: what the one above will say. */
int fl_probe_add(const struct fl_site *, bool *is_new);
/* The call that returns to `ret` has no site. */
void fl_probe_no_site(uintptr_t ret);
/* Gets the calls of a site that asks which are of another function than its own. */
extern void (*fl_probe_other)(uintptr_t function, enum fl_kind, uint8_t form, uint32_t sp)
	__attribute__((visibility("hidden")));	/* W once, before the first */
/* A probe without a site: its events come through the profiling functions
 * themselves, by a call (FL_FORM_NONE) or a jump (FL_FORM_JUMP). The id of all
 * three, made when new, or an error. */
int fl_probe_virtual(uintptr_t function, enum fl_kind, uint8_t form, bool *is_new);
/* The same for one that has been decided about, as fl_probe_met(). Takes no lock. */
int fl_probe_virtual_ready(uintptr_t function, enum fl_kind, uint8_t form);
/* Do what probe `id` does, when it is on: for calls that no glue saw. */
void fl_probe_hit(uint32_t id, uint32_t sp);
/* The same for a call of `function`, which may be another than the probe's: also
 * called by the glue of what fl_probe_add() took in. */
void fl_probe_ask(uint32_t id, uintptr_t function, uint32_t sp)
	__attribute__((visibility("hidden")));
uint32_t fl_probes_count(void);

/* Arm the probes in [from, n) as one set and switch on those that are wanted.
 * One that cannot be armed keeps its refusal. How many are on. RUNNING: none, and for
 * later, while modules are being unloaded. */
int fl_probes_commit(uint32_t from, enum fl_moment);

/* Where a glue goes for an action (routine.c). ABI: the site is an ordinary call and
 * scratch registers are free; BARE: every register is live but one; ASK: as ABI, for calls
 * whose first argument is fl_asked[id], the others go to fl_probe_ask(); BODY: every
 * register is live, and no function of the program's own is called. */
enum fl_convention { FL_ABI, FL_BARE, FL_ASK, FL_BODY, FL_N_CONVENTIONS };
uintptr_t fl_probe_routine(enum fl_action, enum fl_convention);
/* Where what tells by itself goes when it has no room. */
void fl_probe_room(void) FL_HIDDEN;
/* What probe `id` does when it is on. 0 or FLE_NOPROBE. Thread-safe. */
int fl_probe_action(uint32_t id, enum fl_action);
/* The function FL_ACT_CALL calls: data, never code. 0, FLE_NOPROBE, -ENOMEM. */
int fl_probe_handler(uint32_t id, void (*call)(uint32_t, void *), void *arg);
/* Wait until no handler runs that was switched off, or bound no more, before: so long at most,
 * or negative, as long as it takes. What nobody can come to is used again. 0, -ETIMEDOUT;
 * -EDEADLK: a handler calls. */
int fl_handlers_drain(int wait_ms);
/* Switch one armed probe, from any thread or handler. 0, FLE_NOPROBE,
 * FLE_REFUSED or FLE_GONE. While modules are being unloaded it is noted, and done
 * when they are. Waits for nobody. */
int fl_probe_switch(uint32_t id, int state);
/* Switch each armed probe id < n to goal[id], FL_OFF or FL_ON (0: leave it), as
 * one set: on return every thread runs the new state. How many were. */
int fl_probes_switch_set(const uint8_t *goal, uint32_t n);
bool fl_probe_is_on(uint32_t id);
/* The recorder wants other probes from now on: staged[id] says of each id < n what is to
 * become of it, enum fl_stage. All of it is done or, where `box->error` says why, nothing;
 * those that stand against it have their refusals. -EAGAIN: not while modules are being
 * unloaded. The caller has the negotiation's lock, and is no thread that meets probes. */
int fl_probes_change(const uint8_t *staged, uint32_t n, struct fl_change_box *box);
/* Why a switch of `id` fails: its refusal and the number that explains it. */
int fl_probe_refusal(uint32_t id, uint64_t *datum);

/* Bracket a time in which the calling thread may unmap modules: no text is written.
 * No lock is held meanwhile. Thaw asks which are still there. */
void fl_probes_freeze(void);
void fl_probes_thaw(void (*each_loaded)(void (*see)(uintptr_t bias)));

/* Who builds second bodies (copy/), for sites of FL_FORM_BODY and the like: in the order
 * begin, point for each point of a module, want and then place for each wanted site of it,
 * end. All with the table's lock. */
struct fl_builder {
	/* Bodies of the module that is mapped at [lo, hi) are wanted. */
	void (*begin)(uintptr_t lo, uintptr_t hi);
	/* The glue that they call, from here on, is in [lo, hi); 0, 0: it may be anywhere. */
	void (*lead)(uintptr_t lo, uintptr_t hi);
	/* An instruction at which there may be a probe; ascending. */
	void (*point)(uintptr_t at);
	/* The body of `function` is asked for later, in this order. */
	void (*want)(uintptr_t function);
	/* Build the body of `function`, if there is none, for its site at `at`. Its glue is at
	 * in->glue; the rest of *in is filled in: its bytes can be read. 0 or a refusal. */
	int (*place)(uintptr_t function, uintptr_t at, enum fl_kind, struct fl_plan_in *in,
		     uint64_t *datum);
	/* What was built can be executed. 0 or an error. */
	int (*end)(void);
	/* Bodies tell nothing by themselves any more. */
	void (*hush)(void);
	/* Are the functions of the module, which is back, those that bodies were built of? */
	bool (*hold)(const struct fl_module *);
	/* Of the module that is mapped at `at` now? Nobody's are no module's. */
	bool (*again)(uintptr_t at);
	/* A jump before an entry is going to stand there: 0 or -ENOSPC. Its module is gone. */
	int (*before)(uintptr_t at);
	void (*forget)(uintptr_t at);
};
extern const struct fl_builder *fl_probe_builder;	/* NULL: none. W before a scan */

/* What a body calls that tells paths, by arch's aside, and what it is told: path.c. */
struct fl_path_tell {			/* PATHS of the port knows this layout */
	int32_t height;			/* of the way back above the stack pointer; or, and 1,
					 * above the frame pointer; or of the sum's home */
	uint32_t add, set;		/* to the sum; what it begins with anew */
	uint32_t probe;			/* of the function's entry, and FLICK_TYPE_PATH */
	uint32_t cell;			/* its function's path 0's */
	uint32_t n;			/* paths that this has */
};
uintptr_t fl_path_routine(enum fl_path_what);
/* Where a thread has its frames, from the thread pointer on. */
intptr_t fl_path_at_thread(void);

/* Where the cells of a function's paths begin (channel/cells.c): few functions' begin
 * together, and small functions have all of theirs in some lines of the cache. */
static inline uint32_t fl_path_cell(uintptr_t function)
{
	return (uint32_t)(function >> 2) * 0x9e3779b1u >> 15 & (FL_PATH_CELLS - 1);
}

/* Windows (`record --rate`): what is wanted is on, as of the program's start,
 * from begin() on. turn() is for flick's own thread: it switches what is due and
 * says in how many microseconds to call it again. */
void fl_windows_begin(void);
uint64_t fl_windows_turn(void);
/* Sampling: what is due, and in how many microseconds to call it again; likewise. */
uint64_t fl_sample_turn(void);
/* Nobody runs in this memory any more. */
void fl_sample_end(void);
/* One call in `gap` is timed of each function, until that proves to be too many. */
void fl_sample_space(uint32_t id, uint32_t gap);
/* The program is about to have the right to write [lo, hi), or has it no more. Pads and
 * sleds there are as they were meanwhile. Not from a handler of SIGTRAP. */
void fl_probes_yield(uintptr_t lo, uintptr_t hi);
void fl_probes_unyield(uintptr_t lo, uintptr_t hi);
/* Every probe off, entries of bodies as they were, text no longer writable: the reader
 * has gone. end_first: off for it alone, as the program has a session of its own. */
void fl_probes_retire(void);
/* What retire left armed has its old bytes, too: 0, or why not all. */
int fl_probes_give_back(void);
void fl_probes_end_first(void);
/* The program's own session beside a recorder's (second.c): from here on all probes can be
 * switched, and fl_probe_switch(), fl_probes_switch_set() and fl_probe_handler() are for
 * it; close: all are off for it. hits: calls of a probe with no handler. 0, -ENOMEM,
 * FLE_RECORDED, the recorder has gone, or -EAGAIN: modules are being unloaded. */
int fl_second_open(void);
void fl_second_close(void);
uint64_t fl_second_hits(uint32_t id);
/* Another recorder's session beside it (joint.c), which does `action`. want: of probes
 * from `from` on and below n, what rows[].wanted is, which is armed, and on. change: as
 * fl_probes_change(), of that session alone. close: it wants none. */
int fl_joint_open(enum fl_action action);
void fl_joint_show(uint32_t from);	/* to its reader, all from there on */
void fl_joint_want(const struct fl_shm_site *rows, uint32_t n, uint32_t from, enum fl_moment);
int fl_joint_change(const uint8_t *staged, uint32_t n, struct fl_change_box *box);
void fl_joint_close(void);
/* Where probe `id` is in this process; NULL: it is another's, an earlier image's, or in a
 * second body, which the recorder alone has. */
const struct fl_shm_site *fl_probe_site(uint32_t id);
/* Around a fork whose child is to have the probes: nothing half done is copied. hold:
 * false when another thread does not let go for long. take_over: in the child, 0, or
 * -errno without text of its own. Around any other: settle waits for a moment at which
 * nothing changes, but not for long; leave: in the child, all off, or as they are where
 * that cannot be told. */
bool fl_probes_hold(uint64_t *signals);
void fl_probes_release(const uint64_t *signals);
/* Around it: no module is being unloaded, and none is while that is short. False: one
 * is, for long, or by the calling thread. */
bool fl_probes_keep_modules(uint64_t patience_us);
void fl_probes_let_modules(void);
int fl_probes_take_over(void);
void fl_probes_settle(void);
void fl_probes_leave(void);

#endif
