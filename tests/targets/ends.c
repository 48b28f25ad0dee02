/*
 * ends FILE HOW: a process that ends or is replaced while detached threads go
 * on calling; their running truth is in FILE, see tally.h.
 *
 *	return, exit, quick, abort, kill	by the main thread
 *	thread-exit, thread-kill		by another
 *	exec, thread-exec			the new image calls, too
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include "tally.h"

#define THREADS 3
#define LEAST 3000		/* calls of each before the end */

static struct tally *tallies;
static char **arguments;

QUIET static void end(const char *how)
{
	char *again[] = { arguments[0], arguments[1], "again", NULL };

	if (strstr(how, "exec"))
		execv("/proc/self/exe", again);
	else if (strstr(how, "kill"))
		raise(SIGKILL);
	else if (!strcmp(how, "abort"))
		abort();
	else if (!strcmp(how, "quick"))
		_exit(0);
	else if (strcmp(how, "return"))
		exit(0);
}

QUIET static void *worker(void *arg)
{
	struct tally *t = arg;

	tally_mine(t);
	for (;;)
		tally_step(t);
	return NULL;
}

QUIET static void await_all(void)
{
	for (int i = 0; i < THREADS; i++)
		while (tally_returned(&tallies[i]) < LEAST)
			sched_yield();
}

QUIET static void *ender(void *how)
{
	await_all();
	end(how);
	return NULL;
}

QUIET static void start(void *(*body)(void *), void *arg)
{
	pthread_t t;

	CHECK(!pthread_create(&t, NULL, body, arg) && !pthread_detach(t));
}

/* After exec: its own calls go to the next tally. */
QUIET static int go_on(void)
{
	struct tally *t = &tallies[THREADS];

	tally_mine(t);
	for (int i = 0; i < 500; i++)
		tally_step(t);
	tally_done(t);
	return 0;
}

QUIET int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	arguments = argv;
	tallies = tally_open(argv[1]);
	if (!strcmp(argv[2], "again"))
		return go_on();
	for (int i = 0; i < THREADS; i++)
		start(worker, &tallies[i]);
	if (strncmp(argv[2], "thread-", 7)) {
		ender(argv[2]);
		return 0;
	}
	start(ender, argv[2]);
	for (;;)
		pause();
}
