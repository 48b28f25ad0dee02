/*
 * patch-call.c - a call site that is switched on and off while a thread runs
 * through it: what a JIT does with its hooks. flick/patch.h.
 *
 *	cc -O2 -pthread patch-call.c $(pkg-config --cflags --libs flick) -o patch-call
 *	./patch-call
 */
#include <flick/patch.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* A call across two lines; the counter has a page of its own. */
enum { SWITCHES = 100000, SITE = 61, HOOK = 256, COUNTER = 4096 };

static unsigned char *code;
static volatile uint64_t *met;
static volatile uint64_t calls;
static volatile int stop;

static void must(int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "%s: %s\n", what, flick_error(err));
	exit(1);
}

/* `nop5; ret`, and a hook that counts: `incq COUNTER(%rip); ret`. */
static void emit(void)
{
	int32_t to_met = COUNTER - HOOK - 7;

	code = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	met = (volatile uint64_t *)(code + COUNTER);
	memcpy(code + SITE, "\x0f\x1f\x44\0\0\xc3", 6);
	memcpy(code + HOOK, "\x48\xff\x05\0\0\0\0\xc3", 8);
	memcpy(code + HOOK + 3, &to_met, 4);
	mprotect(code, 4096, PROT_READ | PROT_WRITE | PROT_EXEC);
}

static void *run(void *arg)
{
	void (*site)(void);
	void *at = code + SITE;

	memcpy(&site, &at, sizeof site);
	while (!stop) {
		site();
		calls++;
	}
	return arg;
}

int main(void)
{
	struct flick_patch hook;
	pthread_t thread;
	char why[120];

	emit();
	must(flick_patch_open(NULL), "open");
	must(flick_call_init(&hook, code + SITE, code + HOOK, FLICK_FLAGS_DEAD), "init");
	flick_patch_why(&hook, why, sizeof why);
	printf("tactic %s: %s\n", flick_patch_tactic(&hook), why);

	must(pthread_create(&thread, NULL, run, NULL) ? -1 : 0, "thread");
	while (!calls)
		;				/* until it runs; the hook is off */
	for (int i = 0; i < SWITCHES; i++)
		must(i & 1 ? flick_call_off(&hook) : flick_call_on(&hook), "switch");
	must(flick_call_on(&hook), "on");
	for (uint64_t before = *met; *met == before;)
		;				/* until the hook is met */
	stop = 1;
	pthread_join(thread, NULL);
	must(flick_patch_release(&hook), "release");
	printf("switched %d times, %s\n", SWITCHES,
	       calls > *met ? "the hook was met at some calls" : "never off");
	return memcmp(code + SITE, "\x0f\x1f\x44\0\0", 5) != 0;
}
