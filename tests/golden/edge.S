/*
 * edge.S - sites that must be refused, by hand.
 *
 *	branch	a conditional jump to a profiling function
 *	joined	two constants reach one call: no site
 *	ended	a jump whose function is likely: a site that asks
 *	between	the same, but nothing says whose body it is in: no site
 *	flags	an XRay tail sled before a conditional jump
 *	torn	an XRay sled that somebody has patched
 *	data	a patchable entry that is no code
 */
	.text
	.type	branch, @function
branch:	.cfi_startproc
	leaq	branch(%rip), %rdi
	testl	%esi, %esi
	jne	__cyg_profile_func_exit@PLT
	ret
	.cfi_endproc
	.size	branch, . - branch

	.type	joined, @function
joined:	.cfi_startproc
	testl	%esi, %esi
	je	1f
	leaq	joined(%rip), %rdi
	jmp	2f
1:	leaq	branch(%rip), %rdi
2:	call	__cyg_profile_func_enter@PLT
	ret
	.cfi_endproc
	.size	joined, . - joined

	.macro	tail name, own
	.type	\name, @function
\name:	.cfi_startproc
	leaq	\own(%rip), %rdi
	call	__cyg_profile_func_enter@PLT
	popq	%rdi
	jmp	__cyg_profile_func_exit@PLT
	.cfi_endproc
	.size	\name, . - \name
	.endm
	tail	ended, ended
	tail	between, branch

	.type	flags, @function
flags:	.cfi_startproc
sled1:	.byte	0xeb, 0x09		/* jmp .+11 */
	nopw	512(%rax,%rax)
	jne	branch
	ret
	.cfi_endproc
	.size	flags, . - flags

	.type	torn, @function
torn:	.cfi_startproc
sled2:	.byte	0xeb, 0x08		/* jmp .+10 */
	nopw	512(%rax,%rax)
	ret
	.cfi_endproc
	.size	torn, . - torn

	.macro	sled at, function, kind
1:	.quad	\at - 1b
	.quad	\function - . 
	.byte	\kind, 0, 2
	.zero	13
	.endm
	.section xray_instr_map, "a", @progbits
	sled	sled1, flags, 2
	sled	sled2, torn, 0

	.section __patchable_function_entries, "aw", @progbits
	.quad	word
	.quad	0
	.data
word:	.quad	0
	.section .note.GNU-stack, "", @progbits
