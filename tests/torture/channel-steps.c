/*
 * torture/channel-steps.c - at each instruction of an enqueue, something happens.
 *
 *	handler  in a chunk         steps   30  produced    3960 | wrong 0  stuck 0
 *
 * A child enqueues under PTRACE_SINGLESTEP. After k steps, for each k until the
 * operation is through, it is sent a signal whose handler enqueues, or leaves by
 * siglongjmp(), or it is killed. Then every word must have arrived once, in the order
 * of its series, and the equation must hold: else it is wrong. A child that does not
 * end well is stuck. Without FLICK_TORTURE jumps and kills come at every fifth step.
 *
 *	torture/channel-steps [handler|jump|kill]
 *
 *	-DFL_PLANT_NO_GUARD	a producer that does not raise the guard: must be seen
 *
 * timeout: 300
 */
#include <sched.h>
#include <setjmp.h>
#include <sys/ptrace.h>

#include "../unit/channel-public-rig.h"
#include "channel/channel.h"
#include "channel/public.h"

#define BEFORE 127u		/* words, then one more fills a chunk of 1 KiB */
#define NESTED 2u
#define AFTER 3u		/* words behind the operation, which empty the nest */

enum { DONE, NEXT, HANDLED, JUMPED };	/* of the ledger */

static struct pub rig;
static sigjmp_buf back;

/* ---- what a child does --------------------------------------------------- */

static void put_next(struct pub *g)
{
	uint64_t n = g->ledger[NEXT];

#ifdef FL_PLANT_NO_GUARD
	char *at = g->c->ptr;

	if (at < g->c->limit) {
		*(flick_word64 *)at = n;
		__atomic_store_n(&g->c->ptr, at + 8, __ATOMIC_RELEASE);
	} else {
		pub_put(g, 0, n);
	}
#else
	pub_put(g, 0, n);
#endif
	g->ledger[NEXT] = n + 1;
}

static void put_from_handler(int sig)
{
	uint64_t n = rig.ledger[HANDLED];

	(void)sig;
	rig.ledger[HANDLED] = n + 2;
	pub_put(&rig, 1, n);
	pub_put(&rig, 1, n + 1);
}

static void leave_by_jump(int sig)
{
	(void)sig;
	siglongjmp(back, 1);
}

static void open_with(uint32_t skip)
{
	flick_channel_produce(rig.c);
	fl_public_of(rig.c)->skip = skip;
	while (rig.ledger[NEXT] < BEFORE)
		put_next(&rig);
}

/* What a handler would have left. */
static void fill_nest(uint64_t n)
{
	pub_enter(&rig);
	for (uint64_t i = 0; i < n; i++)
		pub_put(&rig, 2, i);
	pub_leave(&rig);
}

static void in_a_chunk(void)
{
	put_next(&rig);
}

static void across_chunks(void)
{
	for (int i = 0; i < 2; i++)
		put_next(&rig);
}

static void by_cursor(void)
{
	struct flick_cursor at = flick_channel_begin(rig.c);

	for (int i = 0; i < 2; i++) {
		flick_cursor_put64(rig.c, &at, rig.ledger[NEXT]);
		rig.ledger[NEXT] += 1;
	}
	flick_channel_commit(rig.c, &at);
	flick_channel_finish(rig.c, &at);
}

static void flush(void)
{
	flick_channel_flush(rig.c);
}

/* ---- one child, one step ------------------------------------------------- */

static const struct scenario {
	const char *name;
	void (*run)(void);
	uint32_t mode, chunks, skip;
	bool nest, cursor;
} scenarios[] = {
	{ "in a chunk", in_a_chunk, FLICK_EXHAUSTIVE, 4, 0, false, false },
	{ "across chunks", across_chunks, FLICK_EXHAUSTIVE, 4, 0, false, false },
	{ "emptying the nest", in_a_chunk, FLICK_EXHAUSTIVE, 4, 0, true, false },
	{ "by cursor", by_cursor, FLICK_EXHAUSTIVE, 4, 0, false, true },
	{ "into the aside", across_chunks, FLICK_ADAPTIVE, 4, 1, false, false },
	{ "the nest into the aside", in_a_chunk, FLICK_ADAPTIVE, 4, 1, true, false },
	{ "round the ring", across_chunks, FLICK_SAMPLING, 2, 0, false, false },
	{ "flush", flush, FLICK_EXHAUSTIVE, 4, 0, false, false },
};

enum happening { HANDLER, JUMP, KILL };

static const char *const happenings[] = { "handler", "jump", "kill" };

struct verdict {
	uint64_t steps, produced, wrong, stuck;
};

/* The trap tells the parent to start stepping. A cursor that was abandoned is void,
 * and what it had passed but not committed never was enqueued. */
static void be_stepped(const struct scenario *s, enum happening what)
{
	struct sigaction sa = {
		.sa_handler = what == JUMP ? leave_by_jump : put_from_handler,
	};

	sigaction(SIGUSR1, &sa, NULL);
	open_with(s->skip);
	if (s->nest)
		fill_nest(NESTED);
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	if (!sigsetjmp(back, 1)) {
		__asm__ volatile("int3");
		s->run();
		rig.ledger[DONE] = 1;
		if (what == HANDLER)
			raise(SIGUSR1);		/* must not come before the first */
	} else {
		rig.ledger[JUMPED] = 1;
		flick_channel_recover(rig.c);
		rig.ledger[NEXT] += 10;		/* the one interrupted may be there */
	}
	for (uint32_t i = 0; i < AFTER; i++)
		put_next(&rig);
	flick_channel_end(rig.c);
	_exit(0);
}

static bool is_stopped(pid_t pid, int *status)
{
	if (waitpid(pid, status, 0) != pid)
		pub_die("waitpid");
	return WIFSTOPPED(*status);
}

/* True when the operation was through before step k. A chunk that is rung for costs
 * a system call at most, which is one step. */
static bool step(pid_t pid, uint64_t k, enum happening what, struct verdict *v)
{
	int status;
	bool stopped = is_stopped(pid, &status), through;

	for (uint64_t i = 0; stopped && i < k && !rig.ledger[DONE]; i++) {
		ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL);
		stopped = is_stopped(pid, &status);
	}
	through = rig.ledger[DONE] || !stopped;
	if (what == KILL)
		kill(pid, SIGKILL);
	else
		ptrace(PTRACE_CONT, pid, NULL, through ? 0l : (long)SIGUSR1);
	/* A signal that was blocked then stops it once more when it comes. */
	while (is_stopped(pid, &status))
		ptrace(PTRACE_CONT, pid, NULL, (long)WSTOPSIG(status));
	if (what != KILL && (!WIFEXITED(status) || WEXITSTATUS(status)))
		v->stuck++;
	return through;
}

/* ---- the verdict --------------------------------------------------------- */

static uint64_t lost_of(const struct flick_channel_stats *t)
{
	return t->lost_full + t->lost_consumer + t->lost_nested;
}

/* Series 0 is complete up to the word that was interrupted; a cursor's are, up to a
 * commit. In modes that leave words out the sum alone is known. */
static bool is_right(const struct scenario *s, enum happening what)
{
	struct flick_channel_stats t = pub_stats(&rig);
	uint64_t put = rig.ledger[NEXT] + rig.ledger[HANDLED] + (s->nest ? NESTED : 0);
	uint64_t slack = what == HANDLER ? 0 : what == JUMP ? 10 : 1;

	if (what != HANDLER && s->cursor)
		slack += 2;
	if (rig.repeated || rig.torn || pub_unbalanced(&rig) || t.held ||
	    t.delivered != rig.delivered || lost_of(&t))
		return false;
	if (t.produced > put + 1 || t.produced + slack < put)
		return false;
	return s->mode != FLICK_EXHAUSTIVE || what == JUMP ||
	       (rig.missing == 0 && rig.next[1] == rig.ledger[HANDLED] &&
		rig.next[2] == (s->nest ? NESTED : 0));
}

static void say_wrong(const struct scenario *s, enum happening what, uint64_t k)
{
	struct flick_channel_stats t = pub_stats(&rig);

	printf("%s, %s, step %lu: produced %lu delivered %lu of %lu handled %lu missing %lu "
	       "repeated %lu torn %lu held %lu lost %lu\n", happenings[what], s->name, k,
	       t.produced, rig.delivered, rig.ledger[NEXT], rig.ledger[HANDLED],
	       rig.missing, rig.repeated, rig.torn, t.held, lost_of(&t));
}

static bool try_step(const struct scenario *s, enum happening what, uint64_t k,
		     struct verdict *v)
{
	bool through;
	pid_t pid;

	pub_open(&rig, s->mode, 8, 1024, s->chunks);
	flick_channel_leave(&rig.k);		/* nobody takes a chunk meanwhile */
	pid = fork();
	if (!pid)
		be_stepped(s, what);
	through = step(pid, k, what, v);
	if (flick_channel_consume(&rig.k, rig.c) || pub_drain(&rig) != FLICK_TAKE_END ||
	    !is_right(s, what)) {
		if (!v->wrong++)
			say_wrong(s, what, k);
	}
	v->steps++;
	v->produced += pub_stats(&rig).produced;
	pub_close(&rig);
	return through;
}

/* An operation of hardly an instruction was not there to be interrupted. */
static int torture(enum happening what, const struct scenario *s, uint64_t by)
{
	struct verdict v = { 0 };
	uint64_t k = 0;

	while (!try_step(s, what, k, &v))
		k += by;
	printf("%-8s %-24s steps %4lu  produced %7lu | wrong %lu  stuck %lu\n",
	       happenings[what], s->name, v.steps, v.produced, v.wrong, v.stuck);
	fflush(stdout);
	return v.wrong || v.stuck || k < 10;
}

/* Stepping is one switch after the other: quicker without another CPU. */
static void keep_to_one_cpu(void)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
}

int main(int argc, char **argv)
{
	uint64_t by = getenv("FLICK_TORTURE") ? 1 : 5;
	int bad = 0;

	keep_to_one_cpu();
	for (enum happening what = HANDLER; what <= KILL; what++)
		for (size_t i = 0; i < ARRAY_LEN(scenarios) &&
		     (argc < 2 || !strcmp(argv[1], happenings[what])); i++)
			bad |= torture(what, &scenarios[i], what == HANDLER ? 1 : by);
	return bad;
}
