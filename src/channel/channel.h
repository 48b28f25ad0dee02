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
 * The reader makes the region and outlives the target, so events that were enqueued
 * survive any death of the target. The target knows that the reader is gone when the
 * kernel marks the robust mutex `reader` (FUTEX_OWNER_DIED); no descriptor stays open.
 */
#define FL_SHM_MAGIC 0x316b63696c66ull	/* "flick1" */
#define FL_SHM_VERSION 26
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
	FL_LOST_SITE,	/* no row for the function: nobody knows whether it was wanted */
	FL_N_LOST
};
extern const char *const fl_lost_names[FL_N_LOST];

enum fl_action {	/* what a probe that is on does */
	FL_ACT_COUNT,	/* add one to a counter of its thread; the long path at each
			 * FL_COUNT_BLOCK */
	FL_ACT_TIME,	/* a record with time */
	FL_ACT_SAMPLE,	/* paper 1 section 9: a call that may be one of K timed ones */
	FL_ACT_AFTER,	/* count; the long path where a timed call of the thread may end,
			 * or where another call of the same function may begin in it */
	FL_ACT_CALL,	/* a function of the program's own (flick.h) */
	FL_ACT_WINDOW,	/* a record with time, and at entries one of the caller */
	FL_ACT_BOTH,	/* what the recorder wants, if it wants the probe; then FL_ACT_CALL */
	FL_ACT_TWICE,	/* a record with time, in the rings of two recorders */
	FL_ACT_STAGED,	/* what the generation in force says; a switch to another one may be
			 * under way while threads come here: probe/change.c */
	FL_N_ACTIONS
};

enum fl_outside {	/* why a process is not recorded; index of outside[] */
	FL_OUT_TABLE,	/* more than fl_most_processes() */
	FL_OUT_SPACE,	/* in a pid namespace of its own */
	FL_OUT_ERROR,	/* no memory or no thread for it */
	FL_N_OUT
};
extern const char *const fl_outside_names[FL_N_OUT];
/* How many recorders are here already: a new one is the first, the second, or refused. */
enum fl_recorders { FL_RECORDERS_NONE, FL_RECORDERS_ONE, FL_RECORDERS_FULL };
enum fl_left { FL_LEFT_SITES = 1, FL_LEFT_MODULES = 2, FL_LEFT_GLUE = 4, FL_LEFT_BODIES = 8 };

/* FL_AT_POINT: at an instruction inside of a function, which counts as a function itself. */
enum fl_kind { FL_ENTRY, FL_EXIT, FL_TAIL, FL_CALLSITE, FL_AT_POINT, FL_N_KINDS };

/* Is each event of this kind counted? */
static inline bool fl_kind_counts(uint8_t kind)
{
	return kind == FL_ENTRY || kind == FL_AT_POINT;
}
extern const char *const fl_kind_names[FL_N_KINDS];

enum fl_site_state {	/* W target */
	FL_SITE_OTHERS,	/* other processes have it; only in a process's own copy */
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
	uint32_t heeded;		/* wish of fl_seldom that is in force; W process (T) */
	uint64_t start;			/* by which two images of one pid are told apart */
	uint64_t drawn_at;		/* where `start` lies; an emulator's is the kernel's */
	uint32_t program;		/* 1 + row of the living image's; 0: not known */
	uint32_t is_bare;		/* 1: that program is dear, and has no probes here; W
					 * process */
	uint32_t was_bare;		/* 1 + row of the program that the process executed
					 * without probes before; 0: none */
};

/* A program that processes of a process tree execute. Arming the probes of a large program may
 * take longer than the program runs. Such a program becomes dear: the next processes that
 * execute it have no probes. */
struct fl_program {
	uint64_t key;			/* by its path; 0: nobody's row; atomic, once */
	uint64_t arming_ns;		/* CPU time that its processes armed for; atomic, as: */
	uint32_t n_armed, n_bare;	/* processes that began it with and without probes */
	uint32_t is_dear;		/* W reader (session/samples/bare.c) */
	char name[36];			/* of its file; "": not written yet */
};
#define FL_MAX_PROGRAMS 256u		/* programs without a row are never dear */
/* A process that has armed may spend one in so many parts of the arming time on counting calls,
 * whatever the budget says: a program that runs for less time than it armed for is counted
 * whole. */
#define FL_GRANTED_ONE_IN 10

/* Each place of the index has 1 + a row; 0: none. A row stands where the hash of its pid says,
 * or behind. The index is at least half empty. */
enum { FL_PROCESS_INDEX = 2 * FL_MAX_PROCESSES };

/* How many processes a recording has room for. */
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
	uint16_t owner;			/* index; of `function`, which another module may have
					 * inlined. None: no module's, or no room */
	uint8_t kind;			/* enum fl_kind */
	uint8_t provider;		/* index into fl_providers[] */
	uint8_t tactic;			/* enum fl_tactic */
	uint8_t state;			/* enum fl_site_state */
	uint8_t wanted;			/* enum fl_wanted; only an entry may be seldom, which
					 * the target may set as well (probe/fuse.c) */
	uint8_t jump;			/* 1: an exit by jump, its frame is taken down */
	uint32_t image;			/* that brought the site; others may have it too */
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
	uint32_t rate;			/* that the reader wishes; 0: no windows. W reader */
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

/* Functions are in so many groups, and calls are timed in one group after the other. What a
 * timed call costs is part of a timed call around it: so functions that call one another
 * should not be timed at once. */
enum { FL_GROUPS = 4 };

/* What the probes of a call add to timed calls around it, in parts of a tick; index: is the
 * entry of the called function bare? W reader, before the first timed call. */
enum { FL_TICK_PARTS = 16 };
struct fl_probes_take {
	uint32_t timed[2];		/* by one that is timed, too: what it cannot measure */
	uint32_t counted[2];		/* by one that is counted, at its entry and its exit */
	uint32_t looked[2];		/* on top, to look whether the call is to be timed */
};

/* A measure of how much counting slows the program down. When a window is over, one function
 * of the window goes on to be counted for a while. In that time the program does what it did
 * in the window, and also what all other counts kept it from. Sums over windows that were
 * followed in this way; atomic add. */
struct fl_gauge {
	uint64_t windows;
	uint64_t calls, ns;		/* in these: calls of that function; program's time */
	uint64_t behind, behind_ns;	/* the same behind windows */
	uint64_t extra;			/* calls counted behind windows, and in no window */
	/* The program's time in windows, and behind them, in which threads ended and took
	 * their counts with them. The fields above have nothing of that time. */
	uint64_t torn_ns, torn_behind_ns;
};

/*
 * For a sampled program: the functions whose calls would cost too much to count, and the
 * windows in which these are counted. See probe/seldom.c, session/budget/budget.c.
 */
#define FL_HANDS 12u			/* of its own clock: session/budget/clock.c, ... */
#define FL_HANDS_SLOTS 64u		/* ... in so many slots */
struct fl_seldom {
	uint32_t epoch_us;		/* after which calls are timed again; W reader, as: */
	uint32_t period_us;		/* from one window to the next */
	uint32_t window_us;		/* how long a window is to be */
	uint32_t wish;			/* changes of which sites are FL_SELDOM; W reader (S) */
	alignas(64) uint32_t heeded;	/* the wish that is in force; W target (T) */
	uint64_t passed_ns, open_ns;	/* in all, and in windows; atomic add */
	uint64_t windows, timings;	/* closed windows that count, and that time; atomic
					 * add */
	/* Time of the program in all, and in windows; likewise. CPU time where has_one_cpu. */
	uint64_t ran_ns, ran_open_ns;
	uint64_t closed_ns;		/* when the last window closed, or the wish came in
					 * force */
	uint64_t passed_then_ns, open_then_ns;	/* passed_ns, open_ns at that time */
	uint64_t cut_ns;		/* when a function was cut while none was seldom; W
					 * target, as: */
	uint64_t gap_ns;		/* from the last such cut, or wish that came in force,
					 * to the window behind it */
	/* Calls, in windows, of functions that are counted always; atomic add. */
	uint32_t hands[FL_HANDS];	/* their probes + 1; 0: none. W reader */
	uint64_t ticks[FL_HANDS];
	uint32_t gauge_probe;		/* + 1; 0: none. W reader */
	struct fl_gauge gauge;
	uint32_t torn;			/* windows in which a thread's counts went away;
					 * atomic add */
	uint32_t n_taken;		/* threads that ended, whose counts are gone or going;
					 * W reader (V) */
	uint32_t has_one_cpu;		/* 1: windows are opened and closed on the program's
					 * one CPU; W target, as: */
	uint32_t shared_cpus;		/* CPUs on which that is done and the program runs, + 1;
					 * 0: not told */
	uint32_t is_open;		/* is a window open now? Of one process; W target */
	/* What may be counted (probe/fuse.c). */
	alignas(64) uint32_t credit;	/* blocks that are left; atomic */
	uint32_t round;			/* changes with each credit; 0: no limit. W reader */
	uint32_t has_cut;		/* 1: some became seldom; W target, 0 reader */
};

/* Where glue stands: a sample of the program counter there is time of flick's. */
struct fl_glue_range {
	uint64_t lo, hi;		/* W target, before it counts in n_glue */
	uint64_t table, table_bytes;	/* unwinds bodies there: as .eh_frame_hdr, and what
					 * that leads to; or 0 */
	int32_t pid;			/* whose it is; its children have it, too */
};

/* Where a second body stands: a sample of the program counter there is time of its function.
 * The process adds the row before anybody can run the body, and the body stands for as long as
 * the process's image does. Rows are claimed by blocks: see body.c. */
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

/* A place that tells an access to memory; records have the number of the place. A row has no
 * records where its place could not be used. */
struct fl_place_row {
	uint64_t at;			/* of the instruction, in the module's file: each
					 * process has it elsewhere. W target, as all, before
					 * an access is told there */
	uint64_t function;		/* whose body tells it: a cold part stands elsewhere */
	uint32_t module;		/* its row */
	uint32_t what;			/* enum flick_access, size 0: the record tells it; and
					 * where a word has not the access's own address: */
};
enum { FL_MAX_PLACES = 1 << 22, FL_PLACE_ACCESS = (1 << 18) - 1,
       FL_PLACE_WITH = 1 << 18,		/* told by the word of the place before; a word tells */
       FL_PLACES_IN_WORD = 4,		/* ... so many at most */
       FL_PLACE_ABOVE = 24 };		/* bits above: distance from the word's address */

/* An access may be one word, but only in a ring. The word is the sum of the highest bit, which
 * no clock and no address has; of the place, less than FL_WORD_PLACES, above
 * FL_WORD_ADDRESS_BITS; and of the address. An address beyond these bits, which can only fault,
 * is told wrong. Accesses that always come in a row, to bytes that are near, have one word: the
 * first one's place, and the lowest address. */
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

/* What second bodies are made to tell, and whether calls are recorded as well. */
enum fl_weaves { FL_WEAVE_ACCESSES = 1, FL_WEAVE_PATHS = 2, FL_WEAVE_CALLS = 4 };

/* Which modules get second bodies: site/wants.c. A rule is `+` or `-` and a glob of a module's
 * base name, with its NUL; an empty rule ends the list. The last rule that matches decides; a
 * module that no rule matches gets no bodies. `@` has a glob and 16 digits: the instruction at
 * that offset in the file is a point. W reader, before exec. */
#define FL_RULE_POINT '@'
enum { FL_RULES_BYTES = 8192, FL_RULE_DIGITS = 16 };
struct fl_body_rules {
	uint32_t everywhere;		/* 1: also where the compiler left sites */
	uint32_t no_bodies, stubs;	/* 1: no bodies at all; stubs get bodies, too */
	char text[FL_RULES_BYTES];
};

/* The 16 digits of a point: each holds 4 bits, as a character from '0' on. */
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
struct fl_found_row {			/* offsets from the program's lowest address */
	uint32_t at;			/* and the bit: calls may be of other functions, too */
	uint32_t function;		/* and the bit: the slot that holds its address */
};
enum fl_found_state {
	FL_FOUND_NONE,
	FL_FOUND_GIVEN,			/* W reader, before exec */
	FL_FOUND_WISHED,		/* none there; the reader would keep some. W reader */
	FL_FOUND_TOLD			/* W target before ASK */
};
struct fl_found {
	uint32_t state;
	uint32_t n;			/* rows; W the giver of the rows */
	uint8_t id[FL_BUILD_ID];	/* of the program's file; constant, as all below */
	uint64_t inode, changed_ns;
};

/* A timed call that had not ended when its sampled program did. */
enum { FL_MAX_OPEN = 1024 };
struct fl_open_call {
	uint64_t begun, ended;		/* ticks; ended: the program's end. 0: not told yet */
	uint32_t probe;			/* of its entry */
	int32_t tid;			/* of its thread */
};

/* What the reader has staged for a probe, while the program runs; a byte each. */
enum fl_stage {
	FL_STAGE_NONE,			/* it stays as it is */
	FL_STAGE_OFF,
	FL_STAGE_ON,			/* the probe does what the session's probes do */
	FL_STAGE_COUNT,			/* the probe's calls are counted, and not timed */
	FL_N_STAGES
};

/* The reader asks here that all staged probes change at once: see agent/control.c, and
 * session/change/change.c. */
struct fl_change_box {
	alignas(64) uint32_t wish;	/* changes that were asked for; W reader (A) */
	uint32_t n;			/* bytes of staged[] that count; W reader, before */
	alignas(64) uint32_t done;	/* the wish that was answered; W target (C), as all
					 * below, before */
	int32_t error;			/* 0, or why nothing has changed: fl_err */
	uint32_t n_switched;		/* probes */
	uint32_t n_refused;		/* of those staged, as their rows say */
	uint32_t generation;		/* changes that were made */
	uint32_t n_late;		/* threads of which nobody knew for long which
					 * generation they saw */
	/* Ticks; passed: no thread goes by what was in force before. */
	uint64_t begun, switched, passed, ended;
};

/* What a reader's thread sleeps on. */
struct fl_bell {
	alignas(64) uint32_t rung;	/* futex; atomic add */
	uint32_t sleeps;		/* 1 while the reader sleeps; W reader, 0 ringer */
};

/*
 * A session: what one recording, or a program by itself, wants of the processes, and what
 * comes back for it alone. A region has one session. A program's own session beside a
 * recorder's has nothing here (probe/second.c), and a second recorder's is in a region of its
 * own (other.c). Elsewhere a session has: `wanted` of a site, `heeded` of a process, and a
 * slot's ring, counters and frames.
 */
enum { FL_SESSIONS = 1 };
struct fl_shm_session {
	uint32_t counter_bytes;		/* of a slot: counters come before its cells, and cells
					 * before its chunks. Constant after init, as all up
					 * to `phase` */
	uint32_t cell_bytes;		/* likewise; 0, or FL_CELLS of them */
	uint32_t chunk_bytes;		/* of every ring */
	uint32_t ring_chunks;		/* as many as one ring may have; 0: no rings */
	uint32_t pool_chunks;		/* that all rings together may grow by */
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
	uint64_t ended_tsc;		/* when a process of it ended; W target */

	alignas(64) pthread_mutex_t reader;	/* robust; held while it lives */
};

/* The head of the region: which processes are recorded, and what is known of them. */
struct fl_region {
	uint64_t magic;			/* constant after init, as all up to n_modules */
	uint32_t version, header_bytes;
	uint64_t bytes;			/* of the whole region */
	uint32_t max_modules, max_glue, max_sites, n_slots, slot_bytes;
	uint32_t n_body_blocks, body_rows;	/* body_rows: in each block */
	uint64_t processes_at, process_index_at, modules_at, glue_at, found_at;
	uint64_t body_blocks_at, bodies_at, sites_at, staged_at, places_at;
	uint64_t slots_at;		/* an offset, as all these */
	uint32_t weaves;		/* enum fl_weaves, bits */
	uint32_t exclusive;		/* enum fl_exclusive, of bodies */
	uint32_t max_places;		/* 0: none are told */
	uint32_t follow;		/* 1: the target's children may attach, too */
	int32_t target_pid;		/* else this process alone may; W before exec */
	char pid_space[32];		/* the reader's /proc/self/ns/pid */

	alignas(64) uint32_t n_modules;	/* W target before ASK */
	uint32_t n_sites;		/* W target before ASK */
	uint32_t n_images;		/* begun by start, exec and fork; atomic */
	uint32_t n_processes;		/* rows claimed, or more; atomic */
	uint32_t n_met;			/* sites that no scan has named; atomic */
	uint32_t left_out;		/* there was no room for all: enum fl_left; atomic */
	uint32_t has_spaces;		/* 1: modules nobody scans (dlmopen); W target */
	uint32_t has_reaper;		/* 1: a followed process adopts orphans itself; W
					 * target */
	uint32_t has_self;		/* 1: a process would open flick.h; W target */
	uint32_t is_attached;		/* 1: the target ran before; constant after init */
	uint32_t detach;		/* 1: leave an attached target; W reader */
	uint32_t has_left;		/* 1: recording has ended there, and all is as it was;
					 * W target */
	uint32_t n_yielded, n_overwritten;	/* sites given up each time that the program
					 * was about to write its code; sites that it wrote
					 * over; atomic */
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
	uint64_t watch_ns;		/* CPU time of watchers beside processes that have
					 * ended, before they freed these processes' memory;
					 * with --rate, of what opens windows; atomic */
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
	uint32_t stands;		/* the frame stands for so many calls */
	uint32_t sp_high;
	uint64_t spent;			/* by probes, before the call began: see sample.c */
};
#define FL_FIXED UINT32_MAX
#define FL_FRAMES 96

/* A thread's frames, the outermost first. They lie in memory of the process's own, because a
 * handler's child goes on with its parent's slot in hand: so the child has a copy. */
struct fl_frames {
	uint32_t n;
	uint32_t refused;		/* calls, in a row, for which there was no room */
	uint32_t inner_sp;		/* where the last of `inner` began */
	uint32_t was_dead;		/* its thread had ended when that was asked */
	uint64_t spent;			/* on beginning and ending timed calls, and on looking,
					 * in parts of a tick; hint: a handler may add, too */
	uint64_t seen;			/* ticks: when a call began or ended last; a hint */
	struct fl_frame at[FL_FRAMES];
};

/* Chunks that one ring may have: as many as page[] has room for. */
#define FL_RING_CHUNKS 128
/* `limit` lies so many bytes before a chunk's end: see ring.c. */
#define FL_RING_TAIL 8

/*
 * What a thread has of one session: its ring, its counters, the calls that it has open.
 * `ptr` and `limit` are addresses in the target. Only the thread itself uses these two; the
 * reader reads `ptr`.
 *
 * A ring is chunks 0, 1, 2, ...; chunk c is where page[c % FL_RING_CHUNKS] says,
 * in pages from the region's start. The reader grants chunks, and so decides how
 * long the ring is; the thread fills them in order. See ring.c, lease.c.
 *
 *	filled <= entered <= filled + 1 <= granted + 1; entered <= claimed <= granted
 *	entered > filled: chunk `filled` is being written, start <= ptr <= end = limit + 8
 *	entered = filled: no chunk is being written, ptr = end
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
	uint64_t cells;			/* where cells are, see cells.c; constant */

	alignas(64) uint64_t granted;	/* W reader (C), R thread (D) */
	uint32_t granted_word;		/* its low half, the futex */
	uint32_t bell_at;		/* granted chunks left at which to ring; W reader */

	alignas(64) uint64_t filled;	/* chunks completed; W thread (A), R reader (B) */
	uint64_t claimed;		/* chunks taken into use; W thread (Q), R reader (R) */
	uint32_t waiting;		/* 1: it waits for room; W thread */
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
	/* Calls that look what is in force, and that have looked; W thread, R change.c */
	uint32_t inside, passed;
	uint64_t claimed_tsc, begun_tsc; /* begun: the agent's work in it was done. W thread */

	alignas(64) pthread_mutex_t owner;	/* robust; held while the thread lives */
};
#define FL_PAUSE_TICKS 256u

/*
 * A slot has so many cells. A cell counts how often its thread has gone one path, in `tsc`;
 * `probe` and `sp` are as in the path's record. A path is in one of two cells whose indices
 * differ in the lowest bit: the sum of the path's number and what its function adds says which
 * two (probe/path.c). A function of few paths has cells of its own, behind these.
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

/* For glue only: where the address of the calling thread's slot is kept; NULL is kept there
 * when the thread has no slot. That memory is wiped in fork's child, also after a bare clone
 * system call: so a child never writes into its parent's slot. Between loading and storing
 * `ptr` the glue must not be interrupted by a handler: rseq. */
extern __thread struct fl_slot **fl_tls_slot
	__attribute__((visibility("hidden"), tls_model("initial-exec")));
/* The same for a second recorder's region. */
extern __thread struct fl_slot **fl_tls_other
	__attribute__((visibility("hidden"), tls_model("initial-exec")));

/* For glue, too: what a probe must know of its thread's innermost timed call. */
struct fl_timed {
	uint64_t limit;			/* a frame below is further in; UINT64_MAX: none */
	uint32_t loose;			/* as its frame's; FL_FIXED: none */
};
extern __thread struct fl_timed fl_timed
	__attribute__((visibility("hidden"), tls_model("initial-exec")));

/* Map the region that `given` names, as the environment has it. 0. -ENOMEM: there is
 * room for no more than the region's head, by which the reader can be told, or *m is
 * NULL. Another error: no region is meant for this process, and nothing is mapped.
 * *mapped is the size of the mapping. */
int fl_shm_attach(const char *given, struct fl_region **m, uint64_t *mapped);
/* Become a process of the process tree, or its next image. 0; -EALREADY: this image has
 * joined, by another flick that is in it; -EXDEV, -ENOSPC, or -EDQUOT because its program is
 * dear: it is not to be recorded, which has been counted. Not thread-safe. */
int fl_channel_join(struct fl_region *m);
/* This process has armed its program, or modules loaded since; that took so much CPU time. */
void fl_channel_armed(uint64_t ns);
/* Tell that a second body of `function` stands at [lo, lo + bytes) in this process: before
 * anybody can run the body. */
void fl_channel_tell_body(int pid, uintptr_t function, uintptr_t lo, size_t bytes);
/* Tell a range of near memory that is flick's: glue, and all else that is in no body's row. */
void fl_channel_tell_glue(struct fl_glue_range);
/* What bodies of this process are to tell: enum fl_weaves. */
uint32_t fl_channel_weaves(void);
/* What bodies of this process are to do with pairs of exclusives. */
enum fl_exclusive fl_channel_exclusive(void);
/* Take numbers for `n` places in a row: the first. FL_MAX_PLACES: there is no room. */
uint32_t fl_channel_claim_places(uint32_t n);
void fl_channel_tell_place(uint32_t place, const struct fl_place_row *);
/* Make room for `n` records in a row, at most as many as fit into an empty chunk. False: there
 * will be no room, and the records are counted as lost. Blocks as fl_channel_put() does. */
bool fl_channel_make_room(uint32_t n);
/* This process has heeded that wish of fl_seldom. */
void fl_channel_heed(uint32_t wish);
/* Join, in fork's child, which then has its parent's channel for its own. */
int fl_channel_fork(void);
/* A process that joined cannot be recorded after all. */
void fl_channel_count_outside(enum fl_outside);
/* The number of this image; 0 where nobody joins. */
uint32_t fl_channel_image(void);
/* One process at a time adds to the region's tables, and speaks with the
 * reader. The lock survives its holder's death. Without `follow` it does nothing. */
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
/* The slot that the calling thread has already, or NULL. */
struct fl_slot *fl_channel_own_slot(void);
/* The words that the bare thread that attaches must have in its own thread-local part, which
 * nobody else fills: then it is not recorded where it executes probes. Each is a distance from
 * the thread pointer, and a value. */
enum { FL_NOBODY_WORDS = 3 };
void fl_channel_nobody(uint64_t words[FL_NOBODY_WORDS][2]);
/* Count an event of a thread that has no slot as lost. Where the process is not recorded,
 * fl_channel_on_left is told the probe instead; UINT32_MAX: the event has no probe. */
void fl_channel_lose_slotless(uint32_t probe);
extern void (*fl_channel_on_left)(uint32_t probe)
	__attribute__((visibility("hidden")));	/* W once, in fork's child; NULL: nobody is */
/* Count an event as lost that has no probe, because there is no room for its site. */
void fl_channel_lose_unplaced(enum fl_kind kind);
/* True if the channel is not open yet, or not any more. */
bool fl_channel_is_closed(void) __attribute__((visibility("hidden")));
/* Enqueue with every check: what the glue calls when its short path ends.
 * Signal-safe. Blocks while the ring is full and the reader lives. */
void fl_channel_put(uint32_t probe, uint64_t tsc, uint32_t sp);
/* The same for an event that no glue saw. */
void fl_channel_put_one(const struct flick_record *);
/* Enqueue two records with nothing between them. The same rules. */
void fl_channel_put_pair(const struct flick_record pair[2]);
/* Count probe `probe` once: the slow path of FL_ACT_COUNT. */
void fl_channel_count(uint32_t probe);
/* A block of the thread's counts of `probe` is full: begin the next one, and tell
 * fl_channel_on_block, where there is one. */
void fl_channel_end_block(uint32_t probe);
extern void (*fl_channel_on_block)(uint32_t probe)
	__attribute__((visibility("hidden")));	/* W once, before the first */
/* Called with frames that a thread has left, before another thread gets them. */
extern void (*fl_channel_on_frames)(struct fl_frames *)
	__attribute__((visibility("hidden")));	/* likewise */
/* Call `each` for the frames that are left of threads of this process; with `of_dead` only of
 * threads that have ended. */
void fl_channel_each_frames(bool of_dead, void (*each)(struct fl_frames *, int32_t tid));
/* Calls of the probe that threads of this process have counted, in the first FL_HANDS_SLOTS
 * slots: less than before when one of these threads has ended. */
uint64_t fl_channel_counted(uint32_t probe);
/* Wake the first reader if it sleeps: there is something for it to see. */
void fl_channel_doorbell(void);
/* Is the process that made the region still there? */
bool fl_channel_reader_lives(void);

/* ---- a second recorder's, with a region of its own (other.c) ------------------------- */

/* Take in the region *m that `given` names, as fl_shm_attach() does. It stays mapped for ever,
 * and this process is the only one in it. 0, or why not. */
int fl_other_open(const char *given, struct fl_region **m);
/* Threads of this process no longer enqueue there. */
void fl_other_close(void);
/* The same before any thread has enqueued there: this process takes in the region again. */
void fl_other_undo(struct fl_region *m);
/* Show the second recorder what the first one has been shown: modules, glue, bodies, and sites
 * [from, n), which are in `sites`. */
void fl_other_show(const struct fl_shm_site *sites, uint32_t from, uint32_t n);
void fl_other_refuse(uint32_t id, int err);	/* for the second recorder alone */
/* As those for the first recorder. Signal-safe; they do nothing where there is no second. */
void fl_other_put(const struct flick_record *) __attribute__((visibility("hidden")));
void fl_other_count(uint32_t probe) __attribute__((visibility("hidden")));
/* Is the process that made region `m` still there? Wake that process. */
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

/* Make a region in a new memfd. The calling thread is the reader whose death the target
 * notices. It must also destroy the region; if it has made several, the last one first.
 * 0 or -errno, FLE_OPTION; *fd is close-on-exec. */
int fl_shm_create(const struct fl_shm_options *, struct fl_region **m, int *fd);
/* Does each slot have counters, given what probes do and the rate of windows? */
bool fl_shm_counts(enum fl_action, uint32_t rate);
/* A program that was attached to, and goes on, keeps the region, without most of its pages. */
void fl_shm_destroy(struct fl_region *m, int fd);
/* The row of the process `pid`, or of the last one with that number; NULL: none has joined. */
const struct fl_process *fl_shm_process(struct fl_region *m, int pid);
/* The program whose file has this path; NULL: no process has executed it. */
const struct fl_program *fl_shm_program(struct fl_region *m, const char *path);
/* One moment on both clocks: of events (ticks), of CLOCK_MONOTONIC (ns). */
void fl_clocks_read(uint64_t *tsc, uint64_t *mono_ns);
/* Tell processes that still record that the reader goes: they switch their probes off. */
void fl_shm_leave(struct fl_region *m);

/* A copy of a site as it stands. The target may write over a site at any time, so the reader
 * copies it once, and then looks. A field that would be no index of its table is 0. */
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

/* One life of a slot: a thread of the target. Threads have numbers in the order in which the
 * reader sees them: the reader's own, that plus n_readers, that plus twice n_readers, ... */
struct fl_thread {
	int32_t tid, pid;
	uint32_t image;
	uint32_t program;		/* 1 + its row, of a process tree; 0: not known */
	char name[16];
	bool ended;
	uint64_t claimed_tsc, begun_tsc, to_ns;	/* as in its slot; when its end was seen */
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
	const uint64_t *edges;		/* begin and end of all windows; NULL: not known */
	size_t n_edges;			/* as many as have been drawn */
};
#define FL_WEIGHT_ONE 1000u

/* The type of a record, the probe that it is of, and the two as the field `probe`. */
static inline enum flick_type fl_record_type(const struct flick_record *r)
{
	return r->probe >> FLICK_PROBE_BITS;
}

static inline uint32_t fl_record_probe(const struct flick_record *r)
{
	return r->probe & (FL_MAX_SITES - 1);
}

/* Does the record only fill a chunk, where accesses told in one go did not fit? */
static inline bool fl_is_padding(const struct flick_record *r)
{
	return fl_record_type(r) == FLICK_TYPE_ACCESS && !(r->sp & FLICK_ACCESS_SIZE);
}

/* Does the record count as an event? Else it belongs to the one before it, or is padding. */
static inline bool fl_is_event(const struct flick_record *r)
{
	return fl_record_type(r) != FLICK_TYPE_CALLER && !fl_is_padding(r);
}
static inline uint32_t fl_typed(enum flick_type type, uint32_t probe)
{
	return (uint32_t)type << FLICK_PROBE_BITS | probe;
}

/* Find records of known types in a row, among the `n` records at `r`: `n` of them from `from`
 * on. Before them are `passed` records of unknown types, and records that belong to these; all
 * are passed over. *rest is how many still belong to the last one: it goes from one call to the
 * next. */
struct fl_known_records {
	size_t from, n;
	size_t events;			/* of these n: fl_is_event() */
	size_t passed;
};
struct fl_known_records fl_records_known(const struct flick_record *r, size_t n,
					 uint64_t *rest);

/* The first run among `n` words of a ring: of accesses, or of whole records of two words each.
 * `n` 0: there is only half a record. `rest`: see above. */
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
	const struct fl_window *window;	/* that all records are of; NULL: no windows */
	uint64_t paused;		/* ticks that the thread waited for room in its ring,
					 * right behind the first record */
	const uint64_t *skipped;	/* ticks that records left out right before each one
					 * took; NULL: none were left out */
};

/* Accesses of one thread in order, told in words; valid during the call. The words stand in the
 * ring itself, where a target may write at any time: so each word is loaded once. */
struct fl_words {
	uint32_t thread;
	const uint64_t *of;
	size_t n;			/* W the function that is given them, if it meets a word
					 * that is no access: the words before that */
	const struct fl_place_row *places;	/* of the target */
	uint32_t n_places;			/* FL_WORD_PLACES at most */
};

struct fl_sink {			/* NULL functions: nobody looks */
	void *arg;
	void (*feed)(void *arg, const struct fl_batch *);
	/* From counters: `n` more calls of `probe` by `thread`. */
	void (*count)(void *arg, uint32_t thread, uint32_t probe, uint64_t n);
	/* alive: the clock when it was seen to live last; 0: not known */
	void (*thread_end)(void *arg, uint32_t thread, uint64_t alive);
};

/* A reader drains the slots `number`, number + n_readers, ... Each reader is used by one
 * thread, and calls its sink in that thread. */
struct fl_reader;
int fl_reader_open(struct fl_reader **, struct fl_region *, const struct fl_sink *,
		   uint32_t number);
/* Deliver what is there; returns records delivered. `target_gone` also takes
 * half-filled chunks at once and ends every thread. Does not block. */
uint64_t fl_reader_poll(struct fl_reader *, bool target_gone);
/* Deliver all that was recorded before this call, also from chunks that are being filled. That
 * costs each thread a line of the cache, so it is for now and then. */
void fl_reader_take(struct fl_reader *);
/* Give the sink words as they are. Without this call it gets records that say the same. */
void fl_reader_give_words(struct fl_reader *, void (*)(void *arg, struct fl_words *));
/* Where calls are counted and some are recorded as well: deliver the counts so far. The
 * reader delivers a thread's counts at its end, too. */
void fl_reader_count(struct fl_reader *);
/* Called in the sink's count(): all calls that it is told of were made when their process had
 * heeded this wish. */
uint32_t fl_reader_heeded(const struct fl_reader *);
/* Sleep until there is much to do, or `max_us`. */
void fl_reader_wait(struct fl_reader *, uint32_t max_us);
/* All threads; the one at index i has the number `number` + i * n_readers. */
const struct fl_thread *fl_reader_threads(const struct fl_reader *, size_t *n);
void fl_reader_close(struct fl_reader *);

#endif
