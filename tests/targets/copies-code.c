/* copies-code: a runtime of its own. Two functions without rows for unwinding stand in one
 * piece, one calls the other, and the piece runs where it stands, and where the program has
 * copied it, as JavaScript engines do. */
#define FUNCTIONS(X) X(main) X(run)
#include "truth.h"

#include <sys/mman.h>

extern const char piece[], piece_end[];
long piece_outer(long);

__asm__(".text\n.p2align 4\npiece:\n"
	".type piece_adds,@function\npiece_adds:\n"
	"	lea 1(%rdi),%rax\n	nopl 8(%rax)\n	ret\n.size piece_adds,.-piece_adds\n"
	".p2align 4\n.type piece_outer,@function\npiece_outer:\n"
	"	sub $8,%rsp\n	lea (%rdi,%rdi),%rdi\n	call piece_adds\n	add $8,%rsp\n"
	"	ret\n.size piece_outer,.-piece_outer\npiece_end:\n");

BODY long run(const char *at, long i)
{
	CALLED(run);
	return ((long (*)(long))(at + ((const char *)piece_outer - piece)))(i);
}

BODY int main(void)
{
	size_t n = (size_t)(piece_end - piece);
	char *copy = mmap(NULL, n, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CALLED(main);
	if (copy == MAP_FAILED)
		return 1;
	memcpy(copy, piece, n);
	for (long i = 0; i < 1000; i++)
		if (run(piece, i) != 2 * i + 1 || run(copy, i) != 2 * i + 1)
			return 2;
	truth_print();
	return 0;
}
