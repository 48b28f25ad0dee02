/*
 * flow-ways.S - what leads to a profiling call: tables, labels, other parts of the
 * function, landing pads, by hand.
 */
#include "flow.inc"

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

	body	a_table_leads_to_what_was_named
	load	f, %r12
	load	g, %rbx
	testl	%esi, %esi
	je	1f
	movq	%rbx, %rdi
	leaq	table8(%rip), %rdx
	movslq	(%rdx,%rsi,4), %rax
	addq	%rdx, %rax
	jmp	*%rax
1:	exit	%r12
2:	no				/* f from above, g from the table */
	ret
	end	a_table_leads_to_what_was_named
	.section .rodata
	.balign	4
table8:	.long	2b - table8
	.text

	.section .text.unlikely, "ax", @progbits
	.type	tabled.cold, @function
tabled.cold:
	.cfi_startproc
	exit	%rbx
	is	f
	load	g, %rbx
	ud2
	.cfi_endproc
	.size	tabled.cold, . - tabled.cold
	.text
	body	tabled
	load	f, %rbx
	leaq	table9(%rip), %rdx
	movslq	(%rdx,%rsi,4), %rax
	addq	%rdx, %rax
	jmp	*%rax
1:	ret
	end	tabled
	.section .rodata
	.balign	4
table9:	.long	1b - table9, tabled.cold - table9
	.text

	body	a_label_in_data_and_a_tail	/* leads elsewhere, so it waits */
	load	f, %rbx
	testl	%esi, %esi
	je	label7
	load	f, %rbx
label7:	exit	%rbx
	no
	load	g, %rbx
	jmp	f
	end	a_label_in_data_and_a_tail
	.section .data.rel.ro, "aw", @progbits
	.quad	label7
	.text

	body	a_label_with_an_address_and_a_name
	leaq	1f(%rip), %rax
	movq	%rax, (%rsi)
	load	f, %rdi
	is	f
1:	load	g, %rdi
	is	g
	ret
	end	a_label_with_an_address_and_a_name

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

	body	a_call_into_its_middle_changes
	load	f, %rbx
	call	1f
	exit	%rbx
	no
	ret
1:	load	g, %rbx
	ret
	end	a_call_into_its_middle_changes

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

	.type	addressed_later, @function
addressed_later:			/* it was named before that was seen */
	.cfi_startproc
	load	addressed_later, %rdi
	no	enter
	load	f, %rbx
	exit	%rbx
	no
into_it_by_address:
	exit	%rbx
	no
	load	g, %rbx
	ret
	end	addressed_later

	body	addresses_it
	leaq	into_it_by_address(%rip), %rax
	movq	%rax, (%rsi)
	ret
	end	addresses_it

	body	entered_later			/* named in part before that was seen */
	movq	(%rsi), %rdi
	no
	load	f, %rbx
	exit	%rbx
	is	f
into_it_later:
	exit	%rbx
	no
	ret
	end	entered_later

	body	enters_it_later
	load	g, %rbx
	jmp	into_it_later
	end	enters_it_later

	.section .text.unlikely, "ax", @progbits
	.type	kept_here.cold, @function
kept_here.cold:				/* alone it holds f all along */
	.cfi_startproc
	testl	%edi, %edi
	je	1f
	load	f, %rbx
1:	exit	%rbx
	no
	ud2
	.cfi_endproc
	.size	kept_here.cold, . - kept_here.cold
	.text
	body	kept_here
	load	g, %rbx
	testl	%esi, %esi
	je	kept_here.cold
	exit	%rbx
	is	g
	ret
	end	kept_here

/* ---- what no table of functions knows ------------------------------------ */

	.type	falls_into, @function
falls_into:				/* no frame: it goes on in the next */
	load	falls_into, %rdi
	is	falls_into, enter
	load	f, %rbx
	.size	falls_into, . - falls_into
	.type	fallen_into, @function
fallen_into:
	exit	%rbx
	is	f
	load	g, %rbx
	ret
	.size	fallen_into, . - fallen_into

	.type	calls_without_a_frame, @function
calls_without_a_frame:			/* all tables are understood: it has no pads */
	load	calls_without_a_frame, %rdi
	is	calls_without_a_frame, enter
	load	f, %rbx
	call	*8(%rsi)
	exit	%rbx
	is	f
	load	g, %rbx
	ret
	.size	calls_without_a_frame, . - calls_without_a_frame

	.type	falls_changed, @function
falls_changed:
	load	falls_changed, %rdi
	is	falls_changed, enter
	load	f, %rbx
	xorl	%ebx, %ebx
	.size	falls_changed, . - falls_changed
	.type	fallen_changed, @function
fallen_changed:
	exit	%rbx
	no
	load	g, %rbx
	ret
	.size	fallen_changed, . - fallen_changed

	load	f, %rbx			/* two functions, or who knows */
	exit	%rbx
	is	f
	ret
	exit	%rbx
	no
	ret
	.skip	32, 0x90

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

	body_with_pad pads_begin_behind_a_call
	load	g, %rbx
	call	*8(%rsi)
pads_begin_behind_a_call.from:
	load	f, %rbx
	call	*8(%rsi)
pads_begin_behind_a_call.to:
	ret
pads_begin_behind_a_call.pad:
	exit	%rbx
	is	f
	ret
	end	pads_begin_behind_a_call
	lsda	pads_begin_behind_a_call

	.type	pads_at_the_frames_height, @function
pads_at_the_frames_height:		/* its first call is made from under a push */
	.cfi_startproc
	.cfi_lsda 0x1b, lsda.pads_at_the_frames_height
	subq	$0x28, %rsp
	pushq	%rsi
	leaq	pads_at_the_frames_height(%rip), %rdi
	is	pads_at_the_frames_height, enter
	popq	%rsi
	load	f, %rax
	movq	%rax, 8(%rsp)
	load	g, %rdi
	is	g
pads_at_the_frames_height.from:
	call	*8(%rsi)
pads_at_the_frames_height.to:
	ret
pads_at_the_frames_height.pad:
	movq	8(%rsp), %rdi
	is	f
	ret
	end	pads_at_the_frames_height
	lsda	pads_at_the_frames_height

	.type	pads_that_nobody_knows, @function
pads_that_nobody_knows:			/* a table of another base */
	.cfi_startproc
	.cfi_lsda 0x1b, lsda.pads_that_nobody_knows
	leaq	pads_that_nobody_knows(%rip), %rdi
	is	pads_that_nobody_knows, enter
	load	f, %rbx
	call	*8(%rsi)
	exit	%rbx
	no
	ret
	end	pads_that_nobody_knows
	.section .gcc_except_table, "a", @progbits
lsda.pads_that_nobody_knows:
	.byte	0x1b, 0, 0, 0, 0, 0xff, 0x01, 0
	.text
