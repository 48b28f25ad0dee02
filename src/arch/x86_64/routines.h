/*
 * routines.h - the pieces of which probe/routines.S makes what a glue jumps to, x86-64.
 *
 * A piece makes a routine for each convention. On entry %r11d is the probe id and (%rsp)
 * the way back. ABI routines stand behind an ordinary call, so every scratch register and
 * the flags are theirs. BARE routines stand at a function's entry or exit: only %r11 and
 * the flags are dead there, nothing lies below the stack pointer, and all else is put
 * back. BODY routines stand in a second body, where %r11 is live, too: their glue has put
 * %r11 on the stack, below the way back. The only routines that touch vector registers are
 * those that call a function of the program's own: they save each one that may carry an
 * argument or a result.
 *
 * THE SHORT PATH (RECORDS)
 *	1  arm the restartable sequence (rseq): a signal or a preemption between
 *	   2 and 4 leads to the long path, so a handler may enqueue at any point, and
 *	   may fork: the child finds no slot then. The sequence is not begun again: a
 *	   thread that is stepped would never come to its end
 *	2  find the slot; p = slot->ptr; when p >= slot->limit take the long path
 *	3  store the record at p
 *	4  slot->ptr = p + 16: the commit. x86-TSO keeps 3 before 4 (HW5), so a
 *	   reader that sees the new ptr sees the whole record: pairs with (B) in
 *	   channel/drain.c
 * A thread without a slot, and a child of fork, take the long path, too.
 */
#include "arch/layout.h"
#include "arch/x86_64/rseq.h"

	.macro	SAVE reg
	push	\reg
	.cfi_adjust_cfa_offset 8
	.endm

	.macro	BACK reg
	pop	\reg
	.cfi_adjust_cfa_offset -8
	.endm

/* \kept: the bytes below the way back where a routine begins: BARE 0, BODY 8. BARE_RETURN ends
 * the routine; the code behind it is entered with \saved bytes more on the stack. */
	.macro	BARE_FUNC name, kept, align=5
FUNC \name, \align
	.cfi_adjust_cfa_offset \kept
	.endm

	.macro	BARE_RETURN kept, saved=0
	.if	\kept
	BACK	%r11
	.endif
	ret
	.cfi_adjust_cfa_offset \kept + \saved
	.endm

/* Begin a sequence that changes the thread's own slot. \slot becomes that of \tls; without a
 * slot the code goes to \long, as it does where the sequence is interrupted: that is a
 * RSEQ_LANDING. \a is scratch, \b holds the rseq offset afterwards. The sequence ends at
 * .Lend\id, which the caller has. */
	.macro	BEGIN_IN_SLOT id, slot, a, b, long, tls=fl_tls_slot
	RSEQ_DESCRIPTOR .Lcs\id, .Lstart\id, .Lend\id, \long
	mov	fl_rseq_at(%rip), \b
	lea	.Lcs\id(%rip), \a
	mov	\a, %fs:(\b)
.Lstart\id:
	LOAD_SLOT \slot, \tls
	test	\slot, \slot
	je	\long
	.endm

/* Steps 1 to 4 with the time in %rax, \sp32 as the stack pointer; \slot and \a are
 * scratch, \b holds the rseq offset afterwards. */
	.macro	ENQUEUE slot, a, a32, b, sp32, long, tls=fl_tls_slot
	BEGIN_IN_SLOT \@, \slot, \a, \b, \long, \tls
	mov	FL_SLOT_PTR(\slot), \a
	cmp	FL_SLOT_LIMIT(\slot), \a
	jae	\long
	mov	%rax, (\a)
	mov	%r11d, 8(\a)
	mov	\sp32, 12(\a)
	add	$16, \a
	mov	\a, FL_SLOT_PTR(\slot)
.Lend\@:
	.endm

/* Add one to the counter of probe %r11, which must have one, or go to \long; the sign says that
 * the count was the last of a block. The addition is one instruction on memory, so a signal
 * sees it done or not begun. It is in a sequence, so that a child of a fork that comes before
 * the addition looks for its slot anew. \b holds the rseq offset afterwards. */
	.macro	COUNT a, b, long
	BEGIN_IN_SLOT \@, \a, \a, \b, \long
	addl	$FL_COUNT_ONE_HIGH, FL_SLOT_COUNTERS + 4(\a, %r11, 8)
.Lend\@:
	.endm

/* The same for any probe, without a sequence; one without a counter goes to \long, too. */
	.macro	COUNT_PLAINLY a, long
	LOAD_SLOT \a
	test	\a, \a
	je	\long
	cmp	FL_SLOT_N_COUNTERS(\a), %r11d
	jae	\long
	addl	$FL_COUNT_ONE_HIGH, FL_SLOT_COUNTERS + 4(\a, %r11, 8)
	.endm

/* A probe, at stack pointer \sp, of a function whose calls are counted; some of these may be
 * timed, and open. Falls through where this place is in no timed call's machine frame, and
 * cannot end a timed call of this thread: none is open, or \sp is below the innermost one, and
 * the exit of that call is not here. Where its exit may be here, although \sp is below, goes to
 * \inner; else to \long. A call of ten ticks does not hide more than two loads, one behind the
 * other. */
	.macro	BELOW_TIMED a, b, b32, sp, timed, function_of, long, inner
	mov	\timed@gottpoff(%rip), \a
	cmp	\sp, %fs:(\a)
	jbe	\long
	mov	\function_of(%rip), \b
	mov	(\b, %r11, 4), \b32
	cmp	\b32, %fs:FL_TIMED_LOOSE(\a)
	je	\inner
	.endm

#define FENCE lfence
/* The clock into %rax. \fence: FENCE, so that all before has been executed (HW13); or none. */
	.macro	TICKS fence
	\fence
	rdtsc
	shl	$32, %rdx
	or	%rdx, %rax
	.endm

	.macro	SAVE_SCRATCH
	SAVE	%rax
	SAVE	%rcx
	SAVE	%rdx
	SAVE	%rsi
	SAVE	%rdi
	SAVE	%r8
	SAVE	%r9
	SAVE	%r10
	.endm

	.macro	RESTORE_SCRATCH
	BACK	%r10
	BACK	%r9
	BACK	%r8
	BACK	%rdi
	BACK	%rsi
	BACK	%rdx
	BACK	%rcx
	BACK	%rax
	.endm

/* Between the two the stack pointer may be anything: an unwinder goes by %rbp. */
	.macro	BEGIN_FRAME
	SAVE	%rbp
	.cfi_rel_offset %rbp, 0
	mov	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	.endm

	.macro	END_FRAME
	mov	%rbp, %rsp
	.cfi_def_cfa_register %rsp
	BACK	%rbp
	.cfi_restore %rbp
	.endm

/* Go to \to where the program has its processor check alignment (the flag AC); else fall
 * through, and the stack is as it was. The other flags are lost. \moved: bytes by which an
 * unwinder's frame moves with the stack pointer, 8; 0 where it goes by %rbp. */
	.macro	IF_CHECKED to, moved=8
	pushf
	.cfi_adjust_cfa_offset \moved
	testb	$X86_AC >> 16, 2(%rsp)
	lea	8(%rsp), %rsp
	.cfi_adjust_cfa_offset -\moved
	jne	\to
	.endm

/* Call \to, C, with its arguments and the stack as they are. A compiler makes one store of
 * fields that lie side by side, aligned or not, so C is never entered with AC. */
	.macro	CALL_C to, moved=8
	IF_CHECKED .Lchecked\@, \moved
	call	\to
	jmp	.Lcalled\@
.Lchecked\@:
	lea	\to(%rip), %rax
	call	fl_unchecked
.Lcalled\@:
	.endm

/* The same, and the routine ends: \to returns to where the routine would. */
	.macro	GO_INTO_C to
	IF_CHECKED .Lchecked\@
	jmp	\to
.Lchecked\@:
	lea	\to(%rip), %rax
	jmp	fl_unchecked
	.endm

/* What a routine goes through to C where AC is set: calls *%rax without it, and sets it
 * again. */
	.macro	UNCHECKS
FUNC fl_unchecked
	pushf
	.cfi_adjust_cfa_offset 8
	POP_UNCHECKED
	sub	$8, %rsp
	.cfi_adjust_cfa_offset 8
	call	*%rax
	SET_CHECKS
	add	$8, %rsp
	.cfi_adjust_cfa_offset -8
	ret
END fl_unchecked
	.endm

/* Call \to(%rdi, %rsi, %rdx) on an aligned stack; \to keeps vector registers
 * (flick's own C is built without them). */
	.macro	CALL_ALIGNED to
	BEGIN_FRAME
	and	$-16, %rsp
	CALL_C	\to, 0
	END_FRAME
	.endm

/* A function of the program's own may use the widest vectors this CPU has. At a function's
 * entry or exit eight registers carry arguments and results (psABI 3.2.3); in a body all
 * may be live, masks as well. */
	.macro	EACH_OF op, prefix, step, store, list:vararg
	.irp	i, \list
	.if	\store
	\op	%\prefix\i, \i * \step(%rsp)
	.else
	\op	\i * \step(%rsp), %\prefix\i
	.endif
	.endr
	.endm

	.macro	EACH_VECTOR op, prefix, step, n, store
	EACH_OF	\op, \prefix, \step, \store, 0, 1, 2, 3, 4, 5, 6, 7
	.if	\n > 8
	EACH_OF	\op, \prefix, \step, \store, 8, 9, 10, 11, 12, 13, 14, 15
	.endif
	.if	\n > 16
	EACH_OF	\op, \prefix, \step, \store, 16, 17, 18, 19, 20, 21, 22, 23
	EACH_OF	\op, \prefix, \step, \store, 24, 25, 26, 27, 28, 29, 30, 31
	.endif
	.endm

/* Masks lie above the vectors. */
	.macro	EACH_MASK op, n, store
	.if	\n > 16
	.irp	i, 0, 1, 2, 3, 4, 5, 6, 7
	.if	\store
	\op	%k\i, 32 * 64 + \i * 8(%rsp)
	.else
	\op	32 * 64 + \i * 8(%rsp), %k\i
	.endif
	.endr
	.endif
	.endm

	.macro	BARE_CALL conv, kept, name, to, op, prefix, step, n, mask
BARE_FUNC fl_\conv\()_\name, \kept
	SAVE_SCRATCH
	BEGIN_FRAME
	sub	$\n * \step, %rsp
	.if	\n > 16
	sub	$64, %rsp
	.endif
	and	$-64, %rsp
	EACH_VECTOR \op, \prefix, \step, \n, 1
	EACH_MASK \mask, \n, 1
	cld
	mov	%r11d, %edi
	call	\to
	EACH_VECTOR \op, \prefix, \step, \n, 0
	EACH_MASK \mask, \n, 0
	END_FRAME
	RESTORE_SCRATCH
	BARE_RETURN \kept
END fl_\conv\()_\name
	.endm

/* ---- what counts, and what records ------------------------------------------- */

/* A record takes five registers, which are kept and come back (40 bytes): the time is in %rax,
 * the stack pointer in %rdx. A ring without room: to(id, time, stack pointer) is called. */
	.macro	BEGIN_BARE_RECORD kept, fence
	SAVE	%rax
	SAVE	%rdx
	TICKS	\fence
	SAVE	%rcx
	SAVE	%rsi
	SAVE	%rdi
	lea	40 + \kept(%rsp), %rdx
	.endm

	.macro	END_BARE_RECORD
	BACK	%rdi
	BACK	%rsi
	BACK	%rcx
	BACK	%rdx
	BACK	%rax
	.endm

	.macro	PUT_BARE_RECORD to
	SAVE	%r8
	SAVE	%r9
	SAVE	%r10
	mov	%r11d, %edi
	mov	%rax, %rsi
	CALL_ALIGNED \to
	BACK	%r10
	BACK	%r9
	BACK	%r8
	END_BARE_RECORD
	.endm

	.macro	BARE_RECORDS conv, kept, name, to, fence
BARE_FUNC fl_\conv\()_\name, \kept
	BEGIN_BARE_RECORD \kept, \fence
	ENQUEUE %rsi, %rcx, %ecx, %rdi, %edx, .L\conv\()_put_\name
	END_BARE_RECORD
	BARE_RETURN \kept, 40
	RSEQ_LANDING .L\conv\()_put_\name
	PUT_BARE_RECORD \to
	BARE_RETURN \kept
END fl_\conv\()_\name

BARE_FUNC fl_\conv\()_\name\()_long, \kept
	SAVE_SCRATCH
	TICKS	\fence
	mov	%r11d, %edi
	mov	%rax, %rsi
	lea	64 + \kept(%rsp), %rdx
	CALL_ALIGNED \to
	RESTORE_SCRATCH
	BARE_RETURN \kept
END fl_\conv\()_\name\()_long
	.endm

/* NAME: a record with time, behind a fence if one is given. The long path calls to(id, time,
 * stack pointer); where the kernel has no rseq it is the only path (NAME_long). */
	.macro	RECORDS name, to, fence
FUNC fl_abi_\name
	TICKS	\fence
	ENQUEUE %rsi, %rcx, %ecx, %rdi, %esp, .Labi_put_\name
	ret
	RSEQ_LANDING .Labi_put_\name
	mov	%r11d, %edi
	mov	%rax, %rsi
	mov	%esp, %edx
	GO_INTO_C \to
END fl_abi_\name

FUNC fl_abi_\name\()_long
	TICKS	\fence
	jmp	.Labi_put_\name
END fl_abi_\name\()_long

	BARE_RECORDS bare, 0, \name, \to, \fence
	BARE_RECORDS body, 8, \name, \to, \fence
	.endm

	.macro	BARE_RECORDS_IN_TWO conv, kept, name, to, to_second
BARE_FUNC fl_\conv\()_\name, \kept
	BEGIN_BARE_RECORD \kept
	ENQUEUE %rsi, %rcx, %ecx, %rdi, %edx, .L\conv\()_put_\name
	ENQUEUE %rsi, %rcx, %ecx, %rdi, %edx, .L\conv\()_put_second_\name, fl_tls_other
	END_BARE_RECORD
	BARE_RETURN \kept, 40
	RSEQ_LANDING .L\conv\()_put_\name
	PUT_BARE_RECORD \to
	BARE_RETURN \kept, 40
	RSEQ_LANDING .L\conv\()_put_second_\name
	PUT_BARE_RECORD \to_second
	BARE_RETURN \kept
END fl_\conv\()_\name
	.endm

/* NAME: a record with time in the thread's rings of both recorders. Where the first ring has no
 * room, to(id, time, stack pointer) does all; where the second has none, to_second() does the
 * rest. */
	.macro	RECORDS_IN_TWO name, to, to_second
FUNC fl_abi_\name
	TICKS
	ENQUEUE %rsi, %rcx, %ecx, %rdi, %esp, .Labi_put_\name
	ENQUEUE %rsi, %rcx, %ecx, %rdi, %esp, .Labi_put_second_\name, fl_tls_other
	ret
	RSEQ_LANDING .Labi_put_\name
	mov	%r11d, %edi
	mov	%rax, %rsi
	mov	%esp, %edx
	GO_INTO_C \to
	RSEQ_LANDING .Labi_put_second_\name
	mov	%r11d, %edi
	mov	%rax, %rsi
	mov	%esp, %edx
	GO_INTO_C \to_second
END fl_abi_\name

	BARE_RECORDS_IN_TWO bare, 0, \name, \to, \to_second
	BARE_RECORDS_IN_TWO body, 8, \name, \to, \to_second
	.endm

	.macro	BARE_COUNTS conv, kept, name, to, full
BARE_FUNC fl_\conv\()_\name, \kept
	SAVE	%rsi
	SAVE	%rdi
	COUNT	%rsi, %rdi, .L\conv\()_\name
	BACK	%rdi
	BACK	%rsi
	js	fl_\conv\()_\name\()_full
	BARE_RETURN \kept, 16
	RSEQ_LANDING .L\conv\()_\name
	BACK	%rdi
	BACK	%rsi
	SAVE_SCRATCH
	mov	%r11d, %edi
	CALL_ALIGNED \to
	RESTORE_SCRATCH
	BARE_RETURN \kept
END fl_\conv\()_\name

BARE_FUNC fl_\conv\()_\name\()_full, \kept
	SAVE_SCRATCH
	mov	%r11d, %edi
	CALL_ALIGNED \full
	RESTORE_SCRATCH
	BARE_RETURN \kept
END fl_\conv\()_\name\()_full

BARE_FUNC fl_\conv\()_\name\()_long, \kept
	SAVE	%rsi
	SAVE	%rdi
	COUNT_PLAINLY %rsi, .L\conv\()_\name
	BACK	%rdi
	BACK	%rsi
	js	fl_\conv\()_\name\()_full
	BARE_RETURN \kept
END fl_\conv\()_\name\()_long
	.endm

/* NAME: one more in the probe's counter. A thread that has no slot, or was interrupted, calls
 * to(id); at the end of a block full(id) is called, which NAME_full is, too. NAME_long: for any
 * probe, with a counter or without, and where the kernel has no rseq. */
	.macro	COUNTS name, to, full
FUNC fl_abi_\name, 6			/* in one line of the cache: up to half a ns */
	COUNT	%rsi, %rdi, .Labi_\name
	js	fl_abi_\name\()_full
	ret
	RSEQ_LANDING .Labi_\name
	mov	%r11d, %edi
	GO_INTO_C \to
END fl_abi_\name

FUNC fl_abi_\name\()_full
	mov	%r11d, %edi
	GO_INTO_C \full
END fl_abi_\name\()_full

FUNC fl_abi_\name\()_long
	COUNT_PLAINLY %rsi, .Labi_\name
	js	fl_abi_\name\()_full
	ret
END fl_abi_\name\()_long

	BARE_COUNTS bare, 0, \name, \to, \full
	BARE_COUNTS body, 8, \name, \to, \full
	.endm

	.macro	BARE_COUNTS_BELOW conv, kept, name, below, timed, function_of, inner
BARE_FUNC fl_\conv\()_\name, \kept
	SAVE	%rcx
	SAVE	%rsi
	SAVE	%rdi
	lea	24 + \kept(%rsp), %rdi
	BELOW_TIMED %rsi, %rcx, %ecx, %rdi, \timed, \function_of, .L\conv\()_\name, \
		.L\conv\()_inner_\name
	BACK	%rdi
	BACK	%rsi
	BACK	%rcx
	jmp	fl_\conv\()_\below
	.cfi_adjust_cfa_offset 24
.L\conv\()_\name:
	BACK	%rdi
	BACK	%rsi
	BACK	%rcx
	jmp	fl_\conv\()_\name\()_long
	.cfi_adjust_cfa_offset 24
.L\conv\()_inner_\name:
	BACK	%rdi
	BACK	%rsi
	BACK	%rcx
	SAVE_SCRATCH
	mov	%r11d, %edi
	lea	64 + \kept(%rsp), %rsi
	CALL_ALIGNED \inner
	RESTORE_SCRATCH
	BARE_RETURN \kept
END fl_\conv\()_\name
	.endm

/* NAME: \below, where BELOW_TIMED falls through; else inner(id, stack pointer), or NAME_long,
 * which is to(id, stack pointer). */
	.macro	COUNTS_BELOW name, below, timed, function_of, to, inner
FUNC fl_abi_\name
	BELOW_TIMED %rsi, %rcx, %ecx, %rsp, \timed, \function_of, fl_abi_\name\()_long, \
		.Labi_inner_\name
	jmp	fl_abi_\below
.Labi_inner_\name:
	mov	%r11d, %edi
	mov	%esp, %esi
	GO_INTO_C \inner
END fl_abi_\name

	BARE_COUNTS_BELOW bare, 0, \name, \below, \timed, \function_of, \inner
	BARE_COUNTS_BELOW body, 8, \name, \below, \timed, \function_of, \inner
	CALLS	\name\()_long, \to
	.endm

/* ---- what calls ---------------------------------------------------------------- */

	.macro	BARE_CALLS conv, kept, name, to
BARE_FUNC fl_\conv\()_\name, \kept
	SAVE_SCRATCH
	mov	%r11d, %edi
	lea	64 + \kept(%rsp), %rsi
	CALL_ALIGNED \to
	RESTORE_SCRATCH
	BARE_RETURN \kept
END fl_\conv\()_\name
	.endm

/* NAME: to(id, stack pointer). */
	.macro	CALLS name, to
FUNC fl_abi_\name
	mov	%r11d, %edi
	mov	%esp, %esi
	GO_INTO_C \to
END fl_abi_\name

	BARE_CALLS bare, 0, \name, \to
	BARE_CALLS body, 8, \name, \to
	.endm

	.macro	BARE_CALLS_FROM conv, kept, name, to
BARE_FUNC fl_\conv\()_\name, \kept
	SAVE_SCRATCH
	mov	%r11d, %edi
	mov	72 + \kept(%rsp), %rsi
	lea	64 + \kept(%rsp), %rdx
	CALL_ALIGNED \to
	RESTORE_SCRATCH
	BARE_RETURN \kept
END fl_\conv\()_\name
	.endm

/* NAME: to(id, who called, stack pointer). %rsi is what the compiler passes as the call
 * site: the address to which the function that begins returns; for an inlined function, the
 * address to which the function around it returns. At a function's entry its way back lies
 * above that of the glue. */
	.macro	CALLS_FROM name, to
FUNC fl_abi_\name
	mov	%r11d, %edi
	mov	%esp, %edx
	GO_INTO_C \to
END fl_abi_\name

	BARE_CALLS_FROM bare, 0, \name, \to
	BARE_CALLS_FROM body, 8, \name, \to
	.endm

/* NAME: to(id), which calls a function of the program's own. */
	.macro	CALLS_BOUND name, to
FUNC fl_abi_\name
	mov	%r11d, %edi
	jmp	\to
END fl_abi_\name

	BARE_CALL bare, 0, \name\()_sse, \to, movups, xmm, 16, 8
	BARE_CALL bare, 0, \name\()_avx, \to, vmovups, ymm, 32, 8
	BARE_CALL bare, 0, \name\()_avx512, \to, vmovups, zmm, 64, 8
	BARE_CALL bare, 0, \name\()_avx512bw, \to, vmovups, zmm, 64, 8
	BARE_CALL body, 8, \name\()_sse, \to, movups, xmm, 16, 16
	BARE_CALL body, 8, \name\()_avx, \to, vmovups, ymm, 32, 16
	BARE_CALL body, 8, \name\()_avx512, \to, vmovups, zmm, 64, 32, kmovw
	BARE_CALL body, 8, \name\()_avx512bw, \to, vmovups, zmm, 64, 32, kmovq
	.endm

	.macro	BARE_CALLS_BEFORE conv, kept, name, first, then
BARE_FUNC fl_\conv\()_\name, \kept
	SAVE	%r11
	SAVE_SCRATCH
	mov	%r11d, %edi
	mov	80 + \kept(%rsp), %rsi
	lea	72 + \kept(%rsp), %rdx
	CALL_ALIGNED \first
	test	%eax, %eax			/* pops leave the flags */
	RESTORE_SCRATCH
	BACK	%r11
	je	.L\conv\()_\name
	jmp	*\then(%rip)
.L\conv\()_\name:
	BARE_RETURN \kept
END fl_\conv\()_\name
	.endm

/* NAME: first(id, who called, stack pointer), as CALLS_FROM. Where first() returns not 0 the
 * routine \then comes next, and finds all as it was. *then_bare and *then_body are its
 * addresses for the other conventions. */
	.macro	CALLS_BEFORE name, first, then, then_bare, then_body
FUNC fl_abi_\name
	SAVE	%r11
	mov	%r11d, %edi
	lea	8(%rsp), %rdx
	CALL_C	\first
	BACK	%r11
	test	%eax, %eax
	jne	fl_abi_\then
	ret
END fl_abi_\name

	BARE_CALLS_BEFORE bare, 0, \name, \first, \then_bare
	BARE_CALLS_BEFORE body, 8, \name, \first, \then_body
	.endm

/* ---- what makes room ------------------------------------------------------------- */

/* NAME: to(n); access.c has put n on the stack, and NAME takes it off. Every register stays,
 * and so do all flags except those of a comparison: ZF where to() returns false. */
	.macro	MAKES_ROOM name, to
FUNC \name
	pushf
	.cfi_adjust_cfa_offset 8
	SAVE_SCRATCH
	SAVE	%r11
	cld
	mov	88(%rsp), %edi
	CALL_ALIGNED \to
	movzbl	%al, %eax
	mov	%rax, 88(%rsp)
	BACK	%r11
	RESTORE_SCRATCH
	popf
	.cfi_adjust_cfa_offset -8
	cmpl	$0, 8(%rsp)
	ret	$8
END \name
	.endm

/* ---- what asks ----------------------------------------------------------------- */

/* Where each ASKS in this file goes with a call of another function: to(id, that function,
 * stack pointer). NAME: a call of the probe's own function goes nowhere. */
	.macro	ASKS_OTHERS name, asked, to
FUNC fl_ask_\name
	mov	\asked(%rip), %rax
	cmp	(%rax, %r11, 8), %rdi
	jne	.Lask_other
	ret
END fl_ask_\name

.Lask_other:
	.cfi_startproc
	mov	%rdi, %rsi
	mov	%r11d, %edi
	mov	%esp, %edx
	GO_INTO_C \to
	.cfi_endproc
	.endm

/* NAME: a call whose first argument is (*asked)[id] goes on to the usual NAME. */
	.macro	ASKS name, asked
FUNC fl_ask_\name
	mov	\asked(%rip), %rax
	cmp	(%rax, %r11, 8), %rdi
	je	fl_abi_\name
	jmp	.Lask_other
END fl_ask_\name
	.endm

/* ---- paths ----------------------------------------------------------------------- */

/*
 * Second bodies call these routines by arch/x86_64/aside.c, with a struct fl_path_tell in %rax.
 * All other registers stay, and so do the flags. Behind PATH_BEGIN 184 bytes lie below the
 * stack pointer of the function that has the body: 136 of aside.c, the way back, 40 of here.
 */
	.macro	PATH_BEGIN name
FUNC \name
	SAVE	%rcx
	SAVE	%rdx
	SAVE	%rsi
	SAVE	%rdi
	mov	%rax, %rcx
	lahf
	seto	%al
	SAVE	%rax
	.endm

	.macro	PATH_END
	BACK	%rax
	add	$127, %al
	sahf
	BACK	%rdi
	BACK	%rsi
	BACK	%rdx
	BACK	%rcx
	ret
	.endm

/* %rdx: where the call's frame is; %rsi: where the thread's struct fl_path is from %fs. An
 * odd height is one above the frame pointer. */
	.macro	PATH_FRAME
	movslq	(%rcx), %rdx
	mov	fl_path@gottpoff(%rip), %rsi
	test	$1, %dl
	jne	.Lby_fp\@
	lea	184(%rsp, %rdx), %rdx
	jmp	.Lframe\@
.Lby_fp\@:
	lea	-1(%rbp, %rdx), %rdx
.Lframe\@:
	.endm

/* Is the last frame of paths, which is at %fs:(%rax), this call's? Else go to \cold. */
	.macro	PATH_MINE cold
	mov	%fs:(%rsi), %rax
	cmp	%rdx, %fs:FL_PATH_OWNER(%rax)
	jne	\cold
	.endm

/* Put back only the direction of what pushf has put on the stack: PATH_BEGIN keeps the other
 * flags. With popf the trap flag of a thread that is stepped would stay when the stepping ends.
 * %rax is scratch. */
	.macro	BACK_DIRECTION
	BACK	%rax
	test	$0x400, %eax
	je	.Lup\@
	std
.Lup\@:
	.endm

/* Call to(%rcx, %rdx), and return. */
	.macro	PATH_COLD to
	pushf
	.cfi_adjust_cfa_offset 8
	cld
	SAVE	%r8
	SAVE	%r9
	SAVE	%r10
	SAVE	%r11
	mov	%rcx, %rdi
	mov	%rdx, %rsi
	CALL_ALIGNED \to
	BACK	%r11
	BACK	%r10
	BACK	%r9
	BACK	%r8
	BACK_DIRECTION
	PATH_END
	.endm

/*
 * Count the record %r8 in the cell (%rax) or in the cell beside it: in the one that is the
 * record's, else in the first one that is nobody's. If both are other records', go to \others.
 * This is the end of a sequence: if a handler takes the cell, a record is made instead; a kill
 * leaves a cell that is nobody's, or one that is the record's, and has a count.
 */
	.macro	COUNT_IN_CELL id, others
	cmp	%r8, FL_PATH_CELL_KEY(%rax)
	je	.Lown\id
	xor	$FL_PATH_CELL_BYTES, %rax
	cmp	%r8, FL_PATH_CELL_KEY(%rax)
	je	.Lown\id
	xor	$FL_PATH_CELL_BYTES, %rax
	cmpq	$0, FL_PATH_CELL_KEY(%rax)
	je	.Lnobodys\id
	xor	$FL_PATH_CELL_BYTES, %rax
	cmpq	$0, FL_PATH_CELL_KEY(%rax)
	jne	\others
.Lnobodys\id:
	mov	%r8, FL_PATH_CELL_KEY(%rax)
.Lown\id:
	addq	$1, (%rax)
.Lend\id:
	.endm

/* Count the path of the number %edx in its cell, or make a record of it. Keeps %rcx. Without
 * restartable sequences only put(probe, number) does this. */
	.macro	PATH_PUT put
	SAVE	%r8
	cmpq	$0, fl_rseq_at(%rip)
	je	.Llong\@
	BEGIN_IN_SLOT cell\@, %rdi, %rax, %rsi, .Llong\@
	mov	12(%rcx), %r8d
	mov	%rdx, %rax
	shl	$32, %rax
	or	%rax, %r8
	cmpq	$0, FL_SLOT_CELLS(%rdi)
	je	.Lrecord\@
	mov	16(%rcx), %eax
	add	%edx, %eax
	cmpl	$FL_PATH_CELLS, 16(%rcx)
	jae	.Lown\@			/* cells of this function alone */
	and	$FL_PATH_CELLS - 1, %eax
.Lown\@:
	shl	$4, %eax
	add	FL_SLOT_CELLS(%rdi), %rax
	COUNT_IN_CELL cell\@, .Lrecord\@
	BACK	%r8
	jmp	.Lput\@
	.cfi_adjust_cfa_offset 8
.Lrecord\@:
	BEGIN_IN_SLOT \@, %rdi, %rax, %rsi, .Llong\@
	mov	FL_SLOT_PTR(%rdi), %rax
	cmp	FL_SLOT_LIMIT(%rdi), %rax
	jae	.Llong\@
	movq	$0, (%rax)
	mov	12(%rcx), %r8d
	mov	%r8d, 8(%rax)
	mov	%edx, 12(%rax)
	add	$16, %rax
	mov	%rax, FL_SLOT_PTR(%rdi)
.Lend\@:
	BACK	%r8
	jmp	.Lput\@
	.cfi_adjust_cfa_offset 8
	RSEQ_LANDING .Llong\@
	pushf
	.cfi_adjust_cfa_offset 8
	cld
	SAVE	%r9
	SAVE	%r10
	SAVE	%r11
	SAVE	%rcx
	mov	12(%rcx), %edi
	mov	%edx, %esi
	CALL_ALIGNED \put
	BACK	%rcx
	BACK	%r11
	BACK	%r10
	BACK	%r9
	BACK_DIRECTION
	BACK	%r8
.Lput\@:
	.endm

/* %edx: the number of the path whose sum was %edi before its last part. A sum that is no path's
 * number is made of parts of several paths (path.c). Where a function has cells of its own its
 * sums are in bytes of these. */
	.macro	PATH_NUMBER cold
	add	4(%rcx), %edi
	cmp	20(%rcx), %edi
	jae	\cold
	mov	%edi, %edx
	cmpl	$FL_PATH_CELLS, 16(%rcx)
	jb	.Lnumber\@
	shr	$4, %edx
.Lnumber\@:
	.endm

	.macro	PATH_SUM cold
	mov	%fs:FL_PATH_SUM(%rax), %edi
	PATH_NUMBER \cold
	.endm

	.macro	PATH_SET
	mov	fl_path@gottpoff(%rip), %rsi
	mov	%fs:(%rsi), %rsi
	mov	8(%rcx), %eax
	mov	%eax, %fs:FL_PATH_SUM(%rsi)
	.endm

/* First the last frame becomes nobody's, then it is gone: a handler may come in between. */
	.macro	PATH_POP
	mov	fl_path@gottpoff(%rip), %rsi
	mov	%fs:(%rsi), %rax
	movq	$0, %fs:FL_PATH_OWNER(%rax)
	subq	$16, %fs:(%rsi)
	.endm

	.macro	PATH_CALLS name
PATH_BEGIN fl_path_\name
	PATH_FRAME
	PATH_COLD fl_path_\name\()_cold
END fl_path_\name
	.endm

	.macro	PATHS put
PATH_CALLS enter
PATH_CALLS add
PATH_CALLS at
PATH_CALLS done

PATH_BEGIN fl_path_cut
	PATH_FRAME
	PATH_MINE .Lcold_cut
	PATH_SUM .Lcold_cut
	PATH_PUT \put
	PATH_SET
	PATH_END
.Lcold_cut:
	.cfi_adjust_cfa_offset 40
	PATH_COLD fl_path_cut_cold
END fl_path_cut

PATH_BEGIN fl_path_leave
	PATH_FRAME
	PATH_MINE .Lcold_leave
	PATH_SUM .Lcold_leave
	PATH_PUT \put
	PATH_POP
	PATH_END
.Lcold_leave:
	.cfi_adjust_cfa_offset 40
	PATH_COLD fl_path_leave_cold
END fl_path_leave

/* The sum is on the call's own stack. */
PATH_BEGIN fl_path_home
	PATH_FRAME
	mov	(%rdx), %edi
	PATH_NUMBER .Lcold_home
	PATH_PUT \put
	PATH_FRAME
	mov	8(%rcx), %eax
	mov	%eax, (%rdx)
	PATH_END
.Lcold_home:
	.cfi_adjust_cfa_offset 40
	PATH_COLD fl_path_home_cold
END fl_path_home

PATH_BEGIN fl_path_only
	mov	4(%rcx), %edx
	PATH_PUT \put
	PATH_END
END fl_path_only
	.endm
