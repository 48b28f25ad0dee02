/*
 * hits [ROUNDS]: threads access memory a known number of times, with handlers that do the same
 * wherever a signal finds them. Prints how many accesses each function must have made: of code
 * in assembly, so that no compiler chooses them.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { THREADS = 4, EACH = 100, PUTS = 7 };

/* An iteration accesses once; each call returns by one more. No flag changes in `put`. */
void hit(uint64_t *p, uint64_t n);
void put(uint64_t *p, uint64_t n);
__asm__(".text\n"
	".globl hit, put\n.type hit, @function\n.type put, @function\n.p2align 4\n"
	"hit:	xor %eax,%eax\n"
	"1:	addq $1,(%rdi)\n	inc %rax\n	cmp %rsi,%rax\n	jne 1b\n	ret\n"
	".size hit, .-hit\n.p2align 4\n"
	"put:	mov %rsi,%rcx\n"
	"1:	mov %rcx,(%rdi,%rcx,8)\n	lea -1(%rcx),%rcx\n"
	"	jrcxz 2f\n	jmp 1b\n"
	"2:	ret\n.size put, .-put");

static uint64_t cells[THREADS][64];
static __thread uint64_t handlers[PUTS + 1] __attribute__((aligned(64)));
static _Atomic uint64_t handled, wrong;
static _Atomic int over;
static int rounds;

static void handle(int number)
{
	(void)number;
	put(handlers, PUTS);
	handled++;
}

static void *work(void *arg)
{
	uint64_t *cell = arg;

	for (int i = 0; i < rounds; i++)
		hit(cell, EACH);
	wrong += *cell != (uint64_t)rounds * EACH;
	while (!over)
		;
	return NULL;
}

int main(int argc, char **argv)
{
	struct sigaction act = { .sa_handler = handle, .sa_flags = SA_RESTART };
	const struct timespec nap = { 0, 20000 };
	pthread_t threads[THREADS];

	rounds = argc > 1 ? atoi(argv[1]) : 20000;
	sigaction(SIGUSR1, &act, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, cells[i]);
	for (int i = 0; i < 2000; i++) {
		pthread_kill(threads[i % THREADS], SIGUSR1);
		if (i == 200)
			fputs("begun\n", stderr);
		nanosleep(&nap, NULL);
	}
	over = 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	if (wrong)
		puts("wrong: sums are not those of the program alone");
	printf("hit %llu 0\n", (unsigned long long)THREADS * rounds * (EACH + 1));
	printf("put %llu %llu\n", (unsigned long long)handled * (PUTS + 1),
	       (unsigned long long)handled * PUTS);
	return 0;
}
