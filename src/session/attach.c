/*
 * attach.c - a session with a process that runs already.
 *
 * Hides how the process becomes a target as one that flick has started: its agent
 * is loaded (attach-thread.c), finds the region by the name it is given, and asks.
 * From then on all is as with others, except that the process is not flick's child,
 * and that it is left when the recording ends: the agent itself puts back what it
 * has changed, whether it is asked to or the reader has died.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/os.h"
#include "session/attach.h"
#include "session/cost.h"
#include "session/launch.h"
#include "session/negotiation.h"
#include "session/target.h"

/* ---- before it is touched --------------------------------------------------------- */

/* When a thread executes another program, its process's number changes hands: for a moment
 * nobody has it, and the kernel denies to say what it runs. */
static void read_program(struct fl_attached *a)
{
	enum { TRIES = 20, PAUSE_US = 1000 };
	char path[64];
	ssize_t n = -1;

	snprintf(path, sizeof(path), "/proc/%d/exe", a->pid);
	for (int i = 0; n < 0 && i < TRIES; i++) {
		if (i)
			fl_os_sleep_us(PAUSE_US);
		n = readlink(path, a->exe, sizeof(a->exe) - 1);
	}
	a->exe[n > 0 ? n : 0] = '\0';
}

char **fl_attach_arguments(uint32_t pid)
{
	enum { WORDS = 64 };
	static char text[4096], *words[WORDS + 1];
	char path[64];
	size_t n = 0, at = 0, len = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/cmdline", pid);
	f = fopen(path, "re");
	if (f) {
		len = fread(text, 1, sizeof(text) - 1, f);
		fclose(f);
	}
	if (!len)
		snprintf(text, sizeof(text), "process %u", pid);
	do {
		words[n++] = text + at;
		at += strlen(text + at) + 1;
	} while (n < WORDS && at < len);
	words[n] = NULL;
	return words;
}

static int open_process(struct fl_attached *a)
{
	char path[64];

	a->pidfd = (int)syscall(SYS_pidfd_open, a->pid, 0);
	snprintf(path, sizeof(path), "/proc/%d/mem", a->pid);
	a->mem = open(path, O_RDWR | O_CLOEXEC);
	read_program(a);
	return a->mem < 0 ? -errno : 0;
}

/* One flick at a time comes in: the second one's thread executes probes of the first one, and
 * flick has to know of these before (fl_channel_nobody()). The lock goes when the flick ends
 * that holds it. False: another flick has held it for long. */
static bool enter_alone(struct fl_attached *a)
{
	enum { PATIENCE_US = 20000000, PAUSE_US = 5000 };
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", a->pid);
	a->turn = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (uint32_t us = 0; a->turn >= 0 && flock(a->turn, LOCK_EX | LOCK_NB) &&
	     (errno == EWOULDBLOCK || errno == EINTR); us += PAUSE_US) {
		if (us >= PATIENCE_US)
			return false;
		fl_os_sleep_us(PAUSE_US);
	}
	return true;
}

/* Children of flick may have the file, too, so closing it does not unlock it. */
static void let_others_in(struct fl_attached *a)
{
	if (a->turn < 0)
		return;
	flock(a->turn, LOCK_UN);
	close(a->turn);
	a->turn = -1;
}

bool fl_attach_is_second(const struct fl_attached *a)
{
	return a->recorders != FL_RECORDERS_NONE;
}

bool fl_attach_is_recorded(uint32_t pid)
{
	struct fl_attached a = { .pid = (int)pid, .mem = -1, .pidfd = -1 };
	bool is = FL_ARCH_ATTACHES && !fl_attach_is_flicks(&a) && !open_process(&a) &&
		  !fl_attach_look(&a) && fl_attach_is_second(&a);

	fl_attach_forget(&a);
	if (a.mem >= 0)
		close(a.mem);
	if (a.pidfd >= 0)
		close(a.pidfd);
	return is;
}

int fl_attach_check(struct fl_session *s)
{
	struct fl_attached *a = calloc(1, sizeof(*a));
	int err;

	s->attached = a;
	if (!a)
		return -1;
	if (!FL_ARCH_ATTACHES) {
		fl_say("flick attaches to running programs on x86-64 alone; start the program "
		       "with it");
		return -1;
	}
	a->pid = (int)s->o->pid;
	a->mem = a->pidfd = a->turn = -1;
	err = open_process(a);
	if (!err && !enter_alone(a)) {
		fl_say("cannot attach to process %d: another flick is attaching to it; try "
		       "again", a->pid);
		return -1;
	}
	if (!err)
		fl_attach_look(a);
	a->may_stay_outside = fl_negotiation_samples_do(s->o);
	if (fl_attach_refuse(a))
		return -1;
	if (err) {
		fl_attach_say_denied(a, err);
		return -1;
	}
	a->is_outside = !a->c_library || !a->call || !a->sigreturn;
	return fl_launch_check_attached(&s->launch, a->exe) ||
	       fl_attach_refuse_root(a, s->launch.library) ? -1 : 0;
}

/* ---- in --------------------------------------------------------------------------- */

#define STOPPED "it was stopped meanwhile; `kill -CONT` lets it go on"
#define CROWDED "it may have no thread more (ulimit -u, pids.max, SCHED_DEADLINE)"
#define ANOTHER "it became another program meanwhile (exec); try again"

#define COROUTINE "its threads run on stacks of the program's own (coroutines), whose ends " \
	"flick does not know; `flick record` starts it"
#define CHILD "it waits for a child that it has started by vfork(), or for a device; try " \
	"again behind that"

static const char *what_stands_against(const struct fl_attached *a, int err)
{
	switch (err) {
	case -EAGAIN:
		return a->against == FL_AGAINST_STACK ? COROUTINE :
		       a->against == FL_AGAINST_CHILD ? CHILD :
		       "no thread of it stands where it could be asked; try again";
	case -ENOTSUP: return "its C library is not one that flick knows";
	case -EUSERS: return CROWDED;
	case -ENOMEM: return "it has no room for more memory";
	case -EBUSY: return STOPPED;
	case -EALREADY: return "another flick, which was killed, has a thread in it yet; try "
			       "again";
	case -ESTALE: return ANOTHER;
	case -ESRCH: return "it has ended";
	default: return fl_reason(err);
	}
}

static void say_why_not(const struct fl_session *s, int err)
{
	if (err == -EPERM)
		fl_attach_say_denied(s->attached, err);
	else
		fl_say("cannot attach to process %d: %s", s->attached->pid,
		       what_stands_against(s->attached, err));
}

/* A libflick.so that is there already is not loaded twice. */
static const char *what_to_load(const struct fl_session *s)
{
	return s->attached->library ? s->attached->loaded_name : s->launch.library;
}

/* The kernel's events are open. */
static int stay_outside(struct fl_session *s)
{
	s->pid = s->attached->pid;
	if (!s->sampler)
		return fl_negotiation_say_no_samples(s);
	s->attached->has_begun = true;
	let_others_in(s->attached);
	fl_negotiation_skip(s);
	s->begun_ns = fl_os_monotonic_ns();
	fl_cost_begin(s);
	return 0;
}

int fl_attach_start(struct fl_session *s)
{
	char given[64];
	const char *texts[3] = { NULL, "flick_attach", given };
	struct stat region;
	int err;

	if (s->attached->is_outside)
		return stay_outside(s);
	err = fl_attach_await_loader(s);
	if (err) {
		if (err != -ECANCELED)
			say_why_not(s, err);
		return -1;
	}
	texts[0] = what_to_load(s);
	if (s->attached->library)	/* samples in it are flick's */
		snprintf(s->launch.library, sizeof(s->launch.library), "%s",
			 s->attached->library->path);
	s->pid = s->attached->pid;
	s->shm->target_pid = s->pid;
	s->shm->is_attached = 1;
	fl_launch_introduce(s->shm);
	if (fstat(s->fd, &region))
		return -1;
	snprintf(given, sizeof(given), "/proc/%d/fd/%d:%llu", getpid(), s->fd,
		 (unsigned long long)region.st_ino);
	err = fl_attach_load(s->attached, texts);
	s->attached->asked_ns = fl_os_monotonic_ns();
	if (err)
		say_why_not(s, err);
	return err ? -1 : 0;
}

static const char *why_not_entered(const struct fl_attached *a)
{
	if (a->with.result && a->with.result != EAGAIN)
		return strerror(a->with.result);
	if (!a->with.result && *a->with.why)
		return a->with.why;
	/* the C library says the same when it has no room for a stack */
	return fl_attach_becomes_another(a) ? ANOTHER :
	       a->with.result ? CROWDED ", or has no room for its stack" : "it has ended";
}

/* The process could not be entered, or its agent could not begin. */
static bool has_failed(struct fl_session *s)
{
	struct fl_attached *a = s->attached;

	if (s->asked || a->has_failed)
		return a->has_failed;
	switch (fl_attach_state(a)) {
	case FL_INJECT_FAILED:
		a->has_failed = true;
		fl_say("cannot attach to process %d: %s", a->pid, why_not_entered(a));
		break;
	case FL_INJECT_ENDED:
		a->has_failed = a->with.result != 0;
		if (a->with.result == FLE_RECORDED)
			fl_say("cannot attach to process %d: it is recorded by another flick, "
			       "or was by one that it was started with", a->pid);
		else if (a->has_failed)
			fl_say("cannot attach to process %d: %s", a->pid,
			       fl_reason(a->with.result));
		break;
	default: break;
	}
	return a->has_failed;
}

/* The process is stopped (SIGSTOP) while it is entered: nothing comes of it before that ends.
 * A thread that has come in then finds nobody, and goes again. */
static bool is_held_up(struct fl_session *s)
{
	enum { PATIENCE_NS = 300000000 };
	struct fl_attached *a = s->attached;
	uint64_t now = fl_os_monotonic_ns();

	if (a->has_failed || fl_attach_has_begun(s) || !fl_attach_is_stopped(a)) {
		a->stopped_ns = 0;
		return false;
	}
	a->stopped_ns = a->stopped_ns ? a->stopped_ns : now;
	if (now - a->stopped_ns < PATIENCE_NS)
		return false;
	a->has_failed = true;
	fl_say("cannot attach to process %d: " STOPPED, a->pid);
	fl_attach_call_off(a);
	store_relaxed(&s->shm->detach, 1);
	return true;
}

bool fl_attach_has_failed(const struct fl_attached *a)
{
	return a->has_failed;
}

/* ---- out -------------------------------------------------------------------------- */

static bool is_dead(const struct fl_attached *a)
{
	struct pollfd p = { .fd = a->pidfd, .events = POLLIN };

	return a->pidfd >= 0 ? poll(&p, 1, 0) > 0 : kill(a->pid, 0) && errno == ESRCH;
}

/* What would put things right in the process is dead, too. */
static bool is_late(struct fl_attached *a)
{
	enum { PATIENCE_S = 10 };
	bool is = a->end_ns && fl_os_monotonic_ns() - a->end_ns > PATIENCE_S * 1000000000ull;

	if (is && !a->is_stuck)
		fl_say("process %d does not let go of its probes: they stay in it; another "
		       "`flick record -p %d` may take them away", a->pid, a->pid);
	a->is_stuck |= is;
	return is;
}

/* What waits beside the process has ended before flick left it: so it was killed. */
bool fl_attach_is_unwatched(const struct fl_session *s)
{
	int watcher = (int)load_relaxed(&s->shm->watcher_pid);
	struct fl_thread_status status;

	return watcher > 0 && fl_os_thread_status(watcher, watcher, &status) == -ESRCH &&
	       !load_relaxed(&s->shm->has_left);
}

/* The next thread that comes in finds that this recorder wants to leave, and puts things
 * right. */
static void send_another(struct fl_session *s)
{
	struct fl_attached *a = s->attached;
	const char *const texts[3] = { what_to_load(s), "flick_attach", "" };

	a->has_sent = true;
	if (!fl_attach_look_again(a))
		fl_attach_load(a, texts);
}

bool fl_attach_has_begun(struct fl_session *s)
{
	struct fl_attached *a = s->attached;

	if (a->has_begun)
		return true;
	a->has_begun = fl_attach_state(a) == FL_INJECT_ENDED;
	if (!a->has_begun)
		return false;
	let_others_in(a);
	s->begun_ns = fl_os_monotonic_ns();
	fl_cost_begin(s);
	if (s->begun && !s->o->wait && !a->with.result && fl_negotiation_came_to_nothing(s))
		fl_attach_end(s);
	return true;
}

void fl_attach_tell_refused(const struct fl_session *s)
{
	uint32_t n = 0;

	if (s->chose_nothing)			/* that is why, and is said */
		return;
	for (uint32_t i = 0; i < s->n_selected; i++)
		n += s->selected[i] && s->functions.sites[i].kind == FL_ENTRY &&
		     load_relaxed(&s->sites[i].refusal) == FLE_COUNTED;
	if (n)
		fl_say("%u function%s cannot be recorded: %s", n, n == 1 ? "" : "s",
		       fl_reason(FLE_COUNTED));
}

bool fl_attach_has_left(struct fl_session *s)
{
	if (!s->attached->end_ns)
		fl_cost_look(s);
	else if (!s->attached->has_sent && fl_attach_is_unwatched(s))
		send_another(s);
	if (load_relaxed(&s->shm->has_left) || is_dead(s->attached) || is_late(s->attached) ||
	    (s->attached->is_outside && s->attached->end_ns)) {
		fl_target_note_gone(s);
		return true;
	}
	return is_held_up(s) || has_failed(s) || fl_attach_is_kept_out(s);
}

void fl_attach_end(struct fl_session *s)
{
	struct fl_attached *a = s->attached;

	if (!a->end_ns) {
		a->end_ns = fl_os_monotonic_ns();
		fl_cost_end(s);
	}
	store_relaxed(&s->shm->detach, 1);
}

void fl_attach_close(struct fl_attached *a)
{
	if (!a)
		return;
	let_others_in(a);
	fl_attach_forget(a);
	if (a->mem >= 0)
		close(a->mem);
	if (a->pidfd >= 0)
		close(a->pidfd);
	free(a);
}
