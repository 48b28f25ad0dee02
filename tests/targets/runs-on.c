/* runs-on: functions that go on into what stands behind them, as those of C libraries do that
 * check a size and then copy. */
#define FUNCTIONS(X) X(main) X(check) X(check_far) X(copy) X(copy_far)
#include "truth.h"

long check(long n, long room), copy(long n), check_far(long n, long room), copy_far(long n);
long refuse(void);

/* Between the second pair there is more than a line of NOPs. */
__asm__(".text\n"
	".macro BEGIN name\n.p2align 4\n.globl \\name\n.type \\name,@function\n\\name:\n"
	".cfi_startproc\n.endm\n"
	".macro END name\n.cfi_endproc\n.size \\name,.-\\name\n.endm\n"
	"BEGIN check\n	cmp %rdi, %rsi\n	jb refuse\nEND check\n"
	"BEGIN copy\n	lea 1(%rdi,%rdi), %rax\n	ret\nEND copy\n"
	"BEGIN check_far\n	cmp %rdi, %rsi\n	jb refuse\nEND check_far\n"
	".rept 90\nnop\n.endr\n"
	"BEGIN copy_far\n	lea 3(%rdi,%rdi), %rax\n	ret\nEND copy_far\n"
	"BEGIN refuse\n	mov $-1, %eax\n	ret\nEND refuse\n");

BODY int main(void)
{
	long sum = 0;

	CALLED(main);
	for (long i = 0; i < 1000; i++) {
		_Bool is_far = i % 4 == 0, fits = i < 900;
		long is;

		*(is_far ? &truth_check_far : &truth_check) += 1;
		*(is_far ? &truth_copy_far : &truth_copy) += fits;
		is = is_far ? check_far(i, 899) : check(i, 899);
		if (is != (fits ? 2 * i + (is_far ? 3 : 1) : 0xffffffff))
			return 1;
		sum += is;
	}
	for (long i = 0; i < 500; i++, truth_copy++)
		sum += copy(i);
	KEEP(sum);
	truth_print();
	return 0;
}
