/*
 * covered: threads that stay in functions whose first instructions call, or which jump by a
 * table, until SIGTERM. `ready`, and at its end `fine`, or whose result was wrong.
 *
 *	calls		what its first bytes call returns behind them
 *	calls_soon	returns among them
 *	switches	its jumps are made where the stack is deeper
 *	comes_back	its jump leads to the second instruction
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static volatile sig_atomic_t is_over;

/* Nearly always a thread is in here, and returns to its caller's first bytes later. */
__attribute__((used)) static long stay(void)
{
	usleep(2000);
	return 41;
}

long calls(long n);
long calls_soon(long n);
long switches(long n);
long comes_back(long n);

#define FUNCTION(name, body)						\
	__asm__(".text\n\t.p2align 6\n\t.globl " #name "\n\t"		\
		".type " #name ", @function\n" #name ":\n\t"		\
		".cfi_startproc\n\t" body "\n\t.cfi_endproc\n\t"	\
		".size " #name ", . - " #name "\n")

FUNCTION(calls,
	 "subq $8, %rsp\n\t.cfi_adjust_cfa_offset 8\n\tcall stay\n\t"
	 "addq $8, %rsp\n\t.cfi_adjust_cfa_offset -8\n\tincq %rax\n\tret");

FUNCTION(calls_soon,
	 "pushq %rdx\n\t.cfi_adjust_cfa_offset 8\n\tcall *%rsi\n\t"
	 "popq %rdx\n\t.cfi_adjust_cfa_offset -8\n\tincq %rax\n\tret");

/* Counts down from n by each way in turn; 42 is left. */
FUNCTION(switches,
	 "pushq %rbx\n\t.cfi_adjust_cfa_offset 8\n\tsubq $16, %rsp\n\t"
	 ".cfi_adjust_cfa_offset 16\n\tleaq 1f(%rip), %rbx\n\tjmp *%rbx\n"
	 "1:\tleaq 2f(%rip), %rbx\n\tsubq $1, %rdi\n\tjle 3f\n\tjmp *%rbx\n"
	 "2:\tleaq 1b(%rip), %rbx\n\tsubq $1, %rdi\n\tjle 3f\n\tjmp *%rbx\n"
	 "3:\tmovl $42, %eax\n\taddq $16, %rsp\n\t.cfi_adjust_cfa_offset -16\n\t"
	 "popq %rbx\n\t.cfi_adjust_cfa_offset -8\n\tret");

FUNCTION(comes_back,
	 "xorl %eax, %eax\n\tsubq $1, %rdi\n\tjle 3f\n\tleaq comes_back+2(%rip), %rdx\n\t"
	 "jmp *%rdx\n3:\tmovl $42, %eax\n\tret");

enum { TURNS = 30000000 };

static void *stay_in(void *arg)
{
	long (*f)(long, long (*)(void)) = *(long (**)(long, long (*)(void)))arg;

	while (!is_over)
		if (f(TURNS, stay) != 42)
			return arg;
	return NULL;
}

static void on_term(int sig)
{
	(void)sig;
	is_over = 1;
}

int main(void)
{
	static long (*const functions[])(long) = { calls, calls_soon, switches, comes_back };
	enum { N = sizeof functions / sizeof *functions };
	const char *said = "fine";
	pthread_t threads[N];

	signal(SIGTERM, on_term);
	for (int i = 0; i < N; i++)
		pthread_create(&threads[i], NULL, stay_in, (void *)&functions[i]);
	puts("ready");
	fflush(stdout);
	for (int i = 0; i < N; i++) {
		void *wrong;

		pthread_join(threads[i], &wrong);
		if (wrong)
			said = "a result";
	}
	puts(said);
	return 0;
}
