/*
 * cyg.h - the parts of the provider `cyg`; private to this folder.
 *
 *	code.c	decodes text once: steps, labels, links
 *	switch.c	where jumps through tables lead
 *	body.c	the ranges of one function as a graph of blocks
 *	frame.c	where in its frame it reads and writes
 *	flow.c	what a register holds at a call, on every path to it
 *	cyg.c	names the calls, and tells them
 *	inner.c	which of the bodies in one another stands at an address
 *	inner-read.c	reads the functions that some addresses stand in
 */
#ifndef FL_SITE_CYG_H
#define FL_SITE_CYG_H

#include "scan.h"

/* ---- reach.c: which branches lead to the profiling functions ------------- */

enum fl_hook { FL_HOOK_NONE, FL_HOOK_ENTER, FL_HOOK_EXIT, FL_N_HOOKS };
enum { FL_REACH_POINTERS = 8, FL_REACH_STUBS = 64 };

struct fl_reach {
	const struct fl_module *m;
	uintptr_t direct[FL_N_HOOKS];	/* the functions themselves; 0: elsewhere */
	uintptr_t pointers[FL_N_HOOKS][FL_REACH_POINTERS];	/* that hold their addresses */
	uint8_t n_pointers[FL_N_HOOKS];
	bool is_one;			/* both are the same: the C library's own, which do
					 * nothing, in a static program */
	struct fl_stub {
		uintptr_t at;
		enum fl_hook hook;
	} stubs[FL_REACH_STUBS];	/* places that lead there */
	size_t n_stubs;
};
/* False: nothing in this module can reach them. */
bool fl_reach_open(struct fl_reach *, const struct fl_module *);
/* A target that was not met before. */
void fl_reach_judge(struct fl_reach *, uintptr_t target);
/* What does this call or branch lead to? Its target was judged. */
enum fl_hook fl_reach_hook(const struct fl_reach *, const struct fl_insn *);

/* ---- code.c: text, read once --------------------------------------------- */

enum { FL_NOWHERE = UINT32_MAX };

/* Addresses in text are offsets from fl_code.lo, others from the module's first. */
enum fl_step_op {
	/* reg is written: */
	FL_STEP_CODE, FL_STEP_DATA,	/* it is address v, in text or not */
	FL_STEP_POINTER,		/* what pointer v holds for good, elsewhere */
	FL_STEP_MOVE,			/* register v */
	FL_STEP_POP, FL_STEP_LOAD,	/* a word of the frame */
	FL_STEP_PAGE,			/* it is v from the first of text, or before it */
	FL_STEP_SUM,			/* a register and a constant: FL_SUM(v) */
	FL_STEP_FRAME, FL_STEP_LAST_LOAD = FL_STEP_FRAME,	/* its address */
	/* the frame is: */
	FL_STEP_PUSH, FL_STEP_STORE,	/* by reg; FL_NO_REG: what nobody knows */
	FL_STEP_SMASH, FL_STEP_LEAVE, FL_STEP_ALIGN,
	FL_STEP_LOST,			/* what happens to the stack is not known */
	/* the rest may end a block */
	FL_STEP_HOOK,			/* a call of a profiling function: note v */
	FL_STEP_CALL,			/* may go on at v, its landing pad */
	FL_STEP_BRANCH,			/* to v, or goes on */
	FL_STEP_JUMP,			/* to v; FL_NOWHERE: out of sight */
	FL_STEP_SWITCH,			/* to who knows where */
	FL_STEP_END			/* leaves; by a jump to a profiling function: note v */
};

/* An instruction that matters, and the registers that were written since the one
 * before it. Steps of the frame: `v` bytes from the stack pointer, or from the
 * frame pointer (FL_STEP_BY_FP in `reg`). */
struct fl_step {
	uint32_t at, v;
	int32_t where;			/* of the frame; W frame.c */
	fl_regs kills;
	uint8_t op, reg;
};
enum { FL_STEP_BY_FP = 0x80, FL_STEP_REG = 0x7f };
/* Of a sum: the constant is below, the register above. */
enum { FL_SUM_BITS = 12, FL_SUM_PLUS = (1 << FL_SUM_BITS) - 1 };

/* A call of a profiling function. */
struct fl_note {
	uint32_t at, range, step;
	uint32_t v;			/* its function: text; or a pointer */
	uint8_t source;			/* FL_STEP_CODE, ..._POINTER, ..._LOST: unknown */
	uint8_t kind, form, room, opcode;
	uint8_t via;			/* the kept register its argument was; 0: none */
	int16_t plus;			/* what it was more than that; -1: it was that */
};

/* A branch from one range into another. */
struct fl_link {
	uint32_t range, target;
};

/* What is known of a range. */
struct fl_part {
	uint32_t first, n;		/* steps; none are left of what is done */
	uint32_t note, n_notes;
	uint32_t owner, next;		/* ranges of one function: the first; a list */
	uint32_t targets;		/* of switches, in this range: a list */
	uint32_t end;			/* where decoding ended */
	uint32_t rank;			/* of its words in fl_body.ranks */
	uint8_t has_switch, has_links, has_entry, is_broken, is_done;
};

struct fl_target {
	uint32_t at, next;
};

/* Calls that return to (from, to] go on at `pad` when an exception passes. */
struct fl_pad {
	uint32_t from, to, pad;
};

struct fl_code {
	const struct fl_module *m;
	struct fl_reach reach;
	struct fl_ranges ranges;
	uintptr_t lo, hi;		/* all executable segments */
	bool is_whole;			/* ... which are one */
	bool is_fixed;			/* a file laid out elsewhere than it says */
	/* a bit a byte of text: */
	uint64_t *labels;		/* where a block begins */
	uint64_t *entries;		/* ... that may be come to from anywhere */
	uint64_t *starts;		/* of instructions */
	uint64_t *switched;		/* targets of switches */
	struct fl_step *steps;
	struct fl_note *notes;
	struct fl_link *links;
	struct fl_part *parts;		/* one a range */
	struct fl_target *targets;
	struct fl_pad *pads;		/* of the range being read */
	size_t n_steps, room_steps, n_notes, room_notes, n_links, room_links;
	size_t n_targets, room_targets, n_pads, room_pads;
	bool is_lost;			/* there was no room for what must be known */
};

int fl_code_open(struct fl_code *, const struct fl_module *);
void fl_code_close(struct fl_code *);
/* Decode a range: its part, steps and notes, and the bits above. */
void fl_code_read(struct fl_code *, size_t range);
/* A range that nobody reads, so far: it is joined with no other. */
void fl_code_skip(struct fl_code *, size_t range);
/* Anybody may come to this place: a block begins there; if a range does it is a function. */
void fl_code_expose(struct fl_code *, uint32_t at);

/* The site of instruction `i` at `at`, which calls a profiling function. For whom is left
 * out. */
struct fl_site fl_code_site(const struct fl_insn *i, uintptr_t at, enum fl_hook);

/* Is there a bit inside of an instruction, or code that is not understood? */
bool fl_code_is_torn(const struct fl_code *, const struct fl_part *);

/* Part of the text, as an offset; FL_NOWHERE: none of it. */
uint32_t fl_code_offset(const struct fl_code *, uintptr_t a);
/* The range that holds an offset; ranges.n: none. */
size_t fl_code_range(const struct fl_code *, uint32_t at);
void fl_code_link(struct fl_code *, size_t range, uint32_t target);

static inline uint32_t fl_part_start(const struct fl_code *c, const struct fl_part *p)
{
	return (uint32_t)(c->ranges.r[p - c->parts].start - c->lo);
}

/* The next range of the same function; NULL: it was the last. */
static inline struct fl_part *fl_part_next(const struct fl_code *c, const struct fl_part *p)
{
	return p->next == FL_NOWHERE ? NULL : &c->parts[p->next];
}

/* ---- cyg.c: ranges of one function ---------------------------------------- */

/* All ranges were read: put those together that branches join. 0, -ENOMEM. */
int fl_cyg_join(struct fl_code *);
/* The first of the ranges that are one function with this one. */
uint32_t fl_cyg_owner(struct fl_code *, uint32_t range);

/* ---- inner-read.c: some functions --------------------------------------------- */

/* Read all ranges that may be one function with those that hold these addresses; the others
 * are skipped. 0 or -ENOMEM. */
int fl_inner_read(struct fl_code *, const uintptr_t *at, size_t n);

/* ---- found.c: what an earlier scan has found ------------------------------- */

/* Is it given for this module? Then tell it: 0, or what `each` returned when not 0. */
bool fl_found_is_given(const struct fl_module *);
int fl_found_tell(struct fl_reach *, fl_site_each *, void *arg);
/* Is it wished for? Then begin, add each site, and end; add: with the pointer that its
 * function's address is in, or 0; false, it cannot be kept. */
bool fl_found_is_wished(const struct fl_module *);
void fl_found_begin(void);
bool fl_found_add(const struct fl_module *, const struct fl_site *, uintptr_t pointer);
void fl_found_end(void);

/* ---- switch.c: tables of jumps ------------------------------------------- */

/* Where the jumps of all parts with `has_switch` lead: labels, targets, links. */
int fl_switch_find(struct fl_code *);

/* ---- body.c: a function as a graph --------------------------------------- */

enum { FL_BLOCK_ROOT = 1,		/* may be come to with anything */
       FL_BLOCK_FUNCTION = 2,		/* the root where a function begins */
       FL_BLOCK_PART = 4,		/* where a range begins that others branch to */
       FL_BLOCK_PAD = 8,		/* is come to by an exception */
       FL_BLOCK_FALLS = 16,		/* goes on into the next one */
       FL_BLOCK_LIVE = 32,		/* a root leads there */
       FL_BLOCK_SEEN = 64, FL_BLOCK_QUEUED = 128	/* W frame.c */
};

struct fl_block {
	uint32_t at, first, end;	/* steps [first, end) */
	uint32_t part;
	uint32_t taken;			/* the block it jumps to */
	uint32_t preds;			/* a list of edges */
	int32_t sp, fp;			/* at its head, W frame.c */
	fl_regs kills;			/* registers that any step changes */
	uint8_t flags;
	uint64_t stores;		/* a hash of the locations it writes, W frame.c */
	uint32_t answers[FL_ARCH_N_KEPT];	/* for the kept registers; W flow.c */
};

struct fl_edge {
	uint32_t from, next;
};

struct fl_body {			/* all 0 except `c`: nothing is mapped */
	struct fl_code *c;
	uint32_t first;			/* part */
	struct fl_block *blocks;	/* the last one is the switch, where all of them meet */
	struct fl_edge *edges;
	uint32_t *queue;
	uint32_t *ranks;		/* blocks before each word of labels, by part */
	uint32_t n_blocks, n_edges, n_queue, n_ranks;
	uint32_t aligned_at;		/* where the stack pointer was aligned */
	int32_t hook_sp;		/* where profiling functions are called */
	size_t room_blocks, room_edges, room_ranks;	/* of what is mapped */
	bool has_fp;			/* the frame pointer is one, somewhere */
	bool has_frame;			/* `where` and `stores` are known */
	bool is_strange;		/* nothing can be said of it */
	/* flow.c */
	struct fl_visit *visits;
	struct fl_spot *todo;
	uint64_t *answers;		/* one a question */
	uint32_t n_visits, n_answers, first_answer;
	size_t room_visits, budget;
};

/* No known location in the frame; none of the frame, the frame pointer being none. */
enum { FL_FRAME_UNKNOWN = INT32_MIN, FL_FRAME_OTHER };

/* The body that begins with part `first` of its code. 0, -ENOMEM. */
int fl_body_make(struct fl_body *, uint32_t first);
/* The block that holds an offset in it; the one that begins there, or FL_NOWHERE. */
uint32_t fl_body_block(const struct fl_body *, uint32_t at);
uint32_t fl_body_at(const struct fl_body *, uint32_t at);
/* Each block that a switch of the body may lead to. */
void fl_body_targets(struct fl_body *, void (*each)(struct fl_body *, uint32_t block));
void fl_body_close(struct fl_body *);

/* ---- frame.c ------------------------------------------------------------- */

/* Say where each step of the frame reads and writes. */
void fl_body_frame(struct fl_body *);

/* ---- flow.c: constants --------------------------------------------------- */

/* Name a call of a part from the line of code before it; or say what it was there. */
bool fl_flow_line(struct fl_code *, const struct fl_part *, struct fl_note *);
/* What registers that calls keep hold all along: one constant each, and nothing else
 * but what the caller left there. */
struct fl_kept {
	uint32_t other;			/* registers that hold something else, too */
	uint64_t value[16];		/* 0: nothing */
};
void fl_flow_keep(struct fl_kept *, const struct fl_code *, const struct fl_part *);
/* Name a call by that. */
bool fl_flow_kept(const struct fl_code *, const struct fl_kept *, struct fl_note *);

/* Room for questions about the body. 0, -ENOMEM. */
int fl_flow_open(struct fl_body *);
void fl_flow_close(struct fl_body *);
/* Name a call of the body from all paths to it. */
bool fl_flow_paths(struct fl_body *, struct fl_note *);

#endif
