/*
 * attach-spins: runs until SIGTERM. Of its CPU time a thread that is there from the first has
 * 60 % in heavy(), the first thread 30 % in medium(), and threads that are created one by one
 * have 10 % in light(). They take turns, so this holds on any machine. `tiny` is called often.
 */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "cpu-time.h"

#define QUIET __attribute__((no_instrument_function))
#define BODY __attribute__((noinline))

static volatile sig_atomic_t is_over;
static volatile unsigned long sink;
static sem_t go, done;

QUIET static void on_term(int sig)
{
	(void)sig;
	is_over = 1;
}

BODY void tiny(void)
{
	sink++;
}

#define SPIN(us) SPIN_BY(us, 20000)

BODY void heavy(void)
{
	SPIN(12000);
}

BODY void medium(void)
{
	SPIN(6000);
}

BODY void light(void)
{
	SPIN(2000);
}

QUIET static void *one_that_is_there(void *arg)
{
	while (!sem_wait(&go) && !is_over) {
		heavy();
		sem_post(&done);
	}
	sem_post(&done);		/* it may be over since the first thread looked */
	return arg;
}

QUIET static void *one_that_comes(void *arg)
{
	light();
	return arg;
}

int main(void)
{
	pthread_t there, comes;

	signal(SIGTERM, on_term);
	sem_init(&go, 0, 0);
	sem_init(&done, 0, 0);
	pthread_create(&there, NULL, one_that_is_there, NULL);
	puts("begun");
	fflush(stdout);
	while (!is_over) {
		sem_post(&go);
		while (sem_wait(&done))
			;
		medium();
		pthread_create(&comes, NULL, one_that_comes, NULL);
		pthread_join(comes, NULL);
		for (int i = 0; i < 1000; i++)
			tiny();
	}
	sem_post(&go);
	pthread_join(there, NULL);
	puts("fine");
	return 0;
}
