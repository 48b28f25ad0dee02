/* site.h - step 1 of 7: where a probe can be. next: patch.h */
#ifndef FL_SITE_H
#define FL_SITE_H

#include "arch/arch.h"		/* enum fl_form */
#include "base/base.h"
#include "channel/channel.h"	/* enum fl_kind */
#include "obj/obj.h"

struct fl_site {
	uintptr_t at;			/* first byte of what stands there */
	uintptr_t function;		/* whose body it belongs to */
	uintptr_t pointer;		/* in a file that was laid out: what holds `function`,
					 * which another module has; else 0 */
	uint64_t datum;			/* explains `refusal` */
	int32_t refusal;		/* fl_err, 0 = usable */
	uint8_t kind;			/* enum fl_kind */
	uint8_t provider;		/* index into fl_providers[] */
	uint8_t form;			/* enum fl_form */
	uint8_t room;			/* bytes that are ours, from `at` */
	uint8_t before;			/* FL_FORM_PAD_BEFORE: NOP bytes before `at`; of a
					 * BODY_BEFORE: how far before it the jump stands */
	uint8_t bare;			/* 1: every register is live, 0: an ABI call */
	uint8_t is_virtual;		/* 1: none, see fl_probe_virtual() */
	uint8_t asks;			/* 1: calls may be of other functions as well */
	uint8_t carries;		/* 1: points are in its function's body, so it leads
					 * there whoever wants it */
};

typedef int fl_site_each(void *arg, const struct fl_site *);

/* Finds the sites of a module that one compiler feature left. */
struct fl_provider {
	const char *name, *about;
	int (*scan)(const struct fl_module *, fl_site_each *, void *arg);
};
extern const struct fl_provider *const fl_providers[];	/* NULL-terminated */
enum { FL_PROVIDER_CYG, FL_PROVIDER_PATCHABLE, FL_PROVIDER_XRAY, FL_PROVIDER_BODY,
       FL_PROVIDER_PLT, FL_PROVIDER_POINT, FL_N_PROVIDERS };

/* Every site of a module, by all providers, ascending within each. Sites that
 * cannot be used come too, with a refusal. Returns a count, a negative error,
 * or what `each` returned when not 0. Not async-signal-safe; no allocation. */
int fl_site_scan(const struct fl_module *, fl_site_each *, void *arg);

/* Every profiling call whose function the scan does not know, ascending; its first
 * run tells, see below. 0, an error, or what `each` returned when not 0. */
int fl_site_unnamed(const struct fl_module *, fl_site_each *, void *arg);

/* Compilers put instrumented bodies into one another. For each of `n` addresses `at` in the
 * text of a module, best ascending, inner[i] becomes the function of the innermost body there
 * that was put into another one; 0: there is none. function_at names the profiling call at an
 * address (0: it does not know it). `around`, if not NULL, gets this function and each that it
 * was put into. 0, -ENOMEM, -EFBIG. */
struct fl_inner_in {
	const uintptr_t *at;
	size_t n;
	uint32_t (*function_at)(void *arg, uintptr_t at);
	void (*around)(void *arg, size_t i, uint32_t function);
	void *arg;
};
int fl_site_inner(const struct fl_module *, const struct fl_inner_in *, uint32_t *inner);

/* First call: a profiling call of function `function` returns to `ret`. What
 * site is that? False when no call flick knows ends there. */
bool fl_site_at_return(struct fl_site *, uintptr_t ret, uintptr_t function,
		       enum fl_kind);

/* Before the first scan: the region's reader may know what a scan of the program would find,
 * and keeps what a scan finds for the next run. NULL: there is no such reader. */
void fl_site_found(struct fl_region *);

/* Which modules get second bodies (wants.c): the reader's rules, before the first scan. NULL:
 * files that are laid out do. */
void fl_site_rules(const struct fl_body_rules *);

enum { FL_POINTS_MOST = 64 };		/* of a module, at most (points.c) */

/* ---- what a second body is made of --------------------------------------- */

/*
 * What a module's code is made of, read once and whole: ranges that are functions, which
 * others are parts of them, which can have a second body, and where they are left. Scratch
 * memory until close.
 */
struct fl_outline {
	const struct fl_module *m;	/* its file is open as long as this is used */
	uintptr_t lo;			/* of all text; offsets are from here */
	struct fl_extent {
		uintptr_t start, end;	/* ascending, not overlapping */
		uintptr_t fde, lsda;	/* 0: none; see fl_obj_frames() */
		uint64_t datum;		/* explains `refusal` */
		int32_t refusal;	/* fl_err; 0: it can have a body, or is a part */
		uint32_t owner, next;	/* of a function's parts: the one that it begins with,
					 * and the next one, FL_EXTENT_NONE: the last */
		uint32_t left, n_left;	/* of `lefts`: where it may be left */
		uint16_t flags;		/* FL_EXTENT_* of outline.c */
		uint8_t landing : 4;	/* bytes of landing pad at `start` */
		uint8_t before : 4;	/* how far before the entry the jump stands that leads
					 * to its body; 0: at it */
		uint8_t kind;
	} *extents;
	struct fl_leaving {
		uint32_t at, to;	/* to: of a direct jump */
		uint8_t len, kind;	/* enum fl_shape_kind */
	} *lefts;
	size_t n, room, n_lefts, room_lefts;
	uint64_t *starts;		/* of instructions, a bit a byte of text */
	uint64_t *plain;		/* alike: those that are PLAIN, no call and no NOP */
	size_t map_bytes;		/* of each of both */
	uint32_t *first_in;		/* by grain: the extent that ends behind its start */
	size_t n_grains;
};
#define FL_OUTLINE_GRAIN 128		/* bytes of text */
enum { FL_EXTENT_NONE = UINT32_MAX };
enum fl_extent_kind {
	FL_EXTENT_FUNCTION,
	FL_EXTENT_PART,			/* a function begins elsewhere and jumps here */
	FL_EXTENT_OTHER			/* no function: stubs of the linker's, nobody's code */
};
/* open: 0, -ENOMEM, -EFBIG. close: also one that is all 0, or could not be opened. keep: close
 * it, and the next one to open it has it at once; forget: drop what was kept. With the table's
 * lock. */
int fl_outline_open(struct fl_outline *, const struct fl_module *);
void fl_outline_close(struct fl_outline *);
void fl_outline_keep(struct fl_outline *);
void fl_outline_forget(void);
/* Index of the extent that holds `a`; n: none does. */
size_t fl_outline_find(const struct fl_outline *, uintptr_t a);

/* An instruction, and what it is for whoever moves it. */
enum fl_shape_kind {
	FL_SHAPE_PLAIN,			/* the same anywhere; indirect calls, too */
	FL_SHAPE_RELATIVE,		/* has a pc-relative operand: `target` */
	FL_SHAPE_CALL,			/* to `target`, which may be the function itself */
	FL_SHAPE_JUMP, FL_SHAPE_BRANCH,	/* to `target`, one of the steps; BRANCH: if */
	FL_SHAPE_TAIL, FL_SHAPE_BRANCH_OUT,	/* the same, and it leaves the function */
	FL_SHAPE_TAIL_POINTER,		/* leaves, to what the word at `target` holds */
	FL_SHAPE_RUNS_ON,		/* no instruction, len 0: it leaves by what stands
					 * behind it, which is a function */
	FL_SHAPE_SWITCH,		/* jumps to who knows where, in or out */
	FL_SHAPE_RET,
	FL_SHAPE_STOP,			/* raises SIGILL: nothing is behind it */
	FL_SHAPE_END			/* no instruction, len 0: a call that does not return
					 * stands last; code here goes on at `target` */
};
struct fl_shape_step {
	uintptr_t at, target;		/* in the original */
	uint32_t to;			/* of JUMP, BRANCH: index of the step at `target` */
	uint8_t len, kind;
	uint8_t opcode_at : 4, operand_at : 4;	/* as in fl_insn */
	uint8_t part : 4;		/* index */
	uint8_t is_target : 1;		/* a direct branch of the function, or the unwinder,
					 * leads here */
	uint8_t is_call : 1;		/* where it stands is seen: it is returned to */
	uint8_t is_pad : 1;		/* an exception may land here */
};
struct fl_shape_part {
	uintptr_t start, end, fde, lsda;	/* as in fl_extent */
};
enum { FL_SHAPE_PARTS = 8 };
struct fl_shape {
	const struct fl_module *m;
	uintptr_t function, entry;	/* entry: behind the landing pad, where a jump goes */
	struct fl_shape_part parts[FL_SHAPE_PARTS];	/* [0] has the entry */
	uint32_t n_parts;
	uint32_t n_steps, room;		/* of `steps`, which are the caller's; what is behind
					 * n_steps is written to */
	struct fl_shape_step *steps;	/* by part, ascending in each; what cannot be reached
					 * and is not understood is left out */
	uint32_t first[FL_SHAPE_PARTS + 1];	/* by part: its first step. One more: n_steps */
	uint32_t covered;		/* steps from `entry` on in which the jump lies; 0: some
					 * may come to it behind its first byte, not only by
					 * jumps to who knows where */
	uint32_t window;		/* bytes that the jump covers, all the function's own */
	uint8_t before;			/* how far before the entry the jump stands that leads
					 * to the body: then one instruction of the entry
					 * changes, which is `covered`; 0: it is at the entry */
	bool is_stub;			/* it jumps through a register, and that leaves */
	bool has_switch;		/* one of the steps is a SWITCH */
	const uintptr_t *points;	/* ascending; some are elsewhere. W the caller */
	uint32_t n_points;
};
/* The shape of the function that begins at `function`: `steps` and `room` are set before.
 * 0 or why it can have no body; -ENOSPC: there must be room for n_steps. */
int fl_shape_of(struct fl_shape *, const struct fl_outline *, uintptr_t function,
		uint64_t *datum);
/* The bytes of a step, from the file. */
const unsigned char *fl_shape_bytes(const struct fl_shape *, const struct fl_shape_step *);

/* The profiling functions that direct calls reach in this process (libflick's
 * own); laid-out files are matched by name alone. */
void fl_site_cyg_targets(uintptr_t enter, uintptr_t exit);

#endif
