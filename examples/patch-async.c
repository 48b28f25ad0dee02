/*
 * patch-async.c - thousands of instructions changed at once, and nobody waits:
 * start them all, go on working, finish them when there is time. flick/patch.h.
 *
 *	cc -O2 patch-async.c $(pkg-config --cflags --libs flick) -o patch-async
 *	./patch-async
 */
#include <errno.h>
#include <flick/patch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { N = 5000, STEP = 13, BYTES = 1 << 17 };	/* at every offset of a word */

static struct flick_patch places[N];
static unsigned char *code;

static void must(int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "%s: %s\n", what, flick_error(err));
	exit(1);
}

/* Functions that return 1: `mov $1,%eax; ret`. */
static void emit(void)
{
	code = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < N; i++)
		memcpy(code + i * STEP, "\xb8\1\0\0\0\xc3", 6);
	mprotect(code, BYTES, PROT_READ | PROT_EXEC);
}

static int sum(void)
{
	int (*one)(void), total = 0;

	for (int i = 0; i < N; i++) {
		void *at = code + i * STEP;

		memcpy(&one, &at, sizeof one);
		total += one();
	}
	return total;
}

/* Each round moves every place one step on; they share the synchronisations. */
static int finish_all(void)
{
	int rounds = 0, pending = 1;

	for (; pending; rounds++) {
		pending = 0;
		for (int i = 0; i < N; i++)
			pending += flick_patch_finish(&places[i]) == -EAGAIN;
	}
	return rounds;
}

int main(void)
{
	/* `mov $0x02020202,%eax`: more than one byte changes. */
	static const unsigned char two[5] = { 0xb8, 2, 2, 2, 2 };

	emit();
	must(flick_patch_open(NULL), "open");
	must(flick_text_writable(code, BYTES), "writable");
	for (int i = 0; i < N; i++)
		must(flick_patch_init(&places[i], code + i * STEP, two, sizeof two), "init");
	printf("before: %d\n", sum());
	for (int i = 0; i < N; i++)
		must(flick_patch_start(&places[i], FLICK_ON), "start");
	sum();					/* old or new, each of them whole */
	printf("finished in %s\n", finish_all() <= 4 ? "a few rounds" : "many rounds");
	printf("after: %s\n", sum() == (int)(N * 0x02020202u) ? "all changed" : "wrong");
	for (int i = 0; i < N; i++)
		must(flick_patch_release(&places[i]), "release");
	must(flick_text_restore(code, BYTES), "restore");
	printf("released: %d\n", sum());
	return 0;
}
