/* Paths that are gone in each way to count them: more of a function than a thread has cells
 * for, as others have those that are one path's; by threads one after the other and at once; by
 * a handler amid them; by fork's child in a handler. Lines
 * `total FUNCTION N`, of all paths through it, and `each N`, as often each path of many() is
 * gone. With an argument it ends by SIGKILL. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define BODY __attribute__((noinline, noclone))
#define MARK(k) __asm__ volatile("/* " #k " */" ::: "memory")
#define ASK(k) do { if (x >> (k) & 1) MARK(k); } while (0)

enum { BITS = 17, ROUNDS = 3, CALLS = 20000, FORKS = 20, LEAST = 200 };

#define ASK_ALL \
	ASK(0); ASK(1); ASK(2); ASK(3); ASK(4); ASK(5); ASK(6); ASK(7); ASK(8); \
	ASK(9); ASK(10); ASK(11); ASK(12); ASK(13); ASK(14); ASK(15); ASK(16)

/* Nobody calls them; they stand in front, and their paths have what cells there are. */
#define OTHER(name) BODY void name(unsigned int x); void name(unsigned int x) { ASK_ALL; }
#define OTHERS_8(name) OTHER(name##0) OTHER(name##1) OTHER(name##2) OTHER(name##3) \
		       OTHER(name##4) OTHER(name##5) OTHER(name##6) OTHER(name##7)
OTHERS_8(a) OTHERS_8(b) OTHERS_8(c) OTHERS_8(d) OTHERS_8(e) OTHERS_8(f) OTHERS_8(g) OTHERS_8(h)

/* 131,072 of them. */
BODY static void many(unsigned int x)
{
	ASK_ALL;
}

BODY static void few(unsigned int x)
{
	ASK(0); ASK(1);
}

BODY static void handled(unsigned int x)
{
	ASK(0); ASK(1);
}

BODY static void forked(unsigned int x)
{
	ASK(0); ASK(1);
}

static atomic_ulong n_few, n_handled;
static volatile sig_atomic_t n_forks;

static void *call_few(void *arg)
{
	for (unsigned int i = 0; i < CALLS; i++)
		few(i);
	atomic_fetch_add(&n_few, CALLS);
	return arg;
}

/* Whom it interrupts goes on in both. */
static void on_alarm(int sig)
{
	(void)sig;
	for (unsigned int i = 0; i < 5; i++)
		handled(i);
	atomic_fetch_add(&n_handled, 5);
	if (n_forks < FORKS && n_forks % 2 == 0 && !fork()) {
		for (unsigned int i = 0; i < 8; i++)
			forked(i);
		_exit(0);
	}
	n_forks++;
}

static void call_under_alarms(void)
{
	const struct itimerval often = { { 0, 200 }, { 0, 200 } };
	const struct itimerval never = { { 0, 0 }, { 0, 0 } };
	const struct sigaction sa = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };

	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	while (n_forks < LEAST)
		call_few(NULL);
	setitimer(ITIMER_REAL, &never, NULL);
	while (wait(NULL) > 0)
		;
}

int main(int argc, char **argv)
{
	pthread_t t[4];

	(void)argv;
	for (unsigned int round = 0; round < ROUNDS; round++)
		for (unsigned int i = 0; i < 1u << BITS; i++)
			many(i);
	for (unsigned int i = 0; i < 8; i++) {
		pthread_create(&t[0], NULL, call_few, NULL);
		pthread_join(t[0], NULL);
	}
	for (unsigned int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, call_few, NULL);
	for (unsigned int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	call_under_alarms();
	printf("each %d\ntotal many %u\ntotal few %lu\ntotal handled %lu\ntotal forked %u\n",
	       ROUNDS, ROUNDS << BITS, (unsigned long)n_few, (unsigned long)n_handled,
	       FORKS / 2 * 8);
	fflush(stdout);
	if (argc > 1)
		kill(getpid(), SIGKILL);
	return 0;
}
