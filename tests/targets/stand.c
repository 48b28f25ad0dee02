/*
 * stand.c - flick is closed, opened and closed again while a thread stands at an
 * instruction of a call whose probes are on: at the first, and in turn at each
 * further one, in the program's code, in glue, in flick's routines and in the
 * handler. Then the thread goes on.
 *
 * Prints how often it stood, and `ok`; or says what was wrong.
 */
#include "truth.h"

#include <pthread.h>
#include <signal.h>

#include "flick.h"

#define NEED(x) do { \
	if (!(x)) { \
		printf("wrong: step %ld: line %d: %s\n", stop_at, __LINE__, #x); \
		fflush(stdout); \
		_exit(1); \
	} \
} while (0)

/* What else traps is said with what stands there. */
#define NEED_STEP(info, pc) do { \
	if ((info)->si_code != TRAP_TRACE) { \
		printf("wrong: step %ld, at the %ldth: code %d at %p: ... %02x | %02x %02x\n", \
		       stop_at, steps, (info)->si_code, (const void *)(pc), (pc)[-1], \
		       (pc)[0], (pc)[1]); \
		fflush(stdout); \
		_exit(1); \
	} \
} while (0)

enum { TRACE = 0x100, OVER = 'o', HERE = 'h' };

BODY int leaf(int x) { return x + 1; }
BODY int twice(int x) { return x * 2; }
BODY int work(int x) { leaf(x); return twice(leaf(x)); }

extern char __executable_start, etext;
static char *before;
static flick *f;
static long steps, stop_at;
static int told[2], go[2];
static uint64_t handled;

QUIET static size_t text_bytes(void)
{
	return (size_t)(&etext - &__executable_start);
}

QUIET static void check_text(void)
{
	const char *now = &__executable_start;

	for (size_t i = 0; i < text_bytes(); i++)
		if (now[i] != before[i]) {
			printf("%zx is %02x, not %02x\n", i, now[i] & 255, before[i] & 255);
			NEED(!"the text is the file's");
		}
}

QUIET static void on_step(int sig, siginfo_t *info, void *context)
{
	char c;

	(void)sig;
	NEED_STEP(info, (unsigned char *)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP]);
	if (++steps != stop_at)
		return;
	NEED(write(told[1], &(char){ HERE }, 1) == 1 && read(go[0], &c, 1) == 1);
}

/* The call in the middle is made step by step. */
QUIET __attribute__((noinline)) static int step(int x)
{
	int got;

	__asm__ volatile("lea -128(%%rsp), %%rsp\n\tpushfq\n\torq %2, (%%rsp)\n\tpopfq\n\t"
			 "call *%3\n\t"
			 "pushfq\n\tandq %4, (%%rsp)\n\tpopfq\n\tlea 128(%%rsp), %%rsp"
			 : "=a"(got), "+D"(x)
			 : "i"(TRACE), "r"(work), "i"(~TRACE)
			 : "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc");
	return got;
}

QUIET static void *victim(void *arg)
{
	steps = 0;
	NEED(work(3) == 8);			/* the first is a longer way */
	NEED(step(4) == 10);
	NEED(write(told[1], &(char){ OVER }, 1) == 1);
	return arg;
}

QUIET static void on_hit(uint32_t id, void *arg)
{
	(void)id;
	(void)arg;
	handled++;
}

QUIET static uint32_t open_and_on(void)
{
	struct flick_opt o = { .size = sizeof o, .max_probes = 4096 };
	uint32_t on = 0;

	NEED(flick_open(&f, &o) == 0);
	for (uint32_t id = 0; id < flick_count(f); id++)
		on += flick_on(f, id, on_hit, NULL) == 0;
	return on;
}

/* False when the call was over before. */
QUIET static int stand(long at)
{
	pthread_t t;
	char c;

	stop_at = at;
	NEED(open_and_on() > 0);
	NEED(!pthread_create(&t, NULL, victim, NULL) && read(told[0], &c, 1) == 1);
	flick_close(f);
	check_text();
	if (c == HERE) {
		open_and_on();
		flick_close(f);
		check_text();
		NEED(write(go[1], "", 1) == 1 && read(told[0], &(char){ 0 }, 1) == 1);
	}
	pthread_join(t, NULL);
	return c == HERE;
}

QUIET int main(void)
{
	struct sigaction sa = { .sa_sigaction = on_step, .sa_flags = SA_SIGINFO };
	long at = 1;

	before = malloc(text_bytes());
	memcpy(before, &__executable_start, text_bytes());
	NEED(!pipe(told) && !pipe(go) && !sigaction(SIGTRAP, &sa, NULL));
	while (stand(at))
		at++;
	NEED(handled > 0);
	printf("stood %ld times\nok\n", at - 1);
	return 0;
}
