/*
 * syscall.S - the kernel's own calling convention on AArch64.
 *
 * The same three routines as on every CPU: any system call, the return from a signal
 * handler, and the first steps of a thread that the C library does not know.
 */
#include <asm/unistd.h>

	.text

	.macro	FUNC name
	.globl	\name
	.hidden	\name
	.type	\name, @function
	.p2align 4
\name:
	.endm

/* long fl_arch_syscall(long nr, long a, long b, long c, long d, long e, long f) */
FUNC fl_arch_syscall
	.cfi_startproc
	mov	x8, x0
	mov	x0, x1
	mov	x1, x2
	mov	x2, x3
	mov	x3, x4
	mov	x4, x5
	mov	x5, x6
	svc	#0
	ret
	.cfi_endproc
	.size	fl_arch_syscall, . - fl_arch_syscall

/* The restorer of our signal handlers: unwinders know a signal frame by these two words. */
	nop
FUNC fl_arch_sigreturn
	mov	x8, #__NR_rt_sigreturn
	svc	#0
	.size	fl_arch_sigreturn, . - fl_arch_sigreturn

/*
 * long fl_arch_thread(unsigned long flags, void *stack, void *tls, uint32_t *id)
 *
 * `stack` holds, upwards: run, arg, first byte and length of the mapping that is stack
 * and TLS. The kernel takes flags, stack, parent_tid, tls, child_tid.
 */
FUNC fl_arch_thread
	.cfi_startproc
	mov	x4, x3
	mov	x9, x2
	mov	x2, x3
	mov	x3, x9
	mov	x8, #__NR_clone
	svc	#0
	cbz	x0, 1f
	ret
1:	.cfi_undefined x30		/* the outermost frame */
	mov	x29, #0
	ldp	x9, x0, [sp], #16
	ldp	x19, x20, [sp], #16
	blr	x9
	mov	x0, x19
	mov	x1, x20
	mov	x8, #__NR_munmap
	svc	#0
2:	mov	x0, #0
	mov	x8, #__NR_exit
	svc	#0
	yield				/* where even exit is denied */
	b	2b
	.cfi_endproc
	.size	fl_arch_thread, . - fl_arch_thread

	.section .note.GNU-stack, "", @progbits
