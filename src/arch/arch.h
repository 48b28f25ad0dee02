/*
 * arch.h - the only door to a CPU. A port is one folder beside this file.
 *
 * Pure parts (plan, decode, emit) compile and are tested on every host; live
 * parts (flip, resume, tramp, the pieces of routines) only on their own CPU.
 */
#ifndef FL_ARCH_H
#define FL_ARCH_H

/* FL_PORT_AARCH64: the pure parts of that port are tested on another CPU. */
#if !defined(__x86_64__) && !defined(__aarch64__)
#error "no port for this CPU"
#elif defined(__ASSEMBLER__) && defined(__x86_64__)
#include "arch/x86_64/routines.h"
#elif defined(__ASSEMBLER__)
#include "arch/aarch64/routines.h"
#else

#include "base/base.h"
#if defined(__x86_64__) && !defined(FL_PORT_AARCH64)
#include "arch/x86_64/facts.h"
#else
#include "arch/aarch64/facts.h"
#endif
#include "arch/facts.h"
#include "arch/layout.h"

/* ---- decode (pure) ---------------------------------------------------- */

enum fl_insn_class {
	FL_INSN_OTHER,
	FL_INSN_CALL, FL_INSN_JUMP,	/* target 0: through a register or memory */
	FL_INSN_CALL_POINTER, FL_INSN_JUMP_POINTER,	/* to *(target) */
	FL_INSN_BRANCH,		/* conditional */
	FL_INSN_RET, FL_INSN_NOP,
	FL_INSN_STOP,		/* raises SIGILL: code behind it is another's */
	FL_INSN_LOAD_ADDRESS,	/* reg = target (constant or pc-relative) */
	FL_INSN_LOAD_POINTER,	/* reg = *(target) */
	FL_INSN_LOAD_PAGE,	/* reg = target, to which a sum adds the rest */
	FL_INSN_SUM,		/* reg = source register + target, a few bits */
	FL_INSN_MOVE,		/* reg = source register */
	FL_INSN_POP, FL_INSN_PUSH,	/* reg; of PUSH FL_NO_REG: something else */
	FL_INSN_LEAVE,		/* sp = frame pointer, which is popped */
	/* in the frame: at target (signed) from the register `source`, which is the
	 * stack or the frame pointer */
	FL_INSN_LOAD_FRAME,	/* reg = the word there */
	FL_INSN_STORE_FRAME,	/* the word there = reg */
	FL_INSN_FRAME_ADDRESS,	/* reg = the address; `reg` may be the stack pointer */
	FL_INSN_SMASH,		/* up to 1 << reg bytes there are written otherwise, or
				 * for FL_ANYWHERE any bytes */
	FL_INSN_ALIGN		/* the stack pointer loses low bits */
};
enum { FL_NO_REG = FL_ARCH_REGS, FL_ANYWHERE = 63 };

/* A bit for each general register. */
#if FL_ARCH_REGS > 16
typedef uint32_t fl_regs;
#else
typedef uint16_t fl_regs;
#endif

struct fl_insn {
	uint8_t len;		/* bytes; 0: not understood */
	uint8_t cls;		/* enum fl_insn_class */
	uint8_t reg, source;	/* of the classes that say so; below FL_ARCH_REGS */
	uint8_t opcode_at;	/* offset of the opcode, behind prefixes */
	uint8_t operand_at;	/* where a pc-relative operand is: x86, offset of its 4 bytes;
				 * 0: there is none */
	fl_regs writes;		/* general registers it may change; the stack
				 * pointer's, when no class says how; of a call: the
				 * ABI's scratch registers; all ones when not known */
	uintptr_t target;	/* absolute; of branches, pointers, addresses */
};

/* Decode at `code`, which stands at address `at`; at most `n` bytes. */
void fl_arch_decode(struct fl_insn *, const unsigned char *code, size_t n,
		    uintptr_t at);
/* The same for who follows code and nothing else, in half the time: classes behind STOP may
 * be OTHER, and what is written is not told. Its length. */
size_t fl_arch_decode_flow(struct fl_insn *, const unsigned char *code, size_t n,
			   uintptr_t at);
/* The same; where it takes two instructions to make an address, or to load what lies there,
 * they are one, if they stand in a row, and else LOAD_PAGE and SUM. */
void fl_arch_decode_two(struct fl_insn *, const unsigned char *code, size_t n,
			uintptr_t at);
/* What does the instruction with register `reg`, if that has a page (LOAD_PAGE)? `offset`:
 * into the page. */
enum fl_paged {
	FL_PAGED_NOT,			/* nothing */
	FL_PAGED_FORMED,		/* it makes the address of what lies there */
	FL_PAGED_ACCESSED,		/* it loads or stores that */
	FL_PAGED_OTHERWISE
};
enum fl_paged fl_arch_paged(const unsigned char *code, unsigned int reg, uintptr_t *offset);
/* The pointer through which the stub here jumps; 0: it is none. *bytes: it has, with its
 * landing pad; of what is none, that are passed over with FL_ARCH_STUB_STEP. */
uintptr_t fl_arch_stub(const unsigned char *code, size_t n, uintptr_t at, size_t *bytes);
/* The address that its pc-relative operand names, if it has one (operand_at). */
uintptr_t fl_arch_operand(const struct fl_insn *, const unsigned char *code, uintptr_t at);
/* The direct call, or call through a pointer, that returns to `ret`; false when
 * the bytes before `ret` are something else, or could be. */
bool fl_arch_call_before(struct fl_insn *, uintptr_t ret);
/* Bytes of landing pad (endbr64, bti) at a function's entry. */
size_t fl_arch_landing(const unsigned char *code, size_t n);
/* Is [code, code + n) what assemblers and linkers fill up with? An instruction may
 * go on behind it: `left` bytes are there. */
bool fl_arch_is_filler(const unsigned char *code, size_t n, size_t left);
/* Are flags read, by one of the `most` first instructions, that nobody before has set? No
 * compiler's code does so at a function's entry, or behind a call. */
bool fl_arch_takes_flags(const unsigned char *code, size_t n, size_t most);
/* Memory that an instruction reads and writes: at base + (index << shift) + target, where
 * both registers may be FL_NO_REG; what is pc-relative has a target alone. */
enum fl_operand_what { FL_OPERAND_LOAD = 1, FL_OPERAND_STORE = 2 };
struct fl_operand {
	int64_t target;
	uint16_t size;			/* bytes, of a string's one element */
	uint8_t what;			/* both: read, then written */
	uint8_t base, index, shift;
	bool is_fs;			/* and what the thread pointer is */
	bool is_32;			/* cut to 32 bits */
	bool repeats;			/* a string: as often as its counter says, up or down */
};
struct fl_operands {
	uint32_t n;			/* in the order in which they are met */
	struct fl_operand of[3];
};
/* Registers have the values that they have before it. False: it is not known. Of `insn` its
 * length and where the opcode is are known. */
bool fl_arch_operands(struct fl_operands *, const unsigned char *code,
		      const struct fl_insn *insn, uintptr_t at);
/* Does a function that begins so look for room on its stack (-fsplit-stack)? */
bool fl_arch_splits_stack(const unsigned char *code, size_t n);
/* The register a function's first argument is in. */
/* is FL_ARCH_ARG0 */

/* What stands at the site; says what can be done with it, see the port's plan.c. */
enum fl_form {
	FL_FORM_CALL,		/* direct call to a profiling function */
	FL_FORM_CALL_POINTER,	/* the same through a pointer (-fno-plt) */
	FL_FORM_JUMP,		/* tail jump to a profiling function */
	FL_FORM_JUMP_POINTER,	/* the same through a pointer */
	FL_FORM_PAD,		/* NOPs at a function's entry */
	FL_FORM_PAD_BEFORE,	/* too few NOPs at the entry, enough before it */
	FL_FORM_SLED,		/* XRay: a jump over space for a call */
	FL_FORM_SLED_RET,	/* XRay: a return with space behind it */
	FL_FORM_BODY,		/* a function's entry, which leads to its second body */
	FL_FORM_BODY_BEFORE,	/* the same, by way of NOPs before it */
	FL_FORM_BODY_RET,	/* in a body: a return with space behind it */
	FL_FORM_BODY_TAIL,	/* in a body: NOPs before a jump that leaves */
	FL_FORM_BODY_SWITCH,	/* in a body: a NOP before an indirect jump, whose look-up
				 * stands FL_ARCH_SWITCH_BYTES behind it */
	FL_FORM_BODY_POINT,	/* in a body: a jump over a call of glue that keeps the flags */
	FL_FORM_NONE,		/* refused before it was understood */
	FL_FORM_ASK		/* no site: a function of the C library's, a system call */
};

/* ---- plan (pure): how a site is armed and switched --------------------- */

enum fl_tactic { FL_FLIP, FL_WORD, FL_LINE, FL_WIDE, FL_N_TACTICS };
extern const char *const fl_tactic_names[FL_N_TACTICS];

enum fl_state { FL_OLD, FL_OFF, FL_ON, FL_N_STATES };

/* Who changes a place: 0 nobody (patch/motion.c). */
union fl_motion {
	uint32_t any;
	struct { uint8_t one, set; };
};

/*
 * One place in text and what may stand there. `old` is what was found there;
 * arming goes old -> off once, by the wide protocol; switching goes between
 * off and on and differs in `flip_bytes` bytes at `flip_at` only.
 *
 * A thread that has come in may stand, for any time, before each instruction that
 * it gets to, and where a call of them returns to: `starts`. What it finds there
 * when it goes on must be an instruction that leads it on, whatever has been done
 * meanwhile. fl_arch_moves() changes each stretch between two starts by itself.
 *
 * What a switch in one byte needs stands in front: many are made in one set.
 */
struct fl_patch {
	uintptr_t at;			/* first byte of the window */
	intptr_t view;			/* a store to the window goes to at + view */
	uint8_t len;			/* of the window, <= FL_ARCH_SITE_MAX */
	uint8_t tactic;			/* of the switch between off and on */
	uint8_t flip_at, flip_bytes;	/* what a switch in one store stores */
	fl_unit flip[FL_N_STATES];	/* what that is, where it is one unit */
	uint8_t claimed;		/* patch/claim.c */
	uint16_t starts;		/* in off and on: offsets, a bit each */
	uint8_t state;			/* as of the last commit; W its owner */
	uint8_t rows;			/* of instructions, in `old`: enum fl_row */
	union fl_motion motion;
	uint8_t bytes[FL_N_STATES][FL_ARCH_SITE_MAX];
	struct fl_patch *next;		/* patch/claim.c */
	/* By state, offsets of starts, a bit each: what lies from there to the next start
	 * does nothing; is met whole, being one instruction, or one that leads elsewhere. */
	uint16_t idle[FL_N_STATES], whole[FL_N_STATES];
	uint8_t head_at;		/* where a thread enters the window */
	uint8_t may_pass;		/* 1: at any time, a thread may act as `off` does */
	uint8_t flags_dead;		/* 1: the processor's flags may change here */
	uint8_t copies[FL_ARCH_INNER];	/* as planned */
};

/* Once all bytes are planned. */
static inline void fl_patch_note_flip(struct fl_patch *p)
{
	for (int state = 0; state < FL_N_STATES; state++)
		__builtin_memcpy(&p->flip[state], p->bytes[state] + p->flip_at,
				 sizeof(fl_unit));
}

/* `old` has starts that off and on have not. Threads may stand there that came in
 * by the head; or that came in while it was on, and stood there when the old bytes
 * came back. */
enum fl_row { FL_ROW = 1, FL_ROW_INSIDE = 2 };

/*
 * How a stretch of a window changes under threads: the park is stored, all cores
 * are synchronised, the rest, again, the head. Without a park the head is all.
 * Under the park threads pass, whatever the rest is; or where none may, they are held.
 * From `old` bytes that are a row no thread is there: then any order will do, and any store.
 */
struct fl_move {
	uint8_t start, end;		/* offsets of the stretch */
	uint8_t park_at, park_bytes;
	uint8_t head_at, head_bytes;	/* the same bytes, or some beside them: the park
					 * has its last ones then */
	bool holds;			/* threads that come by wait there */
	bool alone;			/* the head may be stored only where no thread runs */
	bool early;			/* the head has no park, and is stored before any other
					 * stretch is parked */
	uint8_t park[8];
};
enum { FL_ARCH_MOVES = 4 };
/* How the bytes of state `from` become those of `to`; where a window has several
 * starts, one of both is `off`. How many moves; FLE_STRADDLE: nothing keeps threads
 * out of half an instruction; FLE_EXCHANGE: out of one that must not change under them.
 * Pure. */
int fl_arch_moves(const struct fl_patch *, int from, int to,
		     struct fl_move moves[FL_ARCH_MOVES]);

/* What a plan needs to know of a site. */
struct fl_plan_in {
	uintptr_t at;
	enum fl_form form;
	uint8_t room, before;
	uintptr_t glue;			/* where the branch goes */
	uint32_t probe;			/* whose id the glue has; of an ASK the call's number */
	uintptr_t on, off;		/* FL_FORM_BODY: where the entry jumps to */
	/* ... by offset in the window, how far into `off` the copy is of the instruction that
	 * begins there; 0: none does. All 0: others may come there later. */
	uint8_t copies[FL_ARCH_INNER];
};
/* Fill `p`; 0 or a refusal (FLE_NOREACH, FLE_NOSPACE, FLE_UNKNOWN, ...). No thread is
 * ever held at a place that is planned so, but at the entry of a body while its old bytes
 * come back; FLE_STRADDLE then, of few: they cannot, while threads run. */
int fl_arch_plan(struct fl_patch *p, const struct fl_plan_in *, uint64_t *datum);
/* A thread that stands behind the head of a place that is `old`, at offset k, goes on at
 * *copy + to[k - 1] when it is armed; 0: none can stand there. False: others may come to
 * stand there later. */
bool fl_arch_inner(const struct fl_patch *p, uintptr_t *copy, uint8_t to[FL_ARCH_SITE_MAX - 1]);
/* A profiling call is switched off for good by one unit: how far into the site, and what it
 * becomes. FLE_UNKNOWN: there is no such call. Pure. */
int fl_arch_mute(enum fl_form, const unsigned char *code, fl_unit *to);
/* The same of one that was switched off so, of a unit that was `was`: what calls again. */
int fl_arch_unmute(enum fl_form, const unsigned char *code, fl_unit was, fl_unit *to);
/* Can calls of the form be switched off so? Others are armed, wanted or not. */
bool fl_arch_mutes(enum fl_form);
/* Plan a place whose instruction may become the one of `n` bytes at `on`, and
 * back: off is old. 0 or FLE_INSN. */
int fl_arch_plan_insn(struct fl_patch *p, uintptr_t at, const void *on, size_t n);
/* Plan a call to `target` where a call or NOPs stand, and say which. Where the processor's
 * flags are live a plan at NOPs leaves them. 0, FLE_UNKNOWN, FLE_NOREACH,
 * FLE_NOSPACE, FLE_STRADDLE. */
enum fl_flags { FL_FLAGS_LIVE, FL_FLAGS_DEAD };
int fl_arch_plan_call(struct fl_patch *p, uintptr_t at, uintptr_t target,
		      enum fl_flags, bool *was_nop);

/* ---- glue (pure) -------------------------------------------------------- */

/* Where a glue goes on, which a jump at `at` leads to; 0: it is called, or goes back as the
 * function would. Pure. */
uintptr_t fl_arch_back(enum fl_form, uintptr_t at);
/* Emit a glue: load `id`, go where the dispatch word says, and on to `back`, if there is one.
 * `at` is where the FL_ARCH_GLUE_BYTES will run. False: it is out of reach. In place of `back`
 * FL_GLUE_KEEPS: every register is live, and what the glue loads is put on the stack first. */
enum { FL_GLUE_KEEPS = 1 };
bool fl_arch_glue(unsigned char *out, uintptr_t at, uint32_t id, uintptr_t word,
		  uintptr_t back);
/* The same for an id that is not known yet: it is loaded from `id`, 4 bytes of data. */
bool fl_arch_glue_late(unsigned char *out, uintptr_t at, uintptr_t id, uintptr_t word);

/* What a site's branch leads to where its glue is out of reach: from here it may be anywhere.
 * Where FL_ARCH_VENEER_KEEPS is 1 the veneer does what is the glue's elsewhere by `back`, which
 * is as above; the glue is one of 0 then. At most FL_ARCH_VENEER_MAX bytes, at a multiple of
 * 8; 0: `back` is out of reach. */
struct fl_veneer {
	uintptr_t at, glue, back;	/* where it will run, goes to, and goes on */
	enum fl_form form;		/* of the site that leads to it */
};
size_t fl_arch_put_veneer(unsigned char *out, const struct fl_veneer *);

/* What a glue does itself while its mask is FL_ARCH_MASK_DOES: it counts, or puts a record, and
 * precisely where the clock is read behind a fence. While the mask is FL_ARCH_MASK_DOES_NOT it
 * is a glue as above; FL_GLUE_GOES: it has no mask, and is one always. */
enum fl_glue_does {
	FL_GLUE_GOES, FL_GLUE_COUNTS, FL_GLUE_RECORDS, FL_GLUE_RECORDS_PRECISELY
};
/* In two parts, of FL_ARCH_COUNTING_BYTES and _REST_BYTES, or FL_ARCH_RECORDING_BYTES and so
 * on; sites lead to the first. */
struct fl_doing_glue {
	enum fl_glue_does does;
	unsigned char *out, *rest;	/* where they are written, ... */
	uintptr_t at, rest_at;		/* ... and where they will run, or lie */
	uint32_t id;
	uintptr_t go, mask;		/* words of data */
	bool keeps;			/* what it loads into is live */
	uintptr_t back;			/* where it goes on, as fl_arch_glue(); or 0 */
	/* of one that counts */
	uint32_t counter;		/* of the probe: how far into its thread's slot */
	uintptr_t full;			/* a word of data that leads to where a block is full */
};
/* False: out of reach. */
bool fl_arch_glue_doing(const struct fl_doing_glue *);
/* Can it, here? Once fl_arch_rseq_open() has been called. A port may count without rseq. */
bool fl_arch_glue_can(enum fl_glue_does);

/* A counter: whole blocks in its low bits, in its top ones how much there is of the next
 * one. So the addition of one count says by its sign that a block is full, no other load
 * and comparison does, and the word stands for one number at any moment. */
#define FL_COUNT_BLOCK 1024
#define FL_COUNT_ONE (1ull << 53)
#define FL_COUNT_FULL (FL_COUNT_BLOCK * FL_COUNT_ONE)	/* the sign; a few may be added */

static inline uint64_t fl_count_of(uint64_t counter)
{
	return (counter & (FL_COUNT_ONE - 1)) * FL_COUNT_BLOCK + counter / FL_COUNT_ONE;
}

/* ---- second bodies (pure) ------------------------------------------------- */

/* Each returns how many bytes it has written, 0 when the instruction cannot stand there,
 * or a target is out of reach. How many does not depend on addresses. Of an instruction its
 * length and class are known, and where opcode and operand are (fl_arch_decode_flow). */

/* The same effect at `to`, for an instruction that stood at `at`: a direct branch goes to
 * `target`, in its long form, a pc-relative operand stays what it was. At most
 * FL_ARCH_MOVED_MAX. */
size_t fl_arch_move(unsigned char *out, uintptr_t to, const unsigned char *code,
		    const struct fl_insn *, uintptr_t at, uintptr_t target);
/* A direct jump or branch in its short form, if it has one. */
size_t fl_arch_move_short(unsigned char *out, uintptr_t to, const unsigned char *code,
			  const struct fl_insn *, uintptr_t target);
/* A branch on the opposite condition, past `over` bytes behind it. */
enum fl_past { FL_PAST_SHORT, FL_PAST_FAR };
size_t fl_arch_put_skip(unsigned char *out, const unsigned char *code,
			const struct fl_insn *, uint32_t over, enum fl_past);
/* FL_ARCH_BRANCH_BYTES; a call of glue that keeps all registers, FL_ARCH_CALL_BYTES. */
enum fl_branch { FL_BRANCH_JUMP, FL_BRANCH_CALL };
size_t fl_arch_put_branch(unsigned char *out, enum fl_branch, uintptr_t at, uintptr_t to);
/* What a plan takes for the form: FL_FORM_BODY_RET, in place of the return at `code`;
 * FL_FORM_BODY_TAIL, in which a call of glue stands at FL_ARCH_TAIL_CALL, if that is not 0; or
 * FL_FORM_BODY_SWITCH, FL_ARCH_SWITCH_BYTES with the jump at `code`,
 * which goes on in the original; or FL_FORM_BODY_POINT, in which a call of glue stands at
 * FL_ARCH_POINT_CALL, and all is kept that may be live. 0: there is none here; that return
 * needs _TAIL before it; the jump is too long. At most FL_ARCH_PLACE_MAX. */
size_t fl_arch_put_place(unsigned char *out, enum fl_form, const unsigned char *code,
			 size_t len);

/* From `offset` on there is so much below the original's stack pointer. */
struct fl_depth { uint16_t offset, depth; };
extern const struct fl_depth fl_arch_point_depths[FL_ARCH_POINT_DEPTHS];

/*
 * An indirect jump of the original may lead into what a body stands for, or elsewhere. The
 * look-up finds out, and keeps every register and flag, and what is below the stack
 * pointer. A table has for each byte of a part the landing of the instruction that begins
 * there, as a distance from the table, or 0. What is in none goes on behind the look-up.
 */
enum { FL_LOOKED_PARTS = 8 };
struct fl_lookup {
	uintptr_t to;			/* where it will stand */
	const unsigned char *code;	/* the original's jump */
	size_t len;
	uint32_t n_parts;
	struct fl_looked {
		uintptr_t start, table;
		uint32_t bytes;
	} part[FL_LOOKED_PARTS];
	struct fl_depth depths[FL_ARCH_LOOKUP_DEPTHS];	/* W put */
};
/* At most FL_ARCH_LOOKUP_MAX. */
size_t fl_arch_put_lookup(unsigned char *out, struct fl_lookup *);
/* FL_ARCH_LANDED_BYTES: gives back what the look-up has taken, which is
 * FL_ARCH_LOOKUP_KEPT up to FL_ARCH_LANDED_UP, and goes to `target`. */
size_t fl_arch_put_landing(unsigned char *out, uintptr_t to, uintptr_t target);

/* ---- exclusive monitors (pure) --------------------------------------------- */

/*
 * A load-exclusive may lose its monitor with any access to memory before its store, which
 * then fails, each time anew. Where in a function may one be held that a store asks for?
 * A CPU may have none.
 */
struct fl_held_part {			/* of a function's code */
	uintptr_t start;
	const unsigned char *code;
	size_t bytes;
};
enum { FL_HELD_PARTS = 8 };
/* How much memory the answer takes; 0: there is none in this code. */
size_t fl_arch_held_bytes(const struct fl_held_part *, uint32_t n);
/* How many moments there are; `memory` has them then, and is aligned to 8. */
uint32_t fl_arch_held(const struct fl_held_part *, uint32_t n, void *memory);
/* What accesses memory beside the instruction at `at`: something before it; something where
 * its branch leaves the function; what fl_arch_move() makes of it. Would that be between
 * the two of a pair? Then which pair it is. */
enum fl_woven { FL_WOVEN_BEFORE, FL_WOVEN_LEAVING, FL_WOVEN_MOVED };
bool fl_arch_is_held(const void *memory, uintptr_t at, enum fl_woven, uint64_t *pair);

/*
 * What a body may do with pairs. CAS: the load keeps what it has loaded in the thread's own
 * memory, and the store compares and swaps, so anything may be done in between. LSE: what is
 * one atomic instruction, on CPUs that have these, becomes that. Both where it is the same,
 * but for what CAS does not see: a word that has changed, and changed back (ABA).
 */
enum fl_exclusive { FL_EXCLUSIVE_LEAVE, FL_EXCLUSIVE_CAS, FL_EXCLUSIVE_LSE, FL_N_EXCLUSIVES };
/* Choose, of what fl_arch_held() has found: what is rewritten holds no monitor then. How many
 * moments are left. */
uint32_t fl_arch_rewrite_exclusives(void *memory, enum fl_exclusive);
/* What the instruction at `at` is in a pair that is rewritten; 0: it stays. */
unsigned int fl_arch_exclusive_part(const void *memory, uintptr_t at);
/* What stands for it. `own_at`: from the thread pointer to FL_ARCH_PAIR_OWN bytes that are
 * the thread's, aligned to 16, and 0 at first. At most FL_ARCH_PAIR_MAX; 0: they are out of
 * reach. */
enum { FL_EXCLUSIVE_DEPTHS = 5 };
struct fl_exclusive_code {
	unsigned int part;
	const unsigned char *code;	/* the original's */
	intptr_t own_at;
	uint32_t n_depths;		/* W put */
	struct fl_depth depths[FL_EXCLUSIVE_DEPTHS];
};
size_t fl_arch_put_exclusive(unsigned char *out, struct fl_exclusive_code *);

/* Two addresses in one number: a distance of words above 48 bits of the load's. Of a pair whose
 * other one is not in the function both are the one that is. */
static inline uint64_t fl_pair(uintptr_t load, uintptr_t store)
{
	return (load & 0xffffffffffff) | (uint64_t)((store - load) / 4 & 0xffff) << 48;
}
static inline uint64_t fl_pair_load(uint64_t pair)
{
	return pair & 0xffffffffffff;
}
static inline uint64_t fl_pair_store(uint64_t pair)
{
	return fl_pair_load(pair) + (uint64_t)((int64_t)pair >> 48) * 4;
}

/* A call of the routine whose address stands at `word`, in the midst of a function: with
 * `data` in FL_ARCH_ASIDE_REG, and nothing of the function's changed. FL_ARCH_ASIDE_BYTES;
 * from FL_ARCH_ASIDE_DOWN on up to the end there is FL_ARCH_ASIDE_DEPTH below its stack
 * pointer. 0: out of reach, or this port has none. */
size_t fl_arch_put_aside(unsigned char *out, uintptr_t to, uintptr_t data, uintptr_t word);

/* ---- paths ----------------------------------------------------------------------- */

enum fl_path_what {
	FL_PATH_ENTER,			/* a call begins */
	FL_PATH_ADD,
	FL_PATH_CUT,			/* a path ends and another one begins */
	FL_PATH_LEAVE,			/* the last one of the call ends */
	FL_PATH_AT,			/* one begins, whatever was before */
	FL_PATH_DONE,			/* the call ends, and its path has been told */
	FL_PATH_ONLY,			/* that of the number `add` ends, whatever the sum */
	FL_PATH_HOME,			/* CUT or LEAVE, of a sum on the stack: a routine's */
	FL_N_PATH_WHATS
};
/*
 * The same without a call, where all is as it mostly is; else `cold` is gone to, which stands
 * elsewhere and calls. Registers but `dead`, what is below the stack pointer, and flags that
 * are not dead, stay.
 */
enum { FL_PATH_DEPTHS = 12, FL_PATH_SPARE = 4 };
struct fl_path_code {
	enum fl_path_what what;
	uintptr_t to, cold, cs;		/* as in fl_tell */
	intptr_t top_at;		/* from the thread pointer on: where fl_path is */
	int32_t height;			/* of the owner, or home, as in fl_path_tell */
	uint32_t add, set, cell, n_paths;
	bool at_home;			/* the sum is on the call's stack: no frame has it */
	uint32_t n_spare;		/* words from the stack pointer on that are nobody's: */
	int32_t spare[FL_PATH_SPARE];
	uintptr_t probe;		/* where it stands, for cells that are shared; 0: own */
	fl_regs dead;
	bool flags_dead;
	/* W put_path */
	uint8_t reg[3], frame;
	fl_regs saved;
	uint16_t start, end, kept;
	size_t n;
	uint32_t n_depths;		/* W put_path_cold, too */
	struct fl_depth depths[FL_PATH_DEPTHS];
	size_t abort;			/* W put_path_cold */
};
/* At most FL_ARCH_PATH_MAX. */
size_t fl_arch_put_path(unsigned char *out, struct fl_path_code *);
/* The same, of one that was put; data, word: as of an aside. */
size_t fl_arch_put_path_cold(unsigned char *out, uintptr_t to, struct fl_path_code *,
			     uintptr_t data, uintptr_t word);
void fl_arch_lay_path_cs(unsigned char *out, const struct fl_path_code *, uintptr_t cold);

/* What an instruction does to general registers: what it reads, or leaves in part; what it
 * sets whatever was there. */
struct fl_needs {
	fl_regs reads, sets;		/* reads: all, of what is not known */
	bool calls;
	bool is_quiet;			/* it raises no signal but by its memory */
	/* Of the stack pointer, if that is known, but of calls: it `grows` by so many bytes
	 * downwards; what is touched, from where it was on. */
	bool stack_known;
	int32_t grows, touched_at;
	uint32_t touched;
};
void fl_arch_needs(struct fl_needs *, const unsigned char *code, size_t len);

/*
 * Accesses to memory are told before the instruction that stands behind, in one go: a record
 * each in the thread's own ring, with `word` as its second word; strings that repeat, which are
 * alone in a group that keeps flags, by FLICK_TYPE_STRING. Registers, flags and what is
 * below the stack pointer stay. Where there is no room, or no slot, `cold` is gone to, which
 * stands elsewhere. Not told while the byte at `gate` is 0.
 */
enum { FL_TELL_DEPTHS = 12, FL_TELL_MOST = 16, FL_TELL_REGS = 10 };
struct fl_tellable {
	struct fl_operand operand;
	uint64_t word;			/* which the address is added to; or what follows it */
	uint8_t below;			/* its word tells of so many bytes below it */
	bool is_with;			/* the word before tells of it, too */
};
struct fl_tell {
	uintptr_t to;			/* where it will stand */
	uintptr_t cold, cs, gate;	/* cold: where put_cold's will stand; cs: where
					 * lay_cs's is, aligned to its size */
	const struct fl_tellable *of;	/* that need FL_TELL_REGS registers at most */
	uint32_t n;			/* 1 to FL_TELL_MOST */
	bool keeps_flags, by_word;	/* by_word: each is one word */
	/* W put_tell: offsets; what is below the original's stack pointer at `out` */
	uint16_t arm, start, end, out, kept;
	uint32_t n_depths;
	struct fl_depth depths[FL_TELL_DEPTHS];
	size_t abort, pushed;		/* W put_cold: offsets */
};
/* At most FL_ARCH_TELL_MAX. */
size_t fl_arch_put_tell(unsigned char *out, struct fl_tell *);
/* FL_ARCH_COLD_BYTES, of one that was put; `word` is where the address of the routine is that
 * makes room (routines.h, MAKES_ROOM). */
size_t fl_arch_put_cold(unsigned char *out, uintptr_t to, struct fl_tell *, uintptr_t word);
void fl_arch_lay_cs(unsigned char *out, const struct fl_tell *, uintptr_t cold);
/* What an instruction does to the flags: it reads some; it reads none, and none keeps its
 * value; else it reads none. */
enum fl_flags_use { FL_FLAGS_READ, FL_FLAGS_SET, FL_FLAGS_LEFT };
enum fl_flags_use fl_arch_flags_use(const unsigned char *code, size_t n);

/* ---- live: what a glue goes to ------------------------------------------------ */

/* A port's pieces for assembly, of which probe/routines.S makes its routines, are in its
 * routines.h. Of a function of the program's own there is a routine for each row of
 * FL_ARCH_VECTORS: which one suits this CPU and kernel? Takes microseconds. */
unsigned int fl_arch_vectors(void);
/* Append a record of 16 bytes to the calling thread's ring, as the routines do, or
 * two with one commit; false when its chunk has no room for all, or it was interrupted. */
bool fl_arch_put_one(const void *record) __attribute__((visibility("hidden")));
bool fl_arch_put_pair(const void *pair) __attribute__((visibility("hidden")));
/* Add to the word `at` bytes into the calling thread's slot, in the same way: false
 * without a slot, without rseq, or where it was interrupted before it had done so. */
bool fl_arch_add_own(size_t at, uint64_t by) __attribute__((visibility("hidden")));
/* The counter there is full: begin its next block. False: it is not, or as above. */
bool fl_arch_end_block(size_t at) __attribute__((visibility("hidden")));
/* The same of the slot that it has of a second recorder. Where FL_ARCH_ATTACHES alone. */
bool fl_arch_put_other(const void *record) __attribute__((visibility("hidden")));
bool fl_arch_add_other(size_t at, uint64_t by) __attribute__((visibility("hidden")));
bool fl_arch_end_block_other(size_t at) __attribute__((visibility("hidden")));
/* From the thread pointer to where a thread finds its slot (fl_tls_slot). */
intptr_t fl_arch_tls_slot_at(void) __attribute__((visibility("hidden")));
/* Where rseq_cs is from the thread pointer, or 0; for routines. */
extern intptr_t fl_rseq_at FL_HIDDEN;
/* Find out if a short path may be a restartable sequence (rseq). Any thread, any time. */
void fl_arch_rseq_open(void);
/* Is it? */
bool fl_arch_has_rseq(void);

/* ---- attach: a thread of another process, stopped by ptrace(2) (borrow.c) ------ */

/* `user` are its registers, FL_ARCH_USER_WORDS of them, as NT_PRSTATUS has them. */
uintptr_t fl_arch_user_pc(const uint64_t *user);
uintptr_t fl_arch_user_sp(const uint64_t *user);
uintptr_t fl_arch_user_tls(const uint64_t *user);
long fl_arch_user_result(const uint64_t *user);
void fl_arch_user_set_pc(uint64_t *user, uintptr_t pc);
/* Did it stop in a system call? In one that waits? */
bool fl_arch_user_in_call(const uint64_t *user);
bool fl_arch_user_sleeps(const uint64_t *user);

/* It makes system calls for us, and whoever goes on with it, it comes back to where it
 * was. */
struct fl_borrow {
	uint64_t user[FL_ARCH_USER_WORDS];	/* as it was */
	uint64_t mask;			/* signals that it blocks */
	const unsigned char *vectors;	/* as NT_X86_XSTATE and its like have them */
	size_t n_vectors;
	uintptr_t call, sigreturn;	/* code of its own: see find_call, find_sigreturn */
	uintptr_t sp;			/* W put_way_back: what lies there leads back */
};
/* So much of its stack is written at most, below its stack pointer. */
size_t fl_arch_borrow_bytes(size_t vectors);
/* What is to be written from b->sp on; how much. */
size_t fl_arch_put_way_back(unsigned char *out, struct fl_borrow *b);
/* Its registers for that call. */
void fl_arch_borrow_call(const struct fl_borrow *, uint64_t *user, long number,
			 const uint64_t args[6]);
/* Where in `text` stand a system call and a return; the call that ends a signal: 1 + the
 * offset, or 0. */
size_t fl_arch_find_call(const unsigned char *text, size_t n);
size_t fl_arch_find_sigreturn(const unsigned char *text, size_t n);

/* The C library's own part of a thread, at `at`, for one that it does not know and that
 * calls it: as in the thread `like`, FL_ARCH_THREAD_HEAD bytes of which are known. No
 * library has a place in it yet, says `table`, FL_ARCH_TLS_TABLE bytes at `table_at`. */
void fl_arch_lay_thread(unsigned char *to, uintptr_t at, const unsigned char *like,
			unsigned char *table, uintptr_t table_at);

/* What a thread of ours runs at first in that process: bytes, see inject.S. */
extern const unsigned char fl_arch_inject[] FL_HIDDEN, fl_arch_inject_end[] FL_HIDDEN;
enum fl_inject_state { FL_INJECT_NEW, FL_INJECT_CREATED, FL_INJECT_RUNS, FL_INJECT_ENDED,
		       FL_INJECT_FAILED };
struct fl_inject {
	uint64_t pthread_create, pthread_self, pthread_detach, dlopen, dlsym, dlerror;
	uint64_t library, symbol, given;	/* texts */
	uint64_t thread;
	uint32_t state;			/* enum fl_inject_state; W the threads */
	int32_t result;			/* of pthread_create(); then of the agent */
	uint64_t tls_init, tls;		/* fills a thread's own part; where that is. 0: it is
					 * filled */
	char why[256];			/* dlerror() */
	uint64_t code, data;		/* where this lies: for the next one */
};

/* ---- live: text that cores execute (flip.c) --------------------------------- */

/* Whoever executes what these store sees what this thread stored before, and cores go on
 * to fetch it, in bounded time, without further ado. `at` is where text is stored to
 * (fl_patch.view). How wide a store is, in which order, and what caches need, is the
 * port's. The old bytes are in text: a port that wants a pair checked finds them there. */

/* The one store of a switch. */
static inline void fl_arch_flip_unit(uintptr_t at, fl_unit to)
{
	FL_ARCH_FLIP_UNIT(at, to);
}
/* `n` bytes, as one store: the head or the park of a move, or all that a switch changes.
 * What is beside them keeps what other threads store there. */
void fl_arch_flip(uintptr_t at, const uint8_t *bytes, size_t n);
/* The same for up to 8 bytes of one cache line. No processor promises that it
 * is fetched whole: only where `flick calibrate` has seen that it is. */
void fl_arch_flip_line(uintptr_t at, const uint8_t *bytes, size_t n);
/* Bytes that nobody executes meanwhile. */
void fl_arch_store_bytes(uintptr_t at, const uint8_t *bytes, size_t n);
/* [at, at + n), an address that is executed, was written as data: it is code now, for
 * every core that a branch leads there. */
void fl_arch_publish(uintptr_t at, size_t n);
/* May text be stored to through another mapping of its memory? */
bool fl_arch_may_alias(void);
/* From now on each store calls this behind it, for emulators that miss stores of other
 * threads (patch/text-way.c). False: here they do not. */
bool fl_arch_on_store(void (*stored)(uintptr_t at, size_t n));

/* A unit of text with a value for each state, and if it may be stored to: 0 no. */
struct fl_flip {
	uintptr_t at;
	fl_unit unit[FL_N_STATES];
	uint8_t armed;
	uint8_t others[4];		/* the caller's */
};
enum fl_flipped { FL_FLIPPED, FL_FLIP_HELD, FL_FLIP_UNARMED };
enum fl_flip_when { FL_FLIP_ALWAYS, FL_FLIP_IF_OTHER };	/* than what stands there */
/* Flip to unit[state], unless *held; all is looked at again when the thread has been off
 * its core, or sequences were restarted (OS21). Only with fl_arch_can_flip_unless(), from a
 * thread of the C library's. */
bool fl_arch_can_flip_unless(void);
enum fl_flipped fl_arch_flip_unless(const uint32_t *held, const struct fl_flip *, int state,
				    enum fl_flip_when)
	__attribute__((visibility("hidden")));

/* ---- live: threads that were interrupted (resume.c) ----------------------- */

/* Where a thread stands; its context is a ucontext_t. */
uintptr_t fl_arch_pc(const void *ucontext);
/* The thread trapped: address of the trap. */
uintptr_t fl_arch_trap_pc(const void *ucontext);
/* Let the thread run the instruction at `pc` again. */
void fl_arch_retry(void *ucontext, uintptr_t pc);
/* Has the kernel called the handler whose frame begins at `cfa`, or a handler that had
 * this context first? */
bool fl_arch_is_delivered(const void *ucontext, const void *cfa);
/*
 * Frames that the kernel has put on stacks, for handlers. mark: a word that every one has;
 * frame_at, frame_of_pc: where the frame begins that has it, or its pc, there. frame: of
 * FL_ARCH_FRAME_BYTES that were read at `at`, if it is one that lies where it was made; the
 * handler returns to `restorer`, which must be one.
 */
struct fl_signal_frame {
	uintptr_t pc_at;		/* where the pc is kept that the thread goes on at */
	uintptr_t pc, sp, restorer;
	long result;			/* of a system call that has just returned */
};
uint64_t fl_arch_frame_mark(void);
uintptr_t fl_arch_frame_at(uintptr_t mark_at);
uintptr_t fl_arch_frame_of_pc(uintptr_t pc_at);
bool fl_arch_frame(struct fl_signal_frame *, const void *bytes, uintptr_t at);
bool fl_arch_is_restorer(const unsigned char code[FL_ARCH_RESTORER_BYTES]);
/* Execute a core-serialising instruction (HW4), when what was stored is seen by all. */
void fl_arch_serialise(void);
/* A system call that has just returned -EINTR; false when the context is
 * elsewhere, or the call cannot be told. */
struct fl_call {
	long number;
	uint64_t args[6];
};
bool fl_arch_interrupted(const void *ucontext, struct fl_call *);
void fl_arch_call_again(void *ucontext, const struct fl_call *);

/* ---- live: the kernel's own calling convention (syscall.S), for os/ ---------- */

FL_HIDDEN long fl_arch_syscall(long nr, long a, long b, long c, long d, long e, long f);
/* clone(2) for a thread that the C library does not know: its first steps, and its
 * last, which unmap `stack`. */
FL_HIDDEN long fl_arch_thread(unsigned long flags, void *stack, void *tls, uint32_t *id);
/* What a signal handler returns to: an address, not to be called. */
void fl_arch_sigreturn(void);
/* What compiled code expects where the TLS pointer points to, in memory that is 0. */
static inline void fl_arch_lay_tls(uintptr_t *tls)
{
	FL_ARCH_LAY_TLS(tls);
}

/* ---- live: which CPU this is ---------------------------------------------- */

/* What tells one design of processor from another; texts are letters, digits
 * and `-`. */
struct fl_cpu {
	char vendor[16];
	char hypervisor[16];		/* empty: none says it is there */
	uint32_t family, model, stepping;
};
void fl_arch_cpu(struct fl_cpu *);
/* How many bytes ahead of its stores a thread should read lines that another core has
 * stored to last; 0: not at all. */
uint32_t fl_arch_read_ahead(void);

static inline uint64_t fl_arch_ticks(void)
{
	return FL_ARCH_TICKS();
}

/* Neither before what stands before it has been executed, nor after anything behind it
 * has begun: what lies between two of these is in their difference, wholly. */
static inline uint64_t fl_arch_ticks_apart(void)
{
	uint64_t ticks;

	FL_ARCH_FENCE();
	ticks = FL_ARCH_TICKS();
	FL_ARCH_FENCE();
	return ticks;
}

static inline void fl_arch_pause(void)
{
	FL_ARCH_PAUSE();
}

#endif /* C */
#endif
