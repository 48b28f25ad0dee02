/*
 * close.cc - flick is closed while threads stand inside functions whose exit
 * probes are on: one returns afterwards, one throws, one leaves by longjmp.
 * Opened again while they stand there, too. Prints `ok`, or says what failed.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "flick.h"

#define PLAIN __attribute__((no_instrument_function))
#define BODY __attribute__((noinline))

enum { RETURN, THROW, JUMP, WAYS };
static int inside[2], go[WAYS][2];	/* pipes */
static jmp_buf out[WAYS];

BODY static int wait_inside(int way)
{
	char c = 'x';

	CHECK(write(inside[1], &c, 1) == 1 && read(go[way][0], &c, 1) == 1);
	if (way == THROW)
		throw way;
	if (way == JUMP)
		longjmp(out[way], 1);
	return way;
}

BODY static int outer(int way) { return 10 + wait_inside(way); }

BODY static int leave(int way)
{
	if (setjmp(out[way]))
		return 30;
	try {
		return outer(way);
	} catch (int thrown) {
		return 20 + thrown;
	}
}

PLAIN static void *run(void *arg)
{
	int way = (int)(long)arg;

	CHECK(leave(way) == (way == RETURN ? 10 : way == THROW ? 20 + THROW : 30));
	CHECK(leave(way) == (way == RETURN ? 10 : way == THROW ? 20 + THROW : 30));
	return NULL;
}

PLAIN static void until_all_are_inside()
{
	char c;

	for (int i = 0; i < WAYS; i++)
		CHECK(read(inside[0], &c, 1) == 1);
}

PLAIN static void let_all_go()
{
	for (int i = 0; i < WAYS; i++)
		CHECK(write(go[i][1], "x", 1) == 1);
}

PLAIN static flick *open_all()
{
	flick *f;

	CHECK(flick_open(&f, NULL) == 0);
	CHECK(flick_stage(f, "*", FLICK_ON) >= 6 && flick_commit(f) >= 6);
	return f;
}

PLAIN int main()
{
	pthread_t t[WAYS];
	flick *f;

	CHECK(pipe(inside) == 0);
	for (int i = 0; i < WAYS; i++)
		CHECK(pipe(go[i]) == 0);
	f = open_all();
	for (long i = 0; i < WAYS; i++)
		CHECK(pthread_create(&t[i], NULL, run, (void *)i) == 0);
	until_all_are_inside();
	flick_close(f);			/* all three stand inside */
	let_all_go();
	until_all_are_inside();
	f = open_all();			/* entered without, left with probes */
	let_all_go();
	for (int i = 0; i < WAYS; i++)
		pthread_join(t[i], NULL);
	flick_close(f);
	puts("ok");
	return 0;
}
