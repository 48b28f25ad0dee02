/*
 * target.c - the target's process: its start, the signals it gets, its end.
 *
 * Hides which of flick's children is what: the target, processes of its tree that have lost
 * their parent, and what waits for flick beside each of its images (os/outside.c).
 */
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "os/os.h"
#include "session/attach.h"
#include "session/opening.h"
#include "session/target.h"

#define GRACE_NS 1000000000ull		/* for a process tree to end after its first */

/* ---- signals: the target gets them, flick goes on ---------------------------------- */

static volatile sig_atomic_t target_pid, is_to_end;

static const int forwarded[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

/* A terminal sends Ctrl-C to the target as well; another process does not. */
static void on_signal(int sig, siginfo_t *info, void *context)
{
	int saved = errno;

	(void)context;
	is_to_end = 1;
	if (info->si_code <= 0 && target_pid > 0)
		kill(target_pid, sig);
	errno = saved;
}

/* The signal wakes flick where it waits for events: it looks whether the target has ended. */
static void on_child(int sig)
{
	(void)sig;
}

/* A signal that is ignored stays so: nohup. */
static void handle(int sig, const struct sigaction *act)
{
	struct sigaction old;

	sigaction(sig, NULL, &old);
	if (old.sa_handler != SIG_IGN)
		sigaction(sig, act, NULL);
}

int fl_target_start(struct fl_session *s)
{
	const struct sigaction forward = { .sa_sigaction = on_signal,
					   .sa_flags = SA_SIGINFO | SA_RESTART };
	const struct sigaction look = { .sa_handler = on_child, .sa_flags = SA_RESTART };

	for (size_t i = 0; i < ARRAY_LEN(forwarded); i++)
		handle(forwarded[i], &forward);
	handle(SIGCHLD, &look);
	signal(SIGPIPE, SIG_IGN);
	if (s->o->follow)
		prctl(PR_SET_CHILD_SUBREAPER, 1);
	fl_clocks_read(&s->start_tsc, &s->start_ns);
	if (s->attached) {
		s->pid = -1;
		return fl_attach_start(s);
	}
	if (s->launch.is_closed) {
		s->launch.before = fl_opening_before;
		s->launch.before_arg = s;
	}
	s->pid = fl_launch_start(&s->launch, s->o->argv, s->shm, s->fd);
	if (s->pid < 0)
		fl_target_release();
	else
		target_pid = s->pid;
	return s->pid < 0 ? -1 : 0;
}

void fl_target_release(void)
{
	const struct sigaction none = { .sa_handler = SIG_DFL };

	target_pid = 0;
	for (size_t i = 0; i < ARRAY_LEN(forwarded); i++)
		handle(forwarded[i], &none);
}

bool fl_target_is_to_end(void)
{
	return is_to_end;
}

void fl_target_end(struct fl_session *s)
{
	is_to_end = 1;
	if (s->attached)
		fl_attach_end(s);
	else if (!s->target.gone_ns)
		kill(s->pid, SIGTERM);
}

/* ---- its end ------------------------------------------------------------------------- */

static uint64_t cpu_ns(const struct rusage *used)
{
	const struct timeval *user = &used->ru_utime, *system = &used->ru_stime;

	return fl_ns(user->tv_sec + system->tv_sec, (user->tv_usec + system->tv_usec) * 1000);
}

static void note_watch(struct fl_session *s, int status, const struct rusage *used)
{
	s->target.watch_ns += cpu_ns(used);
	if (WIFSIGNALED(status))
		s->target.watch_signal = WTERMSIG(status);
}

/* The end on both clocks, at the first look that sees it: later looks see it again. One moment
 * on both: what is open until the end on one clock was there until that on the other. */
void fl_target_note_gone(struct fl_session *s)
{
	if (s->target.gone_ns)
		return;
	fl_clocks_read(&s->target.gone_tsc, &s->target.gone_ns);
}

/* Take all children that have ended. True: there is none left. */
static bool reap(struct fl_session *s)
{
	siginfo_t end = { .si_pid = 0 };
	struct fl_target_process *t = &s->target;
	struct rusage used = { 0 };
	int status, pid;

	while (!waitid(P_ALL, 0, &end, WEXITED | WNOHANG | WNOWAIT)) {
		bool is_watch, is_measuring;
		uint64_t own_ns;

		pid = end.si_pid;
		if (!pid)
			return false;
		is_watch = fl_os_outside_is(pid);
		is_measuring = pid == s->calibrator.pid;
		own_ns = fl_os_process_ns(pid);
		if ((s->o->follow || pid == s->pid) && !is_watch && !is_measuring)
			t->cpu_ns += own_ns;
		if (wait4(pid, &status, 0, &used) < 0)
			break;
		if (is_watch)
			note_watch(s, status, &used);
		if (pid == s->pid) {
			t->children_ns = cpu_ns(&used) > own_ns ? cpu_ns(&used) - own_ns : 0;
			t->kernel_ns = fl_ns(used.ru_stime.tv_sec,
					     used.ru_stime.tv_usec * 1000);
			t->status = status;
			fl_target_note_gone(s);
			target_pid = 0;
		}
		end.si_pid = 0;
	}
	return errno == ECHILD;
}

/* A process tree has ended when there is no child left: orphans become ours. Only the kernel
 * knows of a process that is between two of its programs. The tree is not waited for where an
 * end was asked for, and processes that the target left behind do not end. */
bool fl_target_is_gone(struct fl_session *s)
{
	bool none_left = reap(s);

	if (s->attached && is_to_end)
		fl_attach_end(s);
	if (s->attached)
		return fl_attach_has_left(s);
	if (s->o->follow)
		return none_left || (is_to_end && fl_target_is_outlived(s));
	return none_left || s->target.gone_ns || (kill(s->pid, 0) < 0 && errno == ESRCH);
}

bool fl_target_is_outlived(const struct fl_session *s)
{
	return s->target.gone_ns && fl_os_monotonic_ns() - s->target.gone_ns > GRACE_NS;
}

/* A caller that waits for the target's end shall find nothing of flick's in the target's memory
 * or its file. */
void fl_target_await_watcher(struct fl_session *s)
{
	enum { PAUSE_US = 50 };
	uint64_t until = fl_os_monotonic_ns() + GRACE_NS;
	int pid = load_relaxed(&s->shm->watcher_pid), status = 0, got = 0;
	struct rusage used = { 0 };

	while (pid > 0 && !(got = wait4(pid, &status, WNOHANG, &used)) &&
	       fl_os_monotonic_ns() < until)
		fl_os_sleep_us(PAUSE_US);
	if (got > 0)
		note_watch(s, status, &used);
}
