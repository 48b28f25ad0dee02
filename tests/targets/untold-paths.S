/* Functions with bodies whose paths cannot be told. */
	.text
	.globl	by_expression
	.type	by_expression,@function
	.p2align 4
by_expression:				/* the frame is told by an expression, and may be */
	.cfi_startproc			/* kept: no word of it is known to be nobody's */
	mov	%edi, %eax
	mov	%rsp, %rcx
	.cfi_escape 0x0f,2,0x77,8
	test	%edi, %edi
	jne	1f
	add	$3, %eax
	nop
1:	add	$1, %eax
	ret
	.cfi_endproc
	.size	by_expression,.-by_expression

	.globl	lands
	.type	lands,@function
	.p2align 4
lands:					/* where its exceptions land it goes itself, too */
	.cfi_startproc
	.cfi_personality 0x9b,.Lpersonality
	.cfi_lsda 0x1b,.Llsda
	push	%rbx
	.cfi_def_cfa_offset 16
	.cfi_offset %rbx,-16
	mov	%edi, %ebx
	test	%ebx, %ebx
	jne	.Lpad
.Lfrom:	call	throws@PLT
.Lto:	nop
.Lpad:	add	$1, %ebx
	mov	%ebx, %eax
	pop	%rbx
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size	lands,.-lands
	.section .gcc_except_table,"a",@progbits
	.p2align 2
.Llsda:	.byte	0xff,0xff,0x01
	.uleb128 .Lend-.Lsites
.Lsites:
	.uleb128 .Lfrom-lands
	.uleb128 .Lto-.Lfrom
	.uleb128 .Lpad-lands
	.uleb128 0
.Lend:
	.data
	.p2align 3
.Lpersonality:
	.quad	__gxx_personality_v0
	.section .note.GNU-stack,"",@progbits
