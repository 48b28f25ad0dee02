/*
 * stalled FILE FIFO HOW: threads call while the recorder, this one's parent, is
 * stopped (SIGSTOP), until all of them wait for room in their rings. What comes
 * then is HOW. Truth by thread is in FILE, see tally.h. FIFO is open for writing
 * until this image ends, in whatever way.
 *
 *	cont		the recorder goes on, the threads call some more
 *	cancel		they are cancelled where they wait
 *	handler		a handler calls, too, and waits like what it interrupted
 *	handler-exit	a handler ends them
 *	fork		a child calls and ends, before the recorder goes on
 *	kill, abort	this process ends
 *	exec		... or goes on as another image
 *	kill-reader	the recorder does
 *	half		their rings are half full, of each a different half, when
 *			this process is killed; none waits
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include "tally.h"
#include "states.h"

#define THREADS 4
#define CALLS 20000		/* of each; more than a ring holds */

static struct tally *tallies;
static pthread_t threads[THREADS];
static pid_t reader;
static const char *how;
static pthread_barrier_t parked;

QUIET static int is(const char *what)
{
	return !strcmp(how, what);
}

/* ---- seen in /proc -------------------------------------------------------------- */

QUIET static void stop_reader(void)
{
	CHECK(!kill(reader, SIGSTOP));
	await_state(reader, 0, 'T');
}

/* In a futex: it makes no other system call. */
QUIET static void await_waiting(const struct tally *t)
{
	char line[256] = "", futex[16], path[64];
	FILE *f;

	snprintf(futex, sizeof(futex), "%d ", SYS_futex);
	do {
		sched_yield();
		snprintf(path, sizeof(path), "/proc/self/task/%lu/syscall", t->tid);
		f = fopen(path, "r");
		if (f && !fgets(line, sizeof(line), f))
			*line = '\0';
		if (f)
			fclose(f);
	} while (!tally_returned(t) || strncmp(line, futex, strlen(futex)));
}

/* ---- threads -------------------------------------------------------------------- */

QUIET static void on_signal(int sig)
{
	struct tally *t = NULL;

	(void)sig;
	for (int i = 0; i < THREADS; i++)
		if (pthread_equal(threads[i], pthread_self()))
			t = &tallies[THREADS + i];
	if (is("handler-exit"))
		pthread_exit(NULL);
	tally_mine(t);
	tally_step(t);
	tally_done(t);
}

QUIET static void *worker(void *arg)
{
	struct tally *t = arg;
	long calls = is("half") ? 30 * (t - tallies) + 7 : CALLS;

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	pthread_barrier_wait(&parked);	/* all are in `threads` */
	tally_mine(t);
	for (long i = 0; i < calls; i++)
		tally_step(t);
	tally_done(t);
	pthread_barrier_wait(&parked);
	return NULL;
}

QUIET static void each(int (*act)(pthread_t, int), int arg)
{
	for (int i = 0; i < THREADS; i++)
		CHECK(!act(threads[i], arg));
}

QUIET static int cancel(pthread_t t, int unused)
{
	(void)unused;
	return pthread_cancel(t);
}

QUIET static int join(pthread_t t, int unused)
{
	(void)unused;
	return pthread_join(t, NULL);
}

QUIET static void have_child(void)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		for (int i = 0; i < CALLS; i++)
			KEEP(step(&(struct tally){ 0 }));
		_exit(6);
	}
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 6);
}

/* ---- the end -------------------------------------------------------------------- */

QUIET static void act(char **argv)
{
	char *again[] = { argv[0], argv[1], argv[2], "again", NULL };

	if (is("cancel"))
		each(cancel, 0);
	else if (is("handler") || is("handler-exit"))
		each(pthread_kill, SIGUSR1);
	else if (is("fork"))
		have_child();
	else if (is("kill") || is("half"))
		raise(SIGKILL);
	else if (is("abort"))
		abort();
	else if (is("exec"))
		execv("/proc/self/exe", again);
	else if (is("kill-reader"))
		kill(reader, SIGKILL);
	if (is("handler"))
		for (int i = 0; i < THREADS; i++)
			while (!__atomic_load_n(&tallies[THREADS + i].tid, __ATOMIC_RELAXED))
				sched_yield();
}

QUIET static void start(void)
{
	pthread_barrier_init(&parked, NULL, THREADS + 1);
	signal(SIGUSR1, on_signal);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, worker, &tallies[i]);
	stop_reader();
	pthread_barrier_wait(&parked);
	if (is("half"))
		pthread_barrier_wait(&parked);
	else
		for (int i = 0; i < THREADS; i++)
			await_waiting(&tallies[i]);
}

QUIET static void finish(void)
{
	int ended = is("cancel") || is("handler-exit");

	if (ended)
		each(join, 0);		/* the recorder is still stopped */
	if (!is("kill-reader"))
		kill(reader, SIGCONT);
	if (!ended) {
		pthread_barrier_wait(&parked);
		each(join, 0);
	}
	tally_print(tallies);
}

QUIET int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	tallies = tally_open(argv[1]);
	reader = getppid();
	how = argv[3];
	if (is("again")) {
		tally_print(tallies);
		return 0;
	}
	if (open(argv[2], O_WRONLY | O_CLOEXEC) < 0)
		return 2;
	start();
	act(argv);
	finish();
	return truth_failed;
}
