/*
 * attached [THREADS]: works until it gets SIGTERM, and looks whether anything happens to it
 * that would not happen by itself. Half of its threads compute, others wait, in each kind of
 * system call. work() calls leaf() ten times. At its end: `fine`, or what was wrong.
 *
 * What may be interrupted by a signal is not, as none is sent to it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#define PLAIN __attribute__((no_instrument_function))

static volatile sig_atomic_t is_over;
static const char *volatile wrong;
volatile long sink;

__attribute__((noinline)) long leaf(long x)
{
	sink = x;
	return x * 3;
}

__attribute__((noinline)) long work(long n)
{
	long sum = 0;

	for (long i = 0; i < n; i++)
		sum += leaf(i);
	return sum;
}

PLAIN static void on_term(int sig)
{
	(void)sig;
	is_over = 1;
}

PLAIN static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Vector registers, flags, the red zone: a sum that is always the same. */
PLAIN static void compute(void)
{
	double x = 0, y = 1;
	long sum = 0;

	for (int i = 1; i < 2000; i++) {
		x += 1.0 / i;
		y = y * 1.0000001 + x;
		sum += i % 7 ? i : -i;
	}
	if (x < 8.177 || x > 8.179 || y < 1 || sum != 1428430)
		wrong = "a sum";
	if (work(10) != 135)
		wrong = "a result";
}

PLAIN static void allocate(void)
{
	char *p = malloc(100 + (size_t)rand() % 5000);

	if (!p)
		wrong = "malloc";
	memset(p, 1, 100);
	free(p);
}

PLAIN static void pause_a_while(int kind)
{
	struct timespec t = { 0, 20000000 }, left;
	static __thread int ep = -1;
	struct epoll_event e;
	long from = now_ms(), took;
	sem_t sem;
	int err = 0;

	switch (kind) {
	case 0:
		err = nanosleep(&t, &left);
		break;
	case 1:
		err = poll(NULL, 0, 20);
		break;
	case 2:
		if (ep < 0)
			ep = epoll_create1(0);
		err = epoll_wait(ep, &e, 1, 20);
		break;
	case 3:
		sem_init(&sem, 0, 0);
		clock_gettime(CLOCK_REALTIME, &t);
		t.tv_nsec += 20000000;
		t.tv_sec += t.tv_nsec / 1000000000;
		t.tv_nsec %= 1000000000;
		err = sem_timedwait(&sem, &t) == -1 && errno == ETIMEDOUT ? 0 : -1;
		break;
	}
	took = now_ms() - from;
	if (is_over)
		return;
	if (err)
		wrong = kind == 0 ? "nanosleep" : kind == 1 ? "poll" :
			kind == 2 ? "epoll_wait" : "sem_timedwait";
	if (took < 18)
		wrong = "a wait ended early";
}

PLAIN static void *run(void *arg)
{
	long kind = (long)arg;

	while (!is_over && !wrong) {
		for (int i = 0; i < 20; i++) {
			compute();
			allocate();
		}
		if (kind % 2)
			pause_a_while((int)(kind / 2 % 4));
	}
	return NULL;
}

PLAIN int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 0;
	pthread_t *threads = calloc((size_t)n + 1, sizeof(*threads));

	signal(SIGTERM, on_term);
	for (long i = 0; i < n; i++)
		pthread_create(&threads[i], NULL, run, (void *)(i + 1));
	puts("ready");
	fflush(stdout);
	run((void *)(argc > 2 ? atol(argv[2]) : 0));
	for (long i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	puts(wrong ? wrong : "fine");
	return wrong != NULL;
}
