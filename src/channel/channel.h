/* channel.h - step 5 of 7: carry events to the reader. next: analysis.h */
#ifndef FL_CHANNEL_H
#define FL_CHANNEL_H

#include <pthread.h>
#include <stdalign.h>

#include "arch/arch.h"
#include "base/base.h"
#include "os/os.h"
#include "../../include/flick/event.h"

/*
 * One memfd is all that target and reader share:
 *
 *	struct fl_region | processes[] | process_index[] | modules[] | glue[] | found[]
 *	| body_blocks[] | bodies[] | sites[] | staged[] | places[]
 *	| slot 0 | slot 1 | ... | pool of chunks
 *
 * The reader makes it and outlives the target, so what was enqueued survives
 * any death of the target; the target knows the reader is gone when the kernel
 * marks the robust mutex `reader` (FUTEX_OWNER_DIED), with no descriptor open.
 */
#define FL_SHM_MAGIC 0x316b63696c66ull	/* "flick1" */
#define FL_SHM_VERSION 23
#define FL_SHM_ENV "FLICK_SHM"		/* /proc/PID/fd/N:INODE, for the target */
#define FL_MAX_SITES (1u << FLICK_PROBE_BITS)
#define FL_MAX_SLOTS 16384		/* bits of fl_shm_session.fresh[] */
#define FL_MAX_PROCESSES 32768u		/* of a process tree, in all */
#define FL_MAX_READERS 16		/* threads that drain rings */
#define FL_MAX_PROVIDERS 32		/* bits of fl_view.framed */

enum fl_lost {		/* why an event was not enqueued; index of lost[] */
	FL_LOST_READER,	/* the reader died, and its ring was full */
	FL_LOST_SLOT,	/* no slot free for the thread */
	FL_LOST_ROOM,	/* counting: more probes than the slot has counters */
	FL_LOST_SITE,	/* no row for what was called: whether it was wanted is not known */
	FL_N_LOST
};
extern const char *const fl_lost_names[FL_N_LOST];

enum fl_action {	/* what a probe that is on does */
	FL_ACT_COUNT,	/* add one to a counter of its thread; the long path at each
			 * FL_COUNT_BLOCK */
	FL_ACT_TIME,	/* a record with time */
	FL_ACT_SAMPLE,	/* paper 1 section 9: a call that may be one of K timed ones */
	FL_ACT_AFTER,	/* count; where a timed call of the thread may end, or another
			 * of its function begin in it, the long path */
	FL_ACT_CALL,	/* a function of the program's own (flick.h) */
	FL_ACT_WINDOW,	/* a record with time, one of who called (entries) */
	FL_ACT_BOTH,	/* what the recorder wants, if it does, and then FL_ACT_CALL */
	FL_ACT_TWICE,	/* a record with time, in the rings of two recorders */
	FL_ACT_STAGED,	/* what is in force of two generations, of which one is switched to
			 * while threads come here: probe/change.c */
	FL_N_ACTIONS
};

enum fl_outside {	/* why a process is not recorded; index of outside[] */
	FL_OUT_TABLE,	/* more than fl_most_processes() */
	FL_OUT_SPACE,	/* in a pid namespace of its own */
	FL_OUT_ERROR,	/* no memory or no thread for it */
	FL_N_OUT
};
extern const char *const fl_outside_names[FL_N_OUT];
/* What a recorder would be in this process: the first, a second one beside one, or refused. */
enum fl_recorders { FL_RECORDERS_NONE, FL_RECORDERS_ONE, FL_RECORDERS_FULL };
enum fl_left { FL_LEFT_SITES = 1, FL_LEFT_MODULES = 2, FL_LEFT_GLUE = 4, FL_LEFT_BODIES = 8 };

/* AT_POINT: of an instruction inside of a function, which counts as a function of its own. */
enum fl_kind { FL_ENTRY, FL_EXIT, FL_TAIL, FL_CALLSITE, FL_AT_POINT, FL_N_KINDS };

/* Is each event of it counted? */
static inline bool fl_kind_counts(uint8_t kind)
{
	return kind == FL_ENTRY || kind == FL_AT_POINT;
}
extern const char *const fl_kind_names[FL_N_KINDS];

enum fl_site_state {	/* W target */
	FL_SITE_OTHERS,	/* of other processes; only in a process's own copy */
	FL_SITE_FOUND,	/* published, the reader may select it */
	FL_SITE_READY,	/* armed: switching costs one store */
	FL_SITE_REFUSED,/* `refusal` and `datum` say why */
	FL_SITE_GONE	/* its module was unloaded, or the process replaced */
};

enum fl_wanted { FL_UNWANTED, FL_WANTED, FL_SELDOM };

struct fl_shm_module {
	uint64_t base;			/* load bias: address - ELF address */
	uint64_t lo, hi;		/* mapped range */
	uint32_t first, n;		/* the sites a scan found; n 0: not yet */
	char path[480];			/* absolute where known */
};

/* A process of the process tree; a row is never given to another pid. */
struct fl_process {
	int32_t pid, parent;		/* 0: claimed, and killed before more */
	uint32_t image;			/* the one that lives; W its first thread */
	uint32_t heeded;		/* the wish of fl_seldom that it has heeded; W it (T) */
	uint64_t start;			/* by which two images of one pid are told apart */
	uint64_t drawn_at;		/* where `start` lies; an emulator's is the kernel's */
	uint32_t program;		/* 1 + its row, of the one that lives; 0: not known */
	uint32_t is_bare;		/* 1: that has no probes, as it is dear; W it */
	uint32_t was_bare;		/* the program that the process executed without probes
					 * before, as above; 0: none */
};

/* A program that processes of a process tree execute. Probes of a large one take longer to arm
 * than it may run: when it is dear it has none in the next processes that execute it. */
struct fl_program {
	uint64_t key;			/* by its path; 0: nobody's row; atomic, once */
	uint64_t arming_ns;		/* CPU time that its processes armed for; atomic, as: */
	uint32_t n_armed, n_bare;	/* processes, as they began it */
	uint32_t is_dear;		/* W reader (cli/bare.c) */
	char name[36];			/* of its file; "": not written yet */
};
#define FL_MAX_PROGRAMS 256u		/* others are never dear */
/* Who has armed may count calls for such a part of the time that this took, whatever the budget
 * says: what then runs for less time than it armed for is counted whole. */
#define FL_GRANTED_ONE_IN 10

/* 1 + a row, where the hash of its pid says, or behind that; 0: none. It is more than half
 * empty. */
enum { FL_PROCESS_INDEX = 2 * FL_MAX_PROCESSES };

/* How many a recording has room for. */
static inline uint32_t fl_most_processes(uint32_t max_sites)
{
	enum { SITES_EACH = 32, LEAST = 4096 };
	uint32_t most = max_sites / SITES_EACH;

	return most < LEAST ? LEAST : most < FL_MAX_PROCESSES ? most : FL_MAX_PROCESSES;
}

/* One line of the site table; its index is the probe id. W target, except
 * `wanted`: W reader, while phase is ASK, and FL_SELDOM at any time. */
struct fl_shm_site {
	uint64_t at;			/* address in the target */
	uint64_t function;		/* address of the function it belongs to */
	uint64_t datum;			/* one number that explains `refusal` */
	int16_t refusal;		/* fl_err, 0 = none */
	uint16_t module;		/* index; of `at` */
	uint16_t owner;			/* index; of `function`: a library's may have been
					 * inlined here. None: no module's, or no room */
	uint8_t kind;			/* enum fl_kind */
	uint8_t provider;		/* index into fl_providers[] */
	uint8_t tactic;			/* enum fl_tactic */
	uint8_t state;			/* enum fl_site_state */
	uint8_t wanted;			/* enum fl_wanted; an entry may be seldom, which the
					 * target may wish as well (probe/fuse.c) */
	uint8_t jump;			/* 1: an exit by jump, its frame is taken down */
	uint32_t image;			/* that brought it; others may have it too */
};

enum fl_phase {		/* of the negotiation about new sites; futex word */
	FL_PHASE_START,	/* the agent has not spoken yet */
	FL_PHASE_ASK,	/* W target: sites up to n_sites await selection */
	FL_PHASE_GO,	/* W reader: selected; the target goes on */
	FL_PHASE_QUIT	/* W reader: the target must _exit (nothing to do) */
};

/*
 * The windows of `record --rate`: the times at which wanted probes went on and
 * off, edges[2k] and edges[2k + 1] for window k. See probe/window.c.
 *
 *	published <= announced <= published + 1
 *	published - taken <= FL_EDGES
 */
#define FL_EDGES 512u
#define FL_RATE_ALL 1000000u		/* rates are in millionths */
#define FL_RATE_LEAST 1000u
#define FL_WINDOW_FRESH (1u << 31)	/* in rates[]: on since the image's start */

struct fl_windows {
	uint32_t rate;			/* what is wished; 0: no windows. W reader */
	uint32_t adapts;		/* 1: the reader changes it (pace.c); constant */
	uint64_t taken;			/* edges that were copied; W reader (G), R target (H) */
	alignas(64) uint64_t announced;	/* W target (A), R reader (B) */
	uint64_t published;		/* W target (C), R reader (D) */
	uint64_t on_ns;			/* CPU time of recorded threads in windows that
					 * ended; W target, as all below */
	uint64_t own_ns;		/* of the process, from the first edge on */
	uint64_t own_tsc;		/* to here */
	uint64_t edges[FL_EDGES];
	uint32_t rates[FL_EDGES / 2];	/* of window k */
};

/* Calls of a function are timed in one of so many epochs, those of others in others: a
 * timed call in another one is time of it. */
enum { FL_GROUPS = 4 };

/* What the probes of a call take that others are timed around, by whether its function's
 * entry is bare, in parts of a tick. W reader, before the first of them. */
enum { FL_TICK_PARTS = 16 };
struct fl_probes_take {
	uint32_t timed[2];		/* of one that is timed, too: what it cannot measure */
	uint32_t counted[2];		/* that is counted, at its entry and at its exit */
	uint32_t looked[2];		/* to look whether it is to be timed, on top */
};

/* What counts hold up, measured: when a window is over one function of it goes on to be
 * counted for a while. In that time the program does what it did in the window, and what all
 * other counts kept it from. Sums over windows that were followed so; atomic add. */
struct fl_gauge {
	uint64_t windows;
	uint64_t calls, ns;		/* of that function in them; the program's time */
	uint64_t behind, behind_ns;	/* the same behind them */
	uint64_t extra;			/* counted there, and in no window */
	/* The program's time in windows, and behind, of which this is not known: threads
	 * that ended have taken their counts with them. None of it is in the others. */
	uint64_t torn_ns, torn_behind_ns;
};

/*
 * Of a sampled program: functions whose calls would cost too much to count, and the
 * windows in which they are counted. See probe/seldom.c, cli/budget.c.
 */
#define FL_HANDS 12u			/* of the program's own clock: cli/clock.c, ... */
#define FL_HANDS_SLOTS 64u		/* ... in so many slots */
struct fl_seldom {
	uint32_t epoch_us;		/* after which calls are timed again; W reader, as: */
	uint32_t period_us;		/* from one window to the next */
	uint32_t window_us;		/* how long it is to be */
	uint32_t wish;			/* changes of who is FL_SELDOM; W reader (S) */
	alignas(64) uint32_t heeded;	/* the wish that is in force; W target (T) */
	uint64_t passed_ns, open_ns;	/* in all, and in windows; atomic add */
	uint64_t windows, timings;	/* that were closed, that count and that time; atomic
					 * add */
	/* Time of the program in all, and in windows; likewise. CPU time where it shares
	 * the one CPU with who opens and closes them. */
	uint64_t ran_ns, ran_open_ns;
	uint64_t closed_ns;		/* the last of them, or since what is in force is */
	uint64_t passed_then_ns, open_then_ns;	/* passed_ns, open_ns at that time */
	/* Calls, in windows, of functions that are counted always; atomic add. */
	uint32_t hands[FL_HANDS];	/* their probes + 1; 0: none. W reader */
	uint64_t ticks[FL_HANDS];
	uint32_t gauge_probe;		/* + 1; 0: none. W reader */
	struct fl_gauge gauge;
	uint32_t torn;			/* windows in which counts of a thread went; atomic
					 * add */
	uint32_t n_taken;		/* threads that ended, whose counts are gone or going;
					 * W reader (V) */
	uint32_t has_one_cpu;		/* 1: who opens and closes them has the program's one
					 * CPU; W target, as: */
	uint32_t shared_cpus;		/* that it has and the program, too, + 1; 0: not told */
	uint32_t is_open;		/* is there one just now? Of one process; W target */
	/* What may be counted (probe/fuse.c). */
	alignas(64) uint32_t credit;	/* blocks that are left; atomic */
	uint32_t round;			/* changes with each credit; 0: no limit. W reader */
	uint32_t has_cut;		/* 1: some became seldom; W target, 0 reader */
};

/* Where glue stands, for who samples the program counter: its time is flick's. */
struct fl_glue_range {
	uint64_t lo, hi;		/* W target, before it counts in n_glue */
	uint64_t table, table_bytes;	/* by which bodies there are unwound, as .eh_frame_hdr
					 * is, with what it leads to; or 0 */
	int32_t pid;			/* whose it is; its children have it, too */
};

/* Where a second body stands: who samples the program counter there takes the time for its
 * function's. Its process adds it before anybody can run it, and it stands for as long as
 * that process's image does. Rows are claimed by blocks: see body.c. */
struct fl_body_row {
	uint64_t lo;			/* 0: not written yet. W target, the last of these */
	uint64_t function;		/* the original, in that process */
	uint32_t bytes;
	int32_t pid;
};
struct fl_body_block {
	uint64_t owner;			/* fl_body_owner(); 0: nobody's. W target (C), 0 reader
					 * (F) */
	uint32_t n;			/* rows claimed, or more; atomic */
	uint32_t unused;
};
enum { FL_BODY_BLOCKS = 2048, FL_BODY_ROWS = 16 };	/* at most; of a block at least */

/* One image of one process. */
static inline uint64_t fl_body_owner(int32_t pid, uint32_t image)
{
	return (uint64_t)image << 32 | (uint32_t)pid;
}

/* Where accesses to memory are told, by the number of the place that records have. A row of
 * another process, or of one that could not be used, has no records. */
struct fl_place_row {
	uint64_t at;			/* of the instruction, in the original. W target, as
					 * all, before it is told there */
	int32_t pid;
	uint32_t what;			/* enum flick_access, size 0: it is told; and where a
					 * word's address is not the access's: */
};
enum { FL_MAX_PLACES = 1 << 22, FL_PLACE_ACCESS = (1 << 18) - 1,
       FL_PLACE_WITH = 1 << 18,		/* the word before tells of it: of so many at most */
       FL_PLACES_IN_WORD = 4, FL_PLACE_ABOVE = 24 };	/* bits: how far it is above it */

/* In a ring alone, an access may be one word, the sum of: the highest bit, which no clock and
 * no address has; above FL_WORD_ADDRESS_BITS its place, less than FL_WORD_PLACES; its address.
 * One beyond these bits, which can but fault, is told wrong. Accesses that always come in a
 * row, to bytes that are near, have one word: the first one's place, the lowest address. */
#define FL_ACCESS_WORD (1ull << 63)
enum { FL_WORD_ADDRESS_BITS = 47, FL_WORD_PLACES = 0xffff };
#define FL_WORD_NOTHING UINT64_MAX	/* fills up a chunk */

static inline uint32_t fl_word_place(uint64_t word)
{
	return (uint32_t)(word >> FL_WORD_ADDRESS_BITS) & 0xffff;
}

static inline uint64_t fl_word_address(uint64_t word)
{
	return word & ((1ull << FL_WORD_ADDRESS_BITS) - 1);
}

/* What second bodies are made to tell, and if calls are recorded beside it. */
enum fl_weaves { FL_WEAVE_ACCESSES = 1, FL_WEAVE_PATHS = 2, FL_WEAVE_CALLS = 4 };

/* Which modules get second bodies: site/wants.c. Rules, each `+` or `-` and a glob of a
 * module's base name, with its NUL; an empty one ends them. The last that matches decides,
 * and where none does there are none. `@` has a glob and 16 digits: the instruction there, in
 * the file, is a point. W reader, before exec. */
#define FL_RULE_POINT '@'
enum { FL_RULES_BYTES = 8192, FL_RULE_DIGITS = 16 };
struct fl_body_rules {
	uint32_t everywhere;		/* 1: also where the compiler left sites */
	uint32_t no_bodies, stubs;	/* 1: none at all; stubs of these modules, too */
	char text[FL_RULES_BYTES];
};

/* The digits of a point are hexadecimal, each in 4 bits above '0'. */
static inline uint64_t fl_rule_offset(const char digits[FL_RULE_DIGITS])
{
	uint64_t offset = 0;

	for (int i = 0; i < FL_RULE_DIGITS; i++)
		offset = offset << 4 | ((unsigned char)digits[i] - '0');
	return offset;
}

/* Profiling calls of the program that the reader has started, as a scan of an earlier run
 * has found them: site/found.c. */
enum { FL_BUILD_ID = 32 };		/* bytes, the rest zero */
#define FL_FOUND_BIT (1u << 31)
struct fl_found_row {			/* from the program's lowest address on */
	uint32_t at;			/* and the bit: calls may be of other functions, too */
	uint32_t function;		/* and the bit: the slot that holds its address */
};
enum fl_found_state {
	FL_FOUND_NONE,
	FL_FOUND_GIVEN,			/* W reader, before exec */
	FL_FOUND_WISHED,		/* there are none, and it would keep them; W reader */
	FL_FOUND_TOLD			/* W target before ASK */
};
struct fl_found {
	uint32_t state;
	uint32_t n;			/* rows; W who gives them */
	uint8_t id[FL_BUILD_ID];	/* of the program's file; constant, as all below */
	uint64_t inode, changed_ns;
};

/* A timed call of a sampled program that had not ended when that did. */
enum { FL_MAX_OPEN = 1024 };
struct fl_open_call {
	uint64_t begun, ended;		/* ticks; ended: the program. 0: not told yet */
	uint32_t probe;			/* of its entry */
	int32_t tid;			/* of its thread */
};

/* What the reader has staged for a probe, while the program runs; a byte each. */
enum fl_stage {
	FL_STAGE_NONE,			/* it stays as it is */
	FL_STAGE_OFF,
	FL_STAGE_ON,			/* it does what the session's probes do */
	FL_STAGE_COUNT,			/* its calls are counted, and not timed */
	FL_N_STAGES
};

/* What of it is to become so, at once: see agent/control.c, and cli/change.c. */
struct fl_change_box {
	alignas(64) uint32_t wish;	/* changes that were asked for; W reader (A) */
	uint32_t n;			/* bytes of staged[] that count; W reader, before */
	alignas(64) uint32_t done;	/* the wish that was answered; W target (C), as all
					 * below, before */
	int32_t error;			/* 0, or why nothing has changed: fl_err */
	uint32_t n_switched;		/* probes */
	uint32_t n_refused;		/* of those staged, as their rows say */
	uint32_t generation;		/* changes that were made */
	uint32_t n_late;		/* threads that stood for long where it was not told
					 * what they saw */
	/* Ticks; passed: nobody goes by what was in force before. */
	uint64_t begun, switched, passed, ended;
};

/* What a reader's thread sleeps on. */
struct fl_bell {
	alignas(64) uint32_t rung;	/* futex; atomic add */
	uint32_t sleeps;		/* 1 while it does; W reader, 0 by who rings */
};

/*
 * What one recording, or a program by itself, wants of the processes, and what comes back
 * for it alone. There is one: a program's own beside a recorder's has nothing here
 * (probe/second.c), and a second recorder's is in a region of its own (other.c). What else is
 * a session's: `wanted` of a site, `heeded` of a process, and a slot's ring, counters and
 * frames.
 */
enum { FL_SESSIONS = 1 };
struct fl_shm_session {
	uint32_t counter_bytes;		/* of a slot: they come before its cells, which come
					 * before its chunks. Constant after init, as all up
					 * to `phase` */
	uint32_t cell_bytes;		/* likewise; 0, or FL_CELLS of them */
	uint32_t chunk_bytes;		/* of every ring */
	uint32_t ring_chunks;		/* as many as one ring may have; 0: no rings */
	uint32_t pool_chunks;		/* what rings grow by, all together */
	uint64_t pool_at;		/* offset in the region */
	uint32_t n_readers;		/* slot i is drained by reader i % n_readers */
	uint32_t action;		/* enum fl_action of wanted probes */
	uint32_t precise;		/* FL_ACT_TIME: no work beside the clock's reading */
	uint32_t samples;		/* K of FL_ACT_SAMPLE */
	uint32_t epoch_us;		/* re-arm period of FL_ACT_SAMPLE */
	uint32_t own;			/* 1: a program's own (flick.h), no reader */
	int32_t reader_pid;

	alignas(64) uint32_t phase;	/* enum fl_phase; futex */
	int32_t agent_error;		/* fl_err: why the agent gave up */
	uint32_t n_decided;		/* sites that were selected or not; W reader */
	uint64_t toggles;		/* one-byte switches done by sampling; atomic */
	uint64_t rearm_ticks;		/* spent re-arming, TSC; atomic */

	struct fl_bell bells[FL_MAX_READERS];
	alignas(64) uint64_t lost[FL_N_LOST];	/* of threads that had no slot; atomic add */
	alignas(64) uint64_t fresh[FL_MAX_SLOTS / 64];	/* bit a slot: claimed,
					 * not yet seen; W thread (G), R reader (H) */

	struct fl_windows windows;
	struct fl_seldom seldom;
	struct fl_probes_take probes_take;	/* of a sampled program */
	struct fl_change_box change;

	uint32_t n_open;		/* claimed, or more; atomic */
	struct fl_open_call open[FL_MAX_OPEN];	/* W target, as it ends */
	uint64_t ended_tsc;		/* a process of it did; W target */

	alignas(64) pthread_mutex_t reader;	/* robust; held while it lives */
};

/* What processes are recorded and what is known of them: one for their lives. */
struct fl_region {
	uint64_t magic;			/* constant after init, as all up to n_modules */
	uint32_t version, header_bytes;
	uint64_t bytes;			/* of the whole region */
	uint32_t max_modules, max_glue, max_sites, n_slots, slot_bytes;
	uint32_t n_body_blocks, body_rows;	/* and of a block how many rows */
	uint64_t processes_at, process_index_at, modules_at, glue_at, found_at;
	uint64_t body_blocks_at, bodies_at, sites_at, staged_at, places_at;
	uint64_t slots_at;		/* an offset, as all these */
	uint32_t weaves;		/* enum fl_weaves, bits */
	uint32_t exclusive;		/* enum fl_exclusive, of bodies */
	uint32_t max_places;		/* 0: none are told */
	uint32_t follow;		/* 1: the target's children may attach, too */
	int32_t target_pid;		/* else who may; W before exec */
	char pid_space[32];		/* the reader's /proc/self/ns/pid */

	alignas(64) uint32_t n_modules;	/* W target before ASK */
	uint32_t n_sites;		/* W target before ASK */
	uint32_t n_images;		/* begun by start, exec and fork; atomic */
	uint32_t n_processes;		/* rows claimed, or more; atomic */
	uint32_t n_met;			/* of the sites: no scan has named them; atomic */
	uint32_t left_out;		/* there was no room for all: enum fl_left; atomic */
	uint32_t has_spaces;		/* 1: modules nobody scans (dlmopen); W target */
	uint32_t has_reaper;		/* 1: a followed one takes orphans itself; W target */
	uint32_t has_self;		/* 1: one would open flick.h; W target */
	uint32_t is_attached;		/* 1: the target ran before; constant after init */
	uint32_t detach;		/* then 1: end; W reader */
	uint32_t has_left;		/* 1: it has ended, and all is as it was; W target */
	uint32_t n_yielded, n_overwritten;	/* sites, each time that the program was about
					 * to write its code, and those it wrote; atomic */
	uint32_t outside[FL_N_OUT];	/* processes that are not recorded; atomic */
	uint32_t n_slots_used;		/* every slot ever claimed lies below; atomic max */
	uint32_t free_hint;		/* a slot that is likely free; any order */
	uint32_t n_glue;		/* claimed, or more; atomic */
	uint32_t body_claims;		/* of blocks, twice each; atomic (L) */
	uint32_t body_freed;		/* blocks, in all; W reader */
	uint32_t n_places;		/* likewise; max_places at most */
	int32_t watcher_pid;		/* beside the target (os/outside.c); W target */
	uint64_t reader_cpus[FL_CPU_WORDS];	/* that it may run on; W reader */
	uint64_t tsc0, mono0_ns;	/* one moment on both clocks; W target */
	uint64_t loader_ns;		/* CPU time of the first process as the agent began; W
					 * target */
	uint64_t watch_ns;		/* CPU time of those beside processes that have ended,
					 * before they freed these processes' memory; with
					 * --rate, of what opens windows; atomic */
	struct fl_found found;
	struct fl_body_rules body_rules;
	alignas(64) pthread_mutex_t joining;	/* robust; see channel/processes.c */
	struct fl_program programs[FL_MAX_PROGRAMS];	/* of a process tree */

	struct fl_shm_session session[FL_SESSIONS];
};

enum {
	FL_SLOT_FREE, FL_SLOT_CLAIMED, FL_SLOT_LIVE,
	FL_SLOT_LEFT			/* the recording ended before its thread */
};

/* A timed call that has not returned yet: see probe/frames.c. */
struct fl_frame {
	uint64_t tsc;
	uint32_t function, generation, sp, probe;
	uint32_t loose;			/* its function, if its exit may stand lower; else
					 * FL_FIXED */
	uint16_t same, inner;		/* calls of its function that began since, are not
					 * timed and have not ended: in its machine frame;
					 * and below, if it is loose */
	uint32_t stands;		/* for so many calls */
	uint32_t sp_high;
	uint64_t spent;			/* by probes, before it began: see sample.c */
};
#define FL_FIXED UINT32_MAX
#define FL_FRAMES 96

/* A thread's, the outermost first. In memory of the process's own: a handler's child,
 * which goes on with its parent's slot in hand, has a copy. */
struct fl_frames {
	uint32_t n;
	uint32_t refused;		/* calls, in a row, for which there was no room */
	uint32_t inner_sp;		/* where the last of `inner` began */
	uint32_t was_dead;		/* its thread had ended when that was asked */
	uint64_t spent;			/* by what begins and ends timed calls, and by looking,
					 * in parts of a tick; hint: a handler may add, too */
	uint64_t seen;			/* ticks: when one began or ended last; a hint */
	struct fl_frame at[FL_FRAMES];
};

/* Chunks that one ring may have: as many as page[] has room for. */
#define FL_RING_CHUNKS 128
/* So many bytes before a chunk's end its `limit` is: see ring.c. */
#define FL_RING_TAIL 8

/*
 * What a thread has of one session: its ring, its counters, the calls that it has open.
 * `ptr` and `limit` are addresses in the target; only the thread itself uses them, the
 * reader reads `ptr`.
 *
 * A ring is chunks 0, 1, 2, ...; chunk c is where page[c % FL_RING_CHUNKS] says,
 * in pages from the region's start. The reader grants chunks, and so decides how
 * long the ring is; the thread fills them in order. See ring.c, lease.c.
 *
 *	filled <= entered <= filled + 1 <= granted + 1; entered <= claimed <= granted
 *	entered > filled: chunk `filled` is being written, start <= ptr <= end = limit + 8
 *	entered = filled: none is, ptr = end
 *
 * While the thread, or a child of vfork that was killed, is on its way to the next
 * chunk, `limit` may be 0, and `claimed` one more than is granted.
 */
struct fl_ring {
	uint64_t ptr;			/* next record; W thread, R reader */
	uint64_t limit;			/* end of the chunk being filled, less FL_RING_TAIL;
					 * thread only */
	uint64_t data;			/* what follows the slot's header; constant */
	uint32_t n_counters;		/* at data, see fl_count_of(); 0 when not claimed */
	uint64_t entered;		/* chunks that were granted and begun; thread only */
	uint64_t cells;			/* where they are, see cells.c; constant */

	alignas(64) uint64_t granted;	/* W reader (C), R thread (D) */
	uint32_t granted_word;		/* its low half, the futex */
	uint32_t bell_at;		/* ring the bell when no more are left; W reader */

	alignas(64) uint64_t filled;	/* chunks completed; W thread (A), R reader (B) */
	uint64_t claimed;		/* chunks taken into use; W thread (Q), R reader (R) */
	uint32_t waiting;		/* waits for room, nested ones too; W thread */
	uint64_t lost[FL_N_LOST];	/* W thread */

	alignas(64) uint32_t page[FL_RING_CHUNKS];	/* W reader, before (C); the
					 * first two W thread, at its claim */
	/* How long its thread took to begin chunk c, behind the clock reading of its
	 * first record, waits for room included: paused[c % FL_RING_CHUNKS], in
	 * FL_PAUSE_TICKS; W thread, before (E) in ring.c */
	uint32_t paused[FL_RING_CHUNKS];
	struct fl_frames *frames;	/* where calls are sampled; thread only */
};

/* A thread: who it is, and what it has of each session. The first session's ring stands
 * in front, where glue looks for it. */
struct fl_slot {
	struct fl_ring ring[FL_SESSIONS];

	alignas(64) uint32_t state;	/* FL_SLOT_*; thread claims, reader frees */
	int32_t tid;
	uint32_t image;			/* to which it belongs, of ... */
	uint32_t process;		/* ... this row */
	char name[16];
	uint32_t heeded;		/* by its process when it began, see struct fl_seldom */
	/* Calls that look what is in force, that have; W thread, R who changes it (change.c) */
	uint32_t inside, passed;

	alignas(64) pthread_mutex_t owner;	/* robust; held while the thread lives */
};
#define FL_PAUSE_TICKS 256u

/*
 * A path that is gone again and again: how often, in `tsc`, since its thread has the slot.
 * `probe` and `sp` are as in its record. It is in one of two cells, whose indices differ in the
 * lowest bit: the sum of its number and what its function adds says which (probe/path.c). A
 * function of few paths has cells of its own, behind these.
 */
#define FL_CELLS (FL_PATH_CELLS + FL_PATH_OWN_CELLS)

#define FL_SLOT_HEADER_BYTES 4096	/* sizeof(struct fl_slot) rounded up */

static inline struct fl_slot *fl_shm_slot(struct fl_region *m, uint32_t i)
{
	return (void *)((char *)m + m->slots_at + (uint64_t)i * m->slot_bytes);
}

static inline struct fl_process *fl_shm_processes(struct fl_region *m)
{
	return (void *)((char *)m + m->processes_at);
}

static inline uint32_t *fl_shm_process_index(struct fl_region *m)
{
	return (void *)((char *)m + m->process_index_at);	/* FL_PROCESS_INDEX */
}

static inline struct fl_shm_site *fl_shm_sites(struct fl_region *m)
{
	return (void *)((char *)m + m->sites_at);
}

static inline uint8_t *fl_shm_staged(struct fl_region *m)
{
	return (uint8_t *)m + m->staged_at;
}

static inline struct fl_shm_module *fl_shm_modules(struct fl_region *m)
{
	return (void *)((char *)m + m->modules_at);
}

static inline struct fl_found_row *fl_shm_found(struct fl_region *m)
{
	return (void *)((char *)m + m->found_at);	/* max_sites */
}

static inline struct fl_body_block *fl_shm_body_blocks(struct fl_region *m)
{
	return (void *)((char *)m + m->body_blocks_at);	/* n_body_blocks */
}

static inline struct fl_body_row *fl_shm_bodies(struct fl_region *m)
{
	return (void *)((char *)m + m->bodies_at);	/* of block after block */
}

static inline struct fl_place_row *fl_shm_places(struct fl_region *m)
{
	return (void *)((char *)m + m->places_at);	/* max_places */
}

static inline struct fl_glue_range *fl_shm_glue(struct fl_region *m)
{
	return (void *)((char *)m + m->glue_at);
}

/* ---- target side (GUEST) ---------------------------------------------- */

/* For glue only: where the calling thread's slot is found, NULL when it has
 * none. What it points to is in memory that fork's child finds wiped, also after a bare
 * clone system call: a child never writes into its parent's slot. Between
 * loading and storing `ptr` the glue must not be interrupted by a handler: rseq. */
extern __thread struct fl_slot **fl_tls_slot
	__attribute__((visibility("hidden"), tls_model("initial-exec")));
/* The same of a second recorder's region. */
extern __thread struct fl_slot **fl_tls_other
	__attribute__((visibility("hidden"), tls_model("initial-exec")));

/* For glue, too: of a thread's innermost timed call, as far as a probe must know it. */
struct fl_timed {
	uint64_t limit;			/* what stands below is further in; UINT64_MAX: none */
	uint32_t loose;			/* as its frame's; FL_FIXED: none */
};
extern __thread struct fl_timed fl_timed
	__attribute__((visibility("hidden"), tls_model("initial-exec")));

/* Map the region that `given`, as in the environment, names. 0; -ENOMEM: there is
 * room for no more than its head, by which the reader can be told, or *m is NULL;
 * else there is none that is meant for this process, and nothing is mapped.
 * *mapped is its size. */
int fl_shm_attach(const char *given, struct fl_region **m, uint64_t *mapped);
/* Become a process of the process tree, or its next image. 0; -EALREADY: this image is,
 * by another flick that is in it; -EXDEV, -ENOSPC, or -EDQUOT, as its program is dear: it is
 * not to be recorded, which has been counted. Not thread-safe. */
int fl_channel_join(struct fl_region *m);
/* It has armed its program, or what that has loaded since, which took so much CPU time. */
void fl_channel_armed(uint64_t ns);
/* A second body of `function` stands at [lo, lo + bytes) in this process: before anybody can
 * run it. */
void fl_channel_tell_body(int pid, uintptr_t function, uintptr_t lo, size_t bytes);
/* Glue does, and what else of flick's is in near memory: of bodies all that is not told so. */
void fl_channel_tell_glue(struct fl_glue_range);
/* What bodies of this process are to tell: enum fl_weaves. */
uint32_t fl_channel_weaves(void);
/* ... and to do with pairs of exclusives. */
enum fl_exclusive fl_channel_exclusive(void);
/* Numbers for so many places in a row: the first. FL_MAX_PLACES: there is no room. */
uint32_t fl_channel_claim_places(uint32_t n);
void fl_channel_tell_place(uint32_t place, int pid, uintptr_t at, uint32_t what);
/* Make room for `n` records in a row, as many as fit into an empty chunk; false: there will be
 * none, and they are counted as lost. Blocks as fl_channel_put() does. */
bool fl_channel_make_room(uint32_t n);
/* This process has heeded that wish of fl_seldom. */
void fl_channel_heed(uint32_t wish);
/* The same in fork's child, which then has its parent's channel for its own. */
int fl_channel_fork(void);
/* A process that joined cannot be recorded after all. */
void fl_channel_count_outside(enum fl_outside);
/* The number of this image; 0 where nobody joins. */
uint32_t fl_channel_image(void);
/* One process at a time adds to the region's tables, and speaks with the
 * reader. Survives its holder's death. Nothing without `follow`. */
void fl_processes_lock(struct fl_region *m);
void fl_processes_unlock(struct fl_region *m);

/* Use region `m` for this process's threads. 0 or -ENOMEM. Not thread-safe; once.
 * The region must stay mapped from then on: the C library's list of a thread's
 * robust mutexes leads through its slot. */
int fl_channel_open(struct fl_region *m);
/* Threads of this process no longer enqueue (fork's child, close). */
void fl_channel_close(void);
/* The calling thread's slot, claimed at first use; NULL when none is free. */
struct fl_slot *fl_channel_slot(void);
/* The slot it has already, or NULL. */
struct fl_slot *fl_channel_own_slot(void);
/* The bare thread that attaches executes probes as one that is not recorded if these words are
 * in its own part, which nobody else fills: from the thread pointer to each, and what it is. */
enum { FL_NOBODY_WORDS = 3 };
void fl_channel_nobody(uint64_t words[FL_NOBODY_WORDS][2]);
/* Count an event of a thread that has none. Where the process is not recorded,
 * fl_channel_on_left is told of the probe instead; UINT32_MAX: it has none. */
void fl_channel_lose_slotless(uint32_t probe);
extern void (*fl_channel_on_left)(uint32_t probe)
	__attribute__((visibility("hidden")));	/* W once, in fork's child; NULL: nobody is */
/* Count one that is of no probe, as there is no room for its site. */
void fl_channel_lose_unplaced(enum fl_kind kind);
/* Is the channel not open, or no longer? */
bool fl_channel_is_closed(void) __attribute__((visibility("hidden")));
/* Enqueue with every check: what the glue calls when its short path ends.
 * Signal-safe. Blocks while the ring is full and the reader lives. */
void fl_channel_put(uint32_t probe, uint64_t tsc, uint32_t sp);
/* The same for an event that no glue saw. */
void fl_channel_put_one(const struct flick_record *);
/* Two records that nothing comes between. The same rules. */
void fl_channel_put_pair(const struct flick_record pair[2]);
/* Count probe `probe` once: the slow path of FL_ACT_COUNT. */
void fl_channel_count(uint32_t probe);
/* A block of the thread's counts of `probe` is full: begin the next one, and tell
 * fl_channel_on_block, where there is one. */
void fl_channel_end_block(uint32_t probe);
extern void (*fl_channel_on_block)(uint32_t probe)
	__attribute__((visibility("hidden")));	/* W once, before the first */
/* Told of what a thread has left in frames that another one gets. */
extern void (*fl_channel_on_frames)(struct fl_frames *)
	__attribute__((visibility("hidden")));	/* likewise */
/* Slots that this process's threads have, or had: what of frames they left; where
 * `of_dead` only of those that have ended. */
void fl_channel_each_frames(bool of_dead, void (*each)(struct fl_frames *, int32_t tid));
/* What threads of this process have counted of it, in the first FL_HANDS_SLOTS slots: less
 * than before when one of them has ended. */
uint64_t fl_channel_counted(uint32_t probe);
/* Wake the first reader if it sleeps: there is something for it to see. */
void fl_channel_doorbell(void);
/* Is the process that made the region still there? */
bool fl_channel_reader_lives(void);

/* ---- a second recorder's, with a region of its own (other.c) ------------------------- */

/* Take in the region that `given` names, as fl_shm_attach(): *m is its, which stays mapped for
 * ever, and this process the only one in it. 0, or why not. */
int fl_other_open(const char *given, struct fl_region **m);
/* Threads of this process no longer enqueue there. */
void fl_other_close(void);
/* What the first recorder has been shown of modules, glue, bodies and of sites [from, n),
 * which are `sites`, is shown there. */
void fl_other_show(const struct fl_shm_site *sites, uint32_t from, uint32_t n);
void fl_other_refuse(uint32_t id, int err);	/* there alone */
/* As those of the first one. Signal-safe; nothing where there is none. */
void fl_other_put(const struct flick_record *) __attribute__((visibility("hidden")));
void fl_other_count(uint32_t probe) __attribute__((visibility("hidden")));
/* Is the process that made region `m` still there? Wake it. */
bool fl_shm_reader_lives(const struct fl_region *m);
void fl_shm_doorbell(struct fl_region *m);

/* ---- reader side ------------------------------------------------------- */

struct fl_shm_options {
	uint32_t n_slots, max_sites;	/* 0 = 2048, 1 M */
	uint32_t n_counters;		/* of a slot, where calls are counted; 0 = max_sites */
	uint32_t ring_kib;		/* as long as a ring may grow; 0 = 512 */
	uint32_t n_readers;		/* 0 = 1 */
	uint32_t action, samples, epoch_us, follow, precise;
	uint32_t weaves;		/* enum fl_weaves */
	enum fl_exclusive exclusive;
	uint32_t rate;			/* millionths; 0 = no windows */
	bool adapts;			/* the rate follows the reader's pace */
};

/* A region in a new memfd; the calling thread is the reader whose death the
 * target notices, and the one to destroy it, of several its last one first. 0 or
 * -errno, FLE_OPTION; *fd is close-on-exec. */
int fl_shm_create(const struct fl_shm_options *, struct fl_region **m, int *fd);
/* Has each slot counters, by what probes do and the rate of windows? */
bool fl_shm_counts(enum fl_action, uint32_t rate);
/* Where the program was attached to, and goes on, it keeps the region, without most pages. */
void fl_shm_destroy(struct fl_region *m, int fd);
/* That process of the tree, or the last one that had its number; NULL: none has joined. */
const struct fl_process *fl_shm_process(struct fl_region *m, int pid);
/* The program that this file is; NULL: no process has executed it. */
const struct fl_program *fl_shm_program(struct fl_region *m, const char *path);
/* One moment on both clocks: of events (ticks), of CLOCK_MONOTONIC (ns). */
void fl_clocks_read(uint64_t *tsc, uint64_t *mono_ns);
/* To processes that still record: the reader goes. They switch their probes off. */
void fl_shm_leave(struct fl_region *m);

/* A site as it stands. The target may write over it at any time: its reader copies it
 * once, then looks. What is no index of its table is 0. */
static inline struct fl_shm_site fl_site_copy(const struct fl_shm_site *s)
{
	struct fl_shm_site c = {
		.at = load_relaxed(&s->at), .function = load_relaxed(&s->function),
		.datum = load_relaxed(&s->datum), .refusal = load_relaxed(&s->refusal),
		.module = load_relaxed(&s->module), .owner = load_relaxed(&s->owner),
		.kind = load_relaxed(&s->kind),
		.provider = load_relaxed(&s->provider), .tactic = load_relaxed(&s->tactic),
		.state = load_relaxed(&s->state), .wanted = load_relaxed(&s->wanted),
		.jump = load_relaxed(&s->jump), .image = load_relaxed(&s->image),
	};

	c.kind = c.kind < FL_N_KINDS ? c.kind : 0;
	c.provider = c.provider < FL_MAX_PROVIDERS ? c.provider : 0;
	c.tactic = c.tactic < FL_N_TACTICS ? c.tactic : 0;
	c.state = c.state <= FL_SITE_GONE ? c.state : 0;
	return c;
}

/* One life of a slot: a thread of the target. Its number is, by first sight, the
 * reader's own, that plus n_readers, that plus twice n_readers, ... */
struct fl_thread {
	int32_t tid, pid;
	uint32_t image;
	uint32_t program;		/* 1 + its row, of a process tree; 0: not known */
	char name[16];
	bool ended;
	uint64_t from_ns, to_ns;	/* when the reader saw it first, and that it had ended:
					 * of the monotonic clock */
	uint64_t produced;		/* delivered + lost + filtered, always */
	uint64_t delivered;
	uint64_t filtered;
	uint64_t lost[FL_N_LOST];
};

/* A time in which every event of every thread was recorded. */
struct fl_window {
	uint64_t number;		/* from 1 */
	uint32_t weight;		/* what an event stands for, in 1/1000 */
	bool fresh;			/* it began with its image */
	const uint64_t *edges;		/* of all, begin and end; NULL: not known */
	size_t n_edges;			/* as many as have been drawn */
};
#define FL_WEIGHT_ONE 1000u

/* What a record is, whose, and both as its `probe`. */
static inline enum flick_type fl_record_type(const struct flick_record *r)
{
	return r->probe >> FLICK_PROBE_BITS;
}

static inline uint32_t fl_record_probe(const struct flick_record *r)
{
	return r->probe & (FL_MAX_SITES - 1);
}

/* Does it fill a chunk, where what was to be told in one go did not fit? */
static inline bool fl_is_padding(const struct flick_record *r)
{
	return fl_record_type(r) == FLICK_TYPE_ACCESS && !(r->sp & FLICK_ACCESS_SIZE);
}

/* Does it count as an event, or belong to the one in front of it? */
static inline bool fl_is_event(const struct flick_record *r)
{
	return fl_record_type(r) != FLICK_TYPE_CALLER && !fl_is_padding(r);
}
static inline uint32_t fl_typed(enum flick_type type, uint32_t probe)
{
	return (uint32_t)type << FLICK_PROBE_BITS | probe;
}

/* Of `n` records at `r` those in a row whose types are known: `n` from `from` on. What
 * stands before is passed over, `passed` records that began there and what belongs to
 * them; *rest is how many that still do, from the last call to the next one. */
struct fl_known_records {
	size_t from, n;
	size_t events;			/* of the n: all that happened by itself */
	size_t passed;
};
struct fl_known_records fl_records_known(const struct flick_record *r, size_t n,
					 uint64_t *rest);

/* Of `n` words of a ring those in a row that are accesses, or whole records of two words
 * each; `n` 0: there is but a half of one. `rest`: see above. */
struct fl_run_of_words {
	size_t n;
	bool are_accesses;
};
struct fl_run_of_words fl_records_run(const uint64_t *words, size_t n, uint64_t rest);

/* Records of one thread in order, of known types; valid during the call. */
struct fl_batch {
	uint32_t thread;		/* its number */
	const struct flick_record *records;
	size_t n;
	const struct fl_window *window;	/* all are of it; NULL: no windows */
	uint64_t paused;		/* ticks that the thread waited for room in its ring,
					 * right behind the first record */
	const uint64_t *skipped;	/* likewise, right before each: what was left out there
					 * has taken so many; NULL: nothing was */
};

/* Accesses of one thread in order, told in words; valid during the call. They stand in the ring
 * itself: a target may write there at any time, so each is loaded once. */
struct fl_words {
	uint32_t thread;
	const uint64_t *of;
	size_t n;			/* W who is given them: those before the first that is
					 * no access, where that is met */
	const struct fl_place_row *places;	/* of the target's */
	uint32_t n_places;			/* FL_WORD_PLACES at most */
};

struct fl_sink {			/* NULL functions: nobody looks */
	void *arg;
	void (*feed)(void *arg, const struct fl_batch *);
	/* From counters: `n` more calls of `probe` by `thread`. */
	void (*count)(void *arg, uint32_t thread, uint32_t probe, uint64_t n);
	void (*thread_end)(void *arg, uint32_t thread);
};

/* What drains the slots `number`, number + n_readers, ... Each is one thread's;
 * their sinks are called from these. */
struct fl_reader;
int fl_reader_open(struct fl_reader **, struct fl_region *, const struct fl_sink *,
		   uint32_t number);
/* Deliver what is there; returns records delivered. `target_gone` also takes
 * half-filled chunks at once and ends every thread. Does not block. */
uint64_t fl_reader_poll(struct fl_reader *, bool target_gone);
/* Deliver all that was recorded before, also of chunks that are being filled, which costs
 * their threads a line of the cache: now and then. */
void fl_reader_take(struct fl_reader *);
/* The sink is given words as they are; else it is fed with records that say the same. */
void fl_reader_give_words(struct fl_reader *, void (*)(void *arg, struct fl_words *));
/* Where calls are counted beside what is recorded of some: deliver what was counted
 * so far. It is delivered at the end of each thread, too. */
void fl_reader_count(struct fl_reader *);
/* In the sink's count(): all these calls were made when their process had heeded this
 * wish. */
uint32_t fl_reader_heeded(const struct fl_reader *);
/* Sleep until there is much to do, or `max_us`. */
void fl_reader_wait(struct fl_reader *, uint32_t max_us);
/* Thread i of them has the number `number` + i * n_readers. */
const struct fl_thread *fl_reader_threads(const struct fl_reader *, size_t *n);
void fl_reader_close(struct fl_reader *);

#endif
