/* signals: a timer storm whose handler, itself instrumented, calls functions
 * in the middle of others' calls and of flick's own probes. */
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#define FUNCTIONS(X) X(main) X(worker) X(step) X(leaf) X(on_timer) X(in_handler)
#include "truth.h"

#define STORM 1500

static volatile sig_atomic_t over;

BODY static long leaf(long x)
{
	CALLED(leaf);
	return x + 1;
}

BODY static long step(long x)
{
	CALLED(step);
	return leaf(x) + leaf(-x);
}

BODY static long in_handler(long x)
{
	CALLED(in_handler);
	return leaf(x);
}

BODY static void on_timer(int sig)
{
	CALLED(on_timer);
	KEEP(in_handler(sig));
	if (CALLS(on_timer) >= STORM)
		over = 1;
}

BODY static void *worker(void *arg)
{
	long sum = (long)arg;

	CALLED(worker);
	while (!over)
		sum += step(sum);
	return (void *)sum;
}

QUIET static void set_timer(long us)
{
	struct itimerval v = { { 0, us }, { 0, us } };

	setitimer(ITIMER_REAL, &v, NULL);
}

int main(void)
{
	struct sigaction act = { .sa_handler = on_timer, .sa_flags = SA_RESTART };
	pthread_t t;

	CALLED(main);
	sigaction(SIGALRM, &act, NULL);
	set_timer(100);
	pthread_create(&t, NULL, worker, NULL);
	worker(NULL);
	pthread_join(t, NULL);
	set_timer(0);
	signal(SIGALRM, SIG_IGN);
	truth_print();
	return 0;
}
