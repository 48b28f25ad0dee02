/*
 * inner.S - bodies in one another: the symbol in.FUNCTION.n stands where FUNCTION is the
 * innermost, in.none.n where none is but the machine function's own.
 */
#include "flow.inc"

	.macro in function
	.type	in.\function\().\@, @function
in.\function\().\@:
	nop
	.endm

	.macro enters function
	load	\function, %rdi
	call	__cyg_profile_func_enter@PLT
	.endm

	.macro leaves function
	load	\function, %rdi
	call	__cyg_profile_func_exit@PLT
	.endm

	body	h
	ret
	end	h

	body	one_after_another
	in	one_after_another
	enters	f
	in	f
	nop
	in	f
	leaves	f
	in	one_after_another
	enters	g
	in	g
	leaves	g
	in	one_after_another
	leaves	one_after_another
	in	none
	ret
	end	one_after_another

	body	one_in_another
	enters	f
	in	f
	enters	g
	in	g
	enters	g				/* itself */
	in	g
	leaves	g
	in	g
	leaves	g
	in	f
	leaves	f
	in	one_in_another
	ret
	end	one_in_another

	body	left_on_two_paths
	enters	f
	testl	%esi, %esi
	je	1f
	in	f
	leaves	f
	in	left_on_two_paths
	jmp	2f
1:	in	f
	leaves	f
2:	in	left_on_two_paths
	ret
	end	left_on_two_paths

	body	a_loop_within
	enters	f
1:	in	f
	enters	g
	in	g
	leaves	g
	in	f
	testl	%esi, %esi
	jne	1b
	leaves	f
	in	a_loop_within
	ret
	end	a_loop_within

	body	laid_out_backwards
	jmp	3f
1:	in	g
	leaves	g
	in	f
	leaves	f
	in	laid_out_backwards
	ret
2:	in	f
	enters	g
	jmp	1b
3:	in	laid_out_backwards
	enters	f
	jmp	2b
	end	laid_out_backwards

	body	by_a_table
	enters	f
	cmpl	$2, %esi
	ja	9f
	leaq	5f(%rip), %rdx
	movslq	(%rdx,%rsi,4), %rax
	addq	%rdx, %rax
	jmp	*%rax
6:	in	f
	enters	g
	in	g
	leaves	g
7:	in	f
8:	in	f
	leaves	f
	in	by_a_table
9:	ret
	end	by_a_table
	.section .rodata
	.balign	4
5:	.long	6b - 5b, 7b - 5b, 8b - 5b
	.text

	body	a_cold_part
	enters	f
	testl	%esi, %esi
	je	a_cold_part.cold
1:	in	f
	leaves	f
	in	a_cold_part
	ret
	end	a_cold_part
	.type	a_cold_part.cold, @function
a_cold_part.cold:
	.cfi_startproc
	in	f
	enters	h
	in	h
	leaves	h
	in	f
	jmp	1b
	.cfi_endproc
	.size	a_cold_part.cold, . - a_cold_part.cold

	body	a_cold_part_that_ends
	enters	f
	testl	%esi, %esi
	je	a_cold_part_that_ends.cold
	in	f
	leaves	f
	in	a_cold_part_that_ends
	ret
	end	a_cold_part_that_ends
	.type	a_cold_part_that_ends.cold, @function
a_cold_part_that_ends.cold:
	.cfi_startproc
	nop
	in	f
	enters	g
	in	g
	ud2
	.cfi_endproc
	.size	a_cold_part_that_ends.cold, . - a_cold_part_that_ends.cold

	body	a_part_without_a_name
	enters	g
	testl	%esi, %esi
	je	1f
	in	g
	leaves	g
	in	a_part_without_a_name
	ret
2:	in	h				/* where only the part leads to */
	leaves	h
	in	g
	ud2
	end	a_part_without_a_name
	.cfi_startproc
1:	nop
	in	g
	enters	h
	in	h
	jmp	2b
	.cfi_endproc

	body	a_part_by_a_table
	enters	g
	leaq	5f(%rip), %rdx
	movslq	(%rdx,%rsi,4), %rax
	addq	%rdx, %rax
	jmp	*%rax
6:	in	g
	leaves	g
	in	a_part_by_a_table
	ret
	end	a_part_by_a_table
	.type	a_part_by_a_table.cold, @function
a_part_by_a_table.cold:
	.cfi_startproc
	nop
	in	g
	ud2
	.cfi_endproc
	.size	a_part_by_a_table.cold, . - a_part_by_a_table.cold
	.section .rodata
	.balign	4
5:	.long	6b - 5b, a_part_by_a_table.cold - 5b
	.text

	body	an_exit_of_what_is_not_open
	enters	f
	in	f
	leaves	g
	in	f
	leaves	f
	in	an_exit_of_what_is_not_open
	ret
	end	an_exit_of_what_is_not_open
