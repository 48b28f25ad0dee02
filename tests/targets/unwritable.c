/*
 * unwritable [between]: threads call functions while the program sees to it that none of
 * its code can be written, as a check of itself may do; between, it can for a moment.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <sys/mman.h>
#define FUNCTIONS(X) X(main) X(worker) X(step) X(leaf)
#include "truth.h"

enum { THREADS = 2, ROUNDS = 3000, CALLS = 400000 };

BODY static long leaf(long x)
{
	CALLED(leaf);
	return x * 3 + 1;
}

BODY static long step(long x)
{
	CALLED(step);
	return leaf(x) ^ leaf(x + 1);
}

BODY static void *worker(void *arg)
{
	long sum = 0;

	CALLED(worker);
	for (long i = 0; i < CALLS; i++)
		sum += step(i);
	return (void *)(sum ^ (long)arg);
}

/* The code of the program. */
QUIET static int find_code(struct dl_phdr_info *info, size_t size, void *arg)
{
	size_t *code = arg;

	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_flags & PF_X) {
			code[0] = (info->dlpi_addr + info->dlpi_phdr[i].p_vaddr) & -4096ul;
			code[1] = info->dlpi_phdr[i].p_memsz;
			return 1;
		}
	return size == 0;
}

QUIET static void protect(const size_t *code, int between)
{
	for (int i = 0; i < ROUNDS; i++) {
		CHECK(!mprotect((void *)code[0], code[1], PROT_READ | PROT_EXEC));
		if (between && i % 2)
			CHECK(!mprotect((void *)code[0], code[1],
					PROT_READ | PROT_WRITE | PROT_EXEC));
		CHECK(!mprotect((void *)code[0], code[1], PROT_READ | PROT_EXEC));
	}
}

QUIET static void make_mistakes(const size_t *code)
{
	char *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	errno = 0;
	CHECK(mprotect((void *)(code[0] + 1), 1, PROT_READ) == -1 && errno == EINVAL);
	CHECK(!mprotect(page, 4096, PROT_READ | PROT_WRITE));
	CHECK(!pkey_mprotect(page, 1, PROT_READ | PROT_WRITE, -1));
	CHECK(page && !(*page = 0) && errno == EINVAL);
	munmap(page, 4096);
	CHECK(mprotect(page, 4096, PROT_READ) == -1 && errno == ENOMEM);
}

int main(int argc, char **argv)
{
	size_t code[2] = { 0 };
	pthread_t t[THREADS];

	CALLED(main);
	CHECK(dl_iterate_phdr(find_code, code));
	for (long i = 0; i < THREADS; i++)
		if (pthread_create(&t[i], NULL, worker, (void *)i))
			exit(2);
	protect(code, argc > 1);
	make_mistakes(code);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	truth_print();
	return truth_failed;
}
