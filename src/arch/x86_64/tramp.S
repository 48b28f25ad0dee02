/*
 * tramp.S - restartable sequences that C calls: one makes a switch, the others change the
 * thread's own slot in the way of the routines (routines.h). And who enters C where the
 * program has its processor check alignment.
 */
#include "arch/layout.h"
#include "arch/x86_64/rseq.h"

#define FLIP_UNIT	8
#define FLIP_ARMED	11

	.text

/* enum fl_flipped fl_arch_flip_unless(const uint32_t *held, const struct fl_flip *f,
 * int state, enum fl_flip_when): all that is looked at is loaded in the sequence, so it still
 * holds when the byte is stored. */
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
	movzbl	FLIP_UNIT(%rsi, %rdx), %r10d
	test	%ecx, %ecx
	je	.Lflip_store
	cmp	%r10b, (%r11)
	je	.Lflip_out
.Lflip_store:
	mov	%r10b, (%r11)
.Lflip_end:
.Lflip_out:
	ret
	RSEQ_LANDING .Lflip_abort
	jmp	.Lflip_arm
END fl_arch_flip_unless

/* A function that C calls to change the thread's own slot, as one sequence; false where the
 * thread has no slot, or was interrupted before the sequence had come to its end. \slot: the
 * register that has the slot. \tls: where the thread finds it. */
	.macro	OWN_SEQUENCE name, slot, tls=fl_tls_slot
	RSEQ_DESCRIPTOR .L\name\()_cs, .L\name\()_start, .L\name\()_end, .Lown_no
	mov	fl_rseq_at(%rip), %r8
	test	%r8, %r8
	je	.Lown_no
	lea	.L\name\()_cs(%rip), %rcx
	mov	%rcx, %fs:(%r8)
.L\name\()_start:
	LOAD_SLOT \slot, \tls
	test	\slot, \slot
	je	.Lown_no
	.endm

	.macro	OWN_DONE name
.L\name\()_end:
	mov	$1, %eax
	ret
	.endm

/* bool fl_arch_put_pair(const void *pair): the short path for two records. */
FUNC fl_arch_put_pair
	mov	(%rdi), %rax
	mov	8(%rdi), %rdx
	mov	16(%rdi), %r9
	mov	24(%rdi), %r10
	OWN_SEQUENCE pair, %rsi
	mov	FL_SLOT_PTR(%rsi), %rcx
	lea	32(%rcx), %r11
	cmp	FL_SLOT_LIMIT(%rsi), %r11
	ja	.Lown_no
	mov	%rax, (%rcx)
	mov	%rdx, 8(%rcx)
	mov	%r9, 16(%rcx)
	mov	%r10, 24(%rcx)
	mov	%r11, FL_SLOT_PTR(%rsi)
	OWN_DONE pair
	RSEQ_LANDING .Lown_no
	xor	%eax, %eax
	ret
END fl_arch_put_pair

/* The functions for one channel, whose slot \tls has; \one, \add and \block make the names. */
	.macro	OWN_PATHS tls, put, one, add, block
/* bool put(const void *record): the short path for one record. */
FUNC \put
	mov	(%rdi), %rax
	mov	8(%rdi), %rdx
	OWN_SEQUENCE \one, %rsi, \tls
	mov	FL_SLOT_PTR(%rsi), %rcx
	cmp	FL_SLOT_LIMIT(%rsi), %rcx
	jae	.Lown_no
	mov	%rax, (%rcx)
	mov	%rdx, 8(%rcx)
	add	$16, %rcx
	mov	%rcx, FL_SLOT_PTR(%rsi)
	OWN_DONE \one
END \put

/* bool add(size_t at, uint64_t by): add to a word of the thread's slot. */
FUNC fl_arch_\add
	OWN_SEQUENCE \add, %rdx, \tls
	add	%rsi, (%rdx, %rdi)
	OWN_DONE \add
END fl_arch_\add

/* bool block(size_t at): the counter `at` bytes into the thread's slot is at the end of a
 * block, and begins the next one; else false. */
FUNC fl_arch_\block
	OWN_SEQUENCE \block, %rdx, \tls
	mov	(%rdx, %rdi), %rsi
	btr	$63, %rsi
	jnc	.Lown_no
	inc	%rsi
	mov	%rsi, (%rdx, %rdi)
	OWN_DONE \block
END fl_arch_\block
	.endm

	OWN_PATHS fl_tls_slot, fl_arch_put_one, one, add_own, end_block
	OWN_PATHS fl_tls_other, fl_arch_put_other, other, add_other, end_block_other

FUNC fl_arch_tls_slot_at
	mov	fl_tls_slot@gottpoff(%rip), %rax
	ret
END fl_arch_tls_slot_at

/* uint32_t fl_arch_uncheck(void), void fl_arch_check(uint32_t). */
FUNC fl_arch_uncheck
	xor	%eax, %eax
	pushf
	.cfi_adjust_cfa_offset 8
	testl	$X86_AC, (%rsp)
	je	.Lunchecked
	POP_UNCHECKED
	inc	%eax
	ret
	.cfi_adjust_cfa_offset 8
.Lunchecked:
	pop	%rcx
	.cfi_adjust_cfa_offset -8
	ret
END fl_arch_uncheck

FUNC fl_arch_check
	test	%edi, %edi
	je	.Lcheck_not
	SET_CHECKS
.Lcheck_not:
	ret
END fl_arch_check

	.section .note.GNU-stack, "", @progbits
