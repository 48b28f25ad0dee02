/*
 * inject.S - the first steps of a thread in a program that flick is attached to.
 *
 * These bytes are copied into memory of the program's own, and run there twice, see
 * process/attach-thread.c. The first time they run in a bare thread that the C library does not
 * know: this thread lets go of its copy of the program's descriptors, has the C library create
 * a thread, and ends. The second time they run in the created thread, which is a thread like
 * any other: it loads libflick.so while all others run, and goes on there. No thread comes
 * back to these bytes.
 *
 * The code is position-independent, and has no symbols except the two at its ends. It works on
 * struct fl_inject of arch.h.
 */
#include <asm/unistd.h>

#define PTHREAD_CREATE 0
#define PTHREAD_SELF 8
#define PTHREAD_DETACH 16
#define DLOPEN 24
#define DLSYM 32
#define DLERROR 40
#define LIBRARY 48
#define SYMBOL 56
#define GIVEN 64
#define THREAD 72
#define STATE 80
#define RESULT 84
#define TLS_INIT 88
#define TLS 96
#define WHY 104
#define WHY_BYTES 256

#define STATE_CREATED 1
#define STATE_RUNS 2
#define STATE_FAILED 4

#define CLOSE_RANGE_UNSHARE 2
#define PR_SET_TSC 26
#define PR_TSC_ENABLE 1
#define SIG_SETMASK 2
#define RTLD_NOW 2

	.section .rodata
	.globl	fl_arch_inject
	.hidden	fl_arch_inject
	.globl	fl_arch_inject_end
	.hidden	fl_arch_inject_end
	.balign	16
fl_arch_inject:
	/* A bare thread: on its stack lies struct fl_inject's address. */
	pop	%rbx
	xor	%ebp, %ebp
	xor	%edi, %edi
	mov	$-1, %esi
	mov	$CLOSE_RANGE_UNSHARE, %edx
	mov	$__NR_close_range, %eax
	syscall
	/* Where the thread that was stopped may not read the clock, none that begins in it
	 * may: but flick's own do. */
	mov	$PR_SET_TSC, %edi
	mov	$PR_TSC_ENABLE, %esi
	mov	$__NR_prctl, %eax
	syscall
	/* Block every signal but 32 and 33: the C library sends these between its threads,
	 * which do not block them. */
	push	$0
	movl	$0x7fffffff, (%rsp)
	movl	$0xfffffffe, 4(%rsp)
	mov	$SIG_SETMASK, %edi
	mov	%rsp, %rsi
	xor	%edx, %edx
	mov	$8, %r10d
	mov	$__NR_rt_sigprocmask, %eax
	syscall
	pop	%rax
	mov	TLS_INIT(%rbx), %rax
	test	%rax, %rax		/* 0: an earlier attach did that */
	jz	0f
	mov	TLS(%rbx), %rdi
	mov	$1, %esi
	call	*%rax
0:	cmpl	$STATE_CREATED, STATE(%rbx)	/* else the attach was called off */
	jne	1f
	lea	THREAD(%rbx), %rdi
	xor	%esi, %esi
	lea	2f(%rip), %rdx
	mov	%rbx, %rcx
	call	*PTHREAD_CREATE(%rbx)
	test	%eax, %eax
	jz	1f				/* the new one may have a result by now */
	mov	%eax, RESULT(%rbx)
	movl	$STATE_FAILED, STATE(%rbx)
1:	xor	%edi, %edi
	mov	$__NR_exit, %eax
	syscall
	jmp	1b

	/* The C library's thread. */
2:	push	%rbx
	mov	%rdi, %rbx
	movl	$STATE_RUNS, STATE(%rbx)
	call	*PTHREAD_SELF(%rbx)
	mov	%rax, %rdi
	call	*PTHREAD_DETACH(%rbx)
	mov	LIBRARY(%rbx), %rdi
	mov	$RTLD_NOW, %esi
	call	*DLOPEN(%rbx)
	test	%rax, %rax
	jz	3f
	mov	%rax, %rdi
	mov	SYMBOL(%rbx), %rsi
	call	*DLSYM(%rbx)
	test	%rax, %rax
	jz	3f
	mov	%rbx, %rsi
	mov	GIVEN(%rbx), %rdi
	pop	%rbx
	jmp	*%rax

	/* Say why. */
3:	call	*DLERROR(%rbx)
	test	%rax, %rax
	jz	5f
	mov	%rax, %rsi
	lea	WHY(%rbx), %rdi
	mov	$WHY_BYTES - 1, %ecx
4:	lodsb
	stosb
	test	%al, %al
	loopnz	4b
5:	movl	$STATE_FAILED, STATE(%rbx)
	pop	%rbx
	xor	%eax, %eax
	ret
fl_arch_inject_end:

	.section .note.GNU-stack, "", @progbits
