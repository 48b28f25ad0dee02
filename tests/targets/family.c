/*
 * family CASE [N]: processes that come of each other in every way. Each prints
 * its own counts when it ends, so the sum over all lines is the truth; by one
 * write(2) of a whole line, as they share standard output.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#define FUNCTIONS(X) X(main) X(work) X(leaf)
#include "truth.h"
#include "truth-work.h"

extern char **environ;
static const char *own;			/* path of this program */

/* What this process has counted, and nothing of its parent's. */
QUIET static void forget_counts(void)
{
	truth_main = truth_work = truth_leaf = 0;
}

QUIET static void tell_counts(void)
{
	char text[200];
	int n = snprintf(text, sizeof(text), "count main %lu\ncount work %lu\n"
			 "count leaf %lu\npid %d\n", CALLS(main), CALLS(work),
			 CALLS(leaf), (int)getpid());

	if (write(1, text, (size_t)n) != n)
		abort();
}

QUIET static void end(int status)
{
	tell_counts();
	_exit(status);
}

QUIET static void reap(pid_t pid, int expected)
{
	int status = -1;

	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == expected);
}

/* ---- fork ------------------------------------------------------------------- */

QUIET static sigset_t mask(void)
{
	sigset_t now;

	sigemptyset(&now);
	sigprocmask(SIG_BLOCK, NULL, &now);
	return now;
}

QUIET static pid_t child(long n)
{
	sigset_t before = mask(), after;
	pid_t pid = fork();

	after = mask();
	CHECK(!memcmp(&before, &after, sizeof before));
	if (pid)
		return pid;
	forget_counts();
	KEEP(work(n));
	end(truth_failed ? 9 : 3);
	return 0;
}

QUIET static void by_fork(int n)
{
	for (int i = 0; i < n; i++) {
		pid_t pid = child(100 + i);

		KEEP(work(5));
		reap(pid, 3);
	}
}

/* All at once. */
QUIET static void bomb(int n)
{
	int failed = 0, status;

	for (int i = 0; i < n; i++)
		failed += child(3) < 0;
	for (int i = failed; i < n; i++)
		CHECK(wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 3);
	CHECK(failed == 0);
}

/* Each has one more, and waits for it. */
QUIET static void nested(int n)
{
	pid_t pid;

	KEEP(work(10));
	if (n == 0)
		return;
	pid = fork();
	if (pid == 0) {
		forget_counts();
		nested(n - 1);
		end(truth_failed ? 9 : 3);
	}
	KEEP(work(7));
	reap(pid, 3);
	KEEP(work(7));
}

/* ---- exec ------------------------------------------------------------------- */

QUIET static void by_exec(int n)
{
	for (int i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			forget_counts();
			KEEP(work(11));
			tell_counts();
			execl(own, own, "plain", (char *)NULL);
			_exit(127);
		}
		reap(pid, 0);
	}
}

QUIET static void by_spawn(int n)
{
	char *argv[] = { (char *)own, "plain", NULL };
	pid_t pid;

	for (int i = 0; i < n; i++) {
		CHECK(!posix_spawn(&pid, own, NULL, NULL, argv, environ));
		reap(pid, 0);
	}
}

QUIET static void by_vfork(int n)
{
	for (int i = 0; i < n; i++) {
		pid_t pid = vfork();

		if (pid == 0) {
			execl(own, own, "plain", (char *)NULL);
			_exit(127);
		}
		reap(pid, 0);
	}
}

QUIET static void by_system(int n)
{
	char command[4096];

	snprintf(command, sizeof(command), "%s plain; exit 4", own);
	for (int i = 0; i < n; i++) {
		int status = system(command);

		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 4);
	}
}

/* ---- threads ---------------------------------------------------------------- */

QUIET static void *worker(void *arg)
{
	KEEP(work((long)arg));
	return NULL;
}

QUIET static void with_threads(int n)
{
	pthread_t t[16];

	for (int i = 0; i < n; i++)
		CHECK(!pthread_create(&t[i], NULL, worker, (void *)(long)(1000 + i)));
	for (int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
}

/* Made before there is anything to do; the threads come afterwards. */
QUIET static void server(int n)
{
	pid_t pids[64];

	for (int i = 0; i < n; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			forget_counts();
			with_threads(4);
			KEEP(work(50));
			end(truth_failed ? 9 : 3);
		}
	}
	KEEP(work(20));
	for (int i = 0; i < n; i++)
		reap(pids[i], 3);
}

QUIET static const char *library_path(void)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s-lib.so", own);
	return path;
}

static int over;

QUIET static void *caller(void *arg)
{
	(void)arg;
	while (!__atomic_load_n(&over, __ATOMIC_RELAXED))
		KEEP(work(20));
	return NULL;
}

QUIET static void *loader(void *arg)
{
	(void)arg;
	while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
		void *so = dlopen(library_path(), RTLD_NOW);

		CHECK(so);
		if (so)
			dlclose(so);
	}
	return NULL;
}

/* Forks while others call, and load and unload a library. */
QUIET static void busy(int n)
{
	pthread_t t[2];

	pthread_create(&t[0], NULL, caller, NULL);
	pthread_create(&t[1], NULL, loader, NULL);
	by_fork(n);
	__atomic_store_n(&over, 1, __ATOMIC_RELAXED);
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
}

QUIET static void load_library(int n)
{
	void (*call)(int);
	void *so = dlopen(library_path(), RTLD_NOW);

	CHECK(so);
	if (!so)
		return;
	call = dlsym(so, "call_plugin");
	call(n);
	dlclose(so);
}

/* Both load a library after the fork, each its own way there. */
QUIET static void load(int n)
{
	for (int i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			forget_counts();
			load_library(20);
			KEEP(work(4));
			end(truth_failed ? 9 : 3);
		}
		load_library(10);
		reap(pid, 3);
	}
	KEEP(work(4));
}

/* ---- what is killed --------------------------------------------------------- */

/* From here on kill-at.c kills one. */
QUIET static void allow_kill(void)
{
	const char *once = getenv("FLICK_KILL_ONCE");

	CHECK(once && close(creat(once, 0600)) == 0);
}

/* All at once: each has told what it did when it comes where one is killed. The
 * library says for itself what it did. */
QUIET static void load_or_die(int n)
{
	int ended = 0, status;

	allow_kill();
	for (int i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			forget_counts();
			KEEP(work(10));
			tell_counts();
			load_library(5);
			_exit(3);
		}
		CHECK(pid > 0);
	}
	while (wait(&status) > 0)
		ended += WIFEXITED(status) && WEXITSTATUS(status) == 3;
	CHECK(ended == n - 1);
}

/* The same for programs: one does not get as far as its main. */
QUIET static void spawn_or_die(int n)
{
	char *argv[] = { (char *)own, "plain", NULL };
	int ended = 0, status;
	pid_t pid;

	allow_kill();
	for (int i = 0; i < n; i++)
		CHECK(!posix_spawn(&pid, own, NULL, NULL, argv, environ));
	while (wait(&status) > 0)
		ended += WIFEXITED(status) && WEXITSTATUS(status) == 0;
	CHECK(ended == n - 1);
}

QUIET static void killed(int n)
{
	for (int i = 0; i < n; i++) {
		pid_t pid = fork();
		int status;

		if (pid == 0) {
			forget_counts();
			KEEP(work(40));
			tell_counts();
			raise(SIGKILL);
		}
		CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
	}
}

/* ---- what outlives, and what interrupts ------------------------------------- */

QUIET static void daemonise(int n)
{
	if (fork())
		return;
	forget_counts();
	setsid();
	if (fork())
		end(0);
	forget_counts();
	for (int i = 0; i < n; i++) {
		KEEP(work(10));
		usleep(1000);
	}
	end(0);
}

/* Parent, children and their children work for some time, after enough calls
 * for samplers to have switched off what they work with. */
QUIET static void linger(int n)
{
	for (int i = 0; i < 20; i++)
		KEEP(work(10));
	for (int i = 0; i < 3; i++) {
		if (fork() == 0) {
			forget_counts();
			fork();
			break;
		}
	}
	for (int i = 0; i < n; i++) {
		KEEP(work(1000));
		usleep(1000);
	}
	while (wait(NULL) > 0)
		;
}

/* Is there until somebody ends it. */
QUIET static void stay(int n)
{
	char ready[2];
	int pipes[2];

	CHECK(!pipe(pipes));
	if (fork()) {
		CHECK(read(pipes[0], ready, 1) == 1);
		return;
	}
	forget_counts();
	setsid();
	signal(SIGINT, SIG_IGN);
	KEEP(work(n));
	tell_counts();
	CHECK(write(pipes[1], "r", 1) == 1);
	for (;;)
		usleep(1000);
}

static int forks_left;

QUIET static void on_alarm(int sig)
{
	pid_t pid;

	(void)sig;
	if (forks_left-- <= 0)
		return;
	pid = fork();
	if (pid == 0) {
		forks_left = 0;
		forget_counts();
		KEEP(work(10));
		end(3);
	}
	reap(pid, 3);
}

/* A signal finds the thread anywhere, mostly in a probe. */
QUIET static void in_handler(int n)
{
	struct sigaction act = { .sa_handler = on_alarm };
	struct timespec every = { 0, 200000 };
	struct itimerspec spec = { every, every };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	timer_t timer;

	forks_left = n;
	sigaction(SIGUSR1, &act, NULL);
	CHECK(!timer_create(CLOCK_MONOTONIC, &event, &timer));
	CHECK(!timer_settime(timer, 0, &spec, NULL));
	while (forks_left > 0)
		KEEP(work(100));
	timer_delete(timer);
}

/* Children of which flick cannot know; what they do is nobody's, though they
 * take their parent's probes with them and load a library. */
QUIET static void by_clone(int n)
{
	for (int i = 0; i < n; i++) {
		pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

		if (pid == 0) {
			KEEP(work(70));
			CHECK(dlclose(dlopen(library_path(), RTLD_NOW)) == 0);
			syscall(SYS_exit_group, truth_failed ? 9 : 5);
		}
		reap(pid, 5);
	}
	KEEP(work(9));
}

QUIET static void in_space(int n)
{
	CHECK(!unshare(CLONE_NEWPID));
	KEEP(work(n));
	if (fork() == 0) {
		KEEP(work(10));		/* not in the record, nor in the truth */
		_exit(3);
	}
	CHECK(wait(NULL) > 0);
}

QUIET static void plain(int n)
{
	KEEP(work(n + 12));
}

static const struct {
	const char *name;
	void (*run)(int n);
} cases[] = {
	{ "plain", plain }, { "fork", by_fork }, { "bomb", bomb }, { "nested", nested },
	{ "exec", by_exec }, { "spawn", by_spawn }, { "vfork", by_vfork },
	{ "system", by_system }, { "server", server }, { "busy", busy }, { "load", load },
	{ "daemon", daemonise }, { "stay", stay }, { "handler", in_handler },
	{ "clone", by_clone }, { "killed", killed }, { "space", in_space },
	{ "linger", linger }, { "load-or-die", load_or_die },
	{ "spawn-or-die", spawn_or_die },
};

int main(int argc, char **argv)
{
	int n = argc > 2 ? atoi(argv[2]) : 3, found = 0;

	CALLED(main);
	own = realpath("/proc/self/exe", NULL);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		if (argc > 1 && !strcmp(argv[1], cases[i].name)) {
			cases[i].run(n);
			found = 1;
		}
	CHECK(found);
	tell_counts();
	return truth_failed;
}
