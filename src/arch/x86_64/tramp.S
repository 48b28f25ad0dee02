/*
 * tramp.S - what a glue jumps to: one routine per action and convention.
 *
 * On entry %r11d is the probe id and (%rsp) the way back. ABI routines stand
 * behind an ordinary call, so every scratch register and the flags are theirs.
 * BARE routines stand at a function's entry or exit: only %r11 and the flags
 * are dead there, nothing lies below the stack pointer, and all else is put
 * back. No routine touches a vector register but those that call a function of
 * the program's own, which save every one that may carry an argument or result.
 *
 * THE SHORT PATH (time)
 *	1  arm the restartable sequence (rseq): a signal or a preemption between
 *	   2 and 4 restarts at 1, so a handler may enqueue at any point, and fork:
 *	   the child finds no slot then
 *	2  find the slot; p = slot->ptr; when p >= slot->limit take the long path
 *	3  store the record at p
 *	4  slot->ptr = p + 16: the commit. x86-TSO keeps 3 before 4 (HW5), so a
 *	   reader that sees the new ptr sees the whole record: pairs with (B) in
 *	   channel/drain.c
 * A thread without a slot, and a child of fork, take the long path.
 */
#include "arch/x86_64/rseq.h"

#define SLOT_PTR	0
#define SLOT_LIMIT	8
#define SLOT_COUNTERS	24
#define COUNTERS	4096		/* FL_SLOT_HEADER_BYTES */
#define COUNT_ONE_HIGH	0x200000	/* the upper half of FL_COUNT_ONE */
#define TIMED_LOOSE	8
#define FLIP_BYTE	8
#define FLIP_ARMED	11

	.text

	.macro	SAVE reg
	push	\reg
	.cfi_adjust_cfa_offset 8
	.endm

	.macro	BACK reg
	pop	\reg
	.cfi_adjust_cfa_offset -8
	.endm

	.macro	LOAD_SLOT to
	mov	fl_tls_slot@gottpoff(%rip), \to
	mov	%fs:(\to), \to
	mov	(\to), \to
	.endm

/* Steps 1 to 4 with the time in %rax, \sp32 as the stack pointer; \slot and \a are
 * scratch, \b holds the rseq offset afterwards. */
	.macro	ENQUEUE slot, a, a32, b, sp32, long
	RSEQ_DESCRIPTOR .Lcs\@, .Lstart\@, .Lend\@, .Labort\@
	mov	fl_rseq_at(%rip), \b
.Larm\@:
	lea	.Lcs\@(%rip), \a
	mov	\a, %fs:(\b)
.Lstart\@:
	LOAD_SLOT \slot
	test	\slot, \slot
	je	\long
	mov	SLOT_PTR(\slot), \a
	cmp	SLOT_LIMIT(\slot), \a
	jae	\long
	mov	%rax, (\a)
	mov	%r11d, 8(\a)
	mov	\sp32, 12(\a)
	add	$16, \a
	mov	\a, SLOT_PTR(\slot)
.Lend\@:
	RSEQ_ABORT .Labort\@, .Larm\@
	.endm

/* Add one to the counter of probe %r11, which has one, or go to \long; the sign says that
 * it was the last of a block. One instruction on memory, so a signal sees it done or not
 * begun; in a sequence, so that a child of fork that comes before it looks for its slot
 * anew. \b holds the rseq offset afterwards. */
	.macro	COUNT a, b, long
	RSEQ_DESCRIPTOR .Lcs\@, .Lstart\@, .Lend\@, .Labort\@
	mov	fl_rseq_at(%rip), \b
.Larm\@:
	lea	.Lcs\@(%rip), \a
	mov	\a, %fs:(\b)
.Lstart\@:
	LOAD_SLOT \a
	test	\a, \a
	je	\long
	addl	$COUNT_ONE_HIGH, COUNTERS + 4(\a, %r11, 8)
.Lend\@:
	RSEQ_ABORT .Labort\@, .Larm\@
	.endm

/* The same of any probe, without a sequence. */
	.macro	COUNT_PLAINLY a, long
	LOAD_SLOT \a
	test	\a, \a
	je	\long
	cmp	SLOT_COUNTERS(\a), %r11d
	jae	\long
	addl	$COUNT_ONE_HIGH, COUNTERS + 4(\a, %r11, 8)
	.endm

/* A probe, at stack pointer \sp, of a function whose calls are counted, but some may be
 * timed and open. Falls through where none of this thread can end here, nor has this call
 * begun in one of them: none is open, or it stands below the innermost, whose exit is not
 * there. Where that is not known to \inner, else to \long. A call of ten ticks does not
 * hide more than two loads, one behind the other. */
	.macro	BELOW_TIMED a, b, b32, sp, long, inner
	mov	fl_timed@gottpoff(%rip), \a
	cmp	\sp, %fs:(\a)
	jbe	\long
	mov	fl_function_of(%rip), \b
	mov	(\b, %r11, 4), \b32
	cmp	\b32, %fs:TIMED_LOOSE(\a)
	je	\inner
	.endm

	.macro	TICKS
	rdtsc
	shl	$32, %rdx
	or	%rdx, %rax
	.endm

/* ---- ABI: behind an ordinary call --------------------------------------- */

FUNC fl_abi_time
	TICKS
	ENQUEUE %rsi, %rcx, %ecx, %rdi, %esp, .Labi_put
	ret
.Labi_put:
	mov	%r11d, %edi
	mov	%rax, %rsi
	mov	%esp, %edx
	jmp	fl_channel_put
END fl_abi_time

/* Where the kernel has no rseq: every event takes the long path. */
FUNC fl_abi_time_long
	TICKS
	jmp	.Labi_put
END fl_abi_time_long

FUNC fl_abi_count, 6			/* in one line of the cache: up to half a ns */
	COUNT	%rsi, %rdi, .Labi_count
	js	fl_abi_full
	ret
.Labi_count:
	mov	%r11d, %edi
	jmp	fl_channel_count
END fl_abi_count

/* A block of the probe's counts is full. */
FUNC fl_abi_full
	mov	%r11d, %edi
	jmp	fl_channel_end_block
END fl_abi_full

/* Of a probe without a counter, and where the kernel has no rseq. */
FUNC fl_abi_count_long
	COUNT_PLAINLY %rsi, .Labi_count
	js	fl_abi_full
	ret
END fl_abi_count_long

FUNC fl_abi_sample
	mov	%r11d, %edi
	mov	%esp, %esi
	jmp	fl_sample_hit
END fl_abi_sample

FUNC fl_abi_after
	BELOW_TIMED %rsi, %rcx, %ecx, %rsp, .Labi_after, .Labi_inner
	jmp	fl_abi_count
.Labi_inner:
	mov	%r11d, %edi
	mov	%esp, %esi
	jmp	fl_sample_inner
END fl_abi_after

FUNC fl_abi_after_long
.Labi_after:
	mov	%r11d, %edi
	mov	%esp, %esi
	jmp	fl_sample_after
END fl_abi_after_long

/* %rsi is what the compiler passes as the call site: where the function that
 * begins returns to. Of an inlined one, where the function it is part of does. */
FUNC fl_abi_window
	mov	%r11d, %edi
	mov	%esp, %edx
	jmp	fl_window_hit
END fl_abi_window

FUNC fl_abi_call
	mov	fl_bindings(%rip), %rax
	mov	%r11d, %edi
	mov	(%rax, %rdi, 8), %rax
	mov	8(%rax), %rsi
	jmp	*(%rax)
END fl_abi_call

/* A call whose first argument is the probe's function goes on as usual. */
	.macro	ASK action
FUNC fl_ask_\action
	mov	fl_asked(%rip), %rax
	cmp	(%rax, %r11, 8), %rdi
	je	fl_abi_\action
	jmp	.Lask_other
END fl_ask_\action
	.endm

/* Nobody wants the probe's function. */
FUNC fl_ask_idle
	mov	fl_asked(%rip), %rax
	cmp	(%rax, %r11, 8), %rdi
	jne	.Lask_other
	ret
END fl_ask_idle

.Lask_other:
	.cfi_startproc
	mov	%rdi, %rsi
	mov	%r11d, %edi
	mov	%esp, %edx
	jmp	fl_probe_ask
	.cfi_endproc

	ASK	count
	ASK	time
	ASK	sample
	ASK	after
	ASK	after_long
	ASK	call
	ASK	count_long
	ASK	time_long
	ASK	window

/* enum fl_flipped fl_arch_flip_unless(const uint32_t *held, const struct fl_flip *f,
 * int state, enum fl_flip_when): what is loaded is loaded in the sequence, so it is
 * still so when the byte is stored. */
FUNC fl_arch_flip_unless
	RSEQ_DESCRIPTOR .Lflip_cs, .Lflip_start, .Lflip_end, .Lflip_abort
	mov	fl_rseq_at(%rip), %r8
	lea	.Lflip_cs(%rip), %r9
	mov	%edx, %edx
.Lflip_arm:
	mov	%r9, %fs:(%r8)
.Lflip_start:
	mov	$1, %eax			/* FL_FLIP_HELD */
	cmpl	$0, (%rdi)
	jne	.Lflip_out
	inc	%eax				/* FL_FLIP_UNARMED */
	cmpb	$1, FLIP_ARMED(%rsi)
	jne	.Lflip_out
	xor	%eax, %eax
	mov	(%rsi), %r11
	movzbl	FLIP_BYTE(%rsi, %rdx), %r10d
	test	%ecx, %ecx
	je	.Lflip_store
	cmp	%r10b, (%r11)
	je	.Lflip_out
.Lflip_store:
	mov	%r10b, (%r11)
.Lflip_end:
.Lflip_out:
	ret
	RSEQ_ABORT .Lflip_abort, .Lflip_arm
END fl_arch_flip_unless

/* What C calls to change the thread's own slot, as one sequence; false where the thread
 * has none. \slot: it is in there. */
	.macro	OWN_SEQUENCE name, slot
	RSEQ_DESCRIPTOR .L\name\()_cs, .L\name\()_start, .L\name\()_end, .L\name\()_abort
	mov	fl_rseq_at(%rip), %r8
	test	%r8, %r8
	je	.Lown_no
.L\name\()_arm:
	lea	.L\name\()_cs(%rip), %rcx
	mov	%rcx, %fs:(%r8)
.L\name\()_start:
	LOAD_SLOT \slot
	test	\slot, \slot
	je	.Lown_no
	.endm

	.macro	OWN_DONE name
.L\name\()_end:
	mov	$1, %eax
	ret
	RSEQ_ABORT .L\name\()_abort, .L\name\()_arm
	.endm

/* bool fl_arch_put_pair(const void *pair): the short path for two records. */
FUNC fl_arch_put_pair
	mov	(%rdi), %rax
	mov	8(%rdi), %rdx
	mov	16(%rdi), %r9
	mov	24(%rdi), %r10
	OWN_SEQUENCE pair, %rsi
	mov	SLOT_PTR(%rsi), %rcx
	lea	32(%rcx), %r11
	cmp	SLOT_LIMIT(%rsi), %r11
	ja	.Lown_no
	mov	%rax, (%rcx)
	mov	%rdx, 8(%rcx)
	mov	%r9, 16(%rcx)
	mov	%r10, 24(%rcx)
	mov	%r11, SLOT_PTR(%rsi)
	OWN_DONE pair
.Lown_no:
	xor	%eax, %eax
	ret
END fl_arch_put_pair

/* bool fl_arch_put_one(const void *record): the same for one. */
FUNC fl_arch_put_one
	mov	(%rdi), %rax
	mov	8(%rdi), %rdx
	OWN_SEQUENCE one, %rsi
	mov	SLOT_PTR(%rsi), %rcx
	cmp	SLOT_LIMIT(%rsi), %rcx
	jae	.Lown_no
	mov	%rax, (%rcx)
	mov	%rdx, 8(%rcx)
	add	$16, %rcx
	mov	%rcx, SLOT_PTR(%rsi)
	OWN_DONE one
END fl_arch_put_one

/* bool fl_arch_add_own(size_t at, uint64_t by): add to a word of the thread's slot. */
FUNC fl_arch_add_own
	OWN_SEQUENCE add, %rdx
	add	%rsi, (%rdx, %rdi)
	OWN_DONE add
END fl_arch_add_own

/* bool fl_arch_end_block(size_t at): the counter `at` bytes into the thread's slot is at
 * the end of a block, and begins the next one; else false. */
FUNC fl_arch_end_block
	OWN_SEQUENCE block, %rdx
	mov	(%rdx, %rdi), %rsi
	btr	$63, %rsi
	jnc	.Lown_no
	inc	%rsi
	mov	%rsi, (%rdx, %rdi)
	OWN_DONE block
END fl_arch_end_block

FUNC fl_arch_tls_slot_at
	mov	fl_tls_slot@gottpoff(%rip), %rax
	ret
END fl_arch_tls_slot_at

/* ---- BARE: every register is live ---------------------------------------- */

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

/* Call \to(%rdi, %rsi, %rdx) on an aligned stack; \to keeps vector registers
 * (flick's own C is built without them). */
	.macro	CALL_ALIGNED to
	SAVE	%rbp
	mov	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	and	$-16, %rsp
	call	\to
	mov	%rbp, %rsp
	.cfi_def_cfa_register %rsp
	BACK	%rbp
	.endm

FUNC fl_bare_time
	SAVE	%rax
	SAVE	%rdx
	TICKS
.Lbare_enqueue:
	SAVE	%rcx
	SAVE	%rsi
	SAVE	%rdi
	lea	40(%rsp), %rdx
	ENQUEUE %rsi, %rcx, %ecx, %rdi, %edx, .Lbare_put
	BACK	%rdi
	BACK	%rsi
	BACK	%rcx
	BACK	%rdx
	BACK	%rax
	ret
	.cfi_adjust_cfa_offset 40
.Lbare_put:
	SAVE	%r8
	SAVE	%r9
	SAVE	%r10
	mov	%r11d, %edi
	mov	%rax, %rsi
	CALL_ALIGNED fl_channel_put
	BACK	%r10
	BACK	%r9
	BACK	%r8
	BACK	%rdi
	BACK	%rsi
	BACK	%rcx
	BACK	%rdx
	BACK	%rax
	ret
END fl_bare_time

FUNC fl_bare_time_long
	SAVE_SCRATCH
	TICKS
.Lbare_put_all:
	mov	%r11d, %edi
	mov	%rax, %rsi
	lea	64(%rsp), %rdx
	CALL_ALIGNED fl_channel_put
	RESTORE_SCRATCH
	ret
END fl_bare_time_long

FUNC fl_bare_count
	SAVE	%rsi
	SAVE	%rdi
	COUNT	%rsi, %rdi, .Lbare_count
	BACK	%rdi
	BACK	%rsi
	js	fl_bare_full
	ret
	.cfi_adjust_cfa_offset 16
.Lbare_count:
	BACK	%rdi
	BACK	%rsi
	SAVE_SCRATCH
	mov	%r11d, %edi
	CALL_ALIGNED fl_channel_count
	RESTORE_SCRATCH
	ret
END fl_bare_count

FUNC fl_bare_full
	SAVE_SCRATCH
	mov	%r11d, %edi
	CALL_ALIGNED fl_channel_end_block
	RESTORE_SCRATCH
	ret
END fl_bare_full

FUNC fl_bare_count_long
	SAVE	%rsi
	SAVE	%rdi
	COUNT_PLAINLY %rsi, .Lbare_count
	BACK	%rdi
	BACK	%rsi
	js	fl_bare_full
	ret
END fl_bare_count_long

FUNC fl_bare_sample
	SAVE_SCRATCH
	mov	%r11d, %edi
	lea	64(%rsp), %rsi
	CALL_ALIGNED fl_sample_hit
	RESTORE_SCRATCH
	ret
END fl_bare_sample

FUNC fl_bare_after
	SAVE	%rcx
	SAVE	%rsi
	SAVE	%rdi
	lea	24(%rsp), %rdi
	BELOW_TIMED %rsi, %rcx, %ecx, %rdi, .Lbare_after, .Lbare_inner
	BACK	%rdi
	BACK	%rsi
	BACK	%rcx
	jmp	fl_bare_count
	.cfi_adjust_cfa_offset 24
.Lbare_after:
	BACK	%rdi
	BACK	%rsi
	BACK	%rcx
	jmp	fl_bare_after_long
	.cfi_adjust_cfa_offset 24
.Lbare_inner:
	BACK	%rdi
	BACK	%rsi
	BACK	%rcx
	SAVE_SCRATCH
	mov	%r11d, %edi
	lea	64(%rsp), %rsi
	CALL_ALIGNED fl_sample_inner
	RESTORE_SCRATCH
	ret
END fl_bare_after

FUNC fl_bare_after_long
	SAVE_SCRATCH
	mov	%r11d, %edi
	lea	64(%rsp), %rsi
	CALL_ALIGNED fl_sample_after
	RESTORE_SCRATCH
	ret
END fl_bare_after_long

/* At a function's entry its way back lies above that of the glue. */
FUNC fl_bare_window
	SAVE_SCRATCH
	mov	%r11d, %edi
	mov	72(%rsp), %rsi
	lea	64(%rsp), %rdx
	CALL_ALIGNED fl_window_hit
	RESTORE_SCRATCH
	ret
END fl_bare_window

/* A function of the program's own may use the widest vectors this CPU has.
 * Eight registers carry arguments and results (psABI 3.2.3). */
	.macro	EACH_VECTOR op, prefix, step, store
	.irp	i, 0, 1, 2, 3, 4, 5, 6, 7
	.if	\store
	\op	%\prefix\i, \i * \step(%rsp)
	.else
	\op	\i * \step(%rsp), %\prefix\i
	.endif
	.endr
	.endm

	.macro	BARE_CALL name, op, prefix, step
FUNC \name
	SAVE_SCRATCH
	SAVE	%rbp
	mov	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	sub	$8 * \step, %rsp
	and	$-64, %rsp
	EACH_VECTOR \op, \prefix, \step, 1
	cld
	mov	fl_bindings(%rip), %rax
	mov	%r11d, %edi
	mov	(%rax, %rdi, 8), %rax
	mov	8(%rax), %rsi
	call	*(%rax)
	EACH_VECTOR \op, \prefix, \step, 0
	mov	%rbp, %rsp
	.cfi_def_cfa_register %rsp
	BACK	%rbp
	RESTORE_SCRATCH
	ret
END \name
	.endm

	BARE_CALL fl_bare_call_sse, movups, xmm, 16
	BARE_CALL fl_bare_call_avx, vmovups, ymm, 32
	BARE_CALL fl_bare_call_avx512, vmovups, zmm, 64

	.section .note.GNU-stack, "", @progbits
