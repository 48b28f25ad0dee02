/*
 * torture.c - the tests, each in a child that may crash or hang.
 *
 * READER code. Hides processes: the child counts in memory that outlives it.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/os.h"
#include "torture.h"

enum {
	TICK_US = 20000,
	GRACE_MS = 15000		/* beyond its time: then a child hangs */
};

const struct fl_torture fl_tortures[] = {
	{ "sync", "a synchronisation of all cores reaches them all" },
	{ "flip", "switches of one byte" },
	{ "body", "entries of second bodies: a jump leads elsewhere by one byte" },
	{ "word", "switches within one aligned word of 8" },
	{ "line", "switches within one cache line, where calibrated" },
	{ "wide", "switches across words and lines, in three phases" },
	{ "set", "hundreds of places committed together" },
	{ "async", "thousands of places started, and finished by other threads" },
	{ "contest", "several threads switch the same place" },
	{ "signals", "handlers run and switch places" },
	{ "threads", "threads come and go" },
	{ "fork", "children run, finish and switch places" },
};
const size_t fl_n_tortures = ARRAY_LEN(fl_tortures);

static const struct body {
	fl_torture_fn *run;
	enum fl_rig_cpus cpus;
} bodies[ARRAY_LEN(fl_tortures)] = {
	{ fl_torture_sync, FL_CPUS_APART }, { fl_torture_flip, FL_CPUS_APART },
	{ fl_torture_body, FL_CPUS_APART },
	{ fl_torture_word, FL_CPUS_APART }, { fl_torture_line, FL_CPUS_APART },
	{ fl_torture_wide, FL_CPUS_APART }, { fl_torture_set, FL_CPUS_APART },
	{ fl_torture_async, FL_CPUS_APART }, { fl_torture_contest, FL_CPUS_ANY },
	{ fl_torture_signals, FL_CPUS_ANY }, { fl_torture_threads, FL_CPUS_ANY },
	{ fl_torture_fork, FL_CPUS_ANY },
};

static pid_t start_child(struct fl_ledger *l, const struct body *b, const char *sync,
			 unsigned ms)
{
	pid_t parent = getpid(), pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_DUMPABLE, 0);		/* it may crash: no core */
	if (getppid() == parent)
		fl_rig_main(l, b->run, sync, b->cpus, ms);
	_exit(0);
}

/* Wait for the child; false: it hung and had to be killed. */
static bool wait_for(pid_t pid, int *status, unsigned ms, void (*tick)(void *), void *arg)
{
	uint64_t end = fl_os_monotonic_ns() + (ms + GRACE_MS) * UINT64_C(1000000);

	while (waitpid(pid, status, WNOHANG) == 0) {
		if (fl_os_monotonic_ns() > end) {
			kill(pid, SIGKILL);
			waitpid(pid, status, 0);
			return false;
		}
		tick(arg);
		fl_os_sleep_us(TICK_US);
	}
	return true;
}

static void add_up(struct fl_verdict *t, const struct fl_ledger *l)
{
	fl_tally_merge(&t->tally, &l->shared);
	for (size_t i = 0; i < FL_RIG_EXECUTORS; i++)
		fl_tally_merge(&t->tally, &l->executors[i].t);
	for (size_t i = 0; i < FL_RIG_PATCHERS; i++)
		fl_tally_merge(&t->tally, &l->patchers[i].t);
	memcpy(t->note, l->note, sizeof t->note);
	t->skipped = l->skipped;
}

/* Judge a test by how its child ended; status NULL: the child hung. */
static int judge(struct fl_verdict *t, const struct fl_ledger *l, const int *status)
{
	if (!status) {
		t->tally.lost++;
		snprintf(t->note, sizeof t->note, "it hung");
	} else if (WIFSIGNALED(*status)) {
		if (WTERMSIG(*status) == SIGKILL)
			return -EINTR;		/* from outside */
		t->tally.torn++;
		snprintf(t->note, sizeof t->note, "it died of signal %d", WTERMSIG(*status));
	} else if (!l->done && !t->tally.torn && !t->tally.stray) {
		return l->error ? l->error : -EIO;
	}
	return 0;
}

static int run(const struct body *b, struct fl_verdict *v, const char *sync, unsigned ms,
	       void (*tick)(void *), void *arg)
{
	struct fl_ledger *l = mmap(NULL, sizeof *l, PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status;
	bool ended;
	pid_t pid;
	int err;

	if (l == MAP_FAILED)
		return -errno;
	pid = start_child(l, b, sync, ms);
	err = -errno;
	if (pid > 0) {
		ended = wait_for(pid, &status, ms, tick, arg);
		add_up(v, l);
		err = judge(v, l, ended ? &status : NULL);
	}
	munmap(l, sizeof *l);
	return err;
}

int fl_torture_run(const struct fl_torture *t, struct fl_verdict *v, const char *sync,
		   unsigned ms, void (*tick)(void *), void *arg)
{
	*v = (struct fl_verdict){ .skipped = false };
	return run(&bodies[t - fl_tortures], v, sync, ms, tick, arg);
}
