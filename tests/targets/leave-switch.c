/* leave-switch LIBRARY: a timer's handler leaves, by siglongjmp(), functions that
 * switch themselves off all the time; then the library is unloaded. */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>
#include "truth.h"

__attribute__((visibility("default"))) unsigned long library_calls[6];

enum { LEFT = 3000 };
static sigjmp_buf out;
static volatile int left;

QUIET static void leave(int sig)
{
	(void)sig;
	left++;
	siglongjmp(out, 1);
}

#define FUNCTION(n) BODY static long f##n(long x) { return x + n; }
FUNCTION(0) FUNCTION(1) FUNCTION(2) FUNCTION(3)
FUNCTION(4) FUNCTION(5) FUNCTION(6) FUNCTION(7)

QUIET static void *spin(void *unused)
{
	sigset_t alarm_only;
	volatile long sum = 0;

	sigemptyset(&alarm_only);
	sigaddset(&alarm_only, SIGALRM);
	sigsetjmp(out, 1);		/* comes back with SIGALRM blocked */
	pthread_sigmask(SIG_UNBLOCK, &alarm_only, NULL);
	while (left < LEFT)
		sum += f0(1) + f1(1) + f2(1) + f3(1) + f4(1) + f5(1) + f6(1) + f7(1);
	pthread_sigmask(SIG_BLOCK, &alarm_only, NULL);
	return unused;
}

int main(int argc, char **argv)
{
	struct itimerval often = { { 0, 100 }, { 0, 100 } }, never = { 0 };
	struct sigaction act = { .sa_handler = leave };
	sigset_t alarm_only;
	pthread_t t;

	if (argc < 2)
		return 2;
	sigemptyset(&alarm_only);
	sigaddset(&alarm_only, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &alarm_only, NULL);
	sigaction(SIGALRM, &act, NULL);
	pthread_create(&t, NULL, spin, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; left < LEFT; i++) {
		void *lib = dlopen(argv[1], RTLD_NOW);

		CHECK(lib && dlclose(lib) == 0);
	}
	pthread_join(t, NULL);
	setitimer(ITIMER_REAL, &never, NULL);
	return truth_failed;
}
