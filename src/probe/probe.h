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
/* Put every original byte back. Glue stays mapped, because a thread may stand in it. */
void fl_probes_close(void);

/* Take in the sites of modules that were not seen before, and forget modules that are gone.
 * `now` is taken over. *from is the lowest id that now awaits its arming. Returns how many
 * sites are new; FLE_FULL: the table had no room for all, and has those that fitted; -EAGAIN:
 * another thread has begun to unload modules since `now` was listed (never with LOADING).
 * The caller holds no lock but the negotiation's. */
int fl_probes_discover(struct fl_modules *now, enum fl_moment, uint32_t *from);
/* List the modules of this process, at a moment at which none is being unloaded by
 * another thread. No lock is held. 0 or -ENOMEM. */
int fl_probes_list(struct fl_modules *now);
/* The loader does not say when modules come and go. */
void fl_probes_unheard(void);
/* Did commit() leave probes unarmed because modules were being unloaded? */
bool fl_probes_await_arming(void);
/* What is known of the profiling call that returns to `ret`: the id of its probe;
 * FLE_NOPROBE: it has no site; FLE_FULL: there is no room for its probe; -ENOENT: nobody has
 * decided yet. Takes no lock. */
int fl_probe_met(uintptr_t ret);
/* Take in the site of a profiling call that was met, `room` bytes long, or find the one that a
 * scan took in. Its id, FLE_NOPROBE or FLE_FULL: fl_probe_met() says the same from now on. */
int fl_probe_add(const struct fl_site *, bool *is_new);
/* The call that returns to `ret` has no site. */
void fl_probe_no_site(uintptr_t ret);
/* Called at a site that asks, for calls of another function than the site's own. */
extern void (*fl_probe_other)(uintptr_t function, enum fl_kind, uint8_t form, uint32_t sp)
	__attribute__((visibility("hidden")));	/* W once, before the first */
/* A probe without a site: its events come through the profiling functions
 * themselves, by a call (FL_FORM_NONE) or a jump (FL_FORM_JUMP). Returns the id for this
 * function, kind and form, made when new, or an error. */
int fl_probe_virtual(uintptr_t function, enum fl_kind, uint8_t form, bool *is_new);
/* The same, but nothing is made: it answers as fl_probe_met(). Takes no lock. */
int fl_probe_virtual_ready(uintptr_t function, enum fl_kind, uint8_t form);
/* Do what probe `id` does, if it is on: for calls that pass no glue. */
void fl_probe_hit(uint32_t id, uint32_t sp);
/* The same for a call of `function`, which may be another than the probe's. The glue of sites
 * that fl_probe_add() took in calls this function as well. */
void fl_probe_ask(uint32_t id, uintptr_t function, uint32_t sp)
	__attribute__((visibility("hidden")));
uint32_t fl_probes_count(void);

/* Arm the probes in [from, n) as one set and switch on those that are wanted.
 * One that cannot be armed keeps its refusal. Returns how many are on. With RUNNING, while
 * modules are being unloaded, nothing is armed and the arming is left for later. */
int fl_probes_commit(uint32_t from, enum fl_moment);

/* The routine that a glue goes to for an action (routine.c). ABI: the site is an ordinary call
 * and scratch registers are free; BARE: every register is live but one; ASK: as ABI for calls
 * whose first argument is fl_asked[id], other calls go to fl_probe_ask(); BODY: every register
 * is live, and no function of the program's own is called. */
enum fl_convention { FL_ABI, FL_BARE, FL_ASK, FL_BODY, FL_N_CONVENTIONS };
uintptr_t fl_probe_routine(enum fl_action, enum fl_convention);
/* Where a body that tells by itself goes when it has no room. */
void fl_probe_room(void) FL_HIDDEN;
/* What probe `id` does when it is on. 0 or FLE_NOPROBE. Thread-safe. */
int fl_probe_action(uint32_t id, enum fl_action);
/* The function FL_ACT_CALL calls: data, never code. 0, FLE_NOPROBE, -ENOMEM. */
int fl_probe_handler(uint32_t id, void (*call)(uint32_t, void *), void *arg);
/* Wait until no handler runs any more that was switched off or unbound before this call: for
 * at most wait_ms; negative: as long as it takes. Bindings that nobody can come to are used
 * again. 0, -ETIMEDOUT, or -EDEADLK: the caller is a handler. */
int fl_handlers_drain(int wait_ms);
/* Switch one armed probe, from any thread or handler. 0, FLE_NOPROBE,
 * FLE_REFUSED or FLE_GONE. While modules are being unloaded the switch is noted, and made
 * when that has ended. Waits for nobody. */
int fl_probe_switch(uint32_t id, int state);
/* Switch each armed probe id < n to goal[id], FL_OFF or FL_ON (0: leave it), as
 * one set: on return every thread runs the new state. Returns how many were switched. */
int fl_probes_switch_set(const uint8_t *goal, uint32_t n);
bool fl_probe_is_on(uint32_t id);
/* The recorder wants other probes from now on: staged[id] says for each id < n what is to
 * become of it, enum fl_stage. Either all of it is done, or nothing: then `box->error` says
 * why, and the probes that stand against it have their refusals. -EAGAIN: not while modules
 * are being unloaded. The caller has the negotiation's lock, and is no thread that meets
 * probes. */
int fl_probes_change(const uint8_t *staged, uint32_t n, struct fl_change_box *box);
/* Why a switch of `id` fails: its refusal and the number that explains it. */
int fl_probe_refusal(uint32_t id, uint64_t *datum);

/* Bracket a time in which the calling thread may unmap modules: no text is written.
 * No lock is held meanwhile. Thaw asks which modules are still there, and forgets the others;
 * false: this thread was unloading none. */
void fl_probes_freeze(void);
bool fl_probes_thaw(void (*each_loaded)(void (*see)(uintptr_t bias)));

/* The builder of second bodies (copy/), for sites of FL_FORM_BODY and the like. Its functions
 * are called in this order: begin; point for each point of a module; want, and then place, for
 * each wanted site of it; end. The caller has the table's lock. */
struct fl_builder {
	/* Bodies of the module that is mapped at [lo, hi) are wanted; `row` is its row. */
	void (*begin)(uintptr_t lo, uintptr_t hi, uint32_t row);
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
	/* The module of that row is mapped again: are its functions those that bodies were
	 * built of? */
	bool (*hold)(const struct fl_module *, uint32_t row);
	/* Were bodies built of the module that is mapped at `at` now? False: no, or unknown. */
	bool (*again)(uintptr_t at);
	/* A jump before an entry is going to stand there: 0 or -ENOSPC. */
	int (*before)(uintptr_t at);
	/* The module with that jump is gone. */
	void (*forget)(uintptr_t at);
	/* There is glue in [lo, hi) from now on, for good. `keeps`, always the same: does the
	 * glue of the probe put the registers on the stack that it loads? Any thread. */
	void (*glue)(uintptr_t lo, uintptr_t hi, bool (*keeps)(uint32_t id));
};
extern const struct fl_builder *fl_probe_builder;	/* NULL: none. W before a scan */

/* What a body that tells paths hands to the routine that it calls aside (path.c). */
struct fl_path_tell {			/* PATHS of the port knows this layout */
	int32_t height;			/* of the way back above the stack pointer; with 1 added
					 * above the frame pointer; or of the sum's home */
	uint32_t add, set;		/* to the sum; what it begins with anew */
	uint32_t probe;			/* of the function's entry, and FLICK_TYPE_PATH */
	uint32_t cell;			/* of path 0 of its function */
	uint32_t n;			/* sums of its function are below this */
};
uintptr_t fl_path_routine(enum fl_path_what);
/* Where a thread has its frames, counted from the thread pointer. */
intptr_t fl_path_at_thread(void);

/* Where the cells of a function's paths begin (channel/cells.c). Few functions share a
 * beginning, and all cells of a small function lie in some lines of the cache. */
static inline uint32_t fl_path_cell(uintptr_t function)
{
	return (uint32_t)(function >> 2) * 0x9e3779b1u >> 15 & (FL_PATH_CELLS - 1);
}

/* Windows (`record --rate`). begin(): what is wanted is on from now on, as at the program's
 * start. turn() is for flick's own thread: it switches what is due and says in how many
 * microseconds to call it again. */
void fl_windows_begin(void);
uint64_t fl_windows_turn(void);
/* The same for sampling: switch what is due, and say when to call this again. */
uint64_t fl_sample_turn(void);
/* No thread runs in this memory any more: tell the reader what is still open. */
void fl_sample_end(void);
/* One call in `gap` is timed of probe `id`'s function, until that proves to be too many. */
void fl_sample_space(uint32_t id, uint32_t gap);
/* yield: the program is about to get the right to write [lo, hi); unyield: it has lost it. In
 * between pads and sleds there have their old bytes. Not from a handler of SIGTRAP. */
void fl_probes_yield(uintptr_t lo, uintptr_t hi);
void fl_probes_unyield(uintptr_t lo, uintptr_t hi);
/* retire: the reader has gone. Every probe goes off, entries of bodies get their old bytes, and
 * text is no longer writable. end_first: the reader has gone, and the program has a session of
 * its own: probes go off for the reader alone. */
void fl_probes_retire(void);
/* What retire left armed gets its old bytes, too: 0, or why not all. */
int fl_probes_give_back(void);
void fl_probes_end_first(void);
/* The program's own session beside a recorder's (second.c). open: from here on all probes can
 * be switched, and fl_probe_switch(), fl_probes_switch_set() and fl_probe_handler() are for
 * this session. close: all probes are off for it. hits: calls of a probe that has no handler.
 * 0, -ENOMEM, FLE_RECORDED: the recorder has gone, or -EAGAIN: modules are being unloaded. */
int fl_second_open(void);
void fl_second_close(void);
uint64_t fl_second_hits(uint32_t id);
/* A second recorder's session beside the first one's (joint.c), which does `action`. want: of
 * probes [from, n) those that it wants, by rows[].wanted, are armed and on for it. change: as
 * fl_probes_change(), for that session alone. close: it wants no probe. */
int fl_joint_open(enum fl_action action);
void fl_joint_show(uint32_t from);	/* to its reader, all from there on */
void fl_joint_want(const struct fl_shm_site *rows, uint32_t n, uint32_t from, enum fl_moment);
int fl_joint_change(const uint8_t *staged, uint32_t n, struct fl_change_box *box);
void fl_joint_close(void);
/* Where probe `id` is in this process. NULL: it is another process's, an earlier image's, or
 * in a second body, which only a recorder may have. */
const struct fl_shm_site *fl_probe_site(uint32_t id);
/* Around a fork whose child is to have the probes: nothing half done is copied. hold: false
 * when another thread keeps the lock for long. take_over, in the child: 0, or -errno when it
 * has no text of its own. Around any other fork: settle waits, not for long, for a moment at
 * which nothing changes; leave, in the child: all probes go off, or stay as they are where the
 * child cannot tell what is half done. */
bool fl_probes_hold(uint64_t *signals);
void fl_probes_release(const uint64_t *signals);
/* Around either: keep waits until no module is being unloaded, and forbids that up to let,
 * for a short time. False: one is unloaded for long, or by the calling thread. */
bool fl_probes_keep_modules(uint64_t patience_us);
void fl_probes_let_modules(void);
int fl_probes_take_over(void);
void fl_probes_settle(void);
void fl_probes_leave(void);

#endif
