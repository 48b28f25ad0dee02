/*
 * rseq.h - private to arch/x86_64/, for assembly: functions, flags, restartable sequences.
 *
 * A thread arms a sequence: it stores the address of the sequence's descriptor in its rseq area
 * (OS5). If a signal or a preemption comes between start and end, the thread goes on at
 * `abort`, and no sequence is armed any more.
 */
#define RSEQ_SIGNATURE	0x53053053	/* what glibc registered, x86 */
#define X86_TF	0x100			/* each instruction is a trap */
#define X86_AC	0x40000			/* an access that is not aligned is a trap */

	.macro	FUNC name, align=5
	.globl	\name
	.hidden	\name
	.type	\name, @function
	.p2align \align
\name:
	.cfi_startproc
	.endm

	.macro	END name
	.cfi_endproc
	.size	\name, . - \name
	.endm

/* The flags that pushf has stored come back without AC; or all that are there, with it. The
 * trap flag of a thread that is stepped is not to stay when the stepping ends. */
	.macro	POP_UNCHECKED
	andl	$~(X86_AC | X86_TF), (%rsp)
	popf
	.cfi_adjust_cfa_offset -8
	.endm

	.macro	SET_CHECKS
	pushf
	.cfi_adjust_cfa_offset 8
	andl	$~X86_TF, (%rsp)
	orl	$X86_AC, (%rsp)
	popf
	.cfi_adjust_cfa_offset -8
	.endm

/* The descriptor that the kernel reads: start, length, abort address. */
	.macro	RSEQ_DESCRIPTOR name, start, end, abort
	.pushsection .data.rel.ro.rseq, "aw", @progbits
	.p2align 5
\name:
	.long	0, 0
	.quad	\start, \end - \start, \abort
	.popsection
	.endm

/* Where a thread may go on that was interrupted in a sequence. A return or a jump stands before
 * it. It is in the function itself, whose table for unwinding tells the frame: a signal's
 * handler may unwind from there. */
	.macro	RSEQ_LANDING name
	.byte	0x0f, 0xb9, 0x3d		/* ud1: the signature is its operand */
	.long	RSEQ_SIGNATURE
\name:
	.endm

/* The thread's slot, or 0. */
	.macro	LOAD_SLOT to, tls=fl_tls_slot
	mov	\tls@gottpoff(%rip), \to
	mov	%fs:(\to), \to
	mov	(\to), \to
	.endm
