/*
 * outside.c - a process of flick's own, beside the program's and in its memory.
 *
 * A thread of flick's inside the program would suffer from what the program does to all
 * of its threads. A seccomp filter would hold for flick's thread, and kill for its calls;
 * user namespaces are refused to a process with a second thread; runtimes count their
 * threads. So a process waits in place of a thread. This process shares the memory and
 * nothing else: no descriptor, directory, signal action, process group or thread group.
 * It is no child of the program's either: its parent is the reader, or a process that
 * takes orphans.
 *
 * PROTOCOL
 *	program's first thread			outside
 *	hold `first` (robust.c)
 *	start: clone, `id` = its number
 *	wait for `ready`			leave what was copied, ready = 1, wake
 *	...					rest: wait while `first` is as it was
 *	ends, or calls exec: the kernel		wakes, finds nobody in this memory: ends
 *	  marks `first` and wakes
 *						ends by whatever: the kernel clears `id`
 *	A program that runs already (open_late) holds nothing: every now and then the
 *	process outside looks which threads of the program have this memory (kcmp(2)), and
 *	ends that much later.
 * INVARIANT
 *	1. The process outside ends at once when the program ends or becomes another one.
 *	2. It goes on while a thread of the program runs in this memory.
 *	3. A thread that waits for it, or for a lock that it holds, is told of its end.
 * WHY
 *	1. Every end and every exec takes the first thread out of this memory, and the
 *	   kernel marks what that thread held before it lets go of the memory (OS3,
 *	   OS4). Where the thread's list was replaced, a look at /proc now and then
 *	   stands in for the mark.
 *	2. When the mutex of the first thread is marked, there are three cases. The
 *	   first thread is there and does not end: it runs another program, in other
 *	   memory. Or it ends, or is a zombie, with threads beside it: they run here, or
 *	   are about to end, or one of them is about to take the first one's place for an
 *	   exec; look again. Or it is alone.
 *	3. CLONE_CHILD_CLEARTID: the kernel clears the word for each kind of death,
 *	   while the memory has another user. os/lock.c asks fl_os_outside_died().
 * FAILURE
 *	There can be no such process (descriptors cannot be let go of, orphans would
 *	come to the program itself, children would begin a pid namespace): an error,
 *	nothing is left. Waiting is denied: rest() says so, and the process ends by
 *	itself. The program has ended and its parent knows: the memory, and with it the
 *	file of the program, stays for some tens of microseconds more.
 */
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/futex.h>
#include <linux/kcmp.h>
#include <linux/prctl.h>
#include <linux/sched.h>

#include "os/clone.h"
#include "os/syscall.h"

enum {
	READY_US = 1000, READY_TRIES = 1000,
	SOON_US = 100, LATEST_US = 10000,	/* between looks at the last threads */
	LOOK_US = 1000000, LOOK_LATE_US = 50000,
	SLACK_NS = 1000			/* it may wake up this late, in place of 50 us */
};

static pthread_mutex_t first;		/* held by the program's first thread */

static struct {
	char *stack;			/* its mapping; NULL: none was started here */
	int of;				/* the process that it stands beside */
	uint64_t since;			/* when that process began; 0: not known */
	uint32_t id;			/* 0 when it has ended; futex */
	uint32_t ready;
	int (*run)(void *);
	void *arg;
	const uint64_t *others;		/* CPUs; NULL: it stays where the program is */
	bool is_late;			/* `first` is nobody's: look who has this memory */
} outside;

int fl_os_outside_open_late(void)
{
	struct fl_process_status s;
	int err = fl_os_process_status(0, &s);

	outside.stack = NULL;
	outside.id = 0;
	outside.of = fl_os_pid();
	outside.since = err ? 0 : s.since;
	outside.is_late = true;
	return err;
}

int fl_os_outside_open(void)
{
	int err = fl_os_outside_open_late();

	outside.is_late = false;	/* so it may be without /proc */
	fl_os_hold(&first);
	return err;
}

bool fl_os_is_outside(void)
{
	return outside.stack && fl_clone_holds(outside.stack, __builtin_frame_address(0));
}

int fl_os_pid(void)
{
	return fl_os_is_outside() ? outside.of : (int)SYS(SYS_getpid);
}

int fl_os_outside_pid(void)
{
	return (int)load_relaxed(&outside.id);
}

bool fl_os_outside_died(void)
{
	/* ordering: none of ours, the kernel clears it */
	return outside.stack && !load_acquire(&outside.id);
}

/* ---- its beginning -------------------------------------------------------------- */

/* Put those of `others` that the calling thread does not have into `rest`. Returns how many
 * CPUs the thread has, or 0 if there are any others. A kernel that knows more CPUs than fit
 * here tells none: `rest` is empty and 0 is returned. */
static uint32_t find_others(const uint64_t others[FL_CPU_WORDS], uint64_t rest[FL_CPU_WORDS])
{
	uint64_t own[FL_CPU_WORDS] = { 0 }, any = 0;
	long bytes = SYS(SYS_sched_getaffinity, 0, sizeof(own), own);
	uint32_t n = 0;

	for (size_t i = 0; i < FL_CPU_WORDS; i++) {
		rest[i] = bytes > 0 ? others[i] & ~own[i] : 0;
		any |= rest[i];
		for (; own[i]; own[i] &= own[i] - 1)
			n++;
	}
	return any ? 0 : n;
}

uint32_t fl_os_shared_cpus(const uint64_t others[FL_CPU_WORDS])
{
	uint64_t rest[FL_CPU_WORDS];

	return find_others(others, rest);
}

void fl_os_leave_cpus(int tid, const uint64_t others[FL_CPU_WORDS])
{
	uint64_t rest[FL_CPU_WORDS];

	if (!find_others(others, rest))
		SYS(SYS_sched_setaffinity, tid, sizeof(rest), rest);
}

/* With the program's descriptors this process would keep pipes open that the program has
 * closed: if they cannot be closed, it ends at once. */
static int stand_apart(void *arg)
{
	(void)arg;
	if (SYS_OR_FAULT(close_range, SYS_close_range, 0, ~0u, CLOSE_RANGE_UNSHARE))
		return 0;
	SYS(SYS_setpgid, 0, 0);
	SYS(SYS_chdir, "/");
	SYS(SYS_prctl, PR_SET_NAME, FL_OS_OUTSIDE_NAME);
	SYS(SYS_prctl, PR_SET_TIMERSLACK, SLACK_NS);
	if (outside.others)
		fl_os_leave_cpus(0, outside.others);
	store_release(&outside.ready, 1);			/* (A) pairs with (B) */
	fl_os_futex_wake(&outside.id, 1);
	return outside.run(outside.arg);
}

static int clone_it(unsigned long flags)
{
	flags |= CLONE_UNTRACED | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
	return (int)fl_clone(flags, outside.stack, stand_apart, NULL, &outside.id);
}

static int clone_orphan(void *arg)
{
	*(int *)arg = clone_it(0);
	return 0;
}

/* A child makes the process and ends at once: orphans go to the reader, or to init. */
static int start_orphan(void)
{
	int pid = -EAGAIN, between = fl_os_process_start(clone_orphan, &pid);

	if (between < 0)
		return between;
	fl_os_process_reap(between);
	return pid;
}

bool fl_os_takes_orphans(void)
{
	int flag = 0;

	return SYS(SYS_prctl, PR_GET_CHILD_SUBREAPER, &flag) || flag || fl_os_pid() == 1;
}

/* After unshare(CLONE_NEWPID) the next process is the first of a namespace. Who cannot read
 * when it began was forked just now, so it is in that one already. */
static bool begins_namespace(void)
{
	char own[32], childrens[32];

	if (fl_os_readlink("/proc/thread-self/ns/pid", own, sizeof own) < 0 ||
	    fl_os_readlink("/proc/thread-self/ns/pid_for_children", childrens,
			   sizeof childrens) < 0)
		return outside.since;
	return __builtin_strcmp(own, childrens) != 0;
}

static int start(int parent)
{
	if (begins_namespace())
		return -ENOTSUP;
	if (parent == fl_os_parent())
		return clone_it(CLONE_PARENT);
	return fl_os_takes_orphans() ? -ENOTSUP : start_orphan();
}

/* Has the process begun? A process that is only late counts as begun. */
static bool await_ready(void)
{
	uint32_t id;

	for (int i = 0; i < READY_TRIES; i++) {
		id = load_relaxed(&outside.id);
		if (!id || load_acquire(&outside.ready))	/* (B) pairs with (A) */
			break;
		fl_os_futex_wait(&outside.id, id, READY_US);
	}
	return load_relaxed(&outside.ready) || load_relaxed(&outside.id);
}

int fl_os_outside_start(int (*run)(void *), void *arg, int parent, const uint64_t *others)
{
	char *stack = fl_clone_map();
	int err;

	if (fl_is_err(stack))
		return (int)(intptr_t)stack;
	outside.run = run;
	outside.arg = arg;
	outside.others = others;
	outside.ready = 0;
	outside.id = 0;
	outside.stack = stack;
	err = start(parent);
	if (err > 0 && await_ready())
		return 0;
	outside.stack = NULL;
	if (err < 0)
		fl_clone_unmap(stack);		/* else the process has done so */
	return err < 0 ? err : -ENOTSUP;
}

/* ---- its end --------------------------------------------------------------------- */

static uint32_t first_word(void)
{
	/* ordering: none of ours, the kernel's mark is the release */
	return load_acquire((uint32_t *)&first);
}

static bool is_marked(uint32_t word)
{
	return word & FUTEX_OWNER_DIED;
}

static int has_this_memory(void *own, int tid)
{
	return SYS(SYS_kcmp, *(int *)own, tid, KCMP_VM) == 0;
}

/* Without /proc nobody knows of threads beside the first one. A process that has ended has no
 * memory, also while nobody has waited for it. */
static bool has_first_thread(uint32_t word, int own)
{
	long differ = SYS(SYS_kcmp, own, outside.of, KCMP_VM);

	return !is_marked(word) && differ <= 0 && differ != -ESRCH;
}

/* See WHY 2. A thread of flick's is not counted. Where /proc is denied the mark alone
 * counts: an end too early is better than to wait for ever. */
static bool is_anybody_here(uint32_t word)
{
	struct fl_process_status s;
	int err = fl_os_process_status(outside.of, &s), own = (int)SYS(SYS_getpid);

	if (err && !outside.since)
		return has_first_thread(word, own);
	if (err)
		return err != -ENOENT && err != -ESRCH && !is_marked(word);
	if (!outside.since)			/* there was no descriptor for it */
		outside.since = s.since;
	if (fl_os_is_outside() && s.since != outside.since)
		return false;			/* another process has the number now */
	if (outside.is_late && fl_os_is_outside())
		return fl_os_threads_of(outside.of, 0, has_this_memory, &own) ||
		       SYS(SYS_kcmp, own, own, KCMP_VM) < 0;	/* the kernel does not tell */
	if (!s.ends)
		return !is_marked(word);
	return fl_os_thread_count(outside.of) > 1 + !fl_os_is_outside();
}

/* Is there reason to look whether anybody is here? */
static bool must_look(uint32_t word, uint64_t us)
{
	static uint64_t rested_us;

	rested_us += us;
	if (!is_marked(word) && rested_us < (outside.is_late ? LOOK_LATE_US : LOOK_US))
		return false;
	rested_us = 0;
	return true;
}

/* The last threads may be about to end: the first rests are short, each twice the last. */
static uint64_t at_most(uint64_t us)
{
	static uint64_t soon_us = SOON_US;

	us = us < soon_us ? us : soon_us;
	soon_us = soon_us * 2 < LATEST_US ? soon_us * 2 : LATEST_US;
	return us;
}

void fl_os_outside_end_alone(void)
{
	if (fl_os_is_outside() && !is_anybody_here(first_word()))
		SYS(SYS_exit, 0);
}

bool fl_os_outside_is(int pid)
{
	char name[16] = "";

	fl_os_thread_name_of(pid, pid, name);
	return !__builtin_strcmp(name, FL_OS_OUTSIDE_NAME);
}

void fl_os_rouse(void)
{
	fl_os_futex_wake((uint32_t *)&first, 1);
}

int fl_os_rest(uint64_t us)
{
	uint32_t word = first_word();
	int err;

	if (must_look(word, us) && !is_anybody_here(word))
		return -ESRCH;
	err = fl_os_futex_wait((uint32_t *)&first, word, is_marked(word) ? at_most(us) : us);
	if (err && err != -EAGAIN && err != -EINTR && err != -ETIMEDOUT)
		return err;
	word = first_word();
	return is_marked(word) && !is_anybody_here(word) ? -ESRCH : 0;
}
