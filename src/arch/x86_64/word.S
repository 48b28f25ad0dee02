/*
 * word.S - one word of flick/channel.h: the producer's short path.
 *
 * Loading ptr, writing the word and storing ptr are a restartable sequence: a handler
 * that interrupts it may enqueue, and the word goes in behind what the handler enqueued. An
 * interrupted word takes the slow path, so that a thread that is stepped gets on.
 *
 * Loads and stores are what a word costs (bench/README.md), so there are few of them. The
 * sequence is named in the thread's rseq area once, and not for each word: the kernel forgets
 * the name only where it has interrupted the thread. The look whether the name is there is
 * inside the sequence: a thread that finds it has not been interrupted when it comes to the
 * end. The line 2 KiB on is fetched to be written. Behind a chunk's end the line is another
 * thread's, which loses it for a moment; behind the ring's end nothing need be there.
 *
 * The store of ptr commits. x86-TSO keeps the word before it (HW5), so a reader that sees
 * the new ptr sees the word: pairs with (F) in channel/public-take.c.
 */
#include "arch/x86_64/rseq.h"

#define CHANNEL_PTR	0
#define CHANNEL_LIMIT	24	/* word_limit */
#define AHEAD		2048

	.text

/* void flick_channel_putN(struct flick_channel *, uintN_t). The sequence's first instruction
 * stands right behind the store that names the sequence: there a thread that is stepped is
 * interrupted. Without rseq the look is at %fs:0. The thread's own address stands there, which
 * is no sequence's name. */
	.macro	PUT bits, bytes, word
	RSEQ_DESCRIPTOR .Lcs\bits, flick_channel_put\bits, .Lend\bits, .Labort\bits
FUNC fl_arm_put\bits
	test	%rcx, %rcx
	je	fl_public_put_guarded
	mov	%rdx, %fs:(%rcx)
END fl_arm_put\bits
	.globl	flick_channel_put\bits
	.type	flick_channel_put\bits, @function
flick_channel_put\bits:
	.cfi_startproc
	mov	fl_rseq_at(%rip), %rcx
	lea	.Lcs\bits(%rip), %rdx
	cmp	%rdx, %fs:(%rcx)
	jne	fl_arm_put\bits
	mov	CHANNEL_PTR(%rdi), %rax
	cmp	CHANNEL_LIMIT(%rdi), %rax
	jae	fl_public_put
	mov	\word, (%rax)
	prefetchw AHEAD(%rax)
	add	$\bytes, %rax
	mov	%rax, CHANNEL_PTR(%rdi)
.Lend\bits:
	ret
	RSEQ_LANDING .Labort\bits
	jmp	fl_public_put
END flick_channel_put\bits
	.endm

	PUT	64, 8, %rsi
	PUT	32, 4, %esi

	.section .note.GNU-stack, "", @progbits
