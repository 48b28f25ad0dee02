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
 * memory. Of most calls of a large program probes, sites and next alone are written, since
 * nobody wants them.
 *
 * Processes that record into one region (record --follow) share the numbers: a file's sites
 * have the same ids in each. They do not share what has become of a site, and where it is. So
 * each process has sites of its own, and writes into the region's rows what it has brought
 * itself. A probe of another process is FL_PROBE_OTHERS here, and all of it is zero. A process
 * that records alone has no second array: sites == rows.
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
	uint32_t late;			/* met at a call: the one before, of its list */
	fl_unit was;			/* of one that is muted: what calls again */
};

/* How its events come, once that is decided: by its glue; by the profiling functions, as
 * it has no site or can have no glue; or never, as a call that nobody wants is muted. */
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
	uint8_t is_entry;		/* constant once it is armed, as the next one */
	uint8_t serves;			/* calls of other functions go on to come by its text */
};
enum { FL_ARMED_FLIP = 1, FL_ARMED_WORD };	/* one byte; several: ask the patch */

struct fl_function {
	uintptr_t at;
	uint32_t probes;		/* first of its list */
	uint32_t begun;			/* timed calls of this round; atomic */
	uint32_t is_off;		/* 1: its entries count; R any */
	uint32_t is_quiet;		/* 1: and its exits are off; with the switches' lock */
	uint32_t is_fixed;		/* 1: an exit of it stood where its entry did; a hint */
	uint32_t gap, wait;		/* a call in so many is timed; so many are not; hints */
	uint64_t since, pace;		/* ticks: the round began; a call of the last one,
					 * 0: it is not over. Hints */
	uint32_t stands;		/* a timed call for so many, as of the last round */
	uint64_t period;		/* its on-period's number, and in the low half how many
					 * timed calls of it are open; atomic */
	uint64_t gave_up;		/* when the last one ended that had open calls; ticks */
	uint32_t next_off;		/* list of those that switched off, or are seldom */
	uint32_t is_seldom;		/* 1: on in windows alone, and on that list */
	uint32_t ahead;			/* calls before a round begins; a hint */
	uint32_t round, used;		/* blocks that were counted in a round; hints */
	uint32_t counts_alone;		/* 1: it is not timed; with the switches' lock */
	uint32_t next_switch;		/* list of those with look-ups; with the switches'
					 * lock, as the next three: */
	uint8_t has_no_end;		/* 1: nothing tells when a call ends; constant */
	uint8_t has_switch, is_let;	/* on the list; look-ups are off, as a call lasts ... */
	uint64_t open_ns;		/* ... since then, as turns see it; 0: none is open */
	uint64_t let_go;		/* ticks: when they went off last; 0: never */
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
	/* A program switches probes beside the recorder: it does now, has done so; and the
	 * recorder has gone (second.c). W with both locks. */
	bool second, had_second, first_ended;
	/* The second session is another recorder's (joint.c), or was; and what that wants, by
	 * probe id, enum fl_wanted. Likewise; is_joint: R any. */
	bool is_joint, had_joint;
	uint8_t *joint;
};
extern struct fl_table fl_table __attribute__((visibility("hidden")));

/* One at a time changes the table or writes text in bulk. Signals are blocked
 * meanwhile, so a handler never waits for its own thread. */
void fl_table_lock(uint64_t *signals);
bool fl_table_lock_within(uint64_t us, uint64_t *signals);
void fl_table_unlock(const uint64_t *signals);
/* In fork's child: another thread was changing it, and may be half through. */
bool fl_table_is_cut(void);

/* Zeroed memory that is mostly never touched, and not for core files; or NULL. */
void *fl_table_map(size_t bytes);
/* There was no room, as the reader will say. */
void fl_table_leave_out(enum fl_left);
/* Append a probe for `site`; NULL when the table is full. */
struct fl_probe *fl_table_append(const struct fl_site *, uint32_t module);
/* What it is at first: found, or refused. */
enum fl_probe_state fl_table_found(uint32_t id);
/* Fill row `id`, which is not this process's yet. */
struct fl_probe *fl_table_put(uint32_t id, const struct fl_site *, uint32_t module);
/* Around what appends: no other process does, and all that they have appended
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
/* Is there a window of what is seldom just now (seldom.c)? One that times its calls? W with
 * the switches' lock, R any: a hint. */
struct fl_seldom_window {
	bool is_open, is_timing;
};
extern struct fl_seldom_window fl_seldom_window;
/* An image begins with what is wished. */
void fl_sample_open(void);
/* A block of probe `id` is counted: if no other may be, its function goes off. */
void fl_sample_block(uint32_t id);
/* Called by the glue of sampled probes: of an entry whose call may be timed; where a timed
 * call of this thread is likely to end, or another of its function to begin in it; and
 * where that is further in. */
void fl_sample_hit(uint32_t id, uint32_t sp) __attribute__((visibility("hidden")));
void fl_sample_after(uint32_t id, uint32_t sp) __attribute__((visibility("hidden")));
void fl_sample_inner(uint32_t id, uint32_t sp) __attribute__((visibility("hidden")));

/* Timed calls that are open (frames.c). At an entry: those that were left go. push: one that
 * came at its `tsc`, and begins now; false when there is no room. take_out_since: of all that
 * are open, what a probe took since. note: a call begins that is not timed. find: which one
 * ends at an exit? take: it and all above go; false: a handler was quicker. forget: all go. */
void fl_frames_leave(struct fl_frames *, uint32_t entry, uint32_t sp);
bool fl_frames_push(struct fl_frames *, const struct fl_frame *);
void fl_frames_take_out_since(struct fl_frames *, uint64_t tsc);
void fl_frames_note(struct fl_frames *, uint32_t function, uint32_t sp);
bool fl_frames_find(struct fl_frames *, uint32_t exit, uint32_t sp, uint32_t *at);
bool fl_frames_take(struct fl_frames *, uint32_t at, struct fl_frame *);
void fl_frames_forget(struct fl_frames *);
/* For fl_channel_each_frames(). tell: the reader of those that are open; forget_dead: all go,
 * as their thread has gone. */
void fl_frames_tell(struct fl_frames *, int32_t tid);
void fl_frames_forget_dead(struct fl_frames *, int32_t tid);
/* A frame is given up; is it of an older period? (sample.c) */
void fl_sample_lost(const struct fl_frame *);
bool fl_sample_is_stale(const struct fl_frame *);

/* Called by the glue of what FL_ACT_STAGED is for (change.c). */
void fl_change_hit(uint32_t id, uint32_t sp) __attribute__((visibility("hidden")));

/* What entries do between windows, and exits: as one set; so does what is armed from
 * now on. Entries count, exits are off. */
bool fl_probes_open_window(void);	/* false: not while modules are being unloaded */
void fl_probes_close_window(void);
void fl_windows_open(void);		/* none has been */
/* A virtual probe's event: who called is not known. */
void fl_window_virtual(uint32_t id, uint32_t sp);
/* Called by the glue of every entry in windows. */
void fl_window_hit(uint32_t id, uintptr_t caller, uint32_t sp)
	__attribute__((visibility("hidden")));

/* In fork's child: what another thread of the parent had begun is finished. */
void fl_sample_in_child(void);
/* Both with the switches' lock. holds: is probe `id`, to be armed now, off until the next
 * window? armed: what is seldom of [id, n) is as it is between windows. */
bool fl_sample_holds(uint32_t id);
void fl_sample_armed(uint32_t id);
/* Entry `id` is to be on again, and is seldom if its row says so: counted from the next window
 * on, as before. With the switches' lock, and nothing on period.c's list. */
void fl_sample_returns(uint32_t id);
/* Sites of a function are wanted that were not: its calls are timed, or counted in windows.
 * With the switches' lock. */
void fl_sample_wanted(struct fl_function *);

/* Bindings of FL_ACT_CALL. default: what `call` counts is what probe `id` does, unless
 * something is bound; of all, whatever was. */
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

/* Does a second recorder want it, or has it? */
static inline bool fl_table_wants_too(uint32_t id)
{
	return fl_table_wants(id) || (fl_table.joint && fl_table.joint[id]);
}

/* Is it a function's second body, and nobody else's place? */
static inline bool fl_probe_is_body(const struct fl_probe *p)
{
	return p->form >= FL_FORM_BODY && p->form <= FL_FORM_BODY_POINT;
}

/* Is it the entry, which leads there? */
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
