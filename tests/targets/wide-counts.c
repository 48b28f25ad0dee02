/* wide-counts ROUNDS: 70,000 functions with a pad each, called in ROUNDS by each of
 * two threads; prints `all` and how many calls that were. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 70000, BYTES = 16 };

/* `nop5; lea 1(%rdi),%eax; ret` */
__asm__(".text\n.p2align 4\nmany:\n"
	".rept 70000\n"
	"1: .byte 0x0f, 0x1f, 0x44, 0, 0\nlea 1(%rdi), %eax\nret\n.p2align 4\n"
	".section __patchable_function_entries,\"aw\",@progbits\n.quad 1b\n.text\n"
	".endr\n");
extern unsigned char many[];

#define QUIET __attribute__((no_instrument_function))

static int rounds;

QUIET static void *work(void *arg)
{
	long sum = 0;

	for (int i = 0; i < rounds; i++)
		for (int k = 0; k < N; k++) {
			unsigned char *at = many + (size_t)k * BYTES;
			int (*f)(int);

			memcpy(&f, &at, sizeof f);
			sum += f(k) - k;
		}
	return sum == (long)rounds * N ? arg : NULL;
}

QUIET int main(int argc, char **argv)
{
	pthread_t t;
	void *other;

	rounds = argc > 1 ? atoi(argv[1]) : 1;
	pthread_create(&t, NULL, work, &t);
	if (!work(&t) || pthread_join(t, &other) || !other)
		return 1;
	printf("all %d\n", 2 * N * rounds);
	return 0;
}
