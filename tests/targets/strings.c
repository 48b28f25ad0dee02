/*
 * strings.c - strings under `rep` that fault in their middle, by functions of their own: where
 * and with which registers, once without the page and once with it in time; what is compared.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { PAGE = 4096, DIRECTION = 1 << 10 };

static sigjmp_buf back;
static char *page;
static int grows;

static void meet_fault(int sig, siginfo_t *info, void *context)
{
	const greg_t *reg = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)sig;
	printf("%td: %llu left, at %lld, %s\n", (char *)info->si_addr - page,
	       reg[REG_RCX], reg[REG_RDI] - (intptr_t)page,
	       reg[REG_EFL] & DIRECTION ? "down" : "up");
	if (!grows)
		siglongjmp(back, 1);
	mprotect(page + PAGE, PAGE, PROT_READ | PROT_WRITE);
	grows = 0;
}

__attribute__((noinline)) static void fill(void *to, uint64_t n)
{
	__asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(7) : "memory");
}

__attribute__((noinline)) static void fill_down(void *to, uint64_t n)
{
	__asm__ volatile("std\n\trep stosb\n\tcld" : "+D"(to), "+c"(n) : "a"(9) : "memory");
}

__attribute__((noinline)) static void load(void *from, uint64_t n)
{
	__asm__ volatile("rep lodsq" : "+S"(from), "+c"(n) : : "rax", "memory");
}

__attribute__((noinline)) static uint64_t compare(const void *a, const void *b, uint64_t n)
{
	__asm__ volatile("repe cmpsb" : "+D"(a), "+S"(b), "+c"(n) : : "memory", "cc");
	return n;
}

static void try_up(uint64_t n)
{
	if (!sigsetjmp(back, 1))
		fill(page + 4000, n);
}

static void try_down(void)
{
	mprotect(page, PAGE, PROT_NONE);
	if (!sigsetjmp(back, 1))
		fill_down(page + PAGE + 50, 100);
	__asm__ volatile("cld");
	mprotect(page, PAGE, PROT_READ | PROT_WRITE);
}

int main(void)
{
	struct sigaction sa = { .sa_sigaction = meet_fault, .sa_flags = SA_SIGINFO };

	sigaction(SIGSEGV, &sa, NULL);
	page = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mprotect(page + PAGE, 2 * PAGE, PROT_NONE);
	try_up(200);
	try_up(UINT64_MAX);
	grows = 1;
	fill(page + 4000, 200);
	printf("%d %d\n", page[4199], page[4200]);
	try_down();
	printf("%d\n", page[PAGE + 1]);
	load(page, 100);
	load(page, 0);
	printf("%d\n", (int)compare("hello world", "hello there", 11));
	for (uint64_t i = 0; i < 3000; i++)
		fill(page, i & 63);
	return 0;
}
