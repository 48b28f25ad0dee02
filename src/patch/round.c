/*
 * round.c - meet every other thread of a process once.
 *
 * Hides how a sender can be sure to have met all threads while threads come and go. A
 * mark per thread id says which round asked or served the thread last.
 *
 * PROTOCOL
 *	a pass lists the threads, and asks each that this round has not served
 *	the round ends with a pass that found everybody served and listed as
 *	many threads as there were when the pass began
 *	a thread is served by its answer (handshake.c), by the tracer
 *	(sync-stop.c), by its end, or by rest (enum fl_who)
 * INVARIANT
 *	1 When a round ends, every thread has been served, or was created by
 *	  a thread after that one had been served, or by such a thread.
 *	2 An answer that arrives late, for an earlier round, changes nothing.
 * WHY
 *	1 /proc may pass over a thread when another thread ends while /proc is read.
 *	  But then the list has one thread less than there were, or it has a new
 *	  thread instead, which is not served. A thread that is created behind the
 *	  last pass has a parent that was in the pass, or whose parent was.
 *	2 A mark goes from `asked by round n` to `served in round n` by one
 *	  compare-and-swap, and numbers are not used twice.
 * FAILURE
 *	/proc cannot be read, or `ask` fails: the pass may be made again.
 *
 *	sender				served thread
 *	store to text			load text	after (B)
 *	mark = asked	(A)		mark == asked	(B)
 *	mark == served	(D)		mark = served	(C)
 *
 * (A) pairs with (B) and (C) pairs with (D): a sender that finds a thread served sees what
 * the thread did before; the thread has seen what was stored before it was asked.
 */
#include <sys/mman.h>

#include "round.h"

enum { MAX_TID = 1 << 22 };		/* the kernel's PID_MAX_LIMIT */

struct mark {
	uint64_t word;			/* number << 1, + 1 when served */
	uint64_t switches;		/* when it was asked first; W sender */
};

static struct mark *marks;		/* index: thread id; constant once set */
static uint64_t last;			/* number of the latest round */

/* This takes address space only: a page costs memory once a thread of its range is met. */
int fl_round_open(void)
{
	void *p;

	if (marks)
		return 0;
	p = fl_os_map(NULL, MAX_TID * sizeof(*marks), PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (fl_is_err(p))
		return (int)(intptr_t)p;
	marks = p;
	return 0;
}

void fl_round_begin(struct fl_round *r)
{
	r->number = ++last;
	r->asked = 0;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);	/* ordering: none but (A)'s */
}

bool fl_round_serve(uint64_t number, int tid)
{
	uint64_t asked = number << 1;

	if (!marks)
		return false;
	/* (B) pairs with (A), (C) pairs with (D) */
	return __atomic_compare_exchange_n(&marks[tid].word, &asked, asked | 1, false,
					   __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* Is the thread where it need not be asked? */
static bool is_at_rest(const struct fl_round *r, int tid)
{
	return r->who == FL_WHO_CORES && fl_os_thread_rests(r->pid, tid);
}

/* Has the thread ended, or left its core since it was asked? */
static bool is_away(const struct fl_round *r, const struct mark *m, enum fl_asked asked,
		    int err, const struct fl_thread_status *s)
{
	return err == -ESRCH || (!err && asked && r->who == FL_WHO_CORES &&
				 s->switches != m->switches);
}

/* Serve the thread if it needs no answer; else ask it. `asked` is what its mark says. */
static int meet(struct fl_round *r, int tid, struct mark *m, enum fl_asked asked)
{
	bool rests = is_at_rest(r, tid);
	struct fl_thread_status s = { 0 };
	int err = rests ? 0 : fl_os_thread_status(r->pid, tid, &s);

	if (rests || is_away(r, m, asked, err, &s)) {
		/* (A) pairs with (B): a late answer finds nothing to serve */
		store_release(&m->word, r->number << 1 | 1);
		return 0;
	}
	if (err)
		return err;
	if (asked == FL_ASKED_NOT) {
		m->switches = s.switches;
		store_release(&m->word, r->number << 1);	/* (A) pairs with (B) */
		r->asked++;
	}
	r->open++;
	return r->ask(r, tid, &s, asked);
}

static int meet_unserved(void *arg, int tid)
{
	struct fl_round *r = arg;
	uint64_t word;

	r->seen++;
	if (tid == r->caller || tid == fl_os_own_thread())
		return 0;			/* flick's own executes no site */
	if (tid >= MAX_TID)
		return -ERANGE;
	word = load_acquire(&marks[tid].word);		/* (D) pairs with (C) */
	if (word == (r->number << 1 | 1))
		return 0;
	return meet(r, tid, &marks[tid], word == r->number << 1 ? FL_ASKED : FL_ASKED_NOT);
}

int fl_round_pass(struct fl_round *r)
{
	long there = fl_os_thread_count(r->pid);
	int err;

	if (there < 0)
		return (int)there;
	r->seen = r->open = 0;
	err = fl_os_threads_of(r->pid, 0, meet_unserved, r);
	if (err)
		return err;
	return r->open || (long)r->seen != there;
}
