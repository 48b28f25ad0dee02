/*
 * Short calls of what stacks do not tell: above_bare() and within() call what no table for
 * unwinding has, and what the program made; above_large() is further up than a sample has of
 * the stack. leaf(), to which that does not happen, is a call of nanoseconds.
 * in_coroutine() stands on a stack of its own, which makecontext() has made.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>

#define OUT __attribute__((noinline, noclone))

static volatile uint32_t sink;
static ucontext_t whole, part;

#if defined __x86_64__
#define LOOP "1: dec %edi\njnz 1b\nret\n"
#else
#define LOOP "1: subs w0, w0, #1\nb.ne 1b\nret\n"
#endif
__asm__(".text\n.p2align 4\n.globl bare\n.type bare, %function\n"
	"bare: " LOOP ".size bare, . - bare\n"
	".section .rodata\n.p2align 4\ncode: " LOOP "code_end:\n.text\n");
typedef void loop(int n);
extern loop bare;
extern const char code[], code_end[];

OUT uint32_t leaf(uint32_t x)
{
	for (int i = 0; i < 6; i++) {
		x = x * 1664525 + 1013904223;
		__asm__ volatile("" : "+r"(x));
	}
	return x;
}

OUT void within(loop *made)
{
	made(500);
	sink++;
}

OUT void above_bare(void)
{
	bare(500);
	sink++;
}

OUT void large(uint32_t x)
{
	volatile char room[8192];

	room[x % sizeof(room)] = 1;
	for (int i = 0; i < 20; i++)
		sink = leaf(sink);
}

OUT void above_large(uint32_t x)
{
	large(x);
	sink++;
}

OUT void in_coroutine(void)
{
	for (int i = 0; i < 10; i++)
		sink = leaf(sink);
}

static void coroutine(void)
{
	for (;;) {
		for (int i = 0; i < 2000; i++)
			in_coroutine();
		swapcontext(&part, &whole);
	}
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static loop *make(void)
{
	size_t n = (size_t)(code_end - code);
	char *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		exit(1);
	memcpy(at, code, n);
	__builtin___clear_cache(at, at + n);
	return (loop *)(uintptr_t)at;
}

int main(int argc, char **argv)
{
	static char stack[1 << 16];
	double end = now() + (argc > 1 ? atof(argv[1]) : 1);
	loop *made = make();

	getcontext(&part);
	part.uc_stack.ss_sp = stack;
	part.uc_stack.ss_size = sizeof(stack);
	makecontext(&part, coroutine, 0);
	while (now() < end) {
		for (uint32_t i = 0; i < 500; i++) {
			within(made);
			above_bare();
			above_large(i);
		}
		swapcontext(&whole, &part);
	}
	return 0;
}
