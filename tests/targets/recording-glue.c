/*
 * recording-glue [wait]: how much glue of this process puts its records itself, x86-64. It
 * calls a function, and with `wait` goes on until its input ends; then it prints
 *
 *	itself N	whose mask says so
 *	fenced N	and that reads the clock behind a fence
 */
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* rdtsc; shl $32,%rdx; or %rdx,%rax; mov %fs:..,%rdx; and then an operand: mask(%rip). */
static const unsigned char reads[] = {
	0x0f, 0x31, 0x48, 0xc1, 0xe2, 0x20, 0x48, 0x09, 0xd0, 0x64, 0x48, 0x8b, 0x14, 0x25
};
static const unsigned char fence[] = { 0x0f, 0xae, 0xe8 };
enum { MASK = 22 };

static unsigned itself, fenced;

static volatile int last;

__attribute__((noinline, noipa)) int work(int x)
{
	last = x * 12345 + 6789;
	return x + 1;
}

static void look_at(const unsigned char *at)
{
	const unsigned char *operand = at + 2 + MASK;
	uint64_t mask;
	int32_t away;

	memcpy(&away, operand, sizeof(away));
	memcpy(&mask, operand + sizeof(away) + away, sizeof(mask));
	if (mask != UINT64_MAX)
		return;
	itself++;
	fenced += !memcmp(at - sizeof(fence), fence, sizeof(fence));
}

/* Of code that is no file's. */
static void look_between(unsigned long lo, unsigned long hi)
{
	const unsigned char *at = (const unsigned char *)lo, *end = (const unsigned char *)hi;

	while ((at = memmem(at, (size_t)(end - at), reads, sizeof(reads)))) {
		look_at(at);
		at += sizeof(reads);
	}
}

int main(int argc, char **argv)
{
	struct pollfd in = { .fd = 0, .events = POLLIN };
	FILE *maps;
	char line[512];
	int x = 0;

	(void)argv;
	do
		for (int i = 0; i < 1000; i++)
			x = work(x);
	while (argc > 1 && poll(&in, 1, 1) == 0);
	maps = fopen("/proc/self/maps", "r");
	while (maps && fgets(line, sizeof(line), maps)) {
		unsigned long lo, hi, inode = 1;
		char prot[8];

		if (sscanf(line, "%lx-%lx %7s %*s %*s %lu", &lo, &hi, prot, &inode) == 4 &&
		    !inode && !strcmp(prot, "r-xp") && !strchr(line, '['))
			look_between(lo, hi);
	}
	printf("itself %u\nfenced %u\n", itself, fenced);
	return !maps || !x;
}
