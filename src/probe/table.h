/*
 * table.h - the probe table. Private to probe/.
 *
 * probes[id] belongs to site id of the shared site table. A probe's functions
 * share one struct fl_function; its probes are a list through `next`.
 *
 * Where a process tree records into one region its processes share the numbers, not
 * the places: the same file's sites have the same ids in each, wherever it is
 * loaded and whatever has become of them there. So each has rows of its own,
 * sites[], and tells the reader by rows[] of those that it brought. What is
 * another's alone is FL_SITE_OTHERS here: zero, as everything about it.
 *
 * Of a large program's calls few are wanted: of those that are not no more than their
 * rows and struct fl_probe is ever written, the other arrays' pages stay empty.
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
	uint8_t counts;			/* its glue does so itself: go[1] is the mask */
	uint32_t late;			/* met at a call: the one before, of its list */
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
	uint32_t next_off;		/* list of those that switched off, or are seldom */
	uint32_t is_seldom;		/* 1: on in windows alone, and on that list */
	uint32_t ahead;			/* calls before a round begins; a hint */
	uint32_t round, used;		/* blocks that were counted in a round; hints */
};

/* A module that was taken in. */
struct fl_known {
	uintptr_t lo, hi, bias;
	uint32_t module;		/* its row in the region, or FL_NO_MODULE */
	uint32_t first, end;		/* probes that a scan found: [first, end) */
	uint32_t late;			/* the last that was met at a call; FL_NO_PROBE */
	uint32_t seen;			/* stamp of the last walk that met it */
	struct fl_near near;		/* of its glue, the newest block */
	uint32_t n_block, n_spare;	/* glues there that were made before their probes,
					 * and those that nobody has yet, the last ones */
	uint32_t n_without;		/* so many probes go without, untried */
	uint32_t before;		/* another at the same place; UINT32_MAX: none */
	uint32_t next;			/* of those that are there */
	bool gone;
};
#define FL_NO_MODULE UINT16_MAX

struct fl_table {
	struct fl_region *shm;
	struct fl_shm_session *session;	/* the owner's */
	struct fl_shm_site *sites;	/* as they are in this process */
	struct fl_shm_site *rows;	/* as the reader sees them; == sites if alone */
	struct fl_probe *probes;	/* max_sites, sparse; as all below */
	struct fl_patch *patches;	/* by probe id; constant once state != FOUND */
	struct fl_switch *switches;	/* by probe id */
	struct fl_goal *goals[FL_GENERATIONS];	/* by probe id: goal.h */
	uint32_t generation;		/* of goals[], the one in force */
	uint32_t *next;			/* of the same function; FL_NO_PROBE ends */
	struct fl_function *functions;
	uint32_t *hash;			/* of functions; n_hash, a power of two */
	struct fl_known *known;
	uint32_t n, n_functions, n_known, max_known, n_hash, stamp;
	uint32_t live;			/* the first of known[] that is there */
	uint32_t virtuals;		/* the last one, as fl_known.late */
	uint32_t unarmed;		/* no lower id awaits its arming since a dlclose */
	struct fl_modules modules;	/* as of the last walk */
	bool has_bare;			/* some probe is bare */
	bool unheard;			/* modules come and go, and the loader does not say */
	uint8_t holds;			/* who holds all probes off, for good: enum fl_hold */
	bool between;			/* windows: none is open */
};
extern struct fl_table fl_table;

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
/* Fill row `id`, which is not this process's yet. */
struct fl_probe *fl_table_put(uint32_t id, const struct fl_site *, uint32_t module);
/* Modules (known.c); the table is locked. find: that is there, or is gone and was the
 * same file's. add: NULL when there is no room. is_back: one that was gone. A row: make
 * it, or give up the newest. around: NULL. see: what is there now; each: what is there;
 * each_unseen: what was not seen since the stamp is gone. */
int fl_known_open(void);
struct fl_known *fl_known_find(const struct fl_module *);
struct fl_known *fl_known_find_gone(const struct fl_module *);
struct fl_known *fl_known_add(const struct fl_module *);
void fl_known_is_back(struct fl_known *);
bool fl_known_give_row(struct fl_known *, const char *path);
void fl_known_take_row(struct fl_known *);
/* Give it one if it has none, and is among those listed, which are there. */
void fl_known_need_row(struct fl_known *, const struct fl_modules *listed);
/* Its row as a module of this process: one that is shared says where the module is
 * elsewhere. FLE_FULL. */
int fl_known_own_row(const struct fl_known *);
struct fl_known *fl_known_around(uintptr_t at);
void fl_known_see(uintptr_t bias);
void fl_known_each(void (*each)(const struct fl_known *, void *arg), void *arg);
void fl_known_each_unseen(void (*forget)(struct fl_known *));
/* Around what appends: no other process does, and all that they have appended
 * is known. */
void fl_table_begin(void);
void fl_table_end(uint32_t from);
/* Show the reader what has become of sites [from, n). */
void fl_table_publish(uint32_t from);
/* Index of the function at `at`, made when new. */
uint32_t fl_table_function(uintptr_t at);

enum fl_decided { FL_UNDECIDED, FL_DECIDED };
/* Glue and plans for probes [first, end) of a module, that have none yet: for those
 * that may be on. Before the reader has decided, for those alone that are no calls. */
void fl_glue_make(const struct fl_known *, uint32_t first, uint32_t end,
		  enum fl_decided);
/* The same for probe `id` alone, in memory that the module's later ones share. */
int fl_glue_late(struct fl_known *, uint32_t id);

/* What was found out about a call by its key, not 0. find: without a lock, by any
 * thread; -ENOENT, or FLE_FULL when no more can be noted. note: the table is locked;
 * 0, FLE_FULL. */
void fl_places_open(void);
int fl_place_find(uint64_t key);
int fl_place_note(uint64_t key, int what);
/* The probes that were met at calls go with their module, and come back: the lowest
 * id of these, or FL_NO_PROBE. */
void fl_late_forget(const struct fl_known *);
/* Take in what other processes have met of the module, which lies elsewhere there. The
 * lowest id; FL_NO_PROBE: nothing. */
uint32_t fl_late_share(struct fl_known *, const char *path);
uint32_t fl_late_revive(const struct fl_known *);

/* Probe `id` cannot be switched, and why. */
void fl_table_refuse(uint32_t id, int err, uint64_t datum);

/* Drop the probes of modules that were unloaded. Nothing is armed there after it. */
void fl_table_forget_gone(void (*each_loaded)(void (*see)(uintptr_t bias)));
/* May a block of a function's calls be counted? (fuse.c) */
bool fl_fuse_takes(struct fl_function *);
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

/* Timed calls that are open (frames.c). At an entry: those that were left go. push: false
 * when there is no room. note: a call begins that is not timed. find: which one ends at an
 * exit? take: it and all above go. forget: all go. */
void fl_frames_leave(struct fl_frames *, uint32_t sp);
bool fl_frames_push(struct fl_frames *, const struct fl_frame *);
void fl_frames_note(struct fl_frames *, uint32_t function, uint32_t sp);
bool fl_frames_find(struct fl_frames *, uint32_t function, bool jump, uint32_t sp,
		    uint32_t *at);
struct fl_frame fl_frames_take(struct fl_frames *, uint32_t at);
void fl_frames_forget(struct fl_frames *);
/* For fl_channel_each_frames(). tell: the reader of those that are open; forget_dead: all go,
 * as their thread has gone. */
void fl_frames_tell(struct fl_frames *, uint32_t slot);
void fl_frames_forget_dead(struct fl_frames *, uint32_t slot);
/* A frame is given up; is it of an older period? (sample.c) */
void fl_sample_lost(const struct fl_frame *);
bool fl_sample_is_stale(const struct fl_frame *);

/* What entries do between windows, and exits: as one set; so does what is armed from
 * now on. Entries count, exits are off. */
bool fl_probes_open_window(void);	/* false: not while modules are being unloaded */
void fl_probes_close_window(void);
/* A virtual probe's event: who called is not known. */
void fl_window_virtual(uint32_t id, uint32_t sp);
/* Called by the glue of every entry in windows. */
void fl_window_hit(uint32_t id, uintptr_t caller, uint32_t sp)
	__attribute__((visibility("hidden")));

/* For routines.S. Index: probe id; the function of one that asks. W once, before its glue
 * is. */
extern uintptr_t *fl_asked __attribute__((visibility("hidden")));
/* Index: probe id; its function, where it has glue. For routines.S. */
extern uint32_t *fl_function_of __attribute__((visibility("hidden")));
/* Choose what suits this CPU and kernel; once, before any glue. */
void fl_probe_routines_open(void);
/* For what counts, the one of a probe that has no counter. */
uintptr_t fl_probe_routine_uncounted(enum fl_action, enum fl_convention);
/* Where a block of counts is full. */
uintptr_t fl_probe_routine_full(enum fl_convention);
/* The one of a probe that asks, and that nobody wants: calls of other functions only. */
uintptr_t fl_probe_routine_idle(void);
/* The routine for what a probe does. Its dispatch word leads there; or where only calls of
 * other functions are served. */
uintptr_t fl_glue_routine(const struct fl_probe *, enum fl_action);
void fl_glue_direct(const struct fl_probe *, enum fl_action);
void fl_glue_idle(const struct fl_probe *);

/* In fork's child: what another thread of the parent had begun is finished. */
void fl_sample_in_child(void);
/* Both with the switches' lock. holds: is probe `id`, to be armed now, off until the next
 * window? armed: what is seldom of [id, n) is as it is between windows. */
bool fl_sample_holds(uint32_t id);
void fl_sample_armed(uint32_t id);

/* Bindings of FL_ACT_CALL. */
int fl_handler_open(uint32_t max);

static inline bool fl_table_is_shared(void)
{
	return fl_table.rows != fl_table.sites;
}

/* Is the module there, and `at` in it? */
static inline bool fl_known_has(const struct fl_known *k, uintptr_t at)
{
	return !k->gone && at - k->lo < k->hi - k->lo;
}

/* Has the reader chosen probe `id`? */
static inline bool fl_table_wants(uint32_t id)
{
	return fl_table.rows[id].wanted;
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
