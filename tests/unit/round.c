/*
 * unit/round: a round does not end while /proc lists fewer threads than there are.
 * The child has its calls of getdents64 caught, and leaves a thread out of what the
 * kernel has answered.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#include "filter-call.h"
#include "patch/round.h"

#define NEED(x) do { \
	if (!(x)) { \
		fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x); \
		_exit(1); \
	} \
} while (0)

struct entry {				/* of getdents64(2) */
	uint64_t ino;
	int64_t off;
	uint16_t bytes;
	uint8_t type;
	char name[];
};

enum { OURS = 0x5eaf00d };		/* a fourth argument, which the call has not */
static volatile int hidden;		/* thread id */

static long leave_out(char *buf, long n)
{
	for (long at = 0; at < n;) {
		struct entry *e = (struct entry *)(buf + at);
		long bytes = e->bytes;

		if (atoi(e->name) != hidden) {
			at += bytes;
			continue;
		}
		n -= bytes;
		memmove(e, buf + at + bytes, (size_t)(n - at));
	}
	return n;
}

static void on_call(int sig, siginfo_t *info, void *context)
{
	greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
	long n = syscall(SYS_getdents64, r[REG_RDI], r[REG_RSI], r[REG_RDX], OURS);

	(void)sig, (void)info;
	r[REG_RAX] = n < 0 ? -errno : leave_out((char *)r[REG_RSI], n);
}

static void catch_listings(void)
{
	struct sigaction act = { .sa_sigaction = on_call, .sa_flags = SA_SIGINFO };
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getdents64, 0, 2),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[3])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OURS, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
	};

	sigaction(SIGSYS, &act, NULL);
	if (install_filter(code, ARRAY_LEN(code)))
		_exit(77);
}

static volatile int sleeper;

static void *sleep_on(void *arg)
{
	sleeper = gettid();
	for (;;)
		pause();
	return arg;
}

static int n_asked;

/* It answers at once. */
static int ask(struct fl_round *r, int tid, const struct fl_thread_status *s,
	       enum fl_asked again)
{
	(void)s, (void)again;
	n_asked++;
	NEED(tid == sleeper && fl_round_serve(r->number, tid));
	return 0;
}

static void hide_a_thread(void)
{
	struct fl_round r = { .who = FL_WHO_ALL, .caller = gettid(), .ask = ask };
	pthread_t t;

	pthread_create(&t, NULL, sleep_on, NULL);
	while (!sleeper)
		usleep(100);
	NEED(!fl_round_open());
	catch_listings();
	hidden = sleeper;
	fl_round_begin(&r);
	for (int i = 0; i < 3; i++)
		NEED(fl_round_pass(&r) == 1 && !n_asked);
	hidden = 0;
	NEED(fl_round_pass(&r) == 1 && n_asked == 1);
	NEED(fl_round_pass(&r) == 0 && n_asked == 1);
}

static void who_is_passed_over_is_looked_for_again(void **state)
{
	int status;
	pid_t pid = fork();

	(void)state;
	if (!pid) {
		hide_a_thread();
		_exit(0);
	}
	waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_is_passed_over_is_looked_for_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
