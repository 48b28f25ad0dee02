/*
 * flow.S - what can be known of a profiling call's argument, by hand.
 *
 * Every call bears a symbol that says what a scan must make of it:
 *
 *	is.FUNCTION.n	it is named FUNCTION
 *	no.n		it has no name: nobody may guess
 *
 * f and g are functions to be named; who calls is one of its own, which is
 * exposed by its first call (or it would be taken for a part of another).
 */
	.macro is function, which=exit
	.type	is.\function\().\@, @function
is.\function\().\@:
	call	__cyg_profile_func_\which\()@PLT
	.endm

	.macro no which=exit
	.type	no.\@, @function
no.\@:	call	__cyg_profile_func_\which\()@PLT
	.endm

	.macro body name
	.type	\name, @function
\name:	.cfi_startproc
	leaq	\name(%rip), %rdi
	is	\name, enter
	.endm

	.macro end name
	.cfi_endproc
	.size	\name, . - \name
	.endm

	.macro load what, reg
	leaq	\what(%rip), \reg
	.endm

	.macro exit reg
	movq	\reg, %rdi
	.endm

	.text
	body	f
	ret
	end	f
	body	g
	ret
	end	g

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

/* ---- ways in ------------------------------------------------------------- */

	body	a_table_leads_on
	load	f, %rbx
	load	g, %r12
	leaq	table1(%rip), %rdx
	movslq	(%rdx,%rsi,4), %rax
	addq	%rdx, %rax
	jmp	*%rax
1:	exit	%rbx
	is	f
	load	g, %rbx			/* so that it is not f all along */
	ret
2:	load	f, %r12
	exit	%r12
	is	f
	ret
3:	exit	%r12
	is	g
	ret
	end	a_table_leads_on
	.section .rodata
	.balign	4
table1:	.long	1b - table1, 2b - table1, 3b - table1, 1b - table1
	.text

	body	a_table_leads_in_between
	load	f, %r12
	load	g, %rbx
	movq	%rbx, %rdi
	leaq	table2(%rip), %rdx
	movslq	(%rdx,%rsi,4), %rax
	addq	%rdx, %rax
	jmp	*%rax
1:	exit	%r12
2:	no				/* f from above, g from the table */
	load	g, %r12
	load	f, %rbx
	ret
	end	a_table_leads_in_between
	.section .rodata
	.balign	4
table2:	.long	1b - table2, 2b - table2
	.text

	body	two_jumps_share_a_table
	leaq	table3(%rip), %rdx
	testl	%esi, %esi
	je	1f
	load	f, %rbx
	movslq	(%rdx,%rsi,4), %rax
	addq	%rdx, %rax
	jmp	*%rax
1:	load	g, %rbx
	movslq	(%rdx,%rsi,4), %rax
	addq	%rdx, %rax
	jmp	*%rax
2:	exit	%rbx
	no
	ret
	end	two_jumps_share_a_table
	.section .rodata
	.balign	4
table3:	.long	2b - table3
	.text

	body	labels_in_data_are_led_to
	load	f, %rbx
	leaq	table4(%rip), %rdx
	jmp	*(%rdx,%rsi,8)
1:	exit	%rbx
	is	f
	load	g, %rbx
	ret
2:	exit	%rbx
	is	f
	ret
	end	labels_in_data_are_led_to
	.section .data.rel.ro, "aw", @progbits
	.balign	8
table4:	.quad	1b, 2b
	.text

	body	a_label_with_an_address		/* may be come to from anywhere */
	load	f, %rbx
	testl	%esi, %esi
	je	1f
	leaq	1f(%rip), %rax
	movq	%rax, (%rsi)
1:	exit	%rbx
	no
	ret
	end	a_label_with_an_address

	.type	a_table_nobody_sees, @function
a_table_nobody_sees:			/* leads to what nothing leads to, and elsewhere */
	.cfi_startproc
	load	a_table_nobody_sees, %rdi
	no	enter
	load	f, %rdi
	no
	movq	(%rsi), %rax
	jmp	*%rax
	load	f, %rbx
	exit	%rbx
	no
	ret
	end	a_table_nobody_sees

	.type	a_table_nobody_sees_to_a_loop, @function
a_table_nobody_sees_to_a_loop:
	.cfi_startproc
	load	a_table_nobody_sees_to_a_loop, %rdi
	no	enter
	load	f, %rbx
	testl	%esi, %esi
	je	2f
	movq	(%rsi), %rax
	jmp	*%rax
1:	load	g, %rbx
	decl	%esi
	je	1b
2:	exit	%rbx
	no
	ret
	end	a_table_nobody_sees_to_a_loop

	body	a_table_from_a_label		/* of which labels are taken */
	load	f, %rbx
	leaq	1f(%rip), %rdx
	leaq	table5(%rip), %rcx
	movslq	(%rcx,%rsi,4), %rax
	addq	%rdx, %rax
	jmp	*%rax
1:	load	g, %rdi
	is	g
	load	g, %rbx
	testl	%esi, %esi
	je	2f
	ret
2:	exit	%rbx			/* f from the table */
	no
	ret
	end	a_table_from_a_label
	.section .rodata
	.balign	4
table5:	.long	0, 2b - 1b
	.text

	.type	a_label_in_data_and_no_switch, @function
a_label_in_data_and_no_switch:		/* seen when it was named */
	.cfi_startproc
	load	a_label_in_data_and_no_switch, %rdi
	no	enter
	load	f, %rbx
	testl	%esi, %esi
	je	label6
	load	f, %rbx
label6:	exit	%rbx
	no
	load	g, %rbx
	ret
	end	a_label_in_data_and_no_switch
	.section .data.rel.ro, "aw", @progbits
	.quad	label6
	.text

	.type	back_to_its_start, @function
back_to_its_start:
	.cfi_startproc
	exit	%rbx
	no				/* the caller's, or f from below */
	load	back_to_its_start, %rdi
	is	back_to_its_start, enter
	load	f, %rbx
	testl	%esi, %esi
	je	back_to_its_start
	load	g, %rbx
	testl	%esi, %esi
	jne	back_to_its_start
	ret
	end	back_to_its_start

	body	a_call_into_its_middle
	subq	$0x28, %rsp
	load	f, %rax
	movq	%rax, 8(%rsp)
	load	g, %rax
	movq	%rax, 16(%rsp)
	call	1f
	nop
1:	popq	%rcx
	movq	8(%rsp), %rdi
	no
	movq	16(%rsp), %rdi
	no
	addq	$0x28, %rsp
	ret
	end	a_call_into_its_middle

	body	a_tail_call_through_memory
	load	f, %rbx
	testl	%esi, %esi
	je	1f
	load	f, %rbx
	jmp	*8(%rsi)
1:	exit	%rbx
	is	f
	load	g, %rbx
	ret
	end	a_tail_call_through_memory

	body	code_that_overlaps
	load	f, %rbx
	testl	%esi, %esi
	je	1f + 1
	load	g, %rbx
	exit	%rbx
	is	g
1:	movl	$0x90909090, %eax
	exit	%rbx
	no
	ret
	end	code_that_overlaps

	body	bytes_that_are_no_code
	load	f, %rbx
	testl	%esi, %esi
	je	1f
	load	f, %rbx
	exit	%rbx
	is	f
1:	exit	%rbx
	no
	load	g, %rbx
	ret
	.byte	0x06, 0x06, 0x06
	end	bytes_that_are_no_code

/* ---- parts --------------------------------------------------------------- */

	.section .text.unlikely, "ax", @progbits
	.type	parted.cold, @function
parted.cold:
	.cfi_startproc
	exit	%rbx
	is	f
	exit	%r12
	no
	load	g, %rbx
	jmp	2f
	.cfi_endproc
	.size	parted.cold, . - parted.cold
	.text
	body	parted
	load	f, %rbx
	load	f, %r12
	testl	%esi, %esi
	je	parted.cold
	load	g, %r12
	testl	%esi, %esi
	je	parted.cold
	exit	%rbx
	is	f
2:	exit	%rbx			/* f from above, g from the cold part */
	no
	ret
	end	parted

	.section .text.unlikely, "ax", @progbits
	.type	jumped.cold, @function
jumped.cold:
	.cfi_startproc
	exit	%rbx
	no
	ud2
	.cfi_endproc
	.size	jumped.cold, . - jumped.cold
	.text
	body	jumped
	load	f, %rbx
	testl	%esi, %esi
	je	jumped.cold
	load	g, %rbx
	jmp	jumped.cold
	end	jumped

	body	tail_caller			/* leaves: what it has is no matter of f's */
	load	g, %rbx
	testl	%esi, %esi
	je	f
	exit	%rbx
	is	g
	load	f, %rbx
	jmp	f
	end	tail_caller

	.type	entered_elsewhere, @function
entered_elsewhere:			/* it was named before that was seen */
	.cfi_startproc
	load	entered_elsewhere, %rdi
	no	enter
	load	f, %rbx
	exit	%rbx
	no
into_it:
	exit	%rbx
	no
	load	g, %rbx
	ret
	end	entered_elsewhere

	body	enters_elsewhere
	load	g, %rbx
	jmp	into_it
	end	enters_elsewhere

/* ---- landing pads -------------------------------------------------------- */

	.macro	lsda name
	.section .gcc_except_table, "a", @progbits
	.balign	4
lsda.\name:
	.byte	0xff, 0xff, 0x01
	.uleb128 2f - 1f
1:	.uleb128 \name\().from - \name, \name\().to - \name\().from
	.uleb128 \name\().pad - \name, 0
2:	.text
	.endm

	.macro	body_with_pad name
	.type	\name, @function
\name:	.cfi_startproc
	.cfi_lsda 0x1b, lsda.\name
	subq	$0x28, %rsp
	leaq	\name(%rip), %rdi
	is	\name, enter
	.endm

	body_with_pad pads_keep
	load	f, %rbx
	load	f, %rcx
	load	g, %r12
	load	f, %rax
	movq	%rax, 8(%rsp)
	movq	%rbx, %rdi
pads_keep.from:
	is	f
	call	*8(%rsi)
pads_keep.to:
	load	f, %r12
	load	g, %rbx
	addq	$0x28, %rsp
	ret
pads_keep.pad:
	exit	%rbx
	is	f
	exit	%r12
	is	g
	movq	8(%rsp), %rdi
	is	f
	ret
	end	pads_keep
	lsda	pads_keep

	body_with_pad pads_lose_scratch
	load	f, %rcx
	load	f, %rdi
pads_lose_scratch.from:
	call	*8(%rsi)
pads_lose_scratch.to:
	ret
pads_lose_scratch.pad:
	no
	movq	%rcx, %rdi
	no
	ret
	end	pads_lose_scratch
	lsda	pads_lose_scratch

	body_with_pad pads_of_two_calls
	load	f, %rbx
pads_of_two_calls.from:
	call	*8(%rsi)
	load	g, %rbx
	call	*8(%rsi)
pads_of_two_calls.to:
	ret
pads_of_two_calls.pad:
	exit	%rbx
	no
	ret
	end	pads_of_two_calls
	lsda	pads_of_two_calls

	body_with_pad pads_in_between		/* a line that goes on into a pad */
	load	g, %rbx
pads_in_between.from:
	call	*8(%rsi)
pads_in_between.to:
	load	f, %rbx
pads_in_between.pad:
	exit	%rbx
	no
	ret
	end	pads_in_between
	lsda	pads_in_between

	body_with_pad pads_under_pushes		/* the frame's own height is not known there */
	load	f, %rax
	movq	%rax, 8(%rsp)
	load	g, %rax
	movq	%rax, (%rsp)
	load	g, %rdi
	is	g
	pushq	%rsi
pads_under_pushes.from:
	call	*8(%rsi)
pads_under_pushes.to:
	ret
pads_under_pushes.pad:
	movq	8(%rsp), %rdi
	no
	ret
	end	pads_under_pushes
	lsda	pads_under_pushes

	.section .note.GNU-stack, "", @progbits
