/*
 * attach-thread.c - a thread of a running process starts another one for us.
 *
 * A thread that was stopped just anywhere must not load a library: it may hold what the
 * loader waits for. So one thread is borrowed for three system calls: two mappings and a
 * bare clone. The new thread has the C library make one, and that one loads libflick.so,
 * while all others run; see arch/CPU/inject.S. Both wait for what is in their way, as any
 * thread of the program does.
 *
 * PROTOCOL	tracer					the borrowed thread
 *		seize, interrupt, wait			stopped before it returns to its code
 *		write the way back below its stack
 *		for each call: registers, go on		makes it; stopped behind it
 *		interrupt, go on, wait			stopped as at first
 *		registers as they were, detach		goes on, its own call begins again
 * INVARIANT
 *	1 Whenever the tracer is killed each thread ends up where it was, with its registers,
 *	  and blocks the signals that it did.
 *	2 An interrupted system call of the thread goes on.
 *	3 No thread is in the middle of what the C library leaves unlocked as long as there is
 *	  one thread alone, when a second one begins.
 * WHY
 *	1 The kernel lets go of the traced thread. Before a call its registers are its own, or
 *	  lead over the call to the way back (borrow.c). They are set by one request, which
 *	  comes before signals are blocked; at the end signals are put back first, and then
 *	  registers. The way back puts both right.
 *	2 With its registers the kernel's mark of an interrupted call is set again, in the same
 *	  kind of stop that it was found in, where the kernel heeds it. No call that is made
 *	  in between changes what a call is restarted with.
 *	3 A thread is taken only in code of neither the C library, the loader nor an allocator,
 *	  and not in a fork; or asleep in a system call that none of those makes with anything
 *	  half done; below a handler only if it stood so where the handler began; and never
 *	  while the loader relocates for it, which calls the modules' own code. It stays stopped
 *	  until the C library has made the second thread, and knows of two.
 *	  A program that is stopped (SIGSTOP) runs no second thread: that one is told to end
 *	  before it calls the C library, as soon as it runs (inject.S).
 * FAILURE	No thread stands well: tried again for some seconds, then refused. A thread
 *		ends: another is taken. Mappings cannot be had: an error, nothing is left.
 *		Killed later than the first call: they stay.
 */
#include <dirent.h>
#include <elf.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arch/arch.h"
#include "os/os.h"
#include "process/attach.h"

enum { MOST_VECTORS = 16384, PATIENCE_US = 3000000, PAUSE_US = 500 };

/* ---- a stop ----------------------------------------------------------------------- */

struct borrowed {
	struct fl_attached *a;
	int tid;
	bool is_stuck;			/* and traced */
	bool is_elsewhere;		/* on a stack whose end is not known */
	bool is_asleep;			/* one that was let go, in a call */
	struct fl_borrow b;
	unsigned char vectors[MOST_VECTORS];
};

static uint64_t now_us(void)
{
	return fl_os_monotonic_ns() / 1000;
}

/* Waits for its next stop, so long; its status, or -1: it has ended, or does
 * not come. */
static int await_next_stop(int tid, uint64_t us)
{
	uint64_t until = now_us() + us;
	int status;

	do {
		int got = waitpid(tid, &status, __WALL | WNOHANG);

		if (got == tid)
			return WIFSTOPPED(status) ? status : -1;
		if (got < 0 && errno != EINTR)
			return -1;
		fl_os_sleep_us(20);
	} while (now_us() < until);
	return -1;
}

/* Wait for a stop from which the kernel heeds what calls are restarted with. A signal on its
 * way is delivered first; the interrupt may have become the signal's stop, so another one is
 * sent. A thread that gets signals without end is not waited for without end. */
static bool await_event(int tid)
{
	enum { LONG_US = 2000000 };	/* a machine may be busy */
	uint64_t until = now_us() + LONG_US;
	int status;

	while ((status = await_next_stop(tid, LONG_US)) >= 0 &&
	       status >> 16 != PTRACE_EVENT_STOP) {
		fl_os_trace_interrupt(tid);
		ptrace(PTRACE_CONT, tid, 0, status >> 16 ? 0 : WSTOPSIG(status));
		if (now_us() > until)
			return false;
	}
	return status >= 0;
}

/* ---- registers -------------------------------------------------------------------- */

static bool get_set(int tid, int set, void *to, size_t *n)
{
	struct iovec v = { to, *n };
	bool ok = !ptrace(PTRACE_GETREGSET, tid, set, &v);

	*n = v.iov_len;
	return ok;
}

static bool set_user(int tid, uint64_t *user)
{
	struct iovec v = { user, FL_ARCH_USER_WORDS * sizeof(*user) };

	return !ptrace(PTRACE_SETREGSET, tid, NT_PRSTATUS, &v);
}

static bool set_mask(int tid, uint64_t mask)
{
	return !ptrace(PTRACE_SETSIGMASK, tid, sizeof(mask), &mask);
}

/* A stop in a restartable sequence ends the sequence. The kernel does so when the thread goes
 * on; but then it would find the thread elsewhere. */
static bool leave_sequence(int tid, const struct fl_attached *a, uint64_t *user)
{
	struct {
		uint64_t area;
		uint32_t bytes, signature, flags, pad;
	} r = { 0 };
	struct {
		uint32_t version, flags;
		uint64_t start, bytes, abort;
	} cs;
	uint64_t at = 0, none = 0;
	const size_t CS_AT = 8;

	if (ptrace(PTRACE_GET_RSEQ_CONFIGURATION, tid, sizeof(r), &r) < 0)
		return fl_arch_user_in_call(user) || errno != EIO;
	if (!r.area || !fl_attach_read(a, r.area + CS_AT, &at, sizeof(at)) || !at)
		return true;
	if (!fl_attach_read(a, at, &cs, sizeof(cs)))
		return false;
	if (fl_arch_user_pc(user) - cs.start < cs.bytes) {
		fl_arch_user_set_pc(user, cs.abort);
		if (!set_user(tid, user))
			return false;
	}
	return pwrite(a->mem, &none, sizeof(none), (off_t)(r.area + CS_AT)) == sizeof(none);
}

/* ---- who can be borrowed ---------------------------------------------------------- */

static const char *const unlocked[] = { "libc.so.6", "libc-2.", "ld-linux", "ld-2." };

static bool is_unlocked_code(const struct fl_attached *a, uintptr_t pc)
{
	const struct fl_attach_map *m = fl_attach_map_at(a, pc);

	if (!m || !*m->path)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(unlocked); i++)
		if (!strncmp(fl_base_name(m->path), unlocked[i], strlen(unlocked[i])))
			return true;
	return fl_attach_allocates(a, m);
}

static bool is_system_call(const struct fl_attached *a, uintptr_t at)
{
	unsigned char code[FL_ARCH_SYSCALL_BYTES], known[FL_ARCH_SYSCALL_BYTES];

	return fl_attach_read(a, at, code, sizeof(code)) &&
	       fl_attach_read(a, a->call, known, sizeof(known)) &&
	       !memcmp(code, known, sizeof(code));
}

/* Could the thread have been taken where a handler began? So it could if it was asleep in a
 * system call, which returns or is made again. Servers fork in such handlers (postgres), and
 * children never leave them. */
static bool stood_well(const struct borrowed *t, const struct fl_signal_frame *f)
{
	return !is_unlocked_code(t->a, f->pc) || is_system_call(t->a, f->pc) ||
	       (f->result == -EINTR &&
		is_system_call(t->a, f->pc - FL_ARCH_SYSCALL_BYTES));
}

/* Is there a frame on the stack of a handler that began where no thread may be taken? The
 * address of the C library's sigreturn alone may be left from an old frame of sigaction(). */
static bool is_below_handler(const struct borrowed *t)
{
	enum { WORDS = 8192, FRAME = FL_ARCH_FRAME_BYTES / 8 };
	uintptr_t sp = fl_arch_user_sp(t->b.user);
	const struct fl_attach_map *m = fl_attach_map_at(t->a, sp);
	size_t n = m ? (m->hi - sp) / 8 : 0;
	struct fl_signal_frame frame;
	uint64_t *words;
	bool is_read, is = false;

	n = n < WORDS ? n : WORDS;
	words = calloc(n + 1, 8);
	is_read = words && fl_attach_read(t->a, sp, words, n * 8);
	for (size_t i = 0; is_read && !is && i + FRAME <= n; i++)
		is = words[i] == t->a->sigreturn &&
		     fl_arch_frame(&frame, words + i, sp + 8 * i) && !stood_well(t, &frame);
	free(words);
	return !is_read || is;
}

/* Is there room below the stack pointer, as for a signal, and is it a stack's? */
static bool has_stack(const struct borrowed *t)
{
	uintptr_t sp = fl_arch_user_sp(t->b.user);
	size_t room = fl_arch_borrow_bytes(t->b.n_vectors);
	const struct fl_attach_map *m = fl_attach_map_at(t->a, sp - 1), *below;

	if (!m || !(m->prot & PROT_WRITE))
		return false;
	if (!strcmp(m->path, "[stack]"))
		return true;
	below = m > t->a->maps ? m - 1 : NULL;
	return sp - m->lo >= room && below && below->hi == m->lo && !below->prot;
}

/* A stop ends a transfer with what it has moved so far, and the thread stands behind the call
 * as if it had been done. Whoever fills a slow pipe stands nowhere else. */
static bool is_behind_transfer(const struct borrowed *t)
{
	return fl_arch_user_in_call(t->b.user) &&
	       fl_os_call_transfers((long)t->b.user[FL_ARCH_USER_CALL / 8]);
}

/* See INVARIANT 3. While the only thread is stopped, what is loaded stays as it is. */
static bool stands_well(struct borrowed *t)
{
	if (t->a->is_alone && fl_attach_look_again(t->a))
		return false;
	t->is_elsewhere = !has_stack(t);
	if (t->is_elsewhere || !t->a->is_alone)
		return !t->is_elsewhere;
	if (fl_attach_is_loading(t->a, t->tid))
		return false;
	if (is_unlocked_code(t->a, fl_arch_user_pc(t->b.user)) &&
	    !fl_arch_user_sleeps(t->b.user) && !is_behind_transfer(t))
		return false;
	return !is_below_handler(t);
}

static bool look(struct borrowed *t)
{
	size_t n = sizeof(t->b.user);

	t->b.vectors = t->vectors;
	t->b.n_vectors = sizeof(t->vectors);
	t->b.call = t->a->call;
	t->b.sigreturn = t->a->sigreturn;
	return get_set(t->tid, NT_PRSTATUS, t->b.user, &n) && n == sizeof(t->b.user) &&
	       get_set(t->tid, FL_ARCH_VECTOR_SET, t->vectors, &t->b.n_vectors) &&
	       !ptrace(PTRACE_GETSIGMASK, t->tid, sizeof(t->b.mask), &t->b.mask);
}

/* True: the thread can be had where it stands. From then on return_it() alone lets it go. */
static bool borrow(struct borrowed *t)
{
	unsigned char way[MOST_VECTORS + 4096];
	size_t n;

	fl_os_trace_interrupt(t->tid);
	if (!await_event(t->tid) ||
	    ptrace(PTRACE_SETOPTIONS, t->tid, 0, PTRACE_O_TRACESYSGOOD) || !look(t) ||
	    !stands_well(t) || !leave_sequence(t->tid, t->a, t->b.user))
		return false;
	fl_os_trace_call_again(t->tid, FL_ARCH_USER_CALL, FL_ARCH_USER_RESULT);
	n = sizeof(t->b.user);
	if (!get_set(t->tid, NT_PRSTATUS, t->b.user, &n))
		return false;
	n = fl_arch_put_way_back(way, &t->b);
	return pwrite(t->a->mem, way, n, (off_t)t->b.sp) == (ssize_t)n;
}

/* The thread blocks every signal until it is stopped here, and runs again only when it has its
 * registers back: no signal comes in between. */
static void return_it(struct borrowed *t)
{
	fl_os_trace_interrupt(t->tid);
	ptrace(PTRACE_CONT, t->tid, 0, 0);
	if (await_event(t->tid)) {
		set_mask(t->tid, t->b.mask);
		FL_POINT("attach.unmasked");
		set_user(t->tid, t->b.user);
	}
	fl_os_trace_release(t->tid, 0);
}

/* Go on to the next stop at a system call: its beginning, then its end. SIGSTOP, which nobody
 * blocks, stops the program all the same; the traced thread goes on. */
static bool go_to_call(int tid)
{
	enum { LONG_US = 2000000 };
	int status;

	ptrace(PTRACE_SYSCALL, tid, 0, 0);
	while ((status = await_next_stop(tid, LONG_US)) >= 0 &&
	       WSTOPSIG(status) != (SIGTRAP | 0x80))
		ptrace(PTRACE_SYSCALL, tid, 0, status >> 16 ? 0 : WSTOPSIG(status));
	return status >= 0;
}

static long call(struct borrowed *t, long number, const uint64_t args[6])
{
	uint64_t user[FL_ARCH_USER_WORDS];
	size_t n = sizeof(user);

	fl_arch_borrow_call(&t->b, user, number, args);
	if (!set_user(t->tid, user) || !set_mask(t->tid, UINT64_MAX))
		return -ESRCH;
	FL_POINT("attach.borrowed");
	if (!go_to_call(t->tid) || !go_to_call(t->tid) ||
	    !get_set(t->tid, NT_PRSTATUS, user, &n))
		return -ESRCH;
	FL_POINT("attach.called");
	return fl_arch_user_result(user);
}

/* ---- what is put into it ---------------------------------------------------------- */

/*
 * Two mappings: code, a page; and, from low to high,
 *
 *	stack | below the TLS pointer | TLS head | table of libraries | struct fl_inject, texts
 */
enum {
	STACK = 1 << 16,
	BELOW = 1 << 19,
	HEAD = 1 << 14,
	TEXTS = 1 << 14,
	ALL = STACK + BELOW + HEAD + FL_ARCH_TLS_TABLE + TEXTS,
	DATA_AT = FL_PAGE - sizeof(uintptr_t)	/* of the page of code */
};

struct ground_there {
	uintptr_t tls, table, with, text;
};

static struct ground_there layout_of(const struct fl_attached *a)
{
	struct ground_there p = { .tls = a->data + STACK + BELOW };

	p.table = p.tls + HEAD;
	p.with = p.table + FL_ARCH_TLS_TABLE;
	p.text = p.with + sizeof(a->with);
	return p;
}

static bool write_there(const struct fl_attached *a, uintptr_t at, const void *from, size_t n)
{
	return pwrite(a->mem, from, n, (off_t)at) == (ssize_t)n;
}

/* Memory that may be executed and not written is written by a tracer. At the end of the page
 * stands where the other mapping is: for the next attach, if this one fails before libflick.so
 * is loaded. */
static bool poke_code(int tid, uintptr_t at, uintptr_t data)
{
	size_t n = (size_t)(fl_arch_inject_end - fl_arch_inject);
	long word;

	for (size_t i = 0; i < n; i += sizeof(word)) {
		word = 0;
		memcpy(&word, fl_arch_inject + i,
		       n - i < sizeof(word) ? n - i : sizeof(word));
		if (ptrace(PTRACE_POKETEXT, tid, at + i, word))
			return false;
	}
	return !ptrace(PTRACE_POKETEXT, tid, at + DATA_AT, data);
}

/* Is that the page of code of an attach that failed? */
static bool is_left_at(const struct fl_attached *a, uintptr_t code)
{
	size_t n = (size_t)(fl_arch_inject_end - fl_arch_inject);
	struct fl_attached was = { .code = code };
	unsigned char page[FL_PAGE];

	if (!fl_attach_read(a, code, page, sizeof(page)) || memcmp(page, fl_arch_inject, n))
		return false;
	memcpy(&was.data, page + DATA_AT, sizeof(was.data));
	return fl_attach_read(a, layout_of(&was).with, &was.with, sizeof(was.with)) &&
	       was.with.code == code && was.with.data == was.data &&
	       was.with.state == FL_INJECT_FAILED;
}

void fl_attach_find_failed(struct fl_attached *a)
{
	for (size_t i = 0; i < a->n_maps && !a->left; i++) {
		const struct fl_attach_map *m = &a->maps[i];

		if (m->inode || m->prot != (PROT_READ | PROT_EXEC))
			continue;
		for (uintptr_t at = m->lo; at < m->hi && !a->left; at += FL_PAGE)
			if (is_left_at(a, at))
				a->left = at;
	}
}

/* Use what a failed attach has left, unless its bare thread has not come to run yet, because
 * the program was stopped meanwhile. */
static void adopt_left(struct fl_attached *a, size_t number)
{
	struct fl_attached was = { .code = a->left };
	uint32_t id = 1;

	if (!a->left || a->data ||
	    !fl_attach_read(a, a->left + DATA_AT, &was.data, sizeof(was.data)) ||
	    !fl_attach_read(a, layout_of(&was).tls + number, &id, sizeof(id)) || id)
		return;
	a->code = was.code;
	a->data = was.data;
	a->with.tls_init = 0;
}

static uint64_t put_text(struct fl_attached *a, uintptr_t *at, const char *text)
{
	uintptr_t was = *at;

	*at += strlen(text) + 1;
	return write_there(a, was, text, strlen(text) + 1) ? was : 0;
}

/* Where in a thread's own part the C library keeps its number: in front of its
 * list of robust mutexes (OS20). 0: it is not known. */
static size_t number_at(const struct borrowed *t)
{
	enum { ID_BEFORE = 16 };
	uintptr_t tls = fl_arch_user_tls(t->b.user);
	void *list = NULL;
	size_t n;
	int id = 0;

	if (syscall(SYS_get_robust_list, t->tid, &list, &n) || !list)
		return 0;
	if (!fl_attach_read(t->a, (uintptr_t)list - ID_BEFORE, &id, sizeof(id)) ||
	    id != t->tid)
		return 0;
	return (uintptr_t)list - ID_BEFORE - tls;
}

/* Lay out a thread's own part, as the C library knows it. */
static bool put_thread(struct borrowed *t)
{
	struct fl_attached *a = t->a;
	struct ground_there p = layout_of(a);
	unsigned char head[FL_ARCH_THREAD_HEAD] = "", like[FL_ARCH_THREAD_HEAD];
	unsigned char table[FL_ARCH_TLS_TABLE];

	if (!fl_attach_read(a, fl_arch_user_tls(t->b.user), like, sizeof(like)))
		return false;
	fl_arch_lay_thread(head, p.tls, like, table, p.table);
	return poke_code(t->tid, a->code, a->data) &&
	       write_there(a, p.tls, head, sizeof(head)) &&
	       write_there(a, p.table, table, sizeof(table));
}

static bool put_texts(struct borrowed *t, const char *const texts[3])
{
	struct fl_attached *a = t->a;
	struct ground_there p = layout_of(a);
	uintptr_t at = p.text;
	uint64_t stack[2] = { a->code, p.with };

	a->with.library = put_text(a, &at, texts[0]);
	a->with.symbol = put_text(a, &at, texts[1]);
	a->with.given = put_text(a, &at, texts[2]);
	a->with.state = FL_INJECT_CREATED;
	a->with.tls = p.tls;
	a->with.code = a->code;
	a->with.data = a->data;
	return write_there(a, p.with, &a->with, sizeof(a->with)) &&
	       write_there(a, a->data + STACK - sizeof(stack), stack, sizeof(stack));
}

static long map_there(struct borrowed *t, size_t n, int prot)
{
	const uint64_t args[6] = { 0,          n, (uint64_t)prot, MAP_PRIVATE | MAP_ANONYMOUS,
				   UINT64_MAX, 0 };

	return call(t, SYS_mmap, args);
}

/* The thread has a copy of the program's descriptors, and drops it. */
static long begin_thread(struct borrowed *t, size_t number)
{
	struct ground_there p = layout_of(t->a);
	const uint64_t args[6] = {
		CLONE_VM | CLONE_FS | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
			CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID |
			CLONE_UNTRACED,
		t->a->data + STACK - 2 * sizeof(uint64_t),
		p.tls + number,
		p.tls + number,
		p.tls,
	};

	return call(t, SYS_clone, args);
}

/* Unmap what was mapped for a thread that has not begun. */
static void unmap_place(struct borrowed *t)
{
	const uint64_t code[6] = { t->a->code, FL_PAGE }, data[6] = { t->a->data, ALL };

	if (t->a->data)
		call(t, SYS_munmap, data);
	if (t->a->code)
		call(t, SYS_munmap, code);
	t->a->code = t->a->data = 0;
}

/* Memory that it may not lock (mlockall) is as any that the process may not have. */
static int make_place(struct borrowed *t)
{
	long at = map_there(t, FL_PAGE, PROT_READ | PROT_EXEC);

	if (at >= 0) {
		t->a->code = (uintptr_t)at;
		at = map_there(t, ALL, PROT_READ | PROT_WRITE);
	}
	if (at < 0)
		return at == -EAGAIN ? -ENOMEM : (int)at;
	t->a->data = (uintptr_t)at;
	return put_thread(t) ? 0 : -EFAULT;
}

/* The bare thread may execute probes of a recorder that is there, also in the code that fills
 * its own part. With these words it is nobody's from the start. */
static bool put_nobody(const struct fl_attached *a)
{
	for (size_t i = 0; a->nobody[0][0] && i < FL_NOBODY_WORDS; i++)
		if (!write_there(a, layout_of(a).tls + a->nobody[i][0], &a->nobody[i][1],
				 sizeof(a->nobody[i][1])))
			return false;
	return true;
}

static int put_all(struct borrowed *t, size_t number, const char *const texts[3])
{
	int err = t->a->data ? 0 : make_place(t);
	long tid;

	if (err)
		return err;
	t->a->number = layout_of(t->a).tls + number;
	if (!put_texts(t, texts) || !put_nobody(t->a))
		return -EFAULT;
	tid = begin_thread(t, number);
	return tid == -EAGAIN ? -EUSERS : tid < 0 ? (int)tid : 0;
}

/* Mappings that an earlier attach has made are used again: an allocator may have kept something
 * there. */
static int put_in(struct borrowed *t, const char *const texts[3])
{
	size_t number = number_at(t);
	bool is_new;
	int err;

	if (!number || number > HEAD - 64)
		return -ENOTSUP;
	adopt_left(t->a, number);
	is_new = !t->a->data;
	err = put_all(t, number, texts);
	if (err && is_new)
		unmap_place(t);
	return err;
}

enum fl_inject_state fl_attach_state(struct fl_attached *a)
{
	enum fl_inject_state state = FL_INJECT_NEW;

	if (!a->data || !fl_attach_read(a, layout_of(a).with, &a->with, sizeof(a->with)))
		return FL_INJECT_FAILED;
	state = (enum fl_inject_state)a->with.state;
	return state;
}

/* ---- one that stands well --------------------------------------------------------- */

static bool next_thread(DIR *tasks, int *tid)
{
	const struct dirent *e;

	while ((e = readdir(tasks)))
		if ((*tid = atoi(e->d_name)) > 0)
			return true;
	return false;
}

/* Does the thread wait for a child of vfork(), or for a device? Then it would not stop. */
static bool cannot_stop(const struct borrowed *t)
{
	struct fl_thread_status s;

	return !fl_os_thread_status(t->a->pid, t->tid, &s) && s.state == 'D';
}

/* End the thread's trace. False: it neither stops nor ends. A thread that an exec ends is there
 * until its tracer has waited for it, and so long the exec holds what the next seize waits for:
 * no other thread is seized before. */
static bool end_trace_of(int tid)
{
	uint64_t until = now_us() + PATIENCE_US;
	int sig = 0;

	while (ptrace(PTRACE_DETACH, tid, 0, sig)) {
		if (fl_os_trace_poll(tid, &sig) < 0)
			return true;
		if (now_us() > until)
			return false;
		fl_os_sleep_us(20);
	}
	return true;
}

/* A thread that does not stand well goes on, as if nobody had stopped it. */
static bool try_thread(struct borrowed *t, bool *may)
{
	if (cannot_stop(t)) {
		t->a->against |= FL_AGAINST_CHILD;
		*may = true;
		return false;
	}
	t->is_elsewhere = false;
	if (fl_os_trace_seize(t->tid))
		return false;
	*may = true;
	FL_POINT("attach.seized");
	if (borrow(t))
		return true;
	t->a->against |= t->is_elsewhere ? FL_AGAINST_STACK : FL_AGAINST_OTHER;
	t->is_asleep |= fl_arch_user_sleeps(t->b.user);
	fl_os_trace_call_again(t->tid, FL_ARCH_USER_CALL, FL_ARCH_USER_RESULT);
	t->is_stuck = !end_trace_of(t->tid);
	return false;
}

static bool try_all(struct borrowed *t, bool *may)
{
	bool got = false;
	char path[64];
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", t->a->pid);
	tasks = opendir(path);
	t->a->against = 0;
	t->is_asleep = false;
	while (tasks && !got && !t->is_stuck && next_thread(tasks, &t->tid))
		got = try_thread(t, may);
	if (tasks)
		closedir(tasks);
	return got;
}

/* A thread that is ending cannot be traced, either; but not all of them end for so long. One
 * that is asleep stands where it stood until it wakes up, and its call may begin to wait anew
 * each time that it is stopped: so it is left alone for longer and longer. */
static int find_thread(struct borrowed *t)
{
	enum { DENIED_US = 200000 };
	uint64_t begin = now_us(), now, pause = PAUSE_US;
	bool may = false;

	while (!try_all(t, &may)) {
		now = now_us();
		if (kill(t->a->pid, 0))
			return -ESRCH;
		if (fl_attach_is_another(t->a))
			return -ESTALE;
		if (!may && now - begin > DENIED_US)
			return -EPERM;
		if (t->is_stuck || now - begin > PATIENCE_US)
			return -EAGAIN;
		fl_os_sleep_us(pause);
		pause = t->is_asleep ? 2 * pause : PAUSE_US;
	}
	return 0;
}

static bool has_bare_ended(const struct fl_attached *a, uint64_t us)
{
	uint64_t until = now_us() + us;
	uint32_t id = 1;

	while (fl_attach_read(a, a->number, &id, sizeof(id)) && id && now_us() < until)
		fl_os_sleep_us(20);
	return !id;
}

void fl_attach_call_off(struct fl_attached *a)
{
	const uint32_t failed = FL_INJECT_FAILED;
	uintptr_t at = layout_of(a).with + offsetof(struct fl_inject, state);

	if (fl_attach_state(a) == FL_INJECT_CREATED)
		write_there(a, at, &failed, sizeof(failed));
}

/* Wait until the C library knows of two threads. If the program was stopped meanwhile, the bare
 * thread is called off, and ends without another one when it comes to run. */
static int await_created(struct fl_attached *a)
{
	enum { LONG_US = 1000000, SOON_US = 100000 };

	if (has_bare_ended(a, LONG_US))
		return 0;
	fl_attach_call_off(a);
	if (!has_bare_ended(a, SOON_US) || fl_attach_state(a) == FL_INJECT_FAILED)
		return -EBUSY;
	return 0;
}

/* A recorder that was killed since may have sent a thread which is still at it, in the memory
 * that the next one is to use: there it would say that it has ended, as if the next one had. A
 * thread that was laid out and did not come to run says nothing for ever. */
static bool await_earlier(const struct fl_attached *a)
{
	enum { BEGINS_US = 300000, RUNS_US = 5000000 };
	struct fl_inject was;
	uint64_t begin = now_us();

	while (a->data && fl_attach_read(a, layout_of(a).with, &was, sizeof(was))) {
		bool begins = was.state == FL_INJECT_CREATED;

		if ((!begins && was.state != FL_INJECT_RUNS) ||
		    (begins && now_us() - begin > BEGINS_US))
			return true;
		if (now_us() - begin > RUNS_US)
			return false;
		fl_os_sleep_us(PAUSE_US);
	}
	return true;
}

int fl_attach_load(struct fl_attached *a, const char *const texts[3])
{
	struct borrowed t = { .a = a };
	int err = await_earlier(a) ? find_thread(&t) : -EALREADY;

	if (err)
		return err;
	err = put_in(&t, texts);
	if (!err && a->is_alone)
		err = await_created(a);
	return_it(&t);
	return err && fl_attach_becomes_another(a) ? -ESTALE : err;
}
