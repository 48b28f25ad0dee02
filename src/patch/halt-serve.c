/*
 * halt-serve.c - hold threads: stop all, look where each one stands, lead it out.
 *
 * Hides ptrace(2), and where a thread keeps the places it will go on at. The holder, which
 * calls this, is a process: a child that shares the program's memory (halt.c), or one that a
 * reader has started. halt.c tells what the holder does and why that is sound.
 *
 * A thread goes on at its program counter, and at the program counter in each signal frame
 * that a handler of the thread will return to. Frames lie on stacks. One stack leads to the
 * next, where a frame keeps a stack pointer that is elsewhere. So every word is looked at,
 * from each stack pointer up to the end of the mapping: is the word in a frame? May it be a
 * place in a row? A word that may be such a place, and is in no frame, is not understood,
 * and the row is refused. The asker's stack is the exception: it is full of flick's own
 * places.
 */
#include <signal.h>
#include <sys/mman.h>

#include "halt.h"
#include "patch.h"

enum {
	TID_MAX = 1 << 22,		/* the kernel's PID_MAX_LIMIT */
	THREADS_MAX = 1 << 16, MAPPINGS_MAX = 1 << 17, FRAMES_MAX = 1 << 14,
	STACKS_MAX = 16,		/* that a thread's frames lead to */
	CHUNK = 1 << 16
};
#define STACK_MOST (256ul << 20)	/* more is not looked at */
enum { STUCK_NS = 5000000, LONGEST_NS = 2000000000, GIVE_UP_US = 3000000 };

struct halted {
	int tid, sig;			/* sig: to be handed on */
	bool has_ended;
	uintptr_t to;			/* where it is led; 0: it stays */
};
struct lead { uintptr_t at, to; };	/* a frame's pc is kept there */
struct range { uintptr_t lo, hi; };

struct holder {
	int pid, memory;		/* processes: the threads'; one that has their memory */
	struct fl_halt *mail;
	struct fl_halt_row *rows;
	size_t n_rows;
	uintptr_t lo, hi;		/* of all rows */
	uint64_t mark, until;
	int64_t bad;			/* a row that cannot be; -1 */
	size_t seen, n, n_leads, n_maps, n_moved;
	bool is_open;			/* some thread was not known before this pass */
	bool is_asker;			/* the stack that is looked at is the asker's */
	uint64_t known[TID_MAX / 64];
	struct halted held[THREADS_MAX];
	struct lead leads[FRAMES_MAX];
	struct range maps[MAPPINGS_MAX];
	uint64_t words[CHUNK / sizeof(uint64_t)];
};

/* ---- stop ------------------------------------------------------------------------ */

/* The asker may be a thread of the program, or one of a process that waits beside it. */
static bool asker_has_gone(const struct holder *h)
{
	struct fl_thread_status s;

	return fl_os_thread_status(h->mail->asker, h->mail->asker, &s) == -ESRCH;
}

static bool has_gone(const struct holder *h, int tid)
{
	struct fl_thread_status s;

	return fl_os_thread_status(h->pid, tid, &s) == -ESRCH;
}

static int meet_thread(void *arg, int tid)
{
	struct holder *h = arg;
	int err;

	h->seen++;
	if (tid == h->mail->asker || tid == h->mail->spared)
		return 0;
	if (tid >= TID_MAX || h->n == THREADS_MAX)
		return -ERANGE;
	if (h->known[tid / 64] >> tid % 64 & 1)
		return 0;
	err = fl_os_trace_seize(tid);
	if (err)
		return err == -ESRCH || has_gone(h, tid) ? 0 : err;
	fl_os_trace_interrupt(tid);
	h->known[tid / 64] |= 1ull << tid % 64;
	h->held[h->n++] = (struct halted){ .tid = tid };
	h->is_open = true;
	return 0;
}

/* Is the thread where no stop reaches it? vfork's child has its memory, or a device keeps it;
 * or the thread waits for a moment until another one has mapped memory. */
static bool is_deaf(const struct holder *h, int tid)
{
	struct fl_thread_status s;

	return !fl_os_thread_status(h->pid, tid, &s) && s.state == 'D';
}

/* A thread that is deaf at each look for STUCK_NS counts as stuck. A thread that had no
 * processor for longer than that, and is deaf at one look, does not: it will stop. */
static int await_stop(struct holder *h, struct halted *t)
{
	enum { LOOKS = 64, PAUSE_US = 20 };
	uint64_t look = fl_os_monotonic_ns() + STUCK_NS, heard = look;
	int r;

	for (int i = 0; (r = fl_os_trace_poll(t->tid, &t->sig)) == 0; i++) {
		uint64_t now = i < LOOKS ? 0 : fl_os_monotonic_ns();

		if (now > look && !is_deaf(h, t->tid))
			heard = now;
		if (now > h->until || now > heard + STUCK_NS) {
			h->mail->stuck = t->tid;
			return -ETIMEDOUT;
		}
		if (i >= LOOKS)
			fl_os_sleep_us(PAUSE_US);
	}
	t->has_ended = r < 0;
	return 0;
}

/* All are stopped when a pass has met as many threads as there were, and no new one: a
 * thread that might create others was stopped before. */
static int stop_all(struct holder *h)
{
	size_t waited = 0;
	long there;
	int err;

	h->until = fl_os_monotonic_ns() + LONGEST_NS;
	do {
		there = fl_os_thread_count(h->pid);
		h->seen = 0;
		h->is_open = false;
		err = fl_os_threads_of(h->pid, 0, meet_thread, h);
		FL_POINT("halt.met");
		for (; !err && waited < h->n; waited++)
			err = await_stop(h, &h->held[waited]);
		if (!err && fl_os_monotonic_ns() > h->until)
			err = -ETIMEDOUT;
	} while (!err && (h->is_open || (long)h->seen != there));
	return err;
}

/* A thread that has not stopped yet, or never will, is let go by the end of this process. */
static void release_all(struct holder *h)
{
	for (size_t i = 0; i < h->n; i++) {
		struct halted *t = &h->held[i];

		if (t->has_ended)
			continue;
		fl_os_trace_call_again(t->tid, FL_ARCH_USER_CALL, FL_ARCH_USER_RESULT);
		fl_os_trace_release(t->tid, t->sig);
	}
}

/* ---- look ------------------------------------------------------------------------ */

/* The row whose bytes hold the address; NULL: none. */
static const struct fl_halt_row *row_of(const struct holder *h, uintptr_t pc)
{
	size_t i = fl_rows_from(h->rows, h->n_rows, sizeof *h->rows, pc);
	const struct fl_halt_row *r = i ? &h->rows[i - 1] : NULL;

	return r && pc - r->at < r->len ? r : NULL;
}

/* The same for all bytes but the first. */
static const struct fl_halt_row *row_at(const struct holder *h, uintptr_t pc)
{
	const struct fl_halt_row *r = row_of(h, pc);

	return r && pc != r->at ? r : NULL;
}

static bool may_be_in_row(const struct holder *h, uint64_t word)
{
	return word - h->lo < h->hi - h->lo;
}

static void refuse_row(struct holder *h, const struct fl_halt_row *r)
{
	h->bad = r - h->rows;
}

/* Where to lead a thread that would go on at `pc`; 0: it stays there. */
static uintptr_t lead_out(struct holder *h, uintptr_t pc)
{
	const struct fl_halt_row *r = may_be_in_row(h, pc) ? row_at(h, pc) : NULL;
	uint8_t to = r ? r->to[pc - r->at - 1] : 0;

	if (r && !to)
		refuse_row(h, r);
	return to ? r->copy + to : 0;
}

static bool read_frame(const struct holder *h, uintptr_t at, struct fl_signal_frame *f)
{
	unsigned char bytes[FL_ARCH_FRAME_BYTES], code[FL_ARCH_RESTORER_BYTES];

	return fl_os_peek(h->memory, at, bytes, sizeof bytes) == sizeof bytes &&
	       fl_arch_frame(f, bytes, at) &&
	       fl_os_peek(h->memory, f->restorer, code, sizeof code) == sizeof code &&
	       fl_arch_is_restorer(code);
}

/* Stacks that a thread's frames lead to. */
struct stacks {
	struct range of[STACKS_MAX];
	size_t n, done;
};

static const struct range *mapping_at(const struct holder *h, uintptr_t a)
{
	size_t i = fl_rows_from(h->maps, h->n_maps, sizeof h->maps[0], a);

	return i && a < h->maps[i - 1].hi ? &h->maps[i - 1] : NULL;
}

/* Note the stack from `sp` on, unless it is part of a stack that is noted already. */
static int add_stack(const struct holder *h, struct stacks *s, uintptr_t sp)
{
	const struct range *m;

	sp = fl_round_up(sp, sizeof(uint64_t));
	for (size_t i = 0; i < s->n; i++)
		if (sp >= s->of[i].lo && sp < s->of[i].hi)
			return 0;
	m = mapping_at(h, sp);
	if (!m)
		return 0;			/* there is nothing to return to */
	if (s->n == STACKS_MAX || m->hi - sp > STACK_MOST)
		return FLE_THREADS;
	s->of[s->n++] = (struct range){ sp, m->hi };
	return 0;
}

static const uint64_t faults = 1ull << (SIGILL - 1) | 1ull << (SIGTRAP - 1) |
	1ull << (SIGBUS - 1) | 1ull << (SIGFPE - 1) | 1ull << (SIGSEGV - 1);

static bool is_fault(int sig)
{
	return sig > 0 && sig <= 64 && faults >> (sig - 1) & 1;
}

/* Who is told of a fault may look at the instruction, and go on behind it: it must stay where
 * it was, and so must its bytes. Such a handler does not last. */
static void keep_fault(struct holder *h, uintptr_t pc)
{
	refuse_row(h, row_of(h, pc));
	h->mail->kept_at = 0;
}

static int take_signal_frame(struct holder *h, struct stacks *s,
			     const struct fl_signal_frame *f)
{
	uintptr_t to = lead_out(h, f->pc);

	if (is_fault(f->sig) && row_of(h, f->pc))
		keep_fault(h, f->pc);
	if (to && h->n_leads == FRAMES_MAX)
		return FLE_THREADS;
	if (to)
		h->leads[h->n_leads++] = (struct lead){ f->pc_at, to };
	return add_stack(h, s, f->sp);
}

/* The word at `at` of a stack may be a place in a row. If the word is the pc of a frame, it
 * is led elsewhere when the frame's mark is met. The asker's stack may hold such places,
 * because it has just read the code. An entry whose window begins before it is a place in a
 * row, too, and a thread that comes there stays. */
static void check_word(struct holder *h, uint64_t word, uintptr_t at)
{
	const struct fl_halt_row *r = row_at(h, word);
	bool stays = r && r->copy + r->to[word - r->at - 1] == word;
	struct fl_signal_frame f;

	if (r && !stays && !h->is_asker && !read_frame(h, fl_arch_frame_of_pc(at), &f)) {
		refuse_row(h, r);
		h->mail->kept_at = at;
		h->mail->kept = word;
	}
}

static int look_at_words(struct holder *h, struct stacks *s, uintptr_t at, size_t n)
{
	struct fl_signal_frame f;
	int err = 0;

	for (size_t i = 0; i < n && !err && h->bad < 0; i++, at += sizeof(uint64_t)) {
		if (may_be_in_row(h, h->words[i]))
			check_word(h, h->words[i], at);
		else if (h->words[i] == h->mark && read_frame(h, fl_arch_frame_at(at), &f))
			err = take_signal_frame(h, s, &f);
	}
	return err;
}

static int look_at_stack(struct holder *h, struct stacks *s, struct range r)
{
	for (uintptr_t at = r.lo; at < r.hi;) {
		size_t most = r.hi - at < CHUNK ? r.hi - at : CHUNK;
		long n = fl_os_peek(h->memory, at, h->words, most);
		int err;

		if (n < (long)sizeof(uint64_t))
			return 0;		/* the stack ends */
		err = look_at_words(h, s, at, (size_t)n / sizeof(uint64_t));
		if (err || h->bad >= 0)
			return err;
		at += (size_t)n & ~(sizeof(uint64_t) - 1);
	}
	return 0;
}

static int look_from(struct holder *h, uintptr_t sp)
{
	struct stacks s = { .n = 0 };
	int err = add_stack(h, &s, sp);

	for (; !err && s.done < s.n && h->bad < 0; s.done++)
		err = look_at_stack(h, &s, s.of[s.done]);
	return err;
}

/* Is the thread about to be told of a fault? A signal that was sent counts as well. */
static bool has_fault(const struct holder *h, const struct halted *t)
{
	struct fl_thread_status s;

	return is_fault(t->sig) ||
	       (!fl_os_thread_status(h->pid, t->tid, &s) && s.pending & faults);
}

static int look_at_thread(struct holder *h, struct halted *t)
{
	uintptr_t pc, sp;
	int err = fl_os_trace_where(t->tid, &pc, &sp);

	if (err)
		return has_gone(h, t->tid) ? 0 : err;
	t->to = lead_out(h, pc);
	if (row_of(h, pc) && has_fault(h, t))
		keep_fault(h, pc);
	return h->bad < 0 ? look_from(h, sp) : 0;
}

static int add_mapping(void *arg, const struct fl_mapping *m)
{
	struct holder *h = arg;

	if ((m->prot & (PROT_READ | PROT_WRITE)) != (PROT_READ | PROT_WRITE))
		return 0;
	if (h->n_maps == MAPPINGS_MAX)
		return -ENOSPC;
	h->maps[h->n_maps++] = (struct range){ m->lo, m->hi };
	return 0;
}

static int look_at_all(struct holder *h)
{
	int err = fl_os_mappings_of(h->pid, add_mapping, h);

	h->is_asker = true;
	if (!err)
		err = look_from(h, h->mail->stack);
	h->is_asker = false;
	for (size_t i = 0; i < h->n && !err && h->bad < 0; i++)
		if (!h->held[i].has_ended)
			err = look_at_thread(h, &h->held[i]);
	h->mail->bad = (uint32_t)h->bad;
	return h->bad < 0 ? err : FLE_STANDS;
}

/* ---- lead out -------------------------------------------------------------------- */

/* Behind this, each thread that is let go stands at a good place, whether new bytes are
 * stored or not. */
static int lead_all(struct holder *h)
{
	for (size_t i = 0; i < h->n_leads; i++) {
		const struct lead *l = &h->leads[i];

		if (fl_os_poke(h->memory, l->at, &l->to, sizeof l->to) != sizeof l->to)
			return FLE_THREADS;
		h->n_moved++;
	}
	for (size_t i = 0; i < h->n; i++) {
		const struct halted *t = &h->held[i];
		int err = t->to && !t->has_ended ? fl_os_trace_move(t->tid, t->to) : 0;

		if (err && !has_gone(h, t->tid))
			return err;
		h->n_moved += t->to != 0;
	}
	return 0;
}

/* ---- what was asked -------------------------------------------------------------- */

bool fl_halt_is_valid(const struct fl_halt *m)
{
	uint32_t step = load_relaxed(&m->step);

	return step <= FL_HALT_OVER && m->n_rows <= FL_HALT_ROWS &&
	       (step == FL_HALT_FREE || step == FL_HALT_OVER ||
		(m->asker > 0 && m->spared >= 0 && m->rows && m->stack));
}

static bool are_ascending(const struct holder *h)
{
	for (size_t i = 0; i < h->n_rows; i++)
		if (!h->rows[i].len || h->rows[i].len > FL_ARCH_SITE_MAX ||
		    (i && h->rows[i].at < h->rows[i - 1].at + h->rows[i - 1].len))
			return false;
	return true;
}

static int read_asked(struct holder *h)
{
	size_t bytes = h->n_rows * sizeof *h->rows;

	h->rows = fl_os_map(NULL, bytes + 1, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (fl_is_err(h->rows)) {
		h->rows = NULL;
		return -ENOMEM;
	}
	for (size_t n = 0; n < bytes;) {
		long got = fl_os_peek(h->memory, h->mail->rows + n, (char *)h->rows + n,
				      bytes - n);

		if (got <= 0)
			return -EFAULT;
		n += (size_t)got;
	}
	if (!h->n_rows || !are_ascending(h))
		return -EINVAL;
	h->lo = h->rows[0].at;
	h->hi = h->rows[h->n_rows - 1].at + h->rows[h->n_rows - 1].len;
	return 0;
}

/* The asker stores. That does not take long, but the asker may be kept from its core, or be
 * stopped: no thread may go on before the asker is done. */
static void await_stores(struct holder *h)
{
	enum { LOOK_US = 20000 };

	/* (D) pairs with (C) in halt.c */
	while (load_acquire(&h->mail->step) == FL_HALT_HELD)
		if (fl_os_futex_wait(&h->mail->step, FL_HALT_HELD, LOOK_US) == -ETIMEDOUT &&
		    asker_has_gone(h))
			return;
}

/* False: the asker has stopped waiting. */
static bool tell_held(struct holder *h)
{
	uint32_t asked = FL_HALT_ASKED;

	h->mail->n_held = (uint32_t)h->n;
	h->mail->n_moved = (uint32_t)h->n_moved;
	/* (B) pairs with (E) in halt.c */
	if (!__atomic_compare_exchange_n(&h->mail->step, &asked, FL_HALT_HELD, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return false;
	fl_os_futex_wake(&h->mail->step, 1);
	return true;
}

static int halt(struct holder *h)
{
	uint64_t since = fl_os_monotonic_ns();
	int err;

	fl_os_end_after(GIVE_UP_US);
	err = stop_all(h);
	if (!err)
		err = look_at_all(h);
	if (!err)
		err = lead_all(h);
	fl_os_end_after(0);
	FL_POINT("halt.led");
	if (!err && tell_held(h))
		await_stores(h);
	release_all(h);
	h->mail->ns = fl_os_monotonic_ns() - since;
	return err;
}

static int serve(int pid, int memory, struct fl_halt *mail)
{
	struct holder *h = fl_os_map(NULL, sizeof *h, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	int err;

	if (fl_is_err(h))
		return -ENOMEM;
	h->pid = pid;
	h->memory = memory;
	h->mail = mail;
	h->n_rows = mail->n_rows;
	h->mark = fl_arch_frame_mark();
	h->bad = -1;
	err = read_asked(h);
	if (!err)
		err = halt(h);
	if (h->rows)
		fl_os_unmap(h->rows, h->n_rows * sizeof *h->rows + 1);
	fl_os_unmap(h, sizeof *h);
	return err;
}

void fl_halt_serve(int pid, int memory, struct fl_halt *mail)
{
	/* (F) pairs with (A) in halt.c */
	bool is_asked = load_acquire(&mail->step) == FL_HALT_ASKED && fl_halt_is_valid(mail);

	mail->err = is_asked ? serve(pid, memory, mail) : -EINVAL;
	store_release(&mail->step, FL_HALT_OVER);	/* (G) pairs with (E) in halt.c */
	fl_os_futex_wake(&mail->step, 1);
}
