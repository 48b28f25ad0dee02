/*
 * arch.h - the only door to a CPU. A port is one folder beside this file.
 *
 * Pure parts (plan, decode, emit) compile and are tested on every host; live
 * parts (flip, act, the routines in tramp.S) only on their own CPU.
 */
#ifndef FL_ARCH_H
#define FL_ARCH_H

#include "base/base.h"

#if defined(__x86_64__)
#include "arch/x86_64/facts.h"
#elif defined(__aarch64__)
#error "the AArch64 port is not here yet: STYLE, 'A port'"
#else
#error "no port for this CPU"
#endif

/* A port must say all of these in facts.h. */
#if !defined(FL_ARCH_TRAP_BYTES) || !defined(FL_ARCH_REACH) || \
	!defined(FL_ARCH_GLUE_BYTES) || !defined(FL_ARCH_SITE_MAX) || \
	!defined(FL_ARCH_ELF_MACHINE)
#error "arch/*/facts.h is incomplete"
#endif

/* ---- decode (pure) ---------------------------------------------------- */

enum fl_insn_class {
	FL_INSN_OTHER,
	FL_INSN_CALL, FL_INSN_JUMP,	/* target 0: through a register or memory */
	FL_INSN_CALL_SLOT, FL_INSN_JUMP_SLOT,	/* to *(target) */
	FL_INSN_BRANCH,		/* conditional */
	FL_INSN_RET, FL_INSN_NOP,
	FL_INSN_LOAD_ADDRESS,	/* reg = target (constant or pc-relative) */
	FL_INSN_LOAD_SLOT,	/* reg = *(target) */
	FL_INSN_MOVE,		/* reg = source register */
	FL_INSN_POP		/* reg = what a caller left on the stack */
};

struct fl_insn {
	uint8_t len;		/* bytes; 0: not understood */
	uint8_t cls;		/* enum fl_insn_class */
	uint8_t reg, source;	/* of the last four classes; 0..15 */
	uint8_t opcode_at;	/* offset of the opcode, behind prefixes */
	uint16_t writes;	/* general registers it may change, a bit each, the
				 * stack pointer aside; of a call: the ABI's scratch
				 * registers; all ones when not known */
	uintptr_t target;	/* absolute; of branches, slots, addresses */
};

/* Decode at `code`, which stands at address `at`; at most `n` bytes. */
void fl_arch_decode(struct fl_insn *, const unsigned char *code, size_t n,
		    uintptr_t at);
/* The direct call, or call through a slot, that returns to `ret`; false when
 * the bytes before `ret` are something else, or could be. */
bool fl_arch_call_before(struct fl_insn *, uintptr_t ret);
/* Bytes of landing pad (endbr64, bti) at a function's entry. */
size_t fl_arch_landing(const unsigned char *code, size_t n);
/* The register a function's first argument is in. */
#define FL_ARCH_REG_ARG0 FL_ARCH_ARG0

/* ---- plan (pure): how a site is armed and switched --------------------- */

enum fl_tactic { FL_FLIP, FL_WORD, FL_WIDE, FL_N_TACTICS };
extern const char *const fl_tactic_names[FL_N_TACTICS];

enum fl_state { FL_OLD, FL_OFF, FL_ON, FL_N_STATES };

/*
 * One place in text and what may stand there. `old` is what the compiler left;
 * arming goes old -> off once, by the wide protocol; switching goes between
 * off and on and differs in `flip_bytes` bytes at `flip_at` only.
 */
struct fl_patch {
	uintptr_t at;
	uint8_t len;			/* window, <= FL_ARCH_SITE_MAX */
	uint8_t tactic;			/* FL_FLIP or FL_WORD: the switch */
	uint8_t flip_at, flip_bytes;
	uint8_t park[2];		/* value of head byte while the tail changes */
	uint8_t parks;			/* 1: park[] is harmless; 0: park is a trap */
	uint8_t n_starts;		/* interior instruction starts in `old` */
	uint8_t starts[FL_ARCH_SITE_MAX];
	uint8_t bytes[FL_N_STATES][FL_ARCH_SITE_MAX];
};

/* What a plan needs to know of a site. */
struct fl_plan_in {
	uintptr_t at;
	int form;			/* enum fl_form */
	uint8_t room, before;
	uintptr_t glue;			/* where the branch goes */
};
/* Fill `p`; 0 or a refusal (FLE_NOREACH, FLE_NOSPACE, FLE_UNKNOWN, ...). */
int fl_arch_plan(struct fl_patch *p, const struct fl_plan_in *, uint64_t *datum);

/* ---- glue (pure) -------------------------------------------------------- */

/* Emit a glue: load `id`, go where the pointer at `slot` says. `at` is where
 * the FL_ARCH_GLUE_BYTES will run. False: slot out of reach. */
bool fl_arch_glue(unsigned char *out, uintptr_t at, uint32_t id, uintptr_t slot);

/* Routine for an action (enum fl_action) at a site with convention `bare`. */
uintptr_t fl_arch_routine(int action, bool bare);

/* ---- live: text and traps ----------------------------------------------- */

/* Store one byte, or one aligned word of 2, 4 or 8 bytes, to text. */
void fl_arch_store_byte(uintptr_t at, uint8_t byte);
void fl_arch_store_word(uintptr_t at, const uint8_t *bytes, size_t n);
/* Make this core refetch what it stores to [at, at + n). */
void fl_arch_sync_self(uintptr_t at, size_t n);

/* A thread trapped; its context is a ucontext_t. Address of the trap. */
uintptr_t fl_arch_trap_pc(const void *ucontext);
/* Continue as if the window held `bytes` and were entered at its start
 * (`entered` = 0) or at an interior start of a row of NOPs. */
void fl_arch_act(void *ucontext, const struct fl_patch *, int state, size_t entered);

static inline uint64_t fl_arch_ticks(void)
{
	return FL_ARCH_TICKS();
}

static inline void fl_arch_pause(void)
{
	FL_ARCH_PAUSE();
}

#endif
