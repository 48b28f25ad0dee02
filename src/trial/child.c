/*
 * child.c - run one trial in a child process, and say what became of it.
 *
 * READER code. Hides processes, threads and signals: one patcher and its
 * executors, each on a processor of its own; what they counted is in memory
 * that outlives them. A child that dies by its own doing has failed; one that
 * somebody else ended proves nothing.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calibrate.h"
#include "os/os.h"
#include "hot.h"

enum {
	MIN_TOGGLES = 500,		/* however little time there is */
	CALLS_BETWEEN = 3,		/* two toggles: so an executor meets the first */
	PATIENCE = 20000,		/* ticks; an executor may not be running */
	SHORT_GAP = 512, N_GAPS = 5,	/* ticks: below 512, 1,024, ... 8,192 */
	SPINS = 2000,			/* in a trap, before the processor is yielded */
	WATCHDOG_S = 6
};

const char *const fl_way_names[FL_N_WAYS] = {
	"wait", "wait, jump", "wait, unfenced", "locked 8", "plain 8", "sse 16", "avx 32",
	"two halves",
};
const char *const fl_subject_names[FL_N_SUBJECTS] = { "call <-> nop", "operand" };
const char *const fl_fate_names[FL_N_FATES] = {
	"well", "SIGSEGV", "SIGILL", "SIGTRAP", "wrong", "hung",
};
const char *const fl_crossing_names[FL_N_CROSSINGS] = { "word", "8", "16", "32", "line" };

/* The memory that outlives a child. */
struct report {
	_Alignas(64) uint64_t toggles;	/* W patcher */
	int error;			/* -errno: could not be run */
	bool done;
	_Alignas(64) uint8_t stop;	/* W patcher, R executors */
	_Alignas(64) struct {		/* W the executor */
		_Alignas(64) uint64_t counts[FL_HOT_COUNTS];
	} executors[FL_TRIAL_EXECUTORS];
};

/* The child's own. */
static struct report *report;
static struct fl_hot hot;

bool fl_trial_can(enum fl_way way)
{
	return fl_hot_can(way);
}

enum fl_crossing fl_trial_crossing(const struct fl_trial *t)
{
	static const struct {
		size_t bytes;
		enum fl_crossing crossing;
	} coarser[] = {
		{ FL_ARCH_LINE, FL_CROSS_LINE }, { 32, FL_CROSS_32 },
		{ 16, FL_CROSS_16 }, { 8, FL_CROSS_8 },
	};
	size_t in_insn, last = t->offset + fl_hot_changed(t->subject, &in_insn) - 1;

	for (size_t i = 0; i < ARRAY_LEN(coarser); i++)
		if (t->offset / coarser[i].bytes != last / coarser[i].bytes)
			return coarser[i].crossing;
	return FL_CROSS_NONE;
}

uint32_t fl_trial_failures(const struct fl_trial *t)
{
	uint32_t n = 0;

	for (int f = FL_FATE_WELL + 1; f < FL_N_FATES; f++)
		n += t->fates[f];
	return n;
}

/* ---- processors ----------------------------------------------------------------- */

unsigned fl_trial_cpus(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof set, &set))
		return 1;
	return (unsigned)CPU_COUNT(&set);
}

/* The n-th processor of `set`. */
static int nth_cpu(const cpu_set_t *set, unsigned n)
{
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, set) && !n--)
			return cpu;
	return 0;
}

/* The patcher has the first processor, executors are spread over the others. */
static void pin(pthread_attr_t *attr, const cpu_set_t *all, unsigned i, unsigned of)
{
	unsigned others = (unsigned)CPU_COUNT(all) - 1;
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(nth_cpu(all, 1 + i * others / of), &one);
	pthread_attr_setaffinity_np(attr, sizeof one, &one);
}

static void pin_patcher(const cpu_set_t *all)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(nth_cpu(all, 0), &one);
	sched_setaffinity(0, sizeof one, &one);
}

/* ---- traps ------------------------------------------------------------------------ */

/* As in paper 1, section 5: a thread that meets the trap waits until it is gone.
 * Mixed bytes may lead to a trap elsewhere. */
static void on_trap(int sig, siginfo_t *info, void *context)
{
	uintptr_t pc = fl_arch_trap_pc(context);

	(void)info;
	if (pc != (uintptr_t)hot.site) {
		signal(sig, SIG_DFL);
		raise(sig);		/* pending until the handler returns */
		return;
	}
	for (unsigned i = 0; load_relaxed(hot.site) == FL_ARCH_TRAP; i++) {
		if (i < SPINS)
			fl_arch_pause();
		else
			sched_yield();
	}
	fl_arch_retry(context, pc);
}

/* ---- the child ---------------------------------------------------------------------- */

static void *execute(void *arg)
{
	fl_hot_execute(&hot, arg, &report->stop);
	return NULL;
}

static int start(pthread_t threads[], unsigned n)
{
	pthread_attr_t attr;
	cpu_set_t all;
	int err = 0;

	sched_getaffinity(0, sizeof all, &all);
	pthread_attr_init(&attr);
	for (unsigned i = 0; !err && i < n; i++) {
		pin(&attr, &all, i, n);
		err = pthread_create(&threads[i], &attr, execute,
				     report->executors[i].counts);
	}
	pthread_attr_destroy(&attr);
	pin_patcher(&all);
	return -err;
}

static uint64_t calls_of(unsigned executor)
{
	return load_relaxed(&report->executors[executor].counts[FL_HOT_CALLS]);
}

/* Wait until an executor has passed the site a few times. */
static void let_pass(unsigned executor)
{
	uint64_t until = calls_of(executor) + CALLS_BETWEEN, start = fl_arch_ticks();

	while (calls_of(executor) < until && fl_arch_ticks() - start < PATIENCE)
		fl_arch_pause();
}

/* Let a time pass that is different each time, in size and in phase. An executor
 * that met the trap is then anywhere on its way back when the next toggle comes:
 * that is when a wait that is too short shows. */
static void let_time_pass(uint64_t *seed)
{
	uint64_t start = fl_arch_ticks(), ticks;

	*seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	ticks = (*seed >> 33) % (SHORT_GAP << (*seed >> 60) % N_GAPS);
	while (fl_arch_ticks() - start < ticks)
		;
}

/* Pause after toggle `i`. A single store mostly comes when the code has been executed
 * since the last store, and at times right after that store. */
static void pause_after(const struct fl_trial *t, uint64_t i, uint64_t *seed)
{
	if (t->way <= FL_WAY_WAIT_UNFENCED && i % 4)
		let_time_pass(seed);
	else if (i % 5)
		let_pass((unsigned)(i % t->executors));
}

/* A control is over when it has been seen to fail. */
static bool is_over(const struct fl_trial *t, uint64_t toggles, uint64_t end_ns)
{
	const uint64_t *torn = &report->executors[0].counts[FL_HOT_TORN];

	if (toggles < MIN_TOGGLES || toggles % 16)
		return false;
	return (t->way == FL_WAY_HALVES && load_relaxed(torn)) ||
	       fl_os_monotonic_ns() >= end_ns;
}

static void toggle(const struct fl_trial *t, unsigned ms)
{
	uint64_t end_ns = fl_os_monotonic_ns() + ms * UINT64_C(1000000);
	uint64_t seed = fl_arch_ticks();

	for (unsigned i = 0; i < t->executors; i++)
		while (!calls_of(i))
			sched_yield();
	for (uint64_t i = 1; !is_over(t, i, end_ns); i++) {
		fl_hot_store(&hot, t, i & 1);
		store_relaxed(&report->toggles, i);
		pause_after(t, i, &seed);
	}
}

static int prepare(const struct fl_trial *t, unsigned ms)
{
	struct itimerval watchdog = { .it_value.tv_sec = WATCHDOG_S + ms / 1000 };
	struct sigaction trap = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };

	static const int deaths[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGALRM };

	prctl(PR_SET_DUMPABLE, 0);	/* it is meant to crash: no core */
	for (size_t i = 0; i < ARRAY_LEN(deaths); i++)
		signal(deaths[i], SIG_DFL);
	sigaction(SIGTRAP, &trap, NULL);
	setitimer(ITIMER_REAL, &watchdog, NULL);
	return fl_hot_lay(&hot, t);
}

static void run_child(const struct fl_trial *t, unsigned ms)
{
	pthread_t threads[FL_TRIAL_EXECUTORS];
	int err = prepare(t, ms);

	if (!err)
		err = start(threads, t->executors);
	if (err) {
		report->error = err;
		_exit(0);
	}
	toggle(t, ms);
	store_relaxed(&report->stop, 1);
	for (unsigned i = 0; i < t->executors; i++)
		pthread_join(threads[i], NULL);
	report->done = true;
	_exit(0);
}

/* ---- the parent ----------------------------------------------------------------------- */

static void add_up(struct fl_trial *t, bool *wrong)
{
	uint64_t torn = 0;

	for (unsigned i = 0; i < t->executors; i++) {
		const uint64_t *c = report->executors[i].counts;

		t->calls += c[FL_HOT_CALLS];
		torn += c[FL_HOT_TORN];
		*wrong |= report->done && c[FL_HOT_ON] > c[FL_HOT_CALLS];
	}
	t->torn += torn;
	t->toggles += report->toggles;
	*wrong |= torn || !report->done;
}

/* The fate of a child that `signal` ended, or -EINTR: the end came from outside. */
static int fate_of(int signal)
{
	switch (signal) {
	case SIGSEGV:
	case SIGBUS:
		return FL_FATE_SEGV;
	case SIGILL:
	case SIGFPE:
		return FL_FATE_ILL;
	case SIGTRAP:
		return FL_FATE_TRAP;
	case SIGALRM:
		return FL_FATE_HUNG;
	default:
		return -EINTR;
	}
}

static int wait_for(pid_t pid, int *status)
{
	while (waitpid(pid, status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}

static pid_t start_child(const struct fl_trial *t, unsigned ms)
{
	pid_t parent = getpid(), pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	run_child(t, ms);
	return 0;
}

static int run_reported(struct fl_trial *t, unsigned ms)
{
	bool wrong = false;
	int status, fate;
	pid_t pid = start_child(t, ms);

	if (pid < 0)
		return -errno;
	if ((fate = wait_for(pid, &status)) || (fate = report->error))
		return fate;
	add_up(t, &wrong);
	fate = WIFSIGNALED(status) ? fate_of(WTERMSIG(status)) :
	       wrong ? FL_FATE_WRONG : FL_FATE_WELL;
	if (fate < 0)
		return fate;
	t->fates[fate]++;
	t->runs++;
	return 0;
}

int fl_trial_run(struct fl_trial *t, unsigned ms)
{
	int err;

	report = mmap(NULL, sizeof *report, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (report == MAP_FAILED)
		return -errno;
	err = run_reported(t, ms);
	munmap(report, sizeof *report);
	return err;
}
