/*
 * patch-set.c - a live update: several functions get new bodies as one step,
 * all or none. flick/patch.h.
 *
 *	cc -O2 -fpatchable-function-entry=5 patch-set.c \
 *		$(pkg-config --cflags --libs flick) -o patch-set
 *	./patch-set
 *
 * The compiler leaves NOPs at each entry; the update joins them to a jump. What
 * stands there otherwise is no place for five bytes, so it is looked at first. A
 * row of NOPs is several instructions, so this is done before there are other
 * threads; the updates themselves may then be switched under any number.
 */
#include <flick/patch.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BODY __attribute__((noinline, noclone))

BODY int price(int n) { __asm__(""); return 3 * n; }
BODY int tax(int n) { __asm__(""); return n / 10; }
BODY int new_price(int n) { __asm__(""); return 4 * n; }
BODY int new_tax(int n) { __asm__(""); return n / 5; }

static void must(int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "%s: %s\n", what, flick_error(err));
	exit(1);
}

static unsigned char *entry(int (*f)(int))
{
	unsigned char *at;

	memcpy(&at, &f, sizeof at);
	at += memcmp(at, "\xf3\x0f\x1e\xfa", 4) ? 0 : 4;	/* endbr64 */
	if (memcmp(at, "\x90\x90\x90\x90\x90", 5) && memcmp(at, "\x0f\x1f\x44\0", 4)) {
		fprintf(stderr, "no row of NOPs at an entry: compile with "
			"-fpatchable-function-entry=5\n");
		exit(1);
	}
	return at;
}

/* One NOP of five bytes, which `jmp to` can take the place of. */
static void prepare(struct flick_patch *p, int (*from)(int), int (*to)(int))
{
	unsigned char jump[5] = { 0xe9 }, *at = entry(from);
	int32_t rel = (int32_t)(entry(to) - (at + 5));

	memcpy(jump + 1, &rel, sizeof rel);
	must(flick_text_writable(at, 5), "writable");
	memcpy(at, "\x0f\x1f\x44\0\0", 5);
	must(flick_patch_init(p, at, jump, sizeof jump), "init");
}

int main(void)
{
	struct flick_patch p[2];
	struct flick_change update[2] = { { &p[0], FLICK_ON }, { &p[1], FLICK_ON } };
	size_t bad = 0;

	must(flick_patch_open(NULL), "open");
	prepare(&p[0], price, new_price);
	prepare(&p[1], tax, new_tax);
	printf("before: %d\n", price(100) + tax(300));
	must(flick_patch_commit(update, 2, &bad), "commit");
	printf("updated: %d\n", price(100) + tax(300));
	update[0].to = update[1].to = FLICK_OFF;
	must(flick_patch_commit(update, 2, &bad), "commit");
	printf("taken back: %d\n", price(100) + tax(300));
	must(flick_patch_release(&p[0]), "release");
	must(flick_patch_release(&p[1]), "release");
	return 0;
}
