/* urgent: threads come and go, and are sent SIGURG as they begin; its handler leaves by
 * siglongjmp() what it finds, be it the thread's first event or a place that is met. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include "truth.h"

enum { THREADS = 3000, SIGNALS = 3, CALLS_EACH = 300 };

static __thread sigjmp_buf out;
static __thread volatile sig_atomic_t may_leave;
static volatile int began;

BODY static long leaf(long x)
{
	return x + 1;
}

QUIET static void leave(int sig)
{
	if (!may_leave)
		return;
	may_leave = 0;
	siglongjmp(out, sig);
}

QUIET static void *call(void *unused)
{
	volatile int comes_back = 0;

	sigsetjmp(out, 1);
	began = 1;
	may_leave = comes_back++ < SIGNALS;
	for (int i = 0; i < CALLS_EACH; i++)
		KEEP(leaf(i));
	may_leave = 0;
	return unused;
}

QUIET int main(void)
{
	struct sigaction act = { .sa_handler = leave };
	pthread_t t;

	sigaction(SIGURG, &act, NULL);
	for (int n = 0; n < THREADS; n++) {
		began = 0;
		pthread_create(&t, NULL, call, NULL);
		while (!began)
			sched_yield();
		for (int i = 0; i < SIGNALS; i++)
			pthread_kill(t, SIGURG);
		pthread_join(t, NULL);
	}
	return truth_failed;
}
