/*
 * torture/halt - first instructions are joined, and put back, under threads that run through
 * them all the time and take signals there.
 *
 *	rounds 200: functions 4762 led 214 refused 0 | wrong 0
 *
 * Each function begins with several short instructions and returns its own number; a set of
 * some of them is armed, and put back. Who is found among such instructions, or will return
 * there from a handler, on this stack or another, is led to their copy. A wrong number right
 * of the bar is a bug in src/patch/halt*.c, as is a crash. FLICK_TORTURE=long takes longer.
 *
 * timeout: 300
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "os/os.h"
#include "patch/halt.h"
#include "patch/patch.h"

enum { FUNCTIONS = 48, THREADS = 5, STRIDE = 67, STUBS = 8192, WINDOW = 5 };

/* `at`: where instructions begin, a bit each. */
static const struct { unsigned char bytes[WINDOW], at; } firsts[] = {
	{ { 0x55, 0x48, 0x89, 0xe5, 0x5d }, 1 << 1 | 1 << 4 },	/* push; mov; pop */
	{ { 0x53, 0x5b, 0x90, 0x50, 0x58 }, 0x1e },		/* push; pop; nop; push; pop */
	{ { 0x41, 0x57, 0x41, 0x5f, 0x90 }, 1 << 2 | 1 << 4 },	/* push; pop; nop */
	{ { 0xf3, 0x90, 0xf3, 0x90, 0x90 }, 1 << 2 | 1 << 4 },	/* pause; pause; nop */
	{ { 0x90, 0xf3, 0x90, 0xeb, 0x00 }, 1 << 1 | 1 << 3 },	/* nop; pause; jmp .+2 */
};

static unsigned char *code;
static struct fl_patch patches[FUNCTIONS];
static uint32_t over, quiet, wrong;
static pthread_t threads[THREADS], poker;

static unsigned char *function(size_t i)
{
	return code + i * STRIDE;
}

/* The first instructions, then on behind those of the function. */
static void put_stub(size_t i, unsigned char *at)
{
	int32_t to = (int32_t)(function(i) + WINDOW - (at + WINDOW + 5));

	memcpy(at, function(i), WINDOW);
	at[WINDOW] = 0xe9;
	memcpy(at + WINDOW + 1, &to, sizeof to);
}

/* Where both stubs are is told by one byte (plan.c). */
static unsigned char *stub(size_t i)
{
	unsigned char *at = code + STUBS + i * 512;
	uint8_t low = (uint8_t)(at - (function(i) + WINDOW));

	return low > 200 ? at + 56 : at;
}

static int make(size_t i)
{
	size_t kind = i % ARRAY_LEN(firsts);
	unsigned char *f = function(i);
	struct fl_plan_in in = {
		.at = (uintptr_t)f, .form = FL_FORM_BODY, .room = WINDOW,
		.off = (uintptr_t)stub(i), .on = (uintptr_t)stub(i) + 16,
	};
	int32_t number = (int32_t)i;
	uint64_t datum;

	memcpy(f, firsts[kind].bytes, WINDOW);
	f[WINDOW] = 0xb8;			/* mov $number,%eax; ret */
	memcpy(f + WINDOW + 1, &number, sizeof number);
	f[WINDOW + 5] = 0xc3;
	put_stub(i, stub(i));
	put_stub(i, stub(i) + 16);
	for (uint8_t k = 1; k < WINDOW; k++)
		in.copies[k] = firsts[kind].at >> k & 1 ? k : 0;
	return fl_arch_plan(&patches[i], &in, &datum);
}

/* ---- threads ------------------------------------------------------------------------ */

static void on_signal(int sig)
{
	(void)sig;
	for (int i = 0; i < 2000; i++)
		fl_arch_pause();
}

static void *run(void *alt)
{
	stack_t other = { .ss_sp = alt, .ss_size = 1 << 16 };

	if (alt)
		sigaltstack(&other, NULL);
	for (size_t i = 0; !load_relaxed(&over); i = (i + 1) % FUNCTIONS)
		if (((size_t (*)(void))(uintptr_t)function(i))() != i)
			__atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
	return alt;
}

static void *poke(void *arg)
{
	for (unsigned int i = 0; !load_relaxed(&quiet); i++) {
		pthread_kill(threads[i % THREADS], i % 3 ? SIGUSR1 : SIGUSR2);
		usleep(50);
	}
	return arg;
}

/* ---- rounds -------------------------------------------------------------------------- */

/* What is refused leaves the set. */
static size_t change(struct fl_set *set, unsigned int which, int from, int to, size_t *refused)
{
	size_t bad;
	int err;

	set->n = 0;
	for (size_t i = 0; i < FUNCTIONS; i++)
		if (patches[i].state == from && (from == FL_OFF || (which >> i % 7 & 1)))
			fl_set_stage(set, &patches[i], from, to);
	while (set->n && (err = fl_set_commit(set, &bad))) {
		if (err != FLE_STANDS) {
			printf("%d\n", err);
			exit(1);
		}
		set->changes[bad] = set->changes[--set->n];
		++*refused;
	}
	return set->n;
}

static int torture(unsigned int rounds)
{
	struct fl_set set;
	size_t armed = 0, refused = 0;

	if (fl_set_make(&set, FUNCTIONS))
		return 1;
	for (unsigned int i = 0; i < rounds; i++) {
		armed += change(&set, (unsigned int)rand(), FL_OLD, FL_OFF, &refused);
		change(&set, 0, FL_OFF, FL_OLD, &refused);
	}
	store_relaxed(&quiet, 1);		/* before there is a thread less */
	pthread_join(poker, NULL);
	store_relaxed(&over, 1);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (size_t i = 0; i < FUNCTIONS; i++)
		wrong += memcmp(function(i), firsts[i % ARRAY_LEN(firsts)].bytes, WINDOW) != 0;
	printf("rounds %u: functions %zu led %u refused %zu | wrong %u\n", rounds, armed,
	       fl_halt_moved(), refused, wrong);
	return wrong || !armed;
}

int main(void)
{
	const char *how = getenv("FLICK_TORTURE");
	unsigned int rounds = how && !strcmp(how, "long") ? 40000 : 200;
	struct sigaction act = { .sa_handler = on_signal };

	code = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (fl_patch_open(NULL))
		return 77;
	sigaction(SIGUSR1, &act, NULL);
	act.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR2, &act, NULL);
	for (size_t i = 0; i < FUNCTIONS; i++)
		if (make(i) || fl_claim_alone(&patches[i]))
			return 1;
	for (size_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, run, i % 2 ? malloc(1 << 16) : NULL);
	pthread_create(&poker, NULL, poke, NULL);
	return torture(rounds);
}
