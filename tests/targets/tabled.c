/* tabled: a function whose cold part has no symbol, and that a switch's table alone leads to,
 * at several places: as compilers make it that know which cases are never run. With FAR the
 * table has addresses, as in a program at a fixed address; else distances. */
#define FUNCTIONS(X) X(main) X(picks)
#include "truth.h"

long picks(unsigned long n);

#ifdef FAR
#define ROW(label) ".quad " label "\n"
#define GO "jmp *.Ltable(,%rdi,8)\n"
#else
#define ROW(label) ".long " label "-.Ltable\n"
#define GO "lea .Ltable(%rip), %rdx\n movslq (%rdx,%rdi,4), %rax\n add %rdx, %rax\n jmp *%rax\n"
#endif

/* 1, 0, 2, 5, 4; else 3. */
__asm__(".text\n.p2align 4\n.globl picks\n.type picks,@function\npicks:\n.cfi_startproc\n"
	"	cmp $4, %rdi\n	ja .Lelse\n	" GO
	".Lone:	mov $1, %eax\n	ret\n"
	".Lfour:	mov $4, %eax\n	ret\n"
	".Lelse:	mov $3, %eax\n	ret\n	.cfi_endproc\n	.size picks,.-picks\n"
	".section .text.unlikely,\"ax\"\n	.cfi_startproc\n"
	".Lnone:	xor %eax, %eax\n	ret\n"
	".Ltwo:	mov $2, %eax\n	ret\n"
	".Lfive:	mov $5, %eax\n	ret\n	.cfi_endproc\n"
	".section .data.rel.ro,\"aw\"\n.p2align 3\n.Ltable:\n"
	ROW(".Lone") ROW(".Lnone") ROW(".Ltwo") ROW(".Lfive") ROW(".Lfour") ".text\n");

BODY int main(void)
{
	static const long is[] = { 1, 0, 2, 5, 4, 3, 3 };

	CALLED(main);
	for (unsigned long i = 0; i < 1000; i++, truth_picks++)
		if (picks(i % 7) != is[i % 7])
			return 1;
	truth_print();
	return 0;
}
