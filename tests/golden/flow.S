/*
 * flow.S - what registers hold at a profiling call, and the frame, by hand.
 */
#include "flow.inc"

/* ---- registers ----------------------------------------------------------- */

	body	paths_agree
	testl	%esi, %esi
	je	1f
	load	f, %rbx
	jmp	2f
1:	load	f, %rbx
2:	exit	%rbx
	is	f
	load	g, %rbx
	exit	%rbx
	is	g
	ret
	end	paths_agree

	body	paths_differ
	testl	%esi, %esi
	je	1f
	load	f, %rbx
	jmp	2f
1:	load	g, %rbx
2:	exit	%rbx
	no
	ret
	end	paths_differ

	body	one_path_is_unknown
	movq	(%rsi), %rbx
	testl	%esi, %esi
	je	1f
	load	f, %rbx
1:	exit	%rbx
	no
	load	g, %rbx
	ret
	end	one_path_is_unknown

	body	one_path_is_the_callers		/* and brings nothing to a call */
	testl	%esi, %esi
	je	1f
	load	f, %rbx
1:	exit	%rbx
	is	f
	load	g, %rbx
	ret
	end	one_path_is_the_callers

	body	an_argument_is_not_the_callers	/* scratch: anything may be there */
	load	g, %rbx
	movq	%r8, %r12
	testl	%esi, %esi
	je	1f
	load	f, %r12
1:	exit	%r12
	no
	load	f, %rbx
	ret
	end	an_argument_is_not_the_callers

	body	loop_keeps
	load	g, %rbx
	exit	%rbx
	is	g
	load	f, %rbx
1:	exit	%rbx
	is	f
	decl	%r12d
	jne	1b
	exit	%rbx
	is	f
	ret
	end	loop_keeps

	body	loop_changes
	load	f, %rbx
1:	exit	%rbx
	no
	load	g, %rbx
	decl	%r12d
	jne	1b
	exit	%rbx
	is	g
	ret
	end	loop_changes

	body	calls_keep_and_clobber
	load	g, %rbx
	load	f, %rcx
	load	f, %r12
	testl	%esi, %esi
	je	1f
	nop
1:	call	*8(%rsi)
	exit	%rcx
	no
	exit	%r12
	is	f
	load	f, %rbx
	load	g, %r12
	ret
	end	calls_keep_and_clobber

	body	conditional_moves_choose
	load	f, %rbx
	load	g, %rcx
	testl	%esi, %esi
	cmovneq	%rcx, %rbx
	exit	%rbx
	no
	ret
	end	conditional_moves_choose

	body	halves_are_no_copies
	load	g, %rbx
	load	f, %r12
	movl	%r12d, %ebx
	exit	%rbx
	no
	ret
	end	halves_are_no_copies

	body	exchanges_change_both
	load	f, %rbx
	load	g, %r12
	xchgq	%rbx, %r12
	exit	%rbx
	no
	exit	%r12
	no
	ret
	end	exchanges_change_both

	body	copies_go_round
	load	g, %rbx
	exit	%rbx
	is	g
	load	f, %r12
	movq	%r12, %r13
	testl	%esi, %esi
	je	1f
	movq	%r13, %r14
	load	g, %r13
	movq	%r14, %r13
1:	movq	%r13, %rbx
	exit	%rbx
	is	f
	ret
	end	copies_go_round

	body	an_end_that_traps		/* what stands behind is another's */
	load	f, %rbx
	testl	%esi, %esi
	je	1f
	load	g, %rbx
	exit	%rbx
	is	g
	ud2
1:	exit	%rbx
	is	f
	ret
	end	an_end_that_traps

	body	a_word_that_was_written_again
	load	f, %rdi
	xorl	%edi, %edi
	no
	load	g, %rdi
	testl	%esi, %esi
	je	1f
	nop
1:	xorl	%edi, %edi
	no
	ret
	end	a_word_that_was_written_again

	body	a_leave_brings_another
	load	g, %rbp
	leave
	exit	%rbp
	no
	load	f, %rbp
	testl	%esi, %esi
	je	1f
	leave
1:	exit	%rbp
	no
	ret
	end	a_leave_brings_another

	body	a_leave_brings_another_than_is_kept
	load	f, %rbp
	leave
	exit	%rbp
	no
	ret
	end	a_leave_brings_another_than_is_kept

	body	exchanges_with_the_frame
	subq	$0x28, %rsp
	load	f, %rbx
	xchgq	%rbx, 8(%rsp)
	exit	%rbx
	no
	addq	$0x28, %rsp
	ret
	end	exchanges_with_the_frame

	body	a_slot_that_is_written_later
	movq	variable(%rip), %rdi
	no
	ret
	end	a_slot_that_is_written_later
	.data
	.balign	8
variable:	.quad	f
	.text

	.type	back_with_an_argument, @function
back_with_an_argument:
	.cfi_startproc
	exit	%rcx			/* the caller's, or f from below */
	no
	load	back_with_an_argument, %rdi
	is	back_with_an_argument, enter
	load	f, %rcx
	testl	%esi, %esi
	je	back_with_an_argument
	ret
	end	back_with_an_argument

	body	what_nothing_leads_to		/* may lead on all the same */
	load	f, %rbx
	jmp	1f
	pushq	%rsi
1:	exit	%rbx
	no
	load	g, %rbx
	ret
	end	what_nothing_leads_to

/* ---- all along ----------------------------------------------------------- */

	body	kept_all_along
	pushq	%rbx
	load	f, %rbx
	testl	%esi, %esi
	je	1f
	exit	%rbx
	is	f
	popq	%rbx
	ret
1:	exit	%rbx
	is	f
	popq	%rbx
	ret
	end	kept_all_along

	body	a_pop_may_be_a_move
	load	f, %rbx
	testl	%esi, %esi
	je	1f
	load	g, %rcx
	pushq	%rcx
	popq	%rbx
1:	exit	%rbx
	no
	ret
	end	a_pop_may_be_a_move

	body	not_all_along_by_a_slot
	load	f, %rbx
	testl	%esi, %esi
	je	1f
	movq	8(%rsi), %rbx
1:	exit	%rbx
	no
	ret
	end	not_all_along_by_a_slot

	body	cut_off_from_what_is_kept
	load	f, %rbx
	load	g, %rdi
	testl	%esi, %esi
	je	1f
	movq	%rbx, %rdi
1:	no
	ret
	end	cut_off_from_what_is_kept

	body	kept_but_by_what_overlaps
	load	f, %rbx
	testl	%esi, %esi
	je	1f + 1
1:	movl	$0x90db3148, %eax	/* from its second byte: xor %rbx,%rbx; nop */
	exit	%rbx
	no
	ret
	end	kept_but_by_what_overlaps

/* ---- the frame ----------------------------------------------------------- */

	body	slots_keep
	subq	$0x28, %rsp
	load	f, %rax
	movq	%rax, 8(%rsp)
	load	g, %rax
	movq	%rax, 16(%rsp)
	testl	%esi, %esi
	je	1f
	call	*8(%rsi)
1:	movq	8(%rsp), %rdi
	is	f
	movq	16(%rsp), %rdi
	is	g
	movq	24(%rsp), %rdi		/* nobody has put anything there */
	no
	addq	$0x28, %rsp
	ret
	end	slots_keep

	body	slots_change
	subq	$0x48, %rsp
	load	f, %rax
	movq	%rax, 8(%rsp)
	movq	%rax, 16(%rsp)
	movq	%rax, 24(%rsp)
	movq	%rax, 32(%rsp)
	movq	%rax, 48(%rsp)
	movq	%rax, 56(%rsp)
	testl	%esi, %esi
	je	1f
	movl	%esi, 12(%rsp)
	movb	$1, 23(%rsp)
	movq	$1, 24(%rsp)
	movups	%xmm0, 36(%rsp)
1:	movq	8(%rsp), %rdi
	no
	movq	16(%rsp), %rdi
	no
	movq	24(%rsp), %rdi
	no
	movq	32(%rsp), %rdi
	no
	movq	48(%rsp), %rdi
	no
	movq	56(%rsp), %rdi
	is	f
	addq	$0x48, %rsp
	ret
	end	slots_change

	body	slots_beside_a_change
	subq	$0x48, %rsp
	load	f, %rax
	movq	%rax, 8(%rsp)
	movq	%rax, 32(%rsp)
	testl	%esi, %esi
	je	1f
	movups	%xmm0, 16(%rsp)
	movl	%esi, 4(%rsp)
	addl	%esi, (%rsp)
	cmpq	%rsi, 8(%rsp)
	movaps	32(%rsp), %xmm0
	pushq	32(%rsp)
	popq	%rax
1:	movq	8(%rsp), %rdi
	is	f
	movq	32(%rsp), %rdi
	is	f
	addq	$0x48, %rsp
	ret
	end	slots_beside_a_change

	body	slots_move_with_the_stack
	subq	$0x28, %rsp
	load	f, %rax
	movq	%rax, 8(%rsp)
	load	g, %rax
	movq	%rax, (%rsp)
	testl	%esi, %esi
	je	1f
	nop
1:	pushq	%rsi
	movq	8(%rsp), %rdi
	is	g
	subq	$0x10, %rsp
	movq	0x20(%rsp), %rdi
	is	f
	addq	$0x18, %rsp
	movq	8(%rsp), %rdi
	is	f
	leaq	8(%rsp), %rsp
	movq	(%rsp), %rdi
	is	f
	addq	$0x20, %rsp
	ret
	end	slots_move_with_the_stack

	body	slots_by_both_pointers
	pushq	%rbp
	movq	%rsp, %rbp
	subq	$0x20, %rsp
	load	f, %rax
	movq	%rax, -8(%rbp)
	load	g, %rax
	movq	%rax, 8(%rsp)
	testl	%esi, %esi
	je	1f
	nop
1:	movq	0x18(%rsp), %rdi
	is	f
	movq	-0x18(%rbp), %rdi
	is	g
	subq	%rsi, %rsp		/* alloca */
	movq	%rsi, 8(%rsp)
	movq	-8(%rbp), %rdi
	no				/* who knows what that store hit */
	leave
	ret
	end	slots_by_both_pointers

	body	slots_behind_alloca
	pushq	%rbp
	movq	%rsp, %rbp
	subq	$0x20, %rsp
	load	f, %rax
	movq	%rax, -8(%rbp)
	subq	%rsi, %rsp
	testl	%esi, %esi
	je	1f
	nop
1:	movq	-8(%rbp), %rdi
	no				/* the stack pointer was lost: all may be other */
	load	g, %rax
	movq	%rax, -16(%rbp)
	testl	%esi, %esi
	je	2f
	nop
2:	movq	-16(%rbp), %rdi
	is	g
	movq	0x10(%rsp), %rdi
	no
	leave
	ret
	end	slots_behind_alloca

	body	slots_of_an_aligned_frame
	pushq	%rbp
	movq	%rsp, %rbp
	andq	$-32, %rsp
	subq	$0x40, %rsp
	load	f, %rax
	movq	%rax, 8(%rsp)
	load	g, %rax
	movq	%rax, -8(%rbp)
	testl	%esi, %esi
	je	1f
	nop
1:	movq	8(%rsp), %rdi
	is	f
	movq	-8(%rbp), %rdi
	is	g
	leave
	ret
	end	slots_of_an_aligned_frame

	body	slots_aligned_twice
	pushq	%rbp
	movq	%rsp, %rbp
	testl	%esi, %esi
	je	1f
	andq	$-32, %rsp
	subq	$0x40, %rsp
	jmp	2f
1:	andq	$-64, %rsp
	subq	$0x40, %rsp
2:	load	f, %rax
	movq	%rax, 8(%rsp)
	testl	%esi, %esi
	je	3f
	nop
3:	movq	8(%rsp), %rdi
	no
	leave
	ret
	end	slots_aligned_twice

	body	slots_at_two_heights
	testl	%esi, %esi
	je	1f
	pushq	%rsi
1:	load	f, %rax
	movq	%rax, -8(%rsp)
	testl	%esi, %esi
	je	2f
	nop
2:	movq	-8(%rsp), %rdi
	no
	ret
	end	slots_at_two_heights

	body	a_frame_pointer_that_is_none
	pushq	%rbp
	subq	$0x20, %rsp
	load	f, %rax
	movq	%rax, 8(%rsp)
	movq	(%rsi), %rbp
	testl	%esi, %esi
	je	1f
	movq	%rax, -8(%rbp)
	movq	-8(%rbp), %rdi
	no
1:	movq	8(%rsp), %rdi
	is	f
	addq	$0x20, %rsp
	popq	%rbp
	ret
	end	a_frame_pointer_that_is_none

	body	a_frame_pointer_on_one_path
	pushq	%rbp
	subq	$0x20, %rsp
	load	f, %rax
	movq	%rax, 8(%rsp)
	testl	%esi, %esi
	je	1f
	movq	%rsp, %rbp
	jmp	2f
1:	movq	(%rsi), %rbp
2:	movq	%rsi, 8(%rbp)
	testl	%esi, %esi
	je	3f
	nop
3:	movq	8(%rsp), %rdi
	no
	addq	$0x20, %rsp
	popq	%rbp
	ret
	end	a_frame_pointer_on_one_path

	body	what_the_caller_pushed		/* is anything, below its frame is nothing */
	testl	%esi, %esi
	je	1f
	load	f, %rax
	movq	%rax, 8(%rsp)
	movq	%rax, -8(%rsp)
1:	movq	8(%rsp), %rdi
	no
	movq	-8(%rsp), %rdi
	is	f
	ret
	end	what_the_caller_pushed

	body	saved_and_restored
	load	f, %rbx
	pushq	%rbx
	load	g, %rbx
	exit	%rbx
	is	g
	testl	%esi, %esi
	je	1f
	nop
1:	popq	%rbx
	exit	%rbx
	is	f
	ret
	end	saved_and_restored

	body	the_stack_comes_from_elsewhere
	subq	$0x28, %rsp
	load	f, %rax
	movq	%rax, 8(%rsp)
	movq	%rsi, %rsp
	testl	%esi, %esi
	je	1f
	nop
1:	movq	8(%rsp), %rdi
	no
	ret
	end	the_stack_comes_from_elsewhere

	body	slots_across_words
	subq	$0x48, %rsp
	load	f, %rax
	movq	%rax, 20(%rsp)
	testl	%esi, %esi
	je	1f
	movl	%esi, 24(%rsp)
1:	movq	20(%rsp), %rdi
	no
	addq	$0x48, %rsp
	ret
	end	slots_across_words

	body	slots_under_an_alloca
	pushq	%rbp
	movq	%rsp, %rbp
	subq	$0x20, %rsp
	load	f, %rax
	movq	%rax, -8(%rbp)
	testl	%esi, %esi
	je	1f
	subq	%rsi, %rsp
1:	movq	-8(%rbp), %rdi
	no
	leave
	ret
	end	slots_under_an_alloca

	body	slots_by_a_popped_pointer
	pushq	%rbp
	movq	%rsp, %rbp
	subq	$0x20, %rsp
	load	f, %rax
	movq	%rax, -8(%rbp)
	pushq	%rsi
	popq	%rbp
	movq	%rsi, -16(%rbp)		/* wherever that is */
	testl	%esi, %esi
	je	1f
	nop
1:	movq	0x18(%rsp), %rdi
	no
	ret
	end	slots_by_a_popped_pointer

	body	slots_behind_a_leave
	pushq	%rbp
	movq	%rsp, %rbp
	subq	$0x20, %rsp
	load	f, %rax
	movq	%rax, -8(%rbp)
	load	g, %rax
	movq	%rax, -16(%rbp)
	testl	%esi, %esi
	je	1f
	nop
1:	leave
	movq	-16(%rsp), %rdi
	is	f
	ret
	end	slots_behind_a_leave

	body	slots_by_the_callers_pointer
	pushq	%rbp
	movq	%rsp, %rbp
	load	f, %rax
	movq	%rax, -8(%rbp)
	leave
	movq	%rsi, -24(%rbp)		/* wherever that is */
	testl	%esi, %esi
	je	1f
	nop
1:	movq	-16(%rsp), %rdi
	no
	ret
	end	slots_by_the_callers_pointer
