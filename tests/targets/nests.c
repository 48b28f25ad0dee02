/*
 * nests: stops its parent, the recorder, for a second, in which it makes calls, and so does a
 * handler that comes 5,000 times a second and may nest. Prints how much of the stack it came
 * to use.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile int sink;
static const char *volatile lowest;

__attribute__((noinline)) static void work(void)
{
	for (int i = 0; i < 20; i++)
		sink += i;
}

static void on_alarm(int sig)
{
	const char here = 0;

	(void)sig;
	if (&here < lowest)
		lowest = &here;
	work();
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(void)
{
	struct sigaction a = { .sa_handler = on_alarm, .sa_flags = SA_NODEFER };
	struct itimerval often = { { 0, 200 }, { 0, 200 } }, never = { { 0, 0 }, { 0, 0 } };
	pid_t recorder = getppid(), child = fork();
	const char here = 0;
	double end;

	lowest = &here;
	if (!child) {
		sleep(1);
		kill(recorder, SIGCONT);
		_exit(0);
	}
	sigaction(SIGALRM, &a, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	kill(recorder, SIGSTOP);
	for (end = now() + 1.2; now() < end;)
		work();
	setitimer(ITIMER_REAL, &never, NULL);
	waitpid(child, NULL, 0);
	printf("%ld KiB\n", (long)(&here - lowest) / 1024);
	return 0;
}
