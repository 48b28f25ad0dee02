/*
 * keyed: a program that has changed an instruction in the middle of a function of its own, by
 * an address in its data, as static keys are. It calls that function until SIGTERM. Prints
 * `ready`, and at its end `fine` if each call did what the changed code does. x86-64.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { KEY = 1000, PAGE = 4096 };

long keyed(long x);
extern char keyed_at[];

__asm__(".globl keyed\n"
	".type keyed, @function\n"
	"keyed: .cfi_startproc\n"
	"	lea 1(%rdi), %rax\n"
	"	imul $3, %rax, %rax\n"
	"	add $7, %rax\n"
	".globl keyed_at\n"
	"keyed_at:\n"
	"	mov $0, %edx\n"
	"	add %rdx, %rax\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size keyed, . - keyed\n");

static char *volatile keys[] = { keyed_at };
static volatile sig_atomic_t is_over;

static void on_term(int sig)
{
	(void)sig;
	is_over = 1;
}

static int set_key(char *at, uint32_t key)
{
	char *page = (char *)((uintptr_t)at & -(uintptr_t)PAGE);
	int rights = PROT_READ | PROT_EXEC;

	if (mprotect(page, 2 * PAGE, rights | PROT_WRITE))
		return -1;
	memcpy(at + 1, &key, sizeof(key));
	return mprotect(page, 2 * PAGE, rights);
}

int main(void)
{
	long odd = 0;

	signal(SIGTERM, on_term);
	if (set_key(keys[0], KEY))
		return 77;
	puts("ready");
	fflush(stdout);
	while (!is_over)
		for (long i = 0; i < 1000; i++)
			odd += keyed(i) != (i + 1) * 3 + 7 + KEY;
	if (odd)
		printf("%ld calls ran the old code\n", odd);
	else
		puts("fine");
	return odd != 0;
}
