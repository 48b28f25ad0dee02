/*
 * crowd.S - more that matters than compilers make of so much code: each byte is a
 * push. The scan has no room for it, and names nothing, nor what stands before.
 */
	.text
	.type	before, @function
before:	.cfi_startproc
	leaq	before(%rip), %rdi
	call	__cyg_profile_func_enter@PLT
	ret
	.cfi_endproc
	.size	before, . - before

	.type	crowd, @function
crowd:	.cfi_startproc
	leaq	crowd(%rip), %rdi
	call	__cyg_profile_func_enter@PLT
	.rept	4096
	pushq	%rbx
	.endr
	leaq	crowd(%rip), %rdi
	call	__cyg_profile_func_exit@PLT
	ret
	.cfi_endproc
	.size	crowd, . - crowd
	.section .note.GNU-stack, "", @progbits
