/*
 * attach.c - a process that runs already is opened, by one flick at a time.
 *
 * Hides how it is said that it cannot be entered. What it is, attach-look.c finds; how a thread
 * comes into it, attach-thread.c.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/os.h"
#include "process/attach.h"

/* ---- it is opened ----------------------------------------------------------------- */

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

int fl_attached_open(struct fl_attached *a, int pid)
{
	char path[64];
	int err = 0;

	*a = (struct fl_attached){ .pid = pid, .turn = -1 };
	a->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	a->mem = open(path, O_RDWR | O_CLOEXEC);
	if (a->mem < 0)
		err = -errno;
	read_program(a);
	return err;
}

/* One flick at a time comes in: the second one's thread executes probes of the first one, and
 * flick has to know of these before (fl_channel_nobody()). The lock goes when the flick ends
 * that holds it. */
bool fl_attached_enter_alone(struct fl_attached *a)
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
void fl_attached_let_others_in(struct fl_attached *a)
{
	if (a->turn < 0)
		return;
	flock(a->turn, LOCK_UN);
	close(a->turn);
	a->turn = -1;
}

void fl_attached_close(struct fl_attached *a)
{
	fl_attached_let_others_in(a);
	fl_attach_forget(a);
	if (a->mem >= 0)
		close(a->mem);
	if (a->pidfd >= 0)
		close(a->pidfd);
}

bool fl_attached_has_ended(const struct fl_attached *a)
{
	struct pollfd p = { .fd = a->pidfd, .events = POLLIN };

	return a->pidfd >= 0 ? poll(&p, 1, 0) > 0 : kill(a->pid, 0) && errno == ESRCH;
}

/* ---- what it is asked beforehand -------------------------------------------------- */

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

bool fl_attach_is_second(const struct fl_attached *a)
{
	return a->recorders != FL_RECORDERS_NONE;
}

bool fl_attach_is_recorded(uint32_t pid)
{
	struct fl_attached a = { .pid = (int)pid };
	bool is;

	if (!FL_ARCH_ATTACHES || fl_os_outside_is(a.pid))
		return false;
	is = !fl_attached_open(&a, (int)pid) && !fl_attach_look(&a) && fl_attach_is_second(&a);
	fl_attached_close(&a);
	return is;
}

/* ---- why it cannot be entered ----------------------------------------------------- */

#define CROWDED "it may have no thread more (ulimit -u, pids.max, SCHED_DEADLINE)"
#define ANOTHER "it became another program meanwhile (exec); try again"

#define COROUTINE "its threads run on stacks of the program's own (coroutines), whose ends " \
	"flick does not know; `flick record` starts it"
#define CHILD "it waits for a child that it has started by vfork(), or for a device, or is " \
	"frozen (cgroup); try again behind that"

#define FROZEN "its threads do not go on, as where it is frozen (cgroup); try again behind that"

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
	case -EBUSY: return FL_ATTACH_STOPPED;
	case -EALREADY: return "another flick, which was killed, has a thread in it yet; try "
			       "again";
	case -ESTALE: return ANOTHER;
	case -ESRCH: return fl_attached_has_ended(a) ? "it has ended" : FROZEN;
	default: return fl_reason(err);
	}
}

void fl_attach_say_why_not(const struct fl_attached *a, int err)
{
	if (err == -EPERM)
		fl_attach_say_denied(a, err);
	else
		fl_say("cannot attach to process %d: %s", a->pid, what_stands_against(a, err));
}

const char *fl_attach_why_not_entered(const struct fl_attached *a)
{
	if (a->with.result && a->with.result != EAGAIN)
		return strerror(a->with.result);
	if (!a->with.result && *a->with.why)
		return a->with.why;
	/* the C library says the same when it has no room for a stack */
	return fl_attach_becomes_another(a) ? ANOTHER :
	       a->with.result ? CROWDED ", or has no room for its stack" : "it has ended";
}
