/*
 * life SEED LIB [STEP]: a process that lives: it computes, its threads come and go, it
 * forks, loads and unloads LIB, takes signals, forbids itself system calls, and becomes
 * itself anew; in an order that SEED says. What it prints depends on SEED alone: a
 * checksum, and what is left of masks, handlers and descriptors. `slow` says that a
 * call at the end takes more than 300 ns.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BODY __attribute__((noinline))

enum { STEPS = 24, THREADS = 4, EXEC_AT = 12 };

static uint32_t seed, sum;
static const char *lib;
static char **args;

BODY static uint32_t leaf(uint32_t x)
{
	__asm__ volatile("" : "+r"(x));
	return x * 2654435761u + 1;
}

BODY static uint32_t twig(uint32_t x, int deep)
{
	return deep ? twig(leaf(x), deep - 1) + 1 : leaf(x);
}

BODY static uint32_t compute(uint32_t x)
{
	for (int i = 0; i < 2000; i++)
		x = twig(x, i % 8);
	return x;
}

BODY static void *thread(void *arg)
{
	return (void *)(uintptr_t)compute((uint32_t)(uintptr_t)arg);
}

/* Threads that block all they can, and others that do not. */
BODY static void churn(void)
{
	pthread_t t[THREADS];
	sigset_t all, old;
	void *got;

	sigfillset(&all);
	for (int i = 0; i < THREADS; i++) {
		if (i % 2)
			pthread_sigmask(SIG_BLOCK, &all, &old);
		pthread_create(&t[i], NULL, thread, (void *)(uintptr_t)(sum + (uint32_t)i));
		if (i % 2)
			pthread_sigmask(SIG_SETMASK, &old, NULL);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(t[i], &got);
		sum += (uint32_t)(uintptr_t)got;
	}
}

BODY static void forks(void)
{
	for (int i = 0; i < 4; i++) {
		pid_t pid = i % 2 ? fork() : vfork();
		int status = 0;

		if (pid == 0)
			_exit(i % 2 ? (int)(compute(sum) & 0x7f) : 7);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		sum += WIFEXITED(status) ? (uint32_t)WEXITSTATUS(status) : 1000;
	}
}

/* A thread forks while others do what forks disturb. */
BODY static void *fork_thread(void *arg)
{
	uint32_t *mine = arg;

	for (int i = 0; i < 3; i++) {
		pid_t pid = fork();
		int status = 0;

		if (pid == 0)
			_exit((int)(compute(*mine) & 0x3f));
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		*mine += WIFEXITED(status) ? (uint32_t)WEXITSTATUS(status) : 1000;
	}
	return NULL;
}

BODY static void storm(void)
{
	uint32_t mine[THREADS];
	pthread_t t[THREADS];

	for (uint32_t i = 0; i < THREADS; i++) {
		mine[i] = sum + i;
		pthread_create(&t[i], NULL, fork_thread, &mine[i]);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(t[i], NULL);
		sum += mine[i];
	}
}

BODY static void load(void)
{
	for (int i = 0; i < 3; i++) {
		void *h = dlopen(lib, RTLD_NOW | RTLD_LOCAL);
		uint32_t (*f)(uint32_t) = h ? (uint32_t (*)(uint32_t))dlsym(h, "life_lib") :
				  NULL;

		sum += f ? f(sum) : 77777;
		if (h)
			dlclose(h);
	}
}

static volatile sig_atomic_t alarms;

BODY static void on_alarm(int sig)
{
	(void)sig;
	alarms++;
	leaf(1);
}

static volatile uint32_t raised;

BODY static void on_user(int sig)
{
	(void)sig;
	raised += twig(1, 3) & 7;
}

BODY static void signals(void)
{
	struct sigaction alarm = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
	struct sigaction user = { .sa_handler = on_user }, old_alarm, old_user;
	struct itimerval every = { { 0, 300 }, { 0, 300 } }, none = { { 0, 0 }, { 0, 0 } };

	sigaction(SIGALRM, &alarm, &old_alarm);
	sigaction(SIGUSR1, &user, &old_user);
	setitimer(ITIMER_REAL, &every, NULL);
	for (int i = 0; i < 20; i++) {
		raise(SIGUSR1);
		sum = compute(sum);
	}
	setitimer(ITIMER_REAL, &none, NULL);
	sum += raised;
	sigaction(SIGALRM, &old_alarm, NULL);
	sigaction(SIGUSR1, &old_user, NULL);
}

/* What this program does not need from here on: waiting by the clock is death. */
BODY static void forbid(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_nanosleep, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_nanosleep, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = { .len = 5, .filter = code };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
}

/* The other half of its life, in the same process. */
BODY static void become(int step)
{
	char s[32], n[32], sum_text[32];

	snprintf(s, sizeof s, "%u", seed);
	snprintf(n, sizeof n, "%d", step + 1);
	snprintf(sum_text, sizeof sum_text, "%u", sum);
	execl(args[0], args[0], s, lib, n, sum_text, NULL);
	sum += 55555;
}

static uint32_t any(uint32_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 17;
	seed ^= seed << 5;
	return seed % below;
}

BODY static void live(int step)
{
	static void (*const does[])(void) = { churn, forks, storm, load, signals };

	for (; step < STEPS; step++) {
		if (step == EXEC_AT)
			become(step);
		if (step == STEPS - 4)
			forbid();
		sum = compute(sum);
		does[any(5)]();
	}
}

/* That flick may stand before the action of SIGURG is said in docs/GUEST.md. */
static void print_status(void)
{
	static const char *const names[] = { "SigBlk:", "SigIgn:", "SigCgt:" };
	char line[256];
	FILE *f = fopen("/proc/self/status", "r");

	while (f && fgets(line, sizeof line, f))
		for (int i = 0; i < 3; i++)
			if (!strncmp(line, names[i], 7))
				printf("%s %llx\n", names[i], strtoull(line + 7, NULL, 16) &
				       ~(1ull << (SIGURG - 1)));
	if (f)
		fclose(f);
}

static int count_descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

static double ns_a_call(void)
{
	struct timespec from, to;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
	for (int i = 0; i < 200; i++)
		compute((uint32_t)i);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
	return ((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) /
	       (200 * 2000 * 9.0);
}

int main(int argc, char **argv)
{
	double ns;

	args = argv;
	seed = (uint32_t)atoi(argv[1]) | 1;
	lib = argv[2];
	sum = argc > 4 ? (uint32_t)strtoul(argv[4], NULL, 10) : seed;
	live(argc > 3 ? atoi(argv[3]) : 0);
	ns = ns_a_call();
	printf("sum %u\ndescriptors %d\n", sum, count_descriptors());
	print_status();
	if (getenv("LIFE_SPEED") && ns > 300)
		printf("slow: %.0f ns a call\n", ns);
	puts("done");
	return 0;
}
