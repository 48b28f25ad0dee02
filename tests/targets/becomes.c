/*
 * becomes main|thread N MS: threads call work(), and so does main, for MS, or for 0 until
 * SIGUSR1; then main, or one of them, becomes this program anew, N times. The last one goes on
 * until SIGTERM. Prints `ready`, and at its end `fine`.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 3 };

static volatile sig_atomic_t is_over, is_asked;
static volatile long sink;
static char **args;
static int left;
static long until;

static void on_term(int sig)
{
	(void)sig;
	is_over = 1;
}

static void on_usr1(int sig)
{
	(void)sig;
	is_asked = 1;
}

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int is_due(const char *who)
{
	return left && !strcmp(args[1], who) && (until ? now_ms() >= until : is_asked);
}

__attribute__((noinline)) static void work(void)
{
	for (int i = 0; i < 100; i++)
		sink += i;
}

static void *call(void *who)
{
	char number[16];

	while (!is_over && !is_due(who))
		work();
	if (is_over)
		return NULL;
	snprintf(number, sizeof(number), "%d", left - 1);
	execl("/proc/self/exe", args[0], args[1], number, args[3], "again", (char *)NULL);
	puts("exec fails");
	exit(1);
}

int main(int argc, char **argv)
{
	static char main_thread[] = "main", first[] = "thread", other[] = "";
	pthread_t t[THREADS];

	if (argc < 4)
		return 2;
	args = argv;
	left = atoi(argv[2]);
	until = atol(argv[3]) ? now_ms() + atol(argv[3]) : 0;
	signal(SIGTERM, on_term);
	signal(SIGUSR1, on_usr1);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, call, i ? other : first);
	if (argc == 4) {
		puts("ready");
		fflush(stdout);
	}
	call(main_thread);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	puts("fine");
	return 0;
}
