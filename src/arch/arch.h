/*
 * arch.h - the only door to a CPU. A port is one folder beside this file.
 *
 * Pure parts (plan, decode, emit) compile and are tested on every host; live
 * parts (flip, resume, tramp, the pieces of routines) only on their own CPU.
 */
#ifndef FL_ARCH_H
#define FL_ARCH_H

/* FL_PORT_AARCH64: the pure parts of the AArch64 port are tested on another CPU. */
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
	FL_INSN_STOP,		/* raises SIGILL: control does not go on behind it */
	FL_INSN_LOAD_ADDRESS,	/* reg = target (constant or pc-relative) */
	FL_INSN_LOAD_POINTER,	/* reg = *(target) */
	FL_INSN_LOAD_PAGE,	/* reg = target, to which a sum adds the rest */
	FL_INSN_SUM,		/* reg = source register + target, a few bits */
	FL_INSN_MOVE,		/* reg = source register */
	FL_INSN_POP, FL_INSN_PUSH,	/* reg; PUSH of FL_NO_REG: of something else */
	FL_INSN_LEAVE,		/* sp = frame pointer; then the frame pointer is popped */
	/* in the frame: `target` (signed) bytes from the register `source`, which is the
	 * stack pointer or the frame pointer */
	FL_INSN_LOAD_FRAME,	/* reg = the word there */
	FL_INSN_STORE_FRAME,	/* the word there = reg */
	FL_INSN_FRAME_ADDRESS,	/* reg = the address; `reg` may be the stack pointer */
	FL_INSN_SMASH,		/* up to 1 << reg bytes there are written in another way;
				 * where reg is FL_ANYWHERE, any bytes */
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
	uint8_t reg, source;	/* as the class says; registers are below FL_ARCH_REGS */
	uint8_t opcode_at;	/* offset of the opcode, behind prefixes */
	uint8_t operand_at;	/* where a pc-relative operand is: x86, offset of its 4 bytes;
				 * 0: there is none */
	fl_regs writes;		/* general registers that it may change; the stack pointer
				 * where no class says how it changes; for a call: the ABI's
				 * scratch registers; all ones: not known */
	uintptr_t target;	/* absolute; of branches, pointers, addresses */
};

/* Decode the instruction at `code`, whose address is `at`; at most `n` bytes. */
void fl_arch_decode(struct fl_insn *, const unsigned char *code, size_t n,
		    uintptr_t at);
/* The same in half the time, for a caller that follows the flow and asks nothing else:
 * classes behind STOP may be OTHER, and `writes` is not told. Returns the length. */
size_t fl_arch_decode_flow(struct fl_insn *, const unsigned char *code, size_t n,
			   uintptr_t at);
/* As fl_arch_decode(). On a CPU that takes two instructions to make an address, or to load
 * what lies there, two in a row are decoded as one; others are LOAD_PAGE and SUM. */
void fl_arch_decode_two(struct fl_insn *, const unsigned char *code, size_t n,
			uintptr_t at);
/* What does the instruction do with register `reg`, if `reg` holds the address of a page
 * (LOAD_PAGE)? `offset`: how far into the page. */
enum fl_paged {
	FL_PAGED_NOT,			/* nothing */
	FL_PAGED_FORMED,		/* it makes the address of what lies there */
	FL_PAGED_ACCESSED,		/* it loads or stores what lies there */
	FL_PAGED_OTHERWISE
};
enum fl_paged fl_arch_paged(const unsigned char *code, unsigned int reg, uintptr_t *offset);
/* The pointer through which the stub at `code` jumps; 0: no stub stands there. *bytes: the
 * stub's, with its landing pad; without a stub, how many to pass over (FL_ARCH_STUB_STEP). */
uintptr_t fl_arch_stub(const unsigned char *code, size_t n, uintptr_t at, size_t *bytes);
/* The address that the instruction's pc-relative operand names, if it has one (operand_at). */
uintptr_t fl_arch_operand(const struct fl_insn *, const unsigned char *code, uintptr_t at);
/* The direct call, or call through a pointer, that returns to `ret`; false when
 * the bytes before `ret` are something else, or could be. */
bool fl_arch_call_before(struct fl_insn *, uintptr_t ret);
/* Bytes of landing pad (endbr64, bti) at a function's entry. */
size_t fl_arch_landing(const unsigned char *code, size_t n);
/* Is [code, code + n) what assemblers and linkers fill gaps with? The last instruction may
 * reach beyond: `left` bytes are there. */
bool fl_arch_is_filler(const unsigned char *code, size_t n, size_t left);
/* Does one of the first `most` instructions read flags that none before it has set? No
 * compiler's code does so at a function's entry, or behind a call. */
bool fl_arch_takes_flags(const unsigned char *code, size_t n, size_t most);
/* Memory that an instruction reads and writes: at base + (index << shift) + target, where
 * both registers may be FL_NO_REG; a pc-relative operand has a target alone. */
enum fl_operand_what { FL_OPERAND_LOAD = 1, FL_OPERAND_STORE = 2 };
struct fl_operand {
	int64_t target;
	uint16_t size;			/* bytes; for a string, of one element */
	uint8_t what;			/* both: read, then written */
	uint8_t base, index, shift;
	bool is_fs;			/* the thread pointer is added */
	bool is_32;			/* the address is cut to 32 bits */
	bool repeats;			/* a string: as often as its counter says, up or down */
};
struct fl_operands {
	uint32_t n;			/* in the order of the accesses */
	struct fl_operand of[3];
};
/* What the instruction accesses, by the values that registers have before it. False: it is
 * not known. `insn` needs its len and opcode_at only. */
bool fl_arch_operands(struct fl_operands *, const unsigned char *code,
		      const struct fl_insn *insn, uintptr_t at);
/* Does a function that begins with `code` look for room on its stack (-fsplit-stack)? */
bool fl_arch_splits_stack(const unsigned char *code, size_t n);
/* A function's first argument is in the register FL_ARCH_ARG0. */

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
	FL_FORM_ASK		/* no site: a system call in a function of the C library */
};

/* ---- plan (pure): how a site is armed and switched --------------------- */

enum fl_tactic { FL_FLIP, FL_WORD, FL_LINE, FL_WIDE, FL_N_TACTICS };
extern const char *const fl_tactic_names[FL_N_TACTICS];

enum fl_state { FL_OLD, FL_OFF, FL_ON, FL_N_STATES };

/* Marks of who changes a place; 0: nobody does (patch/motion.c). */
union fl_motion {
	uint32_t any;
	struct { uint8_t one, set; };
};

/*
 * One place in text and what may stand there. `old` is what was found there;
 * arming goes old -> off once, by the wide protocol; switching goes between
 * off and on and differs in `flip_bytes` bytes at `flip_at` only.
 *
 * A thread that has entered the window may stand, for any time, before each instruction
 * that it reaches, and where a call among these returns to: such offsets are `starts`.
 * When the thread goes on it must find an instruction there that leads it on, whatever
 * has been stored meanwhile. fl_arch_moves() changes each stretch between two starts by
 * itself.
 *
 * The fields that a switch in one byte needs stand in front: a set makes many of these.
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
	/* For each state, a bit for each offset that is a start. idle: the bytes up to the
	 * next start do nothing. whole: no thread meets a part of them, because they are one
	 * instruction, or the first one leads elsewhere. */
	uint16_t idle[FL_N_STATES], whole[FL_N_STATES];
	uint8_t head_at;		/* where a thread enters the window */
	uint8_t may_pass;		/* 1: at any time, a thread may act as `off` does */
	uint8_t flags_dead;		/* 1: the processor's flags may change here */
	uint8_t copies[FL_ARCH_INNER];	/* as planned */
};

/* To be called once all bytes are planned. */
static inline void fl_patch_note_flip(struct fl_patch *p)
{
	for (int state = 0; state < FL_N_STATES; state++)
		__builtin_memcpy(&p->flip[state], p->bytes[state] + p->flip_at,
				 sizeof(fl_unit));
}

/* `old` has starts that off and on have not. A thread may stand at such a start because it
 * came in by the head (FL_ROW); or because it came in while the place was on, and stood
 * inside when the old bytes came back (FL_ROW_INSIDE). */
enum fl_row { FL_ROW = 1, FL_ROW_INSIDE = 2 };

/*
 * How a stretch of a window changes while threads run: the park is stored, all cores are
 * synchronised, the rest is stored, all cores are synchronised again, the head is stored.
 * Without a park the head is the only store. While the park stands threads pass the
 * stretch, whatever the rest holds; where no thread may pass, they are held. Where
 * `old` bytes are a row no thread is there when they change: any order and store will do.
 */
struct fl_move {
	uint8_t start, end;		/* offsets of the stretch */
	uint8_t park_at, park_bytes;
	uint8_t head_at, head_bytes;	/* the park's bytes; or others beside them, and then
					 * the park's bytes are final already */
	bool holds;			/* threads that come by wait there */
	bool alone;			/* the head may be stored only where no thread runs */
	bool early;			/* the head has no park, and is stored before any other
					 * stretch is parked */
	uint8_t park[8];
};
enum { FL_ARCH_MOVES = 4 };
/* How the bytes of state `from` become those of `to`; where a window has several starts,
 * one of the two states is `off`. Returns how many moves. FLE_STRADDLE: nothing keeps
 * threads out of half an instruction. FLE_EXCHANGE: nothing keeps them out of an
 * instruction that must not change while they execute it. Pure. */
int fl_arch_moves(const struct fl_patch *, int from, int to,
		     struct fl_move moves[FL_ARCH_MOVES]);

/* What a plan needs to know of a site. */
struct fl_plan_in {
	uintptr_t at;
	enum fl_form form;
	uint8_t room, before;
	uintptr_t glue;			/* where the branch goes */
	uint32_t probe;			/* the id that the glue loads; for an ASK: the system
					 * call's number */
	uintptr_t on, off;		/* FL_FORM_BODY: where the entry jumps to */
	/* ... and for each offset in the window, how far into `off` the copy lies of the
	 * instruction that begins there; 0: none does. All 0: threads may come there later. */
	uint8_t copies[FL_ARCH_INNER];
};
/* Fill `p`; 0 or a refusal (FLE_NOREACH, FLE_NOSPACE, FLE_UNKNOWN, ...). No thread is ever
 * held at a place that is planned here, except at the entry of a body, or at an ASK, while
 * the old bytes come back. FLE_STRADDLE, for few sites: the old bytes could not come back
 * while threads run. */
int fl_arch_plan(struct fl_patch *p, const struct fl_plan_in *, uint64_t *datum);
/* When a place that is `old` is armed, a thread that stands at its offset k, behind the head,
 * goes on at *copy + to[k - 1]; to[k - 1] is 0 where no thread can stand. False: threads may
 * come to stand behind the head later. */
bool fl_arch_inner(const struct fl_patch *p, uintptr_t *copy, uint8_t to[FL_ARCH_SITE_MAX - 1]);
/* One unit switches a profiling call off for good: returns how far into the site the unit is;
 * *to is what it becomes. FLE_UNKNOWN: there is no such call. Pure. */
int fl_arch_mute(enum fl_form, const unsigned char *code, fl_unit *to);
/* The same for a call that is muted, and whose unit was `was`: *to makes it call again. */
int fl_arch_unmute(enum fl_form, const unsigned char *code, fl_unit was, fl_unit *to);
/* Can calls of the form be muted? Calls of other forms are armed, wanted or not. */
bool fl_arch_mutes(enum fl_form);
/* Plan a place whose instruction may become the one of `n` bytes at `on`, and
 * change back: off is old. 0, FLE_INSN or FLE_EXCHANGE. */
int fl_arch_plan_insn(struct fl_patch *p, uintptr_t at, const void *on, size_t n);
/* Plan a call to `target` where a call or NOPs stand; *was_nop says which. Where the
 * processor's flags are live a plan at NOPs leaves them. 0, FLE_UNKNOWN, FLE_NOREACH,
 * FLE_NOSPACE, FLE_STRADDLE. */
enum fl_flags { FL_FLAGS_LIVE, FL_FLAGS_DEAD };
int fl_arch_plan_call(struct fl_patch *p, uintptr_t at, uintptr_t target,
		      enum fl_flags, bool *was_nop);

/* ---- glue (pure) -------------------------------------------------------- */

/* Where a glue goes on if a jump at `at` leads to it; 0: the glue is called, or returns as
 * the function would. Pure. */
uintptr_t fl_arch_back(enum fl_form, uintptr_t at);
/* Emit a glue: load `id`, go where the dispatch word says, and on to `back` unless that is 0.
 * `at` is where the FL_ARCH_GLUE_BYTES will run. False: something is out of reach. In place of
 * `back` FL_GLUE_KEEPS: every register is live, and those that the glue loads are put on the
 * stack first. */
enum { FL_GLUE_KEEPS = 1 };
bool fl_arch_glue(unsigned char *out, uintptr_t at, uint32_t id, uintptr_t word,
		  uintptr_t back);
/* The same for an id that is not known yet: the glue loads it from `id`, 4 bytes of data. */
bool fl_arch_glue_late(unsigned char *out, uintptr_t at, uintptr_t id, uintptr_t word);

/* A site's branch leads to a veneer where its glue is out of reach; the veneer's glue may be
 * anywhere. Where FL_ARCH_VENEER_KEEPS is 1 the veneer does what a glue does elsewhere for
 * `back` (as above), and its glue is emitted with `back` 0. At most FL_ARCH_VENEER_MAX bytes,
 * at a multiple of 8; 0: `back` is out of reach. */
struct fl_veneer {
	uintptr_t at, glue, back;	/* where the veneer will run, goes to, and goes on */
	enum fl_form form;		/* of the site that leads to the veneer */
};
size_t fl_arch_put_veneer(unsigned char *out, const struct fl_veneer *);

/* What a glue does itself while its mask is FL_ARCH_MASK_DOES: it counts, or it puts a record
 * (precisely: the clock is read behind a fence). While the mask is FL_ARCH_MASK_DOES_NOT it
 * is a plain glue as above. FL_GLUE_GOES: a glue that has no mask, and is always plain. */
enum fl_glue_does {
	FL_GLUE_GOES, FL_GLUE_COUNTS, FL_GLUE_RECORDS, FL_GLUE_RECORDS_PRECISELY
};
/* Such a glue has two parts, of FL_ARCH_COUNTING_BYTES and _REST_BYTES, or of
 * FL_ARCH_RECORDING_BYTES and so on; sites lead to the first part. */
struct fl_doing_glue {
	enum fl_glue_does does;
	unsigned char *out, *rest;	/* where they are written, ... */
	uintptr_t at, rest_at;		/* ... and where they will run, or lie */
	uint32_t id;
	uintptr_t go, mask;		/* words of data */
	bool keeps;			/* the registers that it loads are live */
	uintptr_t back;			/* where it goes on, as fl_arch_glue(); or 0 */
	/* for a glue that counts: */
	uint32_t counter;		/* the probe's: how far into a thread's slot */
	uintptr_t full;			/* a word of data: where to go when a block is full */
};
/* False: out of reach. */
bool fl_arch_glue_doing(const struct fl_doing_glue *);
/* How many bytes lie on the stack above the way back at `at` in glue of the block [lo, hi).
 * `keeps` tells of a probe's glue whether it puts on the stack what it loads. Negative:
 * unknown. */
int fl_arch_glue_pushed(uintptr_t lo, uintptr_t hi, uintptr_t at, bool (*keeps)(uint32_t id));
/* Can a glue do so here? Ask once fl_arch_rseq_open() has been called. A port may count
 * without rseq. */
bool fl_arch_glue_can(enum fl_glue_does);

/* A counter has whole blocks in its low bits, and in its top bits how much there is of the
 * next block. So the sign of the sum says that a block is full when one count is added: no
 * other load or comparison is needed, and the word stands for one number at any moment. */
#define FL_COUNT_BLOCK 1024
#define FL_COUNT_ONE (1ull << 53)
#define FL_COUNT_FULL (FL_COUNT_BLOCK * FL_COUNT_ONE)	/* the sign; a few may be added */

static inline uint64_t fl_count_of(uint64_t counter)
{
	return (counter & (FL_COUNT_ONE - 1)) * FL_COUNT_BLOCK + counter / FL_COUNT_ONE;
}

/* ---- second bodies (pure) ------------------------------------------------- */

/* Each function returns how many bytes it has written; 0: the instruction cannot stand there,
 * or a target is out of reach. How many does not depend on addresses. Of an instruction they
 * need the length, the class, and where opcode and operand are (fl_arch_decode_flow). */

/* The same effect at `to`, for an instruction that stood at `at`: a direct branch goes to
 * `target`, in its long form; a pc-relative operand names the same address. At most
 * FL_ARCH_MOVED_MAX. */
size_t fl_arch_move(unsigned char *out, uintptr_t to, const unsigned char *code,
		    const struct fl_insn *, uintptr_t at, uintptr_t target);
/* A direct jump or branch in its short form, if it has one. */
size_t fl_arch_move_short(unsigned char *out, uintptr_t to, const unsigned char *code,
			  const struct fl_insn *, uintptr_t target);
/* How many bytes these two write; 0: none. */
struct fl_moved { uint8_t in_long, in_short; };
struct fl_moved fl_arch_moved(const unsigned char *code, const struct fl_insn *);
/* A branch on the opposite condition, past `over` bytes behind it. */
enum fl_past { FL_PAST_SHORT, FL_PAST_FAR };
size_t fl_arch_put_skip(unsigned char *out, const unsigned char *code,
			const struct fl_insn *, uint32_t over, enum fl_past);
/* A jump, of FL_ARCH_BRANCH_BYTES; or a call of a glue that keeps all registers, of
 * FL_ARCH_CALL_BYTES. */
enum fl_branch { FL_BRANCH_JUMP, FL_BRANCH_CALL };
size_t fl_arch_put_branch(unsigned char *out, enum fl_branch, uintptr_t at, uintptr_t to);
/* The code that a plan for the form finds in a body. At most FL_ARCH_PLACE_MAX.
 *
 *	FL_FORM_BODY_RET	takes the place of the return at `code`; 0: this return needs
 *				a place of FL_FORM_BODY_TAIL before it
 *	FL_FORM_BODY_TAIL	a call of glue goes to FL_ARCH_TAIL_CALL in it, if that is
 *				not 0
 *	FL_FORM_BODY_SWITCH	FL_ARCH_SWITCH_BYTES with the jump at `code`, which goes on in
 *				the original; 0: the jump is too long
 *	FL_FORM_BODY_POINT	a call of glue goes to FL_ARCH_POINT_CALL in it; all that may
 *				be live is kept
 *
 * 0, too: the port has no such place. */
size_t fl_arch_put_place(unsigned char *out, enum fl_form, const unsigned char *code,
			 size_t len);

/* From `offset` on the stack pointer is `depth` bytes below the original's. */
struct fl_depth { uint16_t offset, depth; };
extern const struct fl_depth fl_arch_point_depths[FL_ARCH_POINT_DEPTHS];

/*
 * An indirect jump of the original may lead into what a body stands for, or elsewhere. The
 * look-up finds out which. It keeps every register and flag, and what is below the stack
 * pointer. For each byte of a part a table has the landing of the instruction that begins
 * there, or 0. A jump to an address that no table has goes on behind the look-up.
 *
 * Rows of a table are distances from the table to landings, of 32 bits. Where all landings
 * stand one behind the other they may be their numbers, of 16 bits, from 1 on, if the port has
 * FL_ARCH_LOOKUP_NUMBERS: what a table is long, so many pages a body takes.
 */
enum { FL_LOOKED_PARTS = 8 };
struct fl_lookup {
	uintptr_t to;			/* where it will stand */
	const unsigned char *code;	/* the original's jump */
	size_t len;
	bool has_numbers;
	uintptr_t landings;		/* if it has: the first one */
	uint32_t n_parts;
	struct fl_looked {
		uintptr_t start, table;
		uint32_t bytes;
	} part[FL_LOOKED_PARTS];
	struct fl_depth depths[FL_ARCH_LOOKUP_DEPTHS];	/* W put */
};
/* At most FL_ARCH_LOOKUP_MAX. */
size_t fl_arch_put_lookup(unsigned char *out, struct fl_lookup *);
/* A landing, of FL_ARCH_LANDED_BYTES: it gives back the stack that the look-up has taken,
 * FL_ARCH_LOOKUP_KEPT bytes of it up to FL_ARCH_LANDED_UP, and goes to `target`. */
size_t fl_arch_put_landing(unsigned char *out, uintptr_t to, uintptr_t target);

/* ---- exclusive monitors (pure) --------------------------------------------- */

/*
 * Any access to memory between a load-exclusive and its store may lose the monitor; then the
 * store fails, each time anew. Where in a function may a monitor be held that a store asks
 * for? A CPU may have no monitors.
 */
struct fl_held_part {			/* of a function's code */
	uintptr_t start;
	const unsigned char *code;
	size_t bytes;
};
enum { FL_HELD_PARTS = 8 };
/* How much memory the answer takes; 0: this code holds no monitor. */
size_t fl_arch_held_bytes(const struct fl_held_part *, uint32_t n);
/* Fill `memory`, which is aligned to 8. Returns before how many instructions a monitor may be
 * held that a store asks for. */
uint32_t fl_arch_held(const struct fl_held_part *, uint32_t n, void *memory);
/* Memory would be accessed beside the instruction at `at`: before it; where its branch leaves
 * the function; by what fl_arch_move() makes of it. Would that be between the two of a pair?
 * Then *pair says of which. */
enum fl_woven { FL_WOVEN_BEFORE, FL_WOVEN_LEAVING, FL_WOVEN_MOVED };
bool fl_arch_is_held(const void *memory, uintptr_t at, enum fl_woven, uint64_t *pair);

/*
 * What a body may do with pairs. CAS: the load keeps what it has loaded in the thread's own
 * memory, and the store compares and swaps, so anything may be done in between. LSE: a pair
 * that does what one atomic instruction does becomes that instruction, on CPUs that have
 * these. Either way the effect is the same, except that CAS does not see a word that has
 * changed, and changed back (ABA).
 */
enum fl_exclusive { FL_EXCLUSIVE_LEAVE, FL_EXCLUSIVE_CAS, FL_EXCLUSIVE_LSE, FL_N_EXCLUSIVES };
/* Choose pairs to rewrite, from what fl_arch_held() has found; a rewritten pair holds no
 * monitor. Returns as fl_arch_held(), for the pairs that are left. */
uint32_t fl_arch_rewrite_exclusives(void *memory, enum fl_exclusive);
/* Which part of a rewritten pair the instruction at `at` is; 0: the instruction stays. */
unsigned int fl_arch_exclusive_part(const void *memory, uintptr_t at);
/* The code that stands for such a part. `own_at`: from the thread pointer to FL_ARCH_PAIR_OWN
 * bytes that are the thread's, aligned to 16, and 0 at first. At most FL_ARCH_PAIR_MAX; 0:
 * these bytes are out of reach. */
enum { FL_EXCLUSIVE_DEPTHS = 5 };
struct fl_exclusive_code {
	unsigned int part;
	const unsigned char *code;	/* the original's */
	intptr_t own_at;
	uint32_t n_depths;		/* W put */
	struct fl_depth depths[FL_EXCLUSIVE_DEPTHS];
};
size_t fl_arch_put_exclusive(unsigned char *out, struct fl_exclusive_code *);

/* Two addresses in one number: the low 48 bits are the load's, above them is the distance to
 * the store, in words. Where only one of the two is in the function, both are its address. */
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

/* A call of the routine whose address stands at `word`, in the midst of a function: the
 * routine gets `data` in a register (the port's aside.c), and nothing of the function's
 * changes. FL_ARCH_ASIDE_BYTES; from FL_ARCH_ASIDE_DOWN on up to the end the stack pointer is
 * FL_ARCH_ASIDE_DEPTH below the function's. 0: out of reach, or this port has none. */
size_t fl_arch_put_aside(unsigned char *out, uintptr_t to, uintptr_t data, uintptr_t word);

/* ---- paths ----------------------------------------------------------------------- */

enum fl_path_what {
	FL_PATH_ENTER,			/* a call begins */
	FL_PATH_ADD,
	FL_PATH_CUT,			/* a path ends and another one begins */
	FL_PATH_LEAVE,			/* the last path of the call ends */
	FL_PATH_AT,			/* a path begins, whatever was before */
	FL_PATH_DONE,			/* the call ends, and its path has been told */
	FL_PATH_ONLY,			/* the path of number `add` ends, whatever the sum */
	FL_PATH_HOME,			/* CUT or LEAVE, of a sum on the stack: a routine's */
	FL_N_PATH_WHATS
};
/*
 * Code that does what a routine for paths does (routines.h, PATHS), without a call where all
 * is as it mostly is; otherwise it goes to `cold`, which stands elsewhere and calls. Registers
 * that are not `dead`, flags that are not dead, and what is below the stack pointer stay.
 */
enum { FL_PATH_DEPTHS = 12, FL_PATH_SPARE = 4 };
struct fl_path_code {
	enum fl_path_what what;
	uintptr_t to, cold, cs;		/* as in fl_tell */
	intptr_t top_at;		/* from the thread pointer on: where fl_path is */
	int32_t height;			/* of the owner, or home, as in fl_path_tell */
	uint32_t add, set, cell, n_paths;
	bool at_home;			/* the sum is on the call's stack: no frame has it */
	uint32_t n_spare;		/* nobody's words, from the stack pointer on: */
	int32_t spare[FL_PATH_SPARE];
	uintptr_t probe;		/* where its id stands, if cells are shared; 0: own */
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
/* The cold part of a path code that was put; data, word: as for an aside. */
size_t fl_arch_put_path_cold(unsigned char *out, uintptr_t to, struct fl_path_code *,
			     uintptr_t data, uintptr_t word);
void fl_arch_lay_path_cs(unsigned char *out, const struct fl_path_code *, uintptr_t cold);

/* What an instruction does to general registers. reads: those that it reads, or leaves in
 * part; sets: those that it sets whatever was there. */
struct fl_needs {
	fl_regs reads, sets;		/* of an unknown instruction: it reads all */
	bool calls;
	bool is_quiet;			/* it raises no signal except by its memory */
	/* What it does to the stack, if that is known, which it is not for a call: the stack
	 * `grows` by so many bytes downwards; `touched` bytes are accessed, `touched_at` from
	 * where the stack pointer was. */
	bool stack_known;
	int32_t grows, touched_at;
	uint32_t touched;
};
void fl_arch_needs(struct fl_needs *, const unsigned char *code, size_t len);

/*
 * A group of accesses to memory is told in one go, before the instruction that stands behind:
 * each has a record in the thread's own ring, with `word` as its second word. A string that
 * repeats is alone in its group, which keeps flags, and has a record FLICK_TYPE_STRING.
 * Registers, flags and what is below the stack pointer stay. Where there is no room, or no
 * slot, the code goes to `cold`, which stands elsewhere. While the byte at `gate` is 0 nothing
 * is told.
 */
enum { FL_TELL_DEPTHS = 12, FL_TELL_MOST = 16, FL_TELL_REGS = 10 };
struct fl_tellable {
	struct fl_operand operand;
	uint64_t word;			/* the address is added; or the word follows it */
	uint8_t below;			/* the word's address is so many bytes below this one */
	bool is_with;			/* the word before tells of this access, too */
};
struct fl_tell {
	uintptr_t to;			/* where the code will stand */
	uintptr_t cold, cs, gate;	/* cold: where put_cold's will stand; cs: where
					 * lay_cs's is, aligned to its size */
	const struct fl_tellable *of;	/* they need FL_TELL_REGS registers at most */
	uint32_t n;			/* 1 to FL_TELL_MOST */
	bool keeps_flags, by_word;	/* by_word: an access is one word, not a record */
	/* W put_tell: offsets; kept: bytes below the original's stack pointer at `out` */
	uint16_t arm, start, end, out, kept;
	uint32_t n_depths;
	struct fl_depth depths[FL_TELL_DEPTHS];
	size_t abort, pushed;		/* W put_cold: offsets */
};
/* At most FL_ARCH_TELL_MAX. */
size_t fl_arch_put_tell(unsigned char *out, struct fl_tell *);
/* The cold part of a group that was put, FL_ARCH_COLD_BYTES; at `word` is the address of the
 * routine that makes room (routines.h, MAKES_ROOM). */
size_t fl_arch_put_cold(unsigned char *out, uintptr_t to, struct fl_tell *, uintptr_t word);
void fl_arch_lay_cs(unsigned char *out, const struct fl_tell *, uintptr_t cold);
/* What an instruction does to the flags. READ: it reads some. SET: it reads none, and none
 * keeps its value. LEFT: it reads none, and some may keep their values. */
enum fl_flags_use { FL_FLAGS_READ, FL_FLAGS_SET, FL_FLAGS_LEFT };
enum fl_flags_use fl_arch_flags_use(const unsigned char *code, size_t n);

/* ---- live: what a glue goes to ------------------------------------------------ */

/* The pieces of assembly of which probe/routines.S makes its routines are in the port's
 * routines.h. A routine that calls a function of the program's own exists once for each row
 * of FL_ARCH_VECTORS: which one suits this CPU and kernel? Takes microseconds. */
unsigned int fl_arch_vectors(void);
/* Append a record of 16 bytes to the calling thread's ring, as the routines do, or two
 * with one commit; false when the ring's chunk has no room for all, or the thread was
 * interrupted. */
bool fl_arch_put_one(const void *record) __attribute__((visibility("hidden")));
bool fl_arch_put_pair(const void *pair) __attribute__((visibility("hidden")));
/* Add to the word `at` bytes into the calling thread's slot, in the same way: false
 * without a slot, without rseq, or where the thread was interrupted before the sum was
 * stored. */
bool fl_arch_add_own(size_t at, uint64_t by) __attribute__((visibility("hidden")));
/* The counter there is full: begin its next block. False: it is not full, or as above. */
bool fl_arch_end_block(size_t at) __attribute__((visibility("hidden")));
/* The same for the slot that the thread has of a second recorder. Only where
 * FL_ARCH_ATTACHES is 1. */
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

/* `user`: the thread's registers, FL_ARCH_USER_WORDS of them, as NT_PRSTATUS has them. */
uintptr_t fl_arch_user_pc(const uint64_t *user);
uintptr_t fl_arch_user_sp(const uint64_t *user);
uintptr_t fl_arch_user_tls(const uint64_t *user);
long fl_arch_user_result(const uint64_t *user);
void fl_arch_user_set_pc(uint64_t *user, uintptr_t pc);
/* Did the thread stop in a system call? In one that waits? */
bool fl_arch_user_in_call(const uint64_t *user);
bool fl_arch_user_sleeps(const uint64_t *user);

/* The thread makes system calls for us. Whoever lets it go on, it comes back to where it
 * was. */
struct fl_borrow {
	uint64_t user[FL_ARCH_USER_WORDS];	/* the thread's registers as they were */
	uint64_t mask;			/* signals that the thread blocks */
	const unsigned char *vectors;	/* as NT_X86_XSTATE and its like have them */
	size_t n_vectors;
	uintptr_t call, sigreturn;	/* code of the program's: find_call, find_sigreturn */
	uintptr_t sp;			/* W put_way_back: what lies there leads back */
};
/* So much of the thread's stack is written at most, below its stack pointer. */
size_t fl_arch_borrow_bytes(size_t vectors);
/* What is to be written from b->sp on; returns how much. */
size_t fl_arch_put_way_back(unsigned char *out, struct fl_borrow *b);
/* The thread's registers for such a call. */
void fl_arch_borrow_call(const struct fl_borrow *, uint64_t *user, long number,
			 const uint64_t args[6]);
/* Where in `text` a system call stands with a return behind it; where the call stands that
 * ends a signal: 1 + the offset, or 0. */
size_t fl_arch_find_call(const unsigned char *text, size_t n);
size_t fl_arch_find_sigreturn(const unsigned char *text, size_t n);

/* The C library's own part of a thread, which will be at `at`, for a thread that the C library
 * does not know and that calls it. `like`: FL_ARCH_THREAD_HEAD bytes of that part of another
 * thread. `table`, FL_ARCH_TLS_TABLE bytes at `table_at`, says that no library has a place in
 * it yet. */
void fl_arch_lay_thread(unsigned char *to, uintptr_t at, const unsigned char *like,
			unsigned char *table, uintptr_t table_at);

/* The bytes that a thread of ours runs at first in that process: inject.S. */
extern const unsigned char fl_arch_inject[] FL_HIDDEN, fl_arch_inject_end[] FL_HIDDEN;
enum fl_inject_state { FL_INJECT_NEW, FL_INJECT_CREATED, FL_INJECT_RUNS, FL_INJECT_ENDED,
		       FL_INJECT_FAILED };
struct fl_inject {
	uint64_t pthread_create, pthread_self, pthread_detach, dlopen, dlsym, dlerror;
	uint64_t library, symbol, given;	/* texts */
	uint64_t thread;
	uint32_t state;			/* enum fl_inject_state; W the threads */
	int32_t result;			/* of pthread_create(); then of the agent */
	uint64_t tls_init, tls;		/* what fills a thread's own part (0: it is filled);
					 * where that part is */
	char why[256];			/* dlerror() */
	uint64_t code, data;		/* where all this lies: for the next injection */
};

/* ---- live: text that cores execute (flip.c) --------------------------------- */

/* A thread that executes what these functions store sees what the storing thread stored
 * before. Cores come to fetch the new text in bounded time, without further ado. `at` is where
 * text is stored to (fl_patch.view). The port knows how wide a store is, in which order stores
 * come, and what caches need. A port that checks whether the new bytes may follow the old ones
 * finds the old ones in text. */

/* The one store of a switch. */
static inline void fl_arch_flip_unit(uintptr_t at, fl_unit to)
{
	FL_ARCH_FLIP_UNIT(at, to);
}
/* `n` bytes, as one store: the head or the park of a move, or all that a switch changes.
 * What other threads store beside these bytes is not lost. */
void fl_arch_flip(uintptr_t at, const uint8_t *bytes, size_t n);
/* The same for up to 8 bytes of one cache line. No processor promises that such a store
 * is fetched whole: to be used only where `flick calibrate` has seen that it is. */
void fl_arch_flip_line(uintptr_t at, const uint8_t *bytes, size_t n);
/* Bytes that nobody executes meanwhile. */
void fl_arch_store_bytes(uintptr_t at, const uint8_t *bytes, size_t n);
/* [at, at + n), an address that is executed, was written as data. From now on it is code for
 * every core that a branch leads there. */
void fl_arch_publish(uintptr_t at, size_t n);
/* May text be stored to through another mapping of its memory? */
bool fl_arch_may_alias(void);
/* From now on `stored` is called behind each store to text, for emulators that miss stores of
 * other threads (patch/text-way.c). False: stores of this port do not call it. */
bool fl_arch_on_store(void (*stored)(uintptr_t at, size_t n));

/* A unit of text with a value for each state. armed: may it be stored to? 0: no. */
struct fl_flip {
	uintptr_t at;
	fl_unit unit[FL_N_STATES];
	uint8_t armed;
	uint8_t others[4];		/* the caller's */
};
enum fl_flipped { FL_FLIPPED, FL_FLIP_HELD, FL_FLIP_UNARMED };
enum fl_flip_when { FL_FLIP_ALWAYS, FL_FLIP_IF_OTHER };	/* than what stands there */
/* Flip to unit[state], unless *held is set. All conditions are looked at again when the thread
 * has been off its core, or sequences were restarted (OS21). Only where
 * fl_arch_can_flip_unless(), and from a thread of the C library's. */
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
/* Did the kernel itself call the handler whose frame begins at `cfa`? False: another handler
 * had this context first, and called that one. */
bool fl_arch_is_delivered(const void *ucontext, const void *cfa);
/*
 * Frames that the kernel has put on stacks for handlers. mark: a word that every frame has.
 * frame_at, frame_of_pc: where the frame begins whose mark, or whose pc, is there. frame: what
 * FL_ARCH_FRAME_BYTES that were read at `at` say; false: no frame, or it was not made there.
 * The handler returns to `restorer`, where is_restorer must hold.
 */
struct fl_signal_frame {
	uintptr_t pc_at;		/* where the pc is kept that the thread goes on at */
	uintptr_t pc, sp, restorer;
	long result;			/* of a system call that has just returned */
	int sig;			/* that the kernel has sent, or 0; else anything */
};
uint64_t fl_arch_frame_mark(void);
uintptr_t fl_arch_frame_at(uintptr_t mark_at);
uintptr_t fl_arch_frame_of_pc(uintptr_t pc_at);
bool fl_arch_frame(struct fl_signal_frame *, const void *bytes, uintptr_t at);
bool fl_arch_is_restorer(const unsigned char code[FL_ARCH_RESTORER_BYTES]);
/* Execute a core-serialising instruction (HW4), once all cores see what was stored. */
void fl_arch_serialise(void);
/* The system call that has just returned -EINTR; false: the context is elsewhere, or the
 * call cannot be told. call_again makes the same call once more. */
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

/* The clock is read after all that stands before has been executed, and before anything
 * behind has begun: all that lies between two such reads is in their difference. */
static inline uint64_t fl_arch_ticks_apart(void)
{
	uint64_t ticks;

	FL_ARCH_FENCE();
	ticks = FL_ARCH_TICKS();
	FL_ARCH_FENCE();
	return ticks;
}

/* A program may have its processor check that accesses are aligned (the flag AC), and a
 * compiler makes one unaligned access of several. So who is called by the program's own code
 * has nothing checked until fl_arch_check() with what this has returned. What comes from a
 * glue comes unchecked (probe/routines.S). */
FL_HIDDEN uint32_t fl_arch_uncheck(void);
FL_HIDDEN void fl_arch_check(uint32_t was);

static inline void fl_arch_pause(void)
{
	FL_ARCH_PAUSE();
}

#endif /* C */
#endif
