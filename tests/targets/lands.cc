/* lands: a function whose cold part catches what it throws itself. That part begins with a landing
 * pad, before which there is a NOP, and no symbol names it, as in files without symbols. */
#define FUNCTIONS(X) X(main) X(lands) X(give_up)
#include "truth.h"

extern "C" int lands(int n);
extern "C" void give_up(int n);

BODY void give_up(int n)
{
	CALLED(give_up);
	throw n;
}

/* 2n + 1; 4n + 1 if n is a multiple of 16. */
__asm__(".text\n.p2align 4\n.globl lands\n.type lands,@function\nlands:\n.cfi_startproc\n"
	"	push %rbx\n	.cfi_def_cfa_offset 16\n	.cfi_offset %rbx,-16\n"
	"	mov %edi, %ebx\n	test $15, %bl\n	je .Lgives_up\n"
	"	lea 1(%rbx,%rbx), %eax\n	pop %rbx\n	.cfi_def_cfa_offset 8\n"
	"	ret\n	.cfi_endproc\n	.size lands,.-lands\n"
	".section .text.unlikely,\"ax\"\n.Lcold:\n.cfi_startproc\n"
	"	.cfi_personality 0x9b,.Lpersonality\n"
	"	.cfi_lsda 0x1b,.Ltable\n"
	"	nop\n	.cfi_def_cfa_offset 16\n	.cfi_offset %rbx,-16\n"
	".Lpad:	mov %rax, %rdi\n	call __cxa_begin_catch@PLT\n	add (%rax), %ebx\n"
	"	call __cxa_end_catch@PLT\n	lea 1(%rbx,%rbx), %eax\n	pop %rbx\n"
	"	.cfi_def_cfa_offset 8\n	ret\n	.cfi_def_cfa_offset 16\n"
	".Lgives_up:\n	mov %ebx, %edi\n	call give_up@PLT\n.Lgave_up:\n	ud2\n"
	"	.cfi_endproc\n"
	".section .gcc_except_table,\"a\"\n.p2align 2\n"
	".Ltable:\n	.byte 0xff, 0x9b\n	.uleb128 .Ltypes-.Lsites_at\n"
	".Lsites_at:\n	.byte 1\n	.uleb128 .Lactions-.Lsites\n"
	".Lsites:\n	.uleb128 .Lgives_up-.Lcold, .Lgave_up-.Lgives_up, .Lpad-.Lcold, 1\n"
	".Lactions:\n	.byte 1, 0\n	.p2align 2\n	.long 0\n.Ltypes:\n"
	".data\n.p2align 3\n.Lpersonality:\n	.quad __gxx_personality_v0\n.text\n");

BODY int main()
{
	long sum = 0;

	CALLED(main);
	for (int i = 0; i < 1000; i++) {
		TRUTH_ADD(truth_lands, 1);
		sum += lands(i);
	}
	printf("sum %ld\n", sum);
	truth_print();
	return 0;
}
