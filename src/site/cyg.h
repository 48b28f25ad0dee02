/*
 * cyg.h - the parts of the provider `cyg`; private to this folder.
 */
#ifndef FL_SITE_CYG_H
#define FL_SITE_CYG_H

#include "scan.h"

/* ---- reach.c: which branches lead to the profiling functions ----------------- */

enum fl_hook { FL_HOOK_NONE, FL_HOOK_ENTER, FL_HOOK_EXIT, FL_N_HOOKS };
enum { FL_REACH_SLOTS = 8, FL_REACH_SEEN = 512 };

struct fl_reach {
	const struct fl_module *m;
	uintptr_t direct[FL_N_HOOKS];	/* the functions themselves; 0: elsewhere */
	uintptr_t slots[FL_N_HOOKS][FL_REACH_SLOTS];	/* that hold their addresses */
	uint8_t n_slots[FL_N_HOOKS];
	uintptr_t seen[FL_REACH_SEEN];	/* targets, and what they proved to be */
	uint8_t hook[FL_REACH_SEEN];
};
/* False: nothing in this module can reach them. */
bool fl_reach_open(struct fl_reach *, const struct fl_module *);
/* What does this call or branch lead to? */
enum fl_hook fl_reach_hook(struct fl_reach *, const struct fl_insn *);
/* What does a jump through `slot` lead to? */
enum fl_hook fl_reach_slot(const struct fl_reach *, uintptr_t slot);

/* ---- flow.c: what a register holds --------------------------------------------- */

enum fl_source { FL_UNKNOWN, FL_ADDRESS, FL_SLOT };

/* A register's value: an address or *(address), loaded by the instruction at
 * `since`; and perhaps copied, at `moved`, from the kept register `via`. */
struct fl_value {
	uintptr_t v, since, moved;
	uint8_t source;			/* enum fl_source */
	uint8_t via;			/* 0: loaded here */
};

/* Registers on a straight line of code. */
struct fl_line {
	uint32_t known;			/* a bit a register */
	uint32_t reloaded;		/* kept ones, written on this line */
	bool has_handlers;		/* of exceptions, in this module */
	struct fl_value value[16];
};

/* The kept registers over a whole function. */
struct fl_keep {
	uint32_t many;			/* registers with another or a second value */
	uint32_t anywhere;		/* value loaded in another part of the function */
	struct {
		uintptr_t v;
		uint32_t since;		/* low half of the address */
		uint8_t source;
	} value[FL_ARCH_N_KEPT];
	bool carries;			/* a value leaves by an indirect jump */
};

void fl_flow_step(struct fl_line *, struct fl_keep *, const struct fl_insn *,
		  uintptr_t at);
/* The value of `reg` now, as an instruction at `at` reads it. */
struct fl_value fl_flow_value(struct fl_line *, struct fl_keep *, unsigned int reg,
			      uintptr_t at);
/* What `reg` holds all along, when it was loaded before `at`: source and v. */
struct fl_value fl_flow_kept(const struct fl_keep *, unsigned int reg, uintptr_t at);
/* `a` and `b` are parts of one function. */
void fl_flow_join(struct fl_keep *a, struct fl_keep *b);

/* An instruction of no class that matters here. */
static inline void fl_flow_forget(struct fl_line *l, uint32_t writes)
{
	l->known &= ~writes;
	l->reloaded |= writes & FL_ARCH_KEPT;
}

#endif
