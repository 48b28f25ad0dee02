/*
 * routines.h - the pieces of which probe/routines.S makes what a glue jumps to, AArch64.
 *
 * A piece makes a routine for each convention. On entry w16 is the probe id and x30 the way
 * back. ABI routines stand behind an ordinary call, so every scratch register and the flags
 * are theirs. BARE routines stand at a function's entry or exit: only x16, x17 and the flags
 * are dead there, and all else is put back; their glue has put x30 on the stack, 16 bytes.
 * BODY routines stand in a second body, where x16 and x17 are live, too: their glue has
 * put these on the stack, and x30 above them, 32 bytes. Nothing lies below the stack pointer
 * (AAPCS64), and nobody touches x18, which is the platform's. The only routines that touch
 * vector registers are those that call a function of the program's own: they save all of them.
 *
 * The stack pointer that a pad or sled tells is eight less than the function's. So two places
 * are told apart, one behind a call, the other at the first instruction of the function that is
 * called, though a call stores nothing (analysis/stack.c).
 *
 * THE SHORT PATH (RECORDS)
 *	1  arm the restartable sequence (rseq): a signal or a preemption between
 *	   2 and 4 restarts at 1, so a handler may enqueue at any point, and may
 *	   fork: the child finds no slot then
 *	2  find the slot; p = slot->ptr; when p >= slot->limit take the long path
 *	3  store the record at p
 *	4  slot->ptr = p + 16, a release: the commit. A reader that sees the new ptr sees the
 *	   whole record: pairs with (B) in channel/drain.c
 * A thread without a slot, and a child of fork, take the long path.
 */
#include "arch/layout.h"
#include "arch/aarch64/rseq.h"

	RSEQ_OWN a64_own_routines

/* A program cannot have alignment checked here, so there is nothing to go through to C. */
	.macro	UNCHECKS
	.endm

	.macro	LOAD to, symbol
	adrp	\to, \symbol
	ldr	\to, [\to, :lo12:\symbol]
	.endm

	.macro	TAKE bytes
	.cfi_adjust_cfa_offset \bytes
	.endm

/* A routine that a glue calls; \frame bytes of the glue's lie on the stack. */
	.macro	BARE_FUNC name, frame, align=5
FUNC \name, \align
	.cfi_adjust_cfa_offset \frame
	.endm

	.macro	SAVE_SIX
	stp	x9, x10, [sp, #-48]!
	TAKE	48
	stp	x11, x12, [sp, #16]
	stp	x13, x14, [sp, #32]
	.endm

	.macro	RESTORE_SIX
	ldp	x13, x14, [sp, #32]
	ldp	x11, x12, [sp, #16]
	ldp	x9, x10, [sp], #48
	TAKE	-48
	.endm

#define SCRATCH 160

/* The registers that C may lose, and the way back. flick's C leaves x18 (-ffixed-x18). */
	.macro	SAVE_SCRATCH
	stp	x0, x1, [sp, #-SCRATCH]!
	TAKE	SCRATCH
	stp	x2, x3, [sp, #16]
	stp	x4, x5, [sp, #32]
	stp	x6, x7, [sp, #48]
	stp	x8, x9, [sp, #64]
	stp	x10, x11, [sp, #80]
	stp	x12, x13, [sp, #96]
	stp	x14, x15, [sp, #112]
	stp	x16, x18, [sp, #128]
	str	x30, [sp, #144]
	.cfi_rel_offset x30, 144
	.endm

	.macro	RESTORE_SCRATCH
	ldp	x2, x3, [sp, #16]
	ldp	x4, x5, [sp, #32]
	ldp	x6, x7, [sp, #48]
	ldp	x8, x9, [sp, #64]
	ldp	x10, x11, [sp, #80]
	ldp	x12, x13, [sp, #96]
	ldp	x14, x15, [sp, #112]
	ldp	x16, x18, [sp, #128]
	ldr	x30, [sp, #144]
	.cfi_restore x30
	ldp	x0, x1, [sp], #SCRATCH
	TAKE	-SCRATCH
	.endm

/* Steps 1 to 4 with the time in x9. The stack pointer that is told is \sp more than sp. */
	.macro	ENQUEUE sp, long
	BEGIN_IN_SLOT \@, \long
	ldp	x13, x14, [x12]
	cmp	x13, x14
	b.hs	\long
	.if	\sp
	add	x14, sp, #\sp
	.else
	mov	x14, sp
	.endif
	str	x9, [x13], #16
	stp	w16, w14, [x13, #-8]
	stlr	x13, [x12]
.Lend\@:
	RSEQ_ABORT .Labort\@, .Larm\@
	.endm

/* Add one to the counter of probe x16, which must have one, or go to \long; the sign says that
 * the count was the last of a block. The one is added to the upper half. The addition is a
 * sequence: so a signal sees it done or not begun, and a child of a fork that comes before the
 * addition looks for its slot anew. */
	.macro	COUNT long
	BEGIN_IN_SLOT \@, \long
	add	x13, x12, x16, lsl #3
	ldr	w14, [x13, #FL_SLOT_COUNTERS + 4]
	adds	w14, w14, #FL_COUNT_ONE_HIGH
	str	w14, [x13, #FL_SLOT_COUNTERS + 4]
.Lend\@:
	RSEQ_ABORT .Labort\@, .Larm\@
	.endm

/* x10: the address of thread-local \name. */
	.macro	THREADS name
	adrp	x10, :gottprel:\name
	ldr	x10, [x10, :gottprel_lo12:\name]
	mrs	x11, tpidr_el0
	add	x10, x10, x11
	.endm

/* The same for any probe, without a sequence; one without a counter goes to \long, too. For a
 * handler the addition is one instruction on memory, because it is tried again if a handler
 * came in between. x15 stays. */
	.macro	COUNT_PLAINLY long
	THREADS	fl_tls_slot
	ldr	x10, [x10]
	ldr	x12, [x10]
	cbz	x12, \long
	ldr	w13, [x12, #FL_SLOT_N_COUNTERS]
	cmp	w16, w13
	b.hs	\long
	add	x13, x12, x16, lsl #3
	add	x13, x13, #FL_SLOT_COUNTERS
	mov	x11, #FL_COUNT_ONE_HIGH << 32
1:	ldxr	x14, [x13]
	adds	x14, x14, x11
	stxr	w9, x14, [x13]
	cbnz	w9, 1b
	.endm

/* A probe of a function whose calls are counted; some of these may be timed, and open. The
 * stack pointer that it tells is \sp more than sp. Falls through where this place is in no
 * timed call's machine frame, and cannot end a timed call of this thread: none is open, or the
 * place is below the innermost one, and the exit of that call is not here. Where its exit may
 * be here, although the place is below, goes to \inner; else to \long. */
	.macro	BELOW_TIMED sp, timed, function_of, long, inner
	THREADS	\timed
	ldr	x11, [x10]
	add	x12, sp, #\sp
	cmp	x11, x12
	b.ls	\long
	LOAD	x11, \function_of
	ldr	w11, [x11, x16, lsl #2]
	ldr	w12, [x10, #FL_TIMED_LOOSE]
	cmp	w11, w12
	b.eq	\inner
	.endm

#define FENCE isb
/* The clock into \to. \fence: FENCE, so that all before has been executed; or none. */
	.macro	TICKS to, fence
	\fence
	mrs	\to, cntvct_el0
	.endm

/* ---- what counts, and what records ------------------------------------------- */

	.macro	BARE_RECORDS conv, frame, name, to, fence
BARE_FUNC fl_\conv\()_\name, \frame
	SAVE_SIX
	TICKS	x9, \fence
	ENQUEUE 48 + \frame - 8, .L\conv\()_put_\name
	RESTORE_SIX
	ret
	TAKE	48
.L\conv\()_put_\name:
	mov	x17, x9
	RESTORE_SIX
	b	.L\conv\()_call_\name
END fl_\conv\()_\name

BARE_FUNC fl_\conv\()_\name\()_long, \frame
	TICKS	x17, \fence
.L\conv\()_call_\name:
	SAVE_SCRATCH
	mov	w0, w16
	mov	x1, x17
	add	x2, sp, #SCRATCH + \frame - 8
	bl	\to
	RESTORE_SCRATCH
	ret
END fl_\conv\()_\name\()_long
	.endm

/* NAME: a record with time, behind a fence if one is given. The long path calls to(id, time,
 * stack pointer); where the kernel has no rseq it is the only path (NAME_long). */
	.macro	RECORDS name, to, fence
FUNC fl_abi_\name
	TICKS	x9, \fence
	ENQUEUE 0, .Labi_put_\name
	ret
.Labi_put_\name:
	mov	w0, w16
	mov	x1, x9
	mov	x2, sp
	b	\to
END fl_abi_\name

FUNC fl_abi_\name\()_long
	TICKS	x9, \fence
	b	.Labi_put_\name
END fl_abi_\name\()_long

	BARE_RECORDS bare, 16, \name, \to, \fence
	BARE_RECORDS body, 32, \name, \to, \fence
	.endm

/* No second recorder comes to a program of this CPU (FL_ARCH_ATTACHES). */
	.macro	RECORDS_IN_TWO name, to, to_second
	RECORDS	\name, \to
	.endm

	.macro	BARE_COUNTS conv, frame, name, to, full
BARE_FUNC fl_\conv\()_\name, \frame
	SAVE_SIX
	COUNT	.L\conv\()_\name
	b.mi	.L\conv\()_full_\name
	RESTORE_SIX
	ret
	TAKE	48
.L\conv\()_full_\name:
	RESTORE_SIX
	b	fl_\conv\()_\name\()_full
	TAKE	48
.L\conv\()_\name:
	RESTORE_SIX
	SAVE_SCRATCH
	mov	w0, w16
	bl	\to
	RESTORE_SCRATCH
	ret
END fl_\conv\()_\name

BARE_FUNC fl_\conv\()_\name\()_full, \frame
	SAVE_SCRATCH
	mov	w0, w16
	bl	\full
	RESTORE_SCRATCH
	ret
END fl_\conv\()_\name\()_full

BARE_FUNC fl_\conv\()_\name\()_long, \frame
	SAVE_SIX
	COUNT_PLAINLY .L\conv\()_\name
	b.mi	.L\conv\()_full_\name
	RESTORE_SIX
	ret
END fl_\conv\()_\name\()_long
	.endm

/* NAME: one more in the probe's counter. A thread without a slot calls to(id); at the end of a
 * block full(id) is called, which NAME_full is, too. NAME_long: for any probe, with a counter
 * or without, and where the kernel has no rseq. */
	.macro	COUNTS name, to, full
FUNC fl_abi_\name, 6
	COUNT	.Labi_\name
	b.mi	fl_abi_\name\()_full
	ret
.Labi_\name:
	mov	w0, w16
	b	\to
END fl_abi_\name

FUNC fl_abi_\name\()_full
	mov	w0, w16
	b	\full
END fl_abi_\name\()_full

FUNC fl_abi_\name\()_long
	COUNT_PLAINLY .Labi_\name
	b.mi	fl_abi_\name\()_full
	ret
END fl_abi_\name\()_long

	BARE_COUNTS bare, 16, \name, \to, \full
	BARE_COUNTS body, 32, \name, \to, \full
	.endm

	.macro	BARE_COUNTS_BELOW conv, frame, name, below, timed, function_of, inner
BARE_FUNC fl_\conv\()_\name, \frame
	SAVE_SIX
	BELOW_TIMED 48 + \frame - 8, \timed, \function_of, .L\conv\()_\name, \
		.L\conv\()_inner_\name
	RESTORE_SIX
	b	fl_\conv\()_\below
	TAKE	48
.L\conv\()_\name:
	RESTORE_SIX
	b	fl_\conv\()_\name\()_long
	TAKE	48
.L\conv\()_inner_\name:
	RESTORE_SIX
	SAVE_SCRATCH
	mov	w0, w16
	add	x1, sp, #SCRATCH + \frame - 8
	bl	\inner
	RESTORE_SCRATCH
	ret
END fl_\conv\()_\name
	.endm

/* NAME: \below, where BELOW_TIMED falls through; else inner(id, stack pointer), or NAME_long,
 * which is to(id, stack pointer). */
	.macro	COUNTS_BELOW name, below, timed, function_of, to, inner
FUNC fl_abi_\name
	BELOW_TIMED 0, \timed, \function_of, fl_abi_\name\()_long, .Labi_inner_\name
	b	fl_abi_\below
.Labi_inner_\name:
	mov	w0, w16
	mov	x1, sp
	b	\inner
END fl_abi_\name

	BARE_COUNTS_BELOW bare, 16, \name, \below, \timed, \function_of, \inner
	BARE_COUNTS_BELOW body, 32, \name, \below, \timed, \function_of, \inner
	CALLS	\name\()_long, \to
	.endm

/* ---- what calls ---------------------------------------------------------------- */

	.macro	BARE_CALLS conv, frame, name, to
BARE_FUNC fl_\conv\()_\name, \frame
	SAVE_SCRATCH
	mov	w0, w16
	add	x1, sp, #SCRATCH + \frame - 8
	bl	\to
	RESTORE_SCRATCH
	ret
END fl_\conv\()_\name
	.endm

/* NAME: to(id, stack pointer). */
	.macro	CALLS name, to
FUNC fl_abi_\name
	mov	w0, w16
	mov	x1, sp
	b	\to
END fl_abi_\name

	BARE_CALLS bare, 16, \name, \to
	BARE_CALLS body, 32, \name, \to
	.endm

	.macro	BARE_CALLS_FROM conv, frame, name, to
BARE_FUNC fl_\conv\()_\name, \frame
	SAVE_SCRATCH
	mov	w0, w16
	ldr	x1, [sp, #SCRATCH + \frame - 16]
	add	x2, sp, #SCRATCH + \frame - 8
	bl	\to
	RESTORE_SCRATCH
	ret
END fl_\conv\()_\name
	.endm

/* NAME: to(id, who called, stack pointer). x1 is what the compiler passes as the call site:
 * the address to which the function that begins returns. At a function's entry that is x30,
 * which the glue has put on the stack. */
	.macro	CALLS_FROM name, to
FUNC fl_abi_\name
	mov	w0, w16
	mov	x2, sp
	b	\to
END fl_abi_\name

	BARE_CALLS_FROM bare, 16, \name, \to
	BARE_CALLS_FROM body, 32, \name, \to
	.endm

	.macro	EACH_VECTOR op
	.irp	i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, \
		16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	\op	q\i, [sp, #\i * 16]
	.endr
	.endm

	.macro	BARE_CALL conv, frame, name, to
BARE_FUNC fl_\conv\()_\name\()_simd, \frame
	SAVE_SCRATCH
	sub	sp, sp, #512
	TAKE	512
	EACH_VECTOR str
	dmb	ishld
	mov	w0, w16
	bl	\to
	EACH_VECTOR ldr
	add	sp, sp, #512
	TAKE	-512
	RESTORE_SCRATCH
	ret
END fl_\conv\()_\name\()_simd
	.endm

/* NAME: to(id), which calls a function of the program's own. That function was bound before the
 * glue's word led here, and the barrier waits for the load of this word: so to() sees it bound.
 * All vector registers are saved: a function of a vector calling convention keeps more of them
 * than others, and in a body each may be live. */
	.macro	CALLS_BOUND name, to
FUNC fl_abi_\name
	dmb	ishld
	mov	w0, w16
	b	\to
END fl_abi_\name

	BARE_CALL bare, 16, \name, \to
	BARE_CALL body, 32, \name, \to
	.endm

	.macro	BARE_CALLS_BEFORE conv, frame, name, first, then
BARE_FUNC fl_\conv\()_\name, \frame
	SAVE_SCRATCH
	mov	w0, w16
	ldr	x1, [sp, #SCRATCH + \frame - 16]
	add	x2, sp, #SCRATCH + \frame - 8
	bl	\first
	mov	w17, w0
	RESTORE_SCRATCH
	cbz	w17, .L\conv\()_\name
	LOAD	x17, \then
	br	x17
.L\conv\()_\name:
	ret
END fl_\conv\()_\name
	.endm

/* NAME: first(id, who called, stack pointer), as CALLS_FROM. Where first() returns not 0 the
 * routine \then comes next, and finds all as it was. *then_bare and *then_body are its
 * addresses for the other conventions. */
	.macro	CALLS_BEFORE name, first, then, then_bare, then_body
FUNC fl_abi_\name
	stp	x16, x30, [sp, #-16]!
	TAKE	16
	.cfi_rel_offset x30, 8
	mov	w0, w16
	add	x2, sp, #16
	bl	\first
	ldp	x16, x30, [sp], #16
	TAKE	-16
	.cfi_restore x30
	cbnz	w0, fl_abi_\then
	ret
END fl_abi_\name

	BARE_CALLS_BEFORE bare, 16, \name, \first, \then_bare
	BARE_CALLS_BEFORE body, 32, \name, \first, \then_body
	.endm

/* ---- what makes room ------------------------------------------------------------- */

/* Nobody tells accesses here. */
	.macro	MAKES_ROOM name, to
FUNC \name
	ret
END \name
	.endm

/* ---- what asks ----------------------------------------------------------------- */

/* Where each ASKS in this file goes with a call of another function: to(id, that function,
 * stack pointer). NAME: a call of the probe's own function goes nowhere. */
	.macro	ASKS_OTHERS name, asked, to
FUNC fl_ask_\name
	LOAD	x9, \asked
	ldr	x9, [x9, x16, lsl #3]
	cmp	x9, x0
	b.ne	.Lask_other
	ret
END fl_ask_\name

.Lask_other:
	.cfi_startproc
	mov	x1, x0
	mov	w0, w16
	mov	x2, sp
	b	\to
	.cfi_endproc
	.endm

/* NAME: a call whose first argument is (*asked)[id] goes on to the usual NAME. */
	.macro	ASKS name, asked
FUNC fl_ask_\name
	LOAD	x9, \asked
	ldr	x9, [x9, x16, lsl #3]
	cmp	x9, x0
	b.ne	.Lask_other
	b	fl_abi_\name
END fl_ask_\name
	.endm

/* ---- paths ----------------------------------------------------------------------- */

/* No body calls these here (fl_arch_put_aside()). */
	.macro	PATHS put
	.irp	name, enter, add, cut, leave, at, done, only, home
FUNC fl_path_\name
	ret
END fl_path_\name
	.endr
	.endm
