#!/bin/sh
# What no compiler writes, and assembler may: a function that has a flag for an argument, and saves
# many registers before it looks; a jump through a word below the stack pointer. Where glue would
# change these there is no body, which is said.
. "$(dirname "$0")/lib"
x86_target flags
export TRUTH_THREADS= FLICK_BODIES=1
export CC=gcc

cat >"$work/ways.c" <<'END'
#include <stdio.h>

__asm__("	.text\n"
"	.macro function name\n"
"	.globl \\name\n	.type \\name,@function\n	.p2align 4\n"
"\\name:	.cfi_startproc\n"
"	.endm\n"
"	.macro done name\n"
"	.cfi_endproc\n	.size \\name,.-\\name\n"
"	.endm\n"
"function carried\n"
"	mov %rdi,%rsi\n	lea 3(%rdi),%rdx\n"
"	push %rbx\n	.cfi_adjust_cfa_offset 8\n"
"	mov %rdx,%rbx\n"
"	push %rbp\n	.cfi_adjust_cfa_offset 8\n"
"	movzwl %bx,%ebp\n	movq %rbp,%xmm0\n	movq %xmm0,%rbp\n"
"	adc $0,%rbp\n"
"	mov %rbp,%rax\n"
"	pop %rbp\n	.cfi_adjust_cfa_offset -8\n"
"	pop %rbx\n	.cfi_adjust_cfa_offset -8\n"
"	ret\n"
"done carried\n"
"function carries\n"
"	stc\n	call carried\n	ret\n"
"done carries\n"
"function ends\n"
"	lea 5(%rdi),%rax\n	ret\n"
"done ends\n"
"function below\n"
"	lea ends(%rip),%rdx\n	mov %rdx,-8(%rsp)\n	jmp *-8(%rsp)\n"
"done below\n");

long carries(long), below(long);

int main(void)
{
	for (long k = 0; k < 1000; k++)
		if (carries(k) != k + 4 || below(k) != k + 5) {
			printf("wrong: %ld: %ld %ld\n", k, carries(k), below(k));
			return 1;
		}
	return 0;
}
END
compile "$work/ways" "$work/ways.c" -O2 -rdynamic
for how in "-a counts" "-a latency --all" "-a paths" "-a cache" "--rate=30%" ""; do
	label="$how:"
	record $how -- "$work/ways"
	succeeded
	conserved
done
"$FLICK" list "$work/ways" >"$work/list" 2>&1
grep -q 'carried .*no: the processor.s flags are live' "$work/list" ||
	fail "list says $(grep carried "$work/list")"
