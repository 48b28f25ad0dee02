/*
 * edge.S - sites that must be refused, by hand.
 *
 *	branch	a conditional jump to a profiling function
 *	joined	two constants reach one call: no site
 *	ended	a jump whose function is likely: a site that asks
 *	between	the same, but nothing says whose body it is in: no site
 *	alone	known to no table but the symbols; it is said to reach over `under`
 *	flags	an XRay tail sled before a conditional jump
 *	torn*	XRay sleds that somebody has patched
 *	event	a sled of an event of the program's own: no site
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

	.macro	symbol name, more
	.type	\name, @function
\name:	leaq	\name(%rip), %rdi
	call	__cyg_profile_func_enter@PLT
	popq	%rdi
	jmp	__cyg_profile_func_exit@PLT
	.size	\name, . - \name + \more
	.endm
	symbol	alone, 8
	symbol	under, 0

	.type	flags, @function
flags:	.cfi_startproc
sled1:	.byte	0xeb, 0x09		/* jmp .+11 */
	nopw	512(%rax,%rax)
	jne	branch
	ret
	.cfi_endproc
	.size	flags, . - flags

	.macro	sledded name, at, bytes:vararg
	.type	\name, @function
\name:	.cfi_startproc
\at:	.byte	\bytes
	ret
	.cfi_endproc
	.size	\name, . - \name
	.endm
	/* jmp .+10 */
	sledded	torn, sled2, 0xeb, 0x08, 0x66, 0x0f, 0x1f, 0x84, 0, 0, 2, 0, 0
	/* jmp .+11, and what XRay leaves behind a call */
	sledded	torn_tail, sled3, 0xeb, 0x09, 0x41, 0xba, 1, 0, 0, 0, 0x0f, 0x1f, 0
	/* no jump; an exit without a return */
	sledded	torn_nop, sled4, 0x66, 0x90, 0x66, 0x0f, 0x1f, 0x84, 0, 0, 2, 0, 0
	sledded	torn_ret, sled5, 0xeb, 0x09, 0x66, 0x0f, 0x1f, 0x84, 0, 0, 2, 0, 0
	sledded	event, sled6, 0xeb, 0x09, 0x66, 0x0f, 0x1f, 0x84, 0, 0, 2, 0, 0

	.macro	sled at, function, kind
1:	.quad	\at - 1b
	.quad	\function - . 
	.byte	\kind, 0, 2
	.zero	13
	.endm
	.section xray_instr_map, "a", @progbits
	sled	sled1, flags, 2
	sled	sled2, torn, 0
	sled	sled3, torn_tail, 0
	sled	sled4, torn_nop, 3		/* with arguments */
	sled	sled5, torn_ret, 1
	sled	sled6, event, 4

	.section __patchable_function_entries, "aw", @progbits
	.quad	word
	.quad	0
	.data
word:	.quad	0
	.section .note.GNU-stack, "", @progbits
