/*
 * rseq.h - private to arch/aarch64/, for assembly: functions, restartable sequences.
 *
 * A thread arms a sequence: it stores the address of the sequence's descriptor in its rseq area
 * (OS5). If a signal or a preemption comes between start and end, the thread goes on at
 * `abort`, and no sequence is armed any more. Beside its descriptors an object keeps two words:
 * the offsets from the thread pointer that its sequences need. So one address leads to all.
 */
#define RSEQ_SIGNATURE	0xd428bc00	/* what glibc registered, AArch64: brk #0x45e0 */

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

/* Once an object, before all else: `name` is where rseq_cs and fl_tls_slot are from the
 * thread pointer. W rseq.c */
	.macro	RSEQ_OWN name
	.pushsection .data.rseq, "aw", @progbits
	.p2align 5
	.globl	\name
	.hidden	\name
\name:
.Lown:	.quad	0, 0, 0, 0
	.popsection
	.endm

/* The descriptor that the kernel reads: start, length, abort address. */
	.macro	RSEQ_DESCRIPTOR name, start, end, abort
	.pushsection .data.rseq, "aw", @progbits
	.p2align 5
\name:
	.long	0, 0
	.quad	\start, \end - \start, \abort
	.popsection
	.endm

/* Where the kernel goes when the sequence was interrupted. */
	.macro	RSEQ_ABORT name, again
	.subsection 1
	.inst	RSEQ_SIGNATURE
\name:
	b	\again
	.subsection 0
	.endm

/* Begin a sequence that changes the thread's own slot, which is x12; without a slot the code
 * goes to \long. The caller has .Lend\id, where the sequence ends, and .Labort\id, which
 * begins it again from .Larm\id. x9, x15 to x17 stay; x10, x11 and x13 are scratch. */
	.macro	BEGIN_IN_SLOT id, long
	RSEQ_DESCRIPTOR .Lcs\id, .Lstart\id, .Lend\id, .Labort\id
.Larm\id:
	mrs	x10, tpidr_el0
	adrp	x11, .Lcs\id
	add	x11, x11, :lo12:.Lcs\id
	ldp	x12, x13, [x11, #.Lown - .Lcs\id]
	str	x11, [x10, x12]
.Lstart\id:
	ldr	x12, [x10, x13]
	ldr	x12, [x12]
	cbz	x12, \long
	.endm
