/*
 * open-at-end HOW: a thread ends by itself in `ends_early` after 100 ms; main() calls outer(),
 * which calls inner(), which sleeps for 600 ms and then, by HOW, calls exit(), _exit(), kills
 * the process or waits for a signal that does.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
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

BODY static void ends_early(void)
{
	sleep_ms(100);
	syscall(SYS_exit, 0);
}

QUIET static void *run(void *unused)
{
	ends_early();
	return unused;
}

BODY static void inner(const char *how)
{
	sleep_ms(600);
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
	sleep_ms(100);
	inner(how);
	sleep_ms(1);
}

int main(int argc, char **argv)
{
	pthread_t t;

	pthread_create(&t, NULL, run, NULL);
	outer(argc > 1 ? argv[1] : "exit");
	return 0;
}
