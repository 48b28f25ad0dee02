/*
 * attach.c - a session with a process that runs already.
 *
 * Hides how the process becomes a target as one that flick has started: its agent
 * is loaded (process/attach-thread.c), finds the region by the name it is given, and asks.
 * From then on all is as with others, except that the process is not flick's child,
 * and that it is left when the recording ends: the agent itself puts back what it
 * has changed, whether it is asked to or the reader has died.
 */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/os.h"
#include "session/attach.h"
#include "session/cost.h"
#include "session/negotiation.h"
#include "session/target.h"

/* ---- before it is touched --------------------------------------------------------- */

int fl_attach_check(struct fl_session *s)
{
	struct fl_attached *a = malloc(sizeof(*a));
	int err;

	if (!a)
		return -1;
	err = fl_attached_open(a, (int)s->o->pid);
	s->attached = a;
	if (!FL_ARCH_ATTACHES) {
		fl_say("flick attaches to running programs on x86-64 alone; start the program "
		       "with it");
		return -1;
	}
	if (!err && !fl_attached_enter_alone(a)) {
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
	s->stay.is_outside = !a->c_library || !a->call || !a->sigreturn;
	return fl_launch_check_attached(&s->launch, a->exe) ||
	       fl_attach_refuse_root(a, s->launch.library) ? -1 : 0;
}

/* ---- in --------------------------------------------------------------------------- */

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
	s->stay.has_begun = true;
	fl_attached_let_others_in(s->attached);
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

	if (s->stay.is_outside)
		return stay_outside(s);
	err = fl_attach_await_loader(s);
	if (err) {
		if (err != -ECANCELED)
			fl_attach_say_why_not(s->attached, err);
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
	s->stay.asked_ns = fl_os_monotonic_ns();
	if (err)
		fl_attach_say_why_not(s->attached, err);
	return err ? -1 : 0;
}

/* The process could not be entered, or its agent could not begin. */
static bool has_failed(struct fl_session *s)
{
	struct fl_attached *a = s->attached;
	struct fl_stay *stay = &s->stay;

	if (s->start.asked || stay->has_failed)
		return stay->has_failed;
	switch (fl_attach_state(a)) {
	case FL_INJECT_FAILED:
		stay->has_failed = true;
		fl_say("cannot attach to process %d: %s", a->pid, fl_attach_why_not_entered(a));
		break;
	case FL_INJECT_ENDED:
		stay->has_failed = a->with.result != 0;
		if (a->with.result == FLE_RECORDED)
			fl_say("cannot attach to process %d: it is recorded by another flick, "
			       "or was by one that it was started with", a->pid);
		else if (stay->has_failed)
			fl_say("cannot attach to process %d: %s", a->pid,
			       fl_reason(a->with.result));
		break;
	default: break;
	}
	return stay->has_failed;
}

/* The process is stopped (SIGSTOP) while it is entered: nothing comes of it before that ends.
 * A thread that has come in then finds nobody, and goes again. */
static bool is_held_up(struct fl_session *s)
{
	enum { PATIENCE_NS = 300000000 };
	struct fl_stay *stay = &s->stay;
	uint64_t now = fl_os_monotonic_ns();

	if (stay->has_failed || fl_attach_has_begun(s) || !fl_attach_is_stopped(s->attached)) {
		stay->stopped_ns = 0;
		return false;
	}
	stay->stopped_ns = stay->stopped_ns ? stay->stopped_ns : now;
	if (now - stay->stopped_ns < PATIENCE_NS)
		return false;
	stay->has_failed = true;
	fl_say("cannot attach to process %d: " FL_ATTACH_STOPPED, s->pid);
	fl_attach_call_off(s->attached);
	store_relaxed(&s->shm->detach, 1);
	return true;
}

bool fl_attach_has_failed(const struct fl_session *s)
{
	return s->stay.has_failed;
}

/* ---- out -------------------------------------------------------------------------- */

/* What would put things right in the process is dead, too. */
static bool is_late(struct fl_session *s)
{
	enum { PATIENCE_S = 10 };
	struct fl_stay *stay = &s->stay;
	uint64_t now = fl_os_monotonic_ns();
	bool is = stay->end_ns && now - stay->end_ns > PATIENCE_S * 1000000000ull;

	if (is && !stay->is_stuck)
		fl_say("process %d does not let go of its probes: they stay in it; another "
		       "`flick record -p %d` may take them away", s->pid, s->pid);
	stay->is_stuck |= is;
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

	s->stay.has_sent = true;
	if (!fl_attach_look_again(a))
		fl_attach_load(a, texts);
}

bool fl_attach_has_begun(struct fl_session *s)
{
	struct fl_attached *a = s->attached;
	struct fl_stay *stay = &s->stay;

	if (stay->has_begun)
		return true;
	stay->has_begun = fl_attach_state(a) == FL_INJECT_ENDED;
	if (!stay->has_begun)
		return false;
	fl_attached_let_others_in(a);
	s->begun_ns = fl_os_monotonic_ns();
	fl_cost_begin(s);
	if (s->start.begun && !s->o->wait && !a->with.result &&
	    fl_negotiation_came_to_nothing(s))
		fl_attach_end(s);
	return true;
}

void fl_attach_tell_refused(const struct fl_session *s)
{
	uint32_t n = 0;

	if (s->chosen.is_empty)			/* that is why, and is said */
		return;
	for (uint32_t i = 0; i < s->chosen.n; i++)
		n += s->chosen.marks[i] && s->functions.sites[i].kind == FL_ENTRY &&
		     load_relaxed(&s->sites[i].refusal) == FLE_COUNTED;
	if (n)
		fl_say("%u function%s cannot be recorded: %s", n, n == 1 ? "" : "s",
		       fl_reason(FLE_COUNTED));
}

bool fl_attach_has_left(struct fl_session *s)
{
	if (!s->stay.end_ns)
		fl_cost_look(s);
	else if (!s->stay.has_sent && fl_attach_is_unwatched(s))
		send_another(s);
	if (load_relaxed(&s->shm->has_left) || fl_attached_has_ended(s->attached) ||
	    is_late(s) || (s->stay.is_outside && s->stay.end_ns)) {
		fl_target_note_gone(s);
		return true;
	}
	return is_held_up(s) || has_failed(s) || fl_attach_is_kept_out(s);
}

void fl_attach_end(struct fl_session *s)
{
	if (!s->stay.end_ns) {
		s->stay.end_ns = fl_os_monotonic_ns();
		fl_cost_end(s);
	}
	store_relaxed(&s->shm->detach, 1);
}

void fl_attach_close(struct fl_attached *a)
{
	if (a)
		fl_attached_close(a);
	free(a);
}
