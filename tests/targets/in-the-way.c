/*
 * in-the-way vfork|word MS: threads call first() and second() until SIGTERM, and one is in the
 * way of who changes their first bytes, for MS and then not for a fifth of it: it waits for a
 * child of vfork(), or keeps an address behind first()'s first byte. With `main` main waits for
 * such a child, from SIGUSR1 on for MS. Prints `ready` and at its end `fine`.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t is_over;
static unsigned long us;
volatile long sink;

static void on_term(int sig)
{
	(void)sig;
	is_over = 1;
}

__attribute__((noinline)) long first(long x)
{
	sink = x;
	return x * 3;
}

__attribute__((noinline)) long second(long x)
{
	long sum = 0;

	for (long i = 0; i < x; i++)
		sum += first(i);
	return sum;
}

static long (*volatile entry)(long) = first;

static void *call(void *arg)
{
	while (!is_over)
		second(10);
	return arg;
}

static void wait_for_child(void)
{
	pid_t child = vfork();

	if (!child) {
		usleep(us);
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

static void keep_word(void)
{
	static const unsigned char pad[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	volatile uintptr_t place = (uintptr_t)entry + 1;

	if (!memcmp((void *)entry, pad, sizeof(pad)))
		place += sizeof(pad);
	usleep(us);
	place = 0;
}

static void *stand(void *how)
{
	while (!is_over) {
		((void (*)(void))how)();
		usleep(us / 5);
	}
	return NULL;
}

static volatile sig_atomic_t is_asked;

static void on_usr1(int sig)
{
	(void)sig;
	is_asked = 1;
}

/* Another thread has the signal: one that is traced would stop. */
static void call_in_main(void)
{
	pthread_t t[2];
	sigset_t usr1;

	signal(SIGUSR1, on_usr1);
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, call, NULL);
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &usr1, NULL);
	puts("ready");
	fflush(stdout);
	while (!is_over) {
		if (is_asked) {
			is_asked = 0;
			wait_for_child();
		}
		second(10);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	puts("fine");
	exit(0);
}

int main(int argc, char **argv)
{
	pthread_t t[3];

	us = 1000 * strtoul(argc > 2 ? argv[2] : "100", NULL, 10);
	signal(SIGTERM, on_term);
	if (argc > 1 && !strcmp(argv[1], "main"))
		call_in_main();
	for (long i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, call, NULL);
	pthread_create(&t[2], NULL, stand, argc > 1 && !strcmp(argv[1], "word") ?
		       (void *)keep_word : (void *)wait_for_child);
	puts("ready");
	fflush(stdout);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	puts("fine");
	return 0;
}
