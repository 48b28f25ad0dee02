/*
 * reopen.c - flick.h opened by a program that does so again and again.
 *
 *	again	opened twice, opened after a close, closed with nothing staged, with
 *		nothing on and with all on; two threads live through all of it. Hits are
 *		exact each time. Prints `ok`, or says what failed
 *	record	flick_open() is refused, as a recorder has the process by another libflick; the
 *		program goes on, and says how often it called what
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "flick.h"

#define PLAIN __attribute__((no_instrument_function))
#define BODY __attribute__((noinline))

enum { ROUNDS = 12, CALLS = 1000, THREADS = 2 };

static atomic_int calls_left[THREADS], over;

BODY int work(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}

/* Calls as often as it is told. */
PLAIN static void *caller(void *left)
{
	while (!over)
		if (*(atomic_int *)left > 0) {
			work(1);
			--*(atomic_int *)left;
		}
	return NULL;
}

PLAIN static void call_all(void)
{
	for (int i = 0; i < THREADS; i++)
		calls_left[i] = CALLS;
	for (int i = 0; i < THREADS; i++)
		while (calls_left[i])
			;
	for (int i = 0; i < CALLS; i++)
		work(i);
}

PLAIN static uint32_t entry_of_work(flick *f)
{
	struct flick_probe p = { .size = sizeof p };

	for (uint32_t id = 0; id < flick_count(f); id++) {
		CHECK(flick_describe(f, id, &p) == 0);
		if (p.kind == FLICK_ENTRY && p.function == (void *)work)
			return id;
	}
	CHECK(!"work has a probe");
	return 0;
}

PLAIN static void one_round(int round)
{
	flick *f, *again;
	uint32_t id;

	CHECK(flick_open(&f, NULL) == 0);
	CHECK(flick_open(&again, NULL) == FLICK_E_OPEN);
	id = entry_of_work(f);
	if (round % 4 == 0) {			/* nothing to do */
		call_all();
		CHECK(flick_hits(f, id) == 0);
		flick_close(f);
		return;
	}
	CHECK(flick_commit(f) == 0);		/* nothing staged */
	CHECK(flick_stage(f, "work", FLICK_ON) > 0);
	CHECK(flick_commit(f) > 0);
	call_all();
	CHECK(flick_hits(f, id) == (THREADS + 1) * CALLS);
	if (round % 4 == 1) {			/* nothing on */
		CHECK(flick_off(f, id) == 0);
		call_all();
	}
	CHECK(flick_open(&again, NULL) == FLICK_E_OPEN);
	CHECK(round % 4 == 1 || flick_on(f, id, NULL, NULL) == 0);
	flick_close(f);
	call_all();
}

PLAIN static void open_again(void)
{
	unsigned char before[64], after[64];
	pthread_t thread[THREADS];

	memcpy(before, (void *)work, sizeof before);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, caller, &calls_left[i]);
	flick_close(NULL);
	for (int i = 0; i < ROUNDS; i++)
		one_round(i);
	memcpy(after, (void *)work, sizeof after);
	CHECK(!memcmp(before, after, sizeof before));
	over = 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	puts("ok");
}

PLAIN static void be_recorded(void)
{
	flick *f;

	for (int i = 0; i < 2; i++)
		CHECK(flick_open(&f, NULL) == FLICK_E_RECORDED);
	for (int i = 0; i < CALLS; i++)
		work(i);
	printf("count work %d\n", CALLS);
}

PLAIN int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "record"))
		be_recorded();
	else
		open_again();
	return 0;
}
