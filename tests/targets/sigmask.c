/* sigmask [LIBRARY]: threads that block every signal and call;
 * meanwhile the library is loaded and unloaded (see dlopen.c). */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#define FUNCTIONS(X) X(main) X(worker) X(leaf) X(own)
#include "truth.h"

__attribute__((visibility("default"))) unsigned long library_calls[6];
static pthread_barrier_t ready;

BODY static long leaf(long x)
{
	CALLED(leaf);
	return x + 1;
}

BODY static long own(long x)
{
	CALLED(own);
	return leaf(x);
}

BODY static void *worker(void *arg)
{
	sigset_t all, now;

	CALLED(worker);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	pthread_barrier_wait(&ready);
	for (long i = 0; i < 200000; i++)
		KEEP(own(i));
	pthread_sigmask(SIG_BLOCK, NULL, &now);
	for (int sig = 1; sig < 32; sig++)
		CHECK(sig == SIGKILL || sig == SIGSTOP || sigismember(&now, sig));
	return arg;
}

QUIET static void load(const char *path)
{
	void *lib = dlopen(path, RTLD_NOW);
	long (*work)(long) = lib ? (long (*)(long))dlsym(lib, "lib_work") : NULL;

	CHECK(work && work(10) == 55);
	if (lib)
		dlclose(lib);
}

int main(int argc, char **argv)
{
	pthread_t t[2];

	CALLED(main);
	pthread_barrier_init(&ready, NULL, 3);
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, worker, NULL);
	pthread_barrier_wait(&ready);
	for (int i = 0; argc > 1 && i < 20; i++)
		load(argv[1]);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	truth_print();
	return truth_failed;
}
