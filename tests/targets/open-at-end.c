/*
 * open-at-end HOW: a thread ends by itself in `ends_early` after 100 ms; main() calls outer(),
 * which calls inner(), which sleeps for 600 ms and then, by HOW, calls exit(), _exit(), kills
 * the process or waits for a signal that does. Prints `open NAME NS` of each: for how long it
 * has been open, just before that; and `waited NS`, for how long main()'s thread could have run
 * and had no CPU.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define BODY __attribute__((noinline))
#define QUIET __attribute__((no_instrument_function))

QUIET static void sleep_ms(long ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&t, NULL);
}

static long begun[3];

QUIET static long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

QUIET static void say(const char *name, long from)
{
	dprintf(1, "open %s %ld\n", name, now_ns() - from);
}

QUIET static void say_waited(void)
{
	FILE *f = fopen("/proc/thread-self/schedstat", "r");
	long ran = 0, waited = 0;

	if (f && fscanf(f, "%ld %ld", &ran, &waited) == 2)
		dprintf(1, "waited %ld\n", waited);
	if (f)
		fclose(f);
}

BODY static void ends_early(void)
{
	long from = now_ns();

	sleep_ms(100);
	say("ends_early", from);
	syscall(SYS_exit, 0);
}

QUIET static void *run(void *unused)
{
	ends_early();
	return unused;
}

BODY static void inner(const char *how)
{
	begun[2] = now_ns();
	sleep_ms(600);
	say_waited();
	say("main", begun[0]);
	say("outer", begun[1]);
	say("inner", begun[2]);
	if (!strcmp(how, "exit"))
		exit(0);
	if (!strcmp(how, "_exit"))
		_exit(0);
	if (!strcmp(how, "kill"))
		kill(getpid(), SIGKILL);
	for (;;)
		pause();
}

BODY static void outer(const char *how)
{
	begun[1] = now_ns();
	sleep_ms(100);
	inner(how);
	sleep_ms(1);
}

int main(int argc, char **argv)
{
	pthread_t t;

	begun[0] = now_ns();
	pthread_create(&t, NULL, run, NULL);
	outer(argc > 1 ? argv[1] : "exit");
	return 0;
}
