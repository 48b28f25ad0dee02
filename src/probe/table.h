/*
 * table.h - the probe table. Private to probe/.
 *
 * A probe has a number, its id. It is the number of its site's row in the region, too. What
 * is known of a probe stands in several arrays, at the place that its id says:
 *
 *	probes		how its events come, and what has become of it	of every probe
 *	sites		where it is: the row, as this process has it	of every probe
 *	next		another probe of the same function		of every probe
 *	patches		what its text may be (patch.h)			of those with glue
 *	switches	how it is switched, and who holds it off	of those switched
 *	goals		who wants it, and what it does (goal.h)		of those switched
 *
 * Probes of one function are a list: functions[].probes is the first, next[] leads on.
 *
 * Each array is mapped for as many probes as there may be. A page that nobody writes takes no
 * memory. Nobody wants most calls of a large program: for these only probes, sites and next
 * are written.
 *
 * Processes that record into one region (record --follow) share the numbers: the sites of a
 * file have the same ids in each process. What has become of a site, and where it is, differs
 * between them. So each process has an array of sites of its own, and writes into the region's
 * rows only those that it has brought itself. A probe of another process is FL_PROBE_OTHERS
 * here, and all of it is zero. A process that records alone has no second array: sites == rows.
 */
#ifndef FL_TABLE_H
#define FL_TABLE_H

#include "patch/patch.h"
#include "probe.h"

#define FL_NO_PROBE UINT32_MAX
enum { FL_GENERATIONS = 2 };

struct fl_probe {
	uintptr_t *go;			/* where its glue goes: W any, data */
	uint32_t function;		/* index into fl_functions */
	uint8_t form, room, before, bare;	/* of the site, for the plan */
	uint8_t state;			/* enum fl_probe_state; W fl_goal_move(), R any */
	uint8_t reached;		/* enum fl_reached; W with the table's lock */
	uint8_t is_shared;		/* it had calls of another function; W any, 1 */
	uint8_t asks;			/* calls may be of other functions as well */
	uint8_t carries;		/* points are in its body, where it leads for them */
	uint8_t does;			/* enum fl_glue_does; go[1] is the mask */
	uint32_t late;			/* of one met at a call: the one before in its list */
	fl_unit was;			/* of a muted one: the unit that makes it call again */
};

/* How its events come, once that is decided: by its glue; by the profiling functions, because
 * it has no site or can have no glue; or never, because it is a call that nobody wants, and it
 * is muted. */
enum fl_reached {
	FL_REACHED_UNKNOWN, FL_REACHED_BY_GLUE, FL_REACHED_BY_CALL, FL_REACHED_NEVER
};

/* What a switch needs of a probe, and no more: sets of many thousands run
 * through these, four to a line. */
struct fl_switch {
	uintptr_t at;			/* where a flip is stored */
	fl_unit byte[FL_N_STATES];	/* its values */
	uint8_t armed;			/* how it is switched; 0: it cannot be */
	uint8_t holds;			/* who holds it off: enum fl_hold (goal.h); W with the
					 * switches' lock */
	uint8_t is_deferred;		/* text is not as is wanted yet (switch.c) */
	uint8_t is_entry;		/* constant once it is armed, as `serves` is */
	uint8_t serves;			/* calls of other functions come by its text, too */
};
enum { FL_ARMED_FLIP = 1, FL_ARMED_WORD };	/* one byte; several: ask the patch */

struct fl_function {
	uintptr_t at;
	uint32_t probes;		/* first of its list */
	uint32_t begun;			/* timed calls of this round; atomic */
	uint32_t is_off;		/* 1: its entries count; R any */
	uint32_t is_quiet;		/* 1: and its exits are off; with the switches' lock */
	uint32_t is_fixed;		/* 1: an exit of it stood where its entry did; a hint */
	uint32_t gap, wait;		/* one call in `gap` is timed; the next `wait` are not;
					 * hints */
	uint64_t since, pace;		/* ticks: when the round began; from call to call in the
					 * last one, 0: it is not over. Hints */
	uint64_t last, usual;		/* `pace` of the last round that was over; if the one
					 * before was alike; 0: none. Hints */
	uint64_t owed;			/* what a timed call of it did not stand for; a hint */
	uint32_t stands;		/* calls that one timed in the last round stands for */
	uint64_t period;		/* its on-period's number, and in the low half how many
					 * timed calls of it are open; atomic */
	uint64_t gave_up;		/* ticks: when the last period with open calls ended */
	uint32_t next_off;		/* list of those that switched off, or are seldom */
	uint32_t is_seldom;		/* 1: on in windows alone, and on that list */
	uint32_t ahead;			/* calls before a round begins; a hint */
	uint32_t round, used;		/* blocks that were counted in a round; hints */
	uint32_t counts_alone;		/* 1: it is not timed; with the switches' lock */
	uint32_t next_switch;		/* list of those with look-ups; with the switches' lock,
					 * as has_switch, is_let, open_ns */
	uint8_t has_no_end;		/* 1: nothing tells when a call ends; constant */
	uint8_t has_switch, is_let;	/* on that list; its look-ups are off */
	uint64_t open_ns;		/* since when turns see a call open; 0: none is open */
	uint64_t let_go;		/* ticks: when its look-ups went off last; 0: never */
};

struct fl_table {
	struct fl_region *shm;
	struct fl_shm_session *session;	/* the owner's */
	struct fl_shm_site *sites;	/* as they are in this process */
	struct fl_shm_site *rows;	/* as the reader sees them; == sites if alone */
	struct fl_probe *probes;	/* max_sites, sparse; as all below */
	struct fl_patch *patches;	/* by probe id; constant once state != FOUND */
	struct fl_switch *switches;	/* by probe id */
	struct fl_goal *goals[FL_GENERATIONS];	/* by probe id: goal.h */
	struct fl_goal *in_force;	/* the generation of goals[] that is; W with the
					 * switches' lock, R any */
	uint32_t *next;			/* of the same function; FL_NO_PROBE ends */
	struct fl_function *functions;
	uint32_t *hash;			/* of functions; n_hash, a power of two */
	struct fl_known *known;
	uint32_t max;			/* of each array by probe id */
	uint32_t n, n_functions, n_known, max_known, n_hash, stamp;
	uint32_t n_ready;		/* functions up to this one have their pages */
	uint32_t live;			/* the first of known[] that is there */
	uint32_t virtuals;		/* the last one, as fl_known.late */
	uint32_t unarmed;		/* no lower id awaits its arming since a dlclose */
	struct fl_modules modules;	/* as of the last walk */
	bool has_bare;			/* some probe is bare */
	bool has_points;		/* there are some inside of functions */
	bool unheard;			/* modules come and go, and the loader does not say */
	uint8_t holds;			/* who holds all probes off, for good: enum fl_hold */
	uint8_t handles;		/* the bit of goals that handlers go by (set.c); 0: all
					 * are held off. W with the switches' lock, R any */
	bool between;			/* windows: none is open */
	bool is_staging;		/* what is armed is not wanted yet (change.c); W with
					 * both locks */
	/* The program switches probes beside the recorder: it does now; it has done so. The
	 * recorder has gone (second.c). W with both locks. */
	bool second, had_second, first_ended;
	/* The second session is, or was, another recorder's (joint.c). joint: what that one
	 * wants, by probe id, enum fl_wanted. W with both locks; is_joint: R any. */
	bool is_joint, had_joint;
	uint8_t *joint;
};
extern struct fl_table fl_table __attribute__((visibility("hidden")));

/* One thread at a time changes the table or writes text in bulk. Signals are blocked meanwhile,
 * so a handler never waits for its own thread. */
void fl_table_lock(uint64_t *signals);
bool fl_table_lock_within(uint64_t us, uint64_t *signals);
void fl_table_unlock(const uint64_t *signals);
/* In fork's child: was another thread changing the table, which may be half done? */
bool fl_table_is_cut(void);

/* Zeroed memory of which most is never touched, left out of core files; or NULL. */
void *fl_table_map(size_t bytes);
/* `n` of these, zeroed: what an earlier table had for `had` of them, if that is as much. */
void *fl_table_map_again(void *was, size_t had, size_t n, size_t each);
/* There was no room for something: the reader will say so. */
void fl_table_leave_out(enum fl_left);
/* Append a probe for `site`; NULL when the table is full. */
struct fl_probe *fl_table_append(const struct fl_site *, uint32_t module);
/* The state of a new probe: found, or refused. */
enum fl_probe_state fl_table_found(uint32_t id);
/* Fill row `id`, which is not this process's yet. */
struct fl_probe *fl_table_put(uint32_t id, const struct fl_site *, uint32_t module);
/* Around all that appends: no other process appends meanwhile, and what others have appended
 * is known. */
void fl_table_begin(void);
void fl_table_end(uint32_t from);
/* Show the reader what has become of sites [from, n). */
void fl_table_publish(uint32_t from);
/* Index of the function at `at`, made when new. */
uint32_t fl_table_function(uintptr_t at);

/* Probe `id` cannot be switched, and why. */
void fl_table_refuse(uint32_t id, int err, uint64_t datum);

/* Drop the probes of modules that were unloaded. Nothing is armed there after it. */
void fl_table_forget_gone(void (*each_loaded)(void (*see)(uintptr_t bias)));
/* May a block of a function's calls be counted? (fuse.c) */
bool fl_fuse_takes(struct fl_function *);
/* Is a window of seldom functions open just now (seldom.c)? Does it time their calls? W with
 * the switches' lock, R any: a hint. */
struct fl_seldom_window {
	bool is_open, is_timing;
};
extern struct fl_seldom_window fl_seldom_window;
/* Sampling begins in this image, with what the reader wishes. */
void fl_sample_open(void);
/* A block of probe `id` is counted. If no further block may be, its function goes off. */
void fl_sample_block(uint32_t id);
/* Called by the glue of sampled probes. hit: an entry whose call may be timed; after: where a
 * timed call of this thread is likely to end, or another call of its function to begin inside
 * it; inner: the same, further in. */
void fl_sample_hit(uint32_t id, uint32_t sp) __attribute__((visibility("hidden")));
void fl_sample_after(uint32_t id, uint32_t sp) __attribute__((visibility("hidden")));
void fl_sample_inner(uint32_t id, uint32_t sp) __attribute__((visibility("hidden")));

/* Timed calls that are open (frames.c). leave: at an entry, calls that were left without an
 * exit go. push: a call that came at its `tsc` begins now; false: there is no room.
 * take_out_since: a probe took the time since `tsc`, which counts for no open call. note: a
 * call begins that is not timed. find: which call ends at this exit? take: that call and all
 * above it go; false: a handler was quicker. forget: all go. */
void fl_frames_leave(struct fl_frames *, uint32_t entry, uint32_t sp);
bool fl_frames_push(struct fl_frames *, const struct fl_frame *);
void fl_frames_take_out_since(struct fl_frames *, uint64_t tsc);
void fl_frames_note(struct fl_frames *, uint32_t function, uint32_t sp);
bool fl_frames_find(struct fl_frames *, uint32_t exit, uint32_t sp, uint32_t *at);
bool fl_frames_take(struct fl_frames *, uint32_t at, struct fl_frame *);
void fl_frames_forget(struct fl_frames *);
/* For fl_channel_each_frames(). tell: the reader hears of those that are open. forget_dead: all
 * go, because their thread has gone. */
void fl_frames_tell(struct fl_frames *, int32_t tid);
void fl_frames_forget_dead(struct fl_frames *, int32_t tid);
/* lost: a frame is given up. is_stale: is a frame of an older period? (sample.c) */
void fl_sample_lost(const struct fl_frame *);
bool fl_sample_is_stale(const struct fl_frame *);

/* Called by the glue of probes that do FL_ACT_STAGED (change.c). */
void fl_change_hit(uint32_t id, uint32_t sp) __attribute__((visibility("hidden")));

/* Open or close a window: entries and exits change as one set, and what is armed from now on
 * is like them. Between windows entries count and exits are off. */
bool fl_probes_open_window(void);	/* false: not while modules are being unloaded */
void fl_probes_close_window(void);
void fl_windows_open(void);		/* none has been */
/* A virtual probe's event: who called is not known. */
void fl_window_virtual(uint32_t id, uint32_t sp);
/* Called by the glue of every entry in windows. */
void fl_window_hit(uint32_t id, uintptr_t caller, uint32_t sp)
	__attribute__((visibility("hidden")));

/* In fork's child: finish what another thread of the parent had begun. */
void fl_sample_in_child(void);
/* Both with the switches' lock. holds: is probe `id`, to be armed now, off until the next
 * window? armed: seldom functions of [id, n) become as they are between windows. */
bool fl_sample_holds(uint32_t id);
void fl_sample_armed(uint32_t id);
/* Entry `id` is to be on again. If its row says seldom, it is seldom, and counted from the next
 * window on as before. With the switches' lock, and period.c's list is empty. */
void fl_sample_returns(uint32_t id);
/* Sites of a function are wanted now that were not: its calls are timed, or counted in windows.
 * With the switches' lock. */
void fl_sample_wanted(struct fl_function *);

/* Bindings of FL_ACT_CALL. default: unless something is bound to probe `id`, it calls the
 * function that reset named. reset: that is `call` now, for every probe that has a binding. */
int fl_handler_open(uint32_t max);
void fl_handler_default(uint32_t id);
void fl_handlers_reset(void (*call)(uint32_t, void *));

static inline bool fl_table_is_shared(void)
{
	return fl_table.rows != fl_table.sites;
}

/* Has the reader chosen probe `id`? */
static inline bool fl_table_wants(uint32_t id)
{
	return fl_table.rows[id].wanted;
}

/* Does the first recorder want it, or has a second one chosen it? */
static inline bool fl_table_wants_too(uint32_t id)
{
	return fl_table_wants(id) || (fl_table.joint && fl_table.joint[id]);
}

/* Is its form one of a function's second body? */
static inline bool fl_probe_is_body(const struct fl_probe *p)
{
	return p->form >= FL_FORM_BODY && p->form <= FL_FORM_BODY_POINT;
}

/* Is it the entry, which leads into that body? */
static inline bool fl_probe_is_body_entry(const struct fl_probe *p)
{
	return p->form == FL_FORM_BODY || p->form == FL_FORM_BODY_BEFORE;
}

/* Is its patch in a body, apart from its site? */
static inline bool fl_probe_is_apart(const struct fl_probe *p)
{
	return fl_probe_is_body(p) && !fl_probe_is_body_entry(p);
}

/* May a program want any probe at any time? */
static inline bool fl_table_wants_all(void)
{
	return fl_table.session->own || (fl_table.second && !fl_table.is_joint);
}

static inline uint32_t fl_patch_id(const struct fl_patch *p)
{
	return (uint32_t)(p - fl_table.patches);
}

static inline uint32_t fl_probe_id(const struct fl_probe *p)
{
	return (uint32_t)(p - fl_table.probes);
}

#endif
