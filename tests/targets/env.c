/* env [ARGS]: prints what a program may know of its surroundings; but for two
 * variables and an option of ASan's it must be the same with and without flick. */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#define FUNCTIONS(X) X(main) X(print_signals) X(print_limits) X(print_self)
#include "truth.h"

extern char **environ;

QUIET static void print_environment(void)
{
	for (char **e = environ; *e; e++)
		if (strncmp(*e, "LD_PRELOAD=", 11) && strncmp(*e, "ASAN_OPTIONS=", 13) &&
		    strncmp(*e, "FLICK_", 6))
			printf("env %s\n", *e);
}

BODY static void print_signals(void)
{
	struct sigaction act;
	sigset_t mask;

	CALLED(print_signals);
	sigprocmask(SIG_BLOCK, NULL, &mask);
	for (int sig = 1; sig < 65; sig++)
		if (!sigaction(sig, NULL, &act) && (sig < 32 || sig > 33))
			printf("signal %d blocked %d %s\n", sig,
			       sigismember(&mask, sig),
			       act.sa_handler == SIG_DFL ? "default" :
			       act.sa_handler == SIG_IGN ? "ignored" : "handled");
}

BODY static void print_limits(void)
{
	struct rlimit r;

	CALLED(print_limits);
	for (int i = 0; i < RLIM_NLIMITS; i++)
		if (!getrlimit(i, &r))
			printf("limit %d %lu %lu\n", i, r.rlim_cur, r.rlim_max);
}

BODY static void print_self(int argc, char **argv)
{
	char path[4096], name[17] = "";
	mode_t mask = umask(0);
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	int death = -1;
	cpu_set_t cpus;

	CALLED(print_self);
	umask(mask);
	path[n > 0 ? n : 0] = 0;
	prctl(PR_GET_NAME, name);
	prctl(PR_GET_PDEATHSIG, &death);
	for (int i = 0; i < argc; i++)
		printf("arg %s\n", argv[i]);
	printf("exe %s\nname %s\numask %o\n", path, name, mask);
	printf("cwd %s\n", getcwd(path, sizeof(path)));
	printf("death signal %d, dumpable %d, nice %d, scheduler %d\n", death,
	       prctl(PR_GET_DUMPABLE), getpriority(PRIO_PROCESS, 0),
	       sched_getscheduler(0));
	sched_getaffinity(0, sizeof(cpus), &cpus);
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &cpus))
			printf("cpu %d\n", i);
	printf("leads its session: %d\n", getsid(0) == getpid());
}

int main(int argc, char **argv)
{
	CALLED(main);
	print_self(argc, argv);
	print_environment();
	print_signals();
	print_limits();
	truth_print();
	return 0;
}
