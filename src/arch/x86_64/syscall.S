/*
 * syscall.S - the kernel's own calling convention on x86-64.
 *
 * Three routines for os/: any system call, the return from a signal handler,
 * and the first steps of a thread that the C library does not know. They touch only
 * registers that the C convention lets them touch, and no vector register.
 */
#include <asm/unistd.h>

	.text

/* long fl_arch_syscall(long nr, long a, long b, long c, long d, long e, long f) */
	.globl	fl_arch_syscall
	.hidden	fl_arch_syscall
	.type	fl_arch_syscall, @function
	.balign	16
fl_arch_syscall:
	.cfi_startproc
	mov	%rdi, %rax
	mov	%rsi, %rdi
	mov	%rdx, %rsi
	mov	%rcx, %rdx
	mov	%r8, %r10
	mov	%r9, %r8
	mov	8(%rsp), %r9
	syscall
	ret
	.cfi_endproc
	.size	fl_arch_syscall, . - fl_arch_syscall

/*
 * The restorer of our signal handlers. Where there is no unwind table, unwinders and
 * debuggers know a signal frame by exactly these bytes (48 c7 c0 0f 00 00 00 0f 05). So
 * there is no table; the nop keeps pc - 1 out of the routine above.
 */
	.balign	16
	nop
	.globl	fl_arch_sigreturn
	.hidden	fl_arch_sigreturn
	.type	fl_arch_sigreturn, @function
fl_arch_sigreturn:
	movq	$__NR_rt_sigreturn, %rax
	syscall
	.size	fl_arch_sigreturn, . - fl_arch_sigreturn

/*
 * long fl_arch_thread(unsigned long flags, void *stack, void *tls, uint32_t *id)
 *
 * `stack` holds, upwards: run, arg, first byte and length of the mapping that
 * is stack and TLS; above them it is 16-byte aligned. The thread ends by
 * unmapping its own stack, after which it touches none.
 */
	.globl	fl_arch_thread
	.hidden	fl_arch_thread
	.type	fl_arch_thread, @function
	.balign	16
fl_arch_thread:
	.cfi_startproc
	mov	%rdx, %r8		/* tls */
	mov	%rcx, %rdx		/* parent_tid */
	mov	%rcx, %r10		/* child_tid */
	mov	$__NR_clone, %eax
	syscall
	test	%rax, %rax
	jz	1f
	ret
1:	.cfi_undefined rip		/* the outermost frame */
	xor	%ebp, %ebp
	pop	%rax
	pop	%rdi
	pop	%rbx
	pop	%r12
	call	*%rax
	mov	%rbx, %rdi
	mov	%r12, %rsi
	mov	$__NR_munmap, %eax
	syscall
2:	xor	%edi, %edi
	mov	$__NR_exit, %eax
	syscall
	pause				/* where even exit is denied */
	jmp	2b
	.cfi_endproc
	.size	fl_arch_thread, . - fl_arch_thread

	.section .note.GNU-stack, "", @progbits
