/*
 * tramp.S - restartable sequences that C calls: they change the thread's own slot, in the
 * way of the routines (routines.h).
 */
#include "arch/layout.h"
#include "arch/aarch64/rseq.h"

	.text
	RSEQ_OWN a64_own_tramp

/* A function that C calls; false where the thread has no slot, or the kernel no sequences. */
	.macro	OWN_SEQUENCE name
	adrp	x9, fl_rseq_at
	ldr	x9, [x9, :lo12:fl_rseq_at]
	cbz	x9, .Lown_no
	BEGIN_IN_SLOT \name, .Lown_no
	.endm

	.macro	OWN_DONE name
.Lend\name:
	mov	w0, #1
	ret
	RSEQ_ABORT .Labort\name, .Larm\name
	.endm

/* bool fl_arch_put_pair(const void *pair): the short path for two records. */
FUNC fl_arch_put_pair
	ldp	x2, x3, [x0]
	ldp	x4, x5, [x0, #16]
	OWN_SEQUENCE pair
	ldp	x13, x11, [x12]			/* ptr, limit */
	add	x10, x13, #32
	cmp	x10, x11
	b.hi	.Lown_no
	stp	x2, x3, [x13]
	stp	x4, x5, [x13, #16]
	stlr	x10, [x12]			/* as in routines.h, step 4 */
	OWN_DONE pair
.Lown_no:
	mov	w0, #0
	ret
END fl_arch_put_pair

/* bool fl_arch_put_one(const void *record): the short path for one record. */
FUNC fl_arch_put_one
	ldp	x2, x3, [x0]
	OWN_SEQUENCE one
	ldp	x13, x11, [x12]
	cmp	x13, x11
	b.hs	.Lown_no
	stp	x2, x3, [x13], #16
	stlr	x13, [x12]
	OWN_DONE one
END fl_arch_put_one

/* bool fl_arch_add_own(size_t at, uint64_t by): add to a word of the thread's slot. */
FUNC fl_arch_add_own
	OWN_SEQUENCE add
	ldr	x13, [x12, x0]
	add	x13, x13, x1
	str	x13, [x12, x0]
	OWN_DONE add
END fl_arch_add_own

/* bool fl_arch_end_block(size_t at): the counter `at` bytes into the thread's slot is at
 * the end of a block, and begins the next one; else false. */
FUNC fl_arch_end_block
	OWN_SEQUENCE block
	ldr	x13, [x12, x0]
	tbz	x13, #63, .Lown_no
	and	x13, x13, #0x7fffffffffffffff
	add	x13, x13, #1
	str	x13, [x12, x0]
	OWN_DONE block
END fl_arch_end_block

FUNC fl_arch_tls_slot_at
	adrp	x0, :gottprel:fl_tls_slot
	ldr	x0, [x0, :gottprel_lo12:fl_tls_slot]
	ret
END fl_arch_tls_slot_at

/* uint32_t fl_arch_uncheck(void), void fl_arch_check(uint32_t): a program cannot ask for checks
 * here. */
FUNC fl_arch_uncheck
	mov	w0, #0
	ret
END fl_arch_uncheck

FUNC fl_arch_check
	ret
END fl_arch_check

	.section .note.GNU-stack, "", @progbits
