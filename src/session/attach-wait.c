/*
 * attach-wait.c - another thread is in the loader of the program that is attached to.
 *
 * A thread that loads a library, and runs its constructors, has all others wait that come to
 * load one, as flick's does. That may last: so it is waited for before the process is touched,
 * and the user is told when it lasts. Another thread may come there while flick's own is on its
 * way in. Then flick's thread waits as any thread of the program does, and finds nobody when
 * the wait was ended.
 */
#include <signal.h>
#include <string.h>

#include "os/os.h"
#include "session/attach.h"

enum { PAUSE_US = 500 };
#define PATIENCE_NS 1000000000ull	/* so long nothing is said of it */
#define LEAST_NS 3000000000ull		/* and so long it is waited for, however short -d is */

/* The thread that is in the loader, unless it is the one that comes in, which loads, too. That
 * one's number stands where each thread has its own. */
static int find_holder(const struct fl_attached *a)
{
	int holder = fl_attach_loads(a), entrant = 0;

	if (holder && a->with.thread &&
	    !fl_attach_read(a, a->with.thread + (a->number - a->with.tls), &entrant,
			    sizeof(entrant)))
		return 0;
	return holder == entrant ? 0 : holder;
}

/* Wait until the user ends it, or the time is over that the recording was to take. */
static bool shall_wait(struct fl_session *s, int holder, uint64_t since_ns)
{
	uint64_t waited_ns = fl_os_monotonic_ns() - since_ns;

	if (fl_target_is_to_end())
		return false;
	if (waited_ns < PATIENCE_NS)
		return true;
	if (!s->stay.is_told && !s->o->watch)
		fl_say("thread %d of process %d is in the loader (dlopen, a constructor), and "
		       "has to come out first; Ctrl-C ends the wait", holder, s->attached->pid);
	s->stay.is_told = true;
	return s->o->seconds <= 0 || waited_ns < LEAST_NS ||
	       (double)waited_ns < s->o->seconds * 1e9;
}

static void say_left(const struct fl_attached *a, int holder)
{
	fl_say("cannot attach to process %d: its thread %d was in the loader until the wait "
	       "ended; nothing of it has changed", a->pid, holder);
}

int fl_attach_await_loader(struct fl_session *s)
{
	uint64_t since_ns = fl_os_monotonic_ns();
	struct fl_attached *a = s->attached;
	bool has_waited = false;
	int holder;

	while ((holder = fl_attach_loads(a)) != 0) {
		if (fl_attach_is_stopped(a))
			return -EBUSY;
		if (!shall_wait(s, holder, since_ns)) {
			say_left(a, holder);
			return -ECANCELED;
		}
		fl_os_sleep_us(PAUSE_US);
		has_waited = true;
	}
	if (fl_attach_is_another(a))
		return -ESTALE;
	if (kill(a->pid, 0))
		return -ESRCH;
	return has_waited ? fl_attach_look_anew(a) : 0;
}

bool fl_attach_is_kept_out(struct fl_session *s)
{
	struct fl_attached *a = s->attached;
	enum fl_inject_state state;
	int holder;

	if (s->start.asked || s->stay.has_failed ||
	    (!fl_target_is_to_end() && fl_os_monotonic_ns() - s->stay.asked_ns < PATIENCE_NS))
		return false;
	state = fl_attach_state(a);
	holder = state == FL_INJECT_CREATED || state == FL_INJECT_RUNS ? find_holder(a) : 0;
	if (!holder || shall_wait(s, holder, s->stay.asked_ns))
		return false;
	say_left(a, holder);
	s->stay.has_failed = true;
	fl_attach_call_off(a);
	store_relaxed(&s->shm->detach, 1);
	return true;
}
