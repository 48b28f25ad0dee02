/* textrel.S - code that must be relocated when it is loaded. */
	.text
	.globl	moved
	.type	moved, @function
moved:	.cfi_startproc
	movabsq	$moved, %rdi
	call	__cyg_profile_func_enter@PLT
	ret
	.cfi_endproc
	.size	moved, . - moved
	.section .note.GNU-stack, "", @progbits
