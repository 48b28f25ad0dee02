/*
 * afterlife keys|handler|altstack|exit: what is called by threads that are
 * nearly gone.
 *
 *	keys		destructors of thread-specific data, which set it again
 *	handler		a signal handler in the middle of a recursion ends the
 *			thread, whose destructors call then
 *	altstack	the same on a signal stack
 *	exit		functions at exit, and destructors of the program
 */
#include <pthread.h>
#include <signal.h>
#define FUNCTIONS(X) X(main) X(worker) X(leaf) X(dive) X(on_signal) X(last_words) \
	X(at_exit) X(at_fini)
#include "truth.h"

#define THREADS 25
#define KEYS 3

static pthread_key_t keys[KEYS];

BODY static long leaf(long x)
{
	CALLED(leaf);
	return x + 1;
}

/* Runs in as many rounds as the C library grants: four. */
BODY static void last_words(void *arg)
{
	long left = (long)arg;

	CALLED(last_words);
	KEEP(leaf(left));
	for (int i = 0; left > 1 && i < KEYS; i++)
		pthread_setspecific(keys[i], (void *)(left - 1));
}

BODY static int dive(int depth)
{
	CALLED(dive);
	if (depth == 0)
		raise(SIGUSR1);
	return dive(depth - 1) + 1;
}

BODY static void on_signal(int sig)
{
	CALLED(on_signal);
	KEEP(leaf(sig));
	CUT(1 + 11 + 1);		/* this, dive, worker */
	pthread_exit(NULL);
}

BODY static void *worker(void *how)
{
	static __thread char stack[64 << 10];
	stack_t alt = { .ss_sp = stack, .ss_size = sizeof(stack) };

	CALLED(worker);
	for (long i = 0; i < KEYS; i++)
		pthread_setspecific(keys[i], (void *)(i + 1));
	if (!strcmp(how, "keys"))
		return how;
	if (!strcmp(how, "altstack"))
		sigaltstack(&alt, NULL);
	KEEP(dive(10));
	return how;
}

BODY static void at_exit(void)
{
	CALLED(at_exit);
	KEEP(leaf(1));
}

__attribute__((destructor(102))) BODY static void at_fini(void)
{
	CALLED(at_fini);
	KEEP(leaf(2));
}

__attribute__((destructor(101))) QUIET static void at_last(void)
{
	truth_print();
}

QUIET static void run_threads(char *how)
{
	struct sigaction act = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };
	pthread_t t[THREADS];

	sigaction(SIGUSR1, &act, NULL);
	for (int i = 0; i < KEYS; i++)
		pthread_key_create(&keys[i], last_words);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, worker, how);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
}

int main(int argc, char **argv)
{
	CALLED(main);
	atexit(at_exit);
	if (argc > 1 && strcmp(argv[1], "exit"))
		run_threads(argv[1]);
	return 0;
}
