/*
 * torture/patch - run through one site while it is switched and committed.
 *
 *	flip membarrier offset 0..63 by 1: on 61203345 off 60934210 | torn 0 lost 0 stale 0
 *
 * Every call through the site adds one to `body`, and one to `on` when the
 * probe was met. torn: the child died of a signal. lost: body differs from the
 * calls made. stale: a call that began after a commit had returned, and ended
 * before the next began, ran the old bytes. Counts right of the bar must be
 * zero; anything there is a bug in src/patch or src/arch, never in this test.
 *
 * What commits is run under every sync that works here; `wait` among them where
 * this machine has been calibrated.
 *
 * `torture/patch planted` uses a store that tears, and must find something: the
 * counts are not decoration. That a sync that does nothing is found out, too, is
 * torture/sync's part: here the processor may be too kind.
 *
 * timeout: 300
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arch/arch.h"
#include "os/os.h"
#include "patch/patch.h"
#include "site/site.h"

enum { N_EXEC = 1, CODE_BYTES = 4096, GLUE_AT = 2048, BODY_AT = 1024,
       MOST_NS = 300000000 };

struct executor {
	uint64_t body, on;		/* W the code itself, by %rdi */
	uint64_t calls, stale;
	pthread_t thread;
};

static unsigned char *code;
static struct executor executors[N_EXEC];
static uint32_t stop, epoch;		/* epoch odd: a commit is under way */
static uint32_t expect_on;
enum { MOST_WAYS = 3, INSIDE = 2 };
static uintptr_t ways[MOST_WAYS];	/* into the site; INSIDE: past the probe */
static size_t n_ways = 1;

/* Call the site; the red zone is ours to keep. */
static void call_site(struct executor *e, uintptr_t entry)
{
	__asm__ volatile("sub $256, %%rsp\n\tcall *%0\n\tadd $256, %%rsp"
			 :: "r"(entry), "D"(e)
			 : "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11",
			   "memory", "cc");
}

static void *execute(void *arg)
{
	struct executor *e = arg;

	while (!load_relaxed(&stop)) {
		uint32_t before = __atomic_load_n(&epoch, __ATOMIC_SEQ_CST);
		uint32_t want = load_relaxed(&expect_on);
		uint64_t on = e->on;
		size_t way = e->calls % n_ways;

		call_site(e, ways[way]);
		e->calls++;
		if (way == INSIDE)
			e->stale += e->on != on;
		else if (!(before & 1) &&
			 __atomic_load_n(&epoch, __ATOMIC_SEQ_CST) == before)
			e->stale += (e->on != on) != want;
	}
	return NULL;
}

static void start(void)
{
	store_relaxed(&stop, 0);
	memset(executors, 0, sizeof executors);
	for (int i = 0; i < N_EXEC; i++)
		pthread_create(&executors[i].thread, NULL, execute, &executors[i]);
	for (int i = 0; i < N_EXEC; i++)	/* so that both bodies are run */
		while (!__atomic_load_n(&executors[i].body, __ATOMIC_RELAXED))
			fl_arch_pause();
}

struct verdict {
	uint64_t on, off, torn, lost, stale;
};

static void finish(struct verdict *v)
{
	store_relaxed(&stop, 1);
	for (int i = 0; i < N_EXEC; i++) {
		struct executor *e = &executors[i];

		pthread_join(e->thread, NULL);
		v->on += e->on;
		v->off += e->body - e->on;
		v->lost += e->calls > e->body ? e->calls - e->body : e->body - e->calls;
		v->stale += e->stale;
	}
}

/* At `offset` of a line: the site, then the body. Glue counts and returns. */
static int lay(struct fl_patch *p, size_t offset, int form, const void *old, size_t n)
{
	static const unsigned char body[] = { 0x48, 0xff, 0x07, 0xc3 };	/* incq (%rdi); ret */
	static const unsigned char glue[] = { 0x48, 0xff, 0x47, 0x08, 0xc3 };
	struct fl_plan_in in = { .form = form, .room = (uint8_t)n };
	uint64_t datum;

	memset(code, FL_ARCH_TRAP, CODE_BYTES);
	memcpy(code + GLUE_AT, glue, sizeof glue);
	memcpy(code + BODY_AT + offset, old, n);
	memcpy(code + BODY_AT + offset + n, body, sizeof body);
	ways[0] = in.at = (uintptr_t)code + BODY_AT + offset;
	in.glue = (uintptr_t)code + GLUE_AT;
	return fl_arch_plan(p, &in, &datum) || fl_claim_alone(p);
}

/* At `offset` of a line: NOPs, and an entry that is led to from there. Callers come to the
 * NOPs, to the entry, and to its second instruction. False: it cannot be there. */
static bool lay_before(struct fl_patch *p, size_t offset)
{
	static const unsigned char old[] = { 0x0f, 0x1f, 0x80, 0, 0, 0, 0, 0x48, 0x89, 0xf8,
					     0x48, 0xff, 0x07, 0xc3 };
	static const unsigned char on[] = { 0x48, 0xff, 0x47, 0x08, 0x90 };
	enum { BEFORE = 7, FIRST = 3 };
	struct fl_plan_in in = { .form = FL_FORM_BODY_BEFORE, .room = FIRST, .before = BEFORE };
	uint64_t datum;

	memset(code, FL_ARCH_TRAP, CODE_BYTES);
	memcpy(code + BODY_AT + offset, old, sizeof old);
	memcpy(code + GLUE_AT, on, sizeof on);
	memcpy(code + GLUE_AT + sizeof on, old + BEFORE, sizeof old - BEFORE);
	ways[0] = in.at = (uintptr_t)code + BODY_AT + offset + BEFORE;
	ways[1] = in.at - BEFORE;
	ways[INSIDE] = in.at + FIRST;
	n_ways = MOST_WAYS;
	in.on = (uintptr_t)code + GLUE_AT;
	in.off = in.on + sizeof on;
	return !fl_arch_plan(p, &in, &datum) && !fl_claim_alone(p);
}

static void commit(struct fl_patch *p, int from, int to)
{
	struct fl_change change;
	struct fl_set set = { .changes = &change, .room = 1 };
	size_t bad;

	fl_set_stage(&set, p, from, to);
	__atomic_fetch_add(&epoch, 1, __ATOMIC_SEQ_CST);
	store_relaxed(&expect_on, to == FL_ON);
	if (fl_set_commit(&set, &bad))
		abort();
	__atomic_fetch_add(&epoch, 1, __ATOMIC_SEQ_CST);
	for (int i = 0; i < 200; i++)
		fl_arch_pause();
}

static const char nop5[] = "\x0f\x1f\x44\x00\x00";
static const char nop10[] = "\x66\x2e\x0f\x1f\x84\0\0\2\0\0";

static void run_flips(struct verdict *v, size_t offset, long rounds)
{
	struct fl_patch p;

	if (lay(&p, offset, FL_FORM_PAD, nop5, 5))
		abort();
	commit(&p, FL_OLD, FL_OFF);
	epoch = 1;				/* a flip is unsynchronised */
	start();
	for (long i = 0; i < rounds; i++) {
		fl_patch_flip(&p, i & 1 ? FL_OFF : FL_ON);
		for (int k = 0; k < (i & 15); k++)
			fl_arch_pause();
	}
	finish(v);
}

/* On a busy machine the executor may not be running while the site is on. */
static void await_on(void)
{
	while (!__atomic_load_n(&executors[0].on, __ATOMIC_RELAXED))
		sched_yield();
}

/* Of a sync that takes long, as many rounds as begin within MOST_NS. */
static void run_commits(struct verdict *v, size_t offset, long rounds, const char *old,
			size_t n)
{
	uint64_t begin = fl_os_monotonic_ns();
	struct fl_patch p;

	if (lay(&p, offset, FL_FORM_PAD, old, n))
		abort();
	epoch = 0;
	expect_on = 0;
	start();
	for (long i = 0; i < rounds / 1000 + 1 &&
	     fl_os_monotonic_ns() - begin < MOST_NS; i++) {
		commit(&p, FL_OLD, FL_ON);
		if (i == 0)
			await_on();
		commit(&p, FL_ON, FL_OFF);
		commit(&p, FL_OFF, FL_OLD);
	}
	finish(v);
}

/* Old bytes and `on` never follow one another. */
static void run_before(struct verdict *v, size_t offset, long rounds)
{
	uint64_t begin = fl_os_monotonic_ns();
	struct fl_patch p;

	if (!lay_before(&p, offset))
		return;
	epoch = 0;
	expect_on = 0;
	start();
	for (long i = 0; i < rounds / 1000 + 1 &&
	     fl_os_monotonic_ns() - begin < MOST_NS; i++) {
		commit(&p, FL_OLD, FL_OFF);
		commit(&p, FL_OFF, FL_ON);
		if (i == 0)
			await_on();
		commit(&p, FL_ON, FL_OFF);
		commit(&p, FL_OFF, FL_OLD);
	}
	finish(v);
}

static void run_park(struct verdict *v, size_t offset, long rounds)
{
	run_commits(v, offset, rounds, nop5, 5);
}

static void run_jump(struct verdict *v, size_t offset, long rounds)
{
	run_commits(v, offset, rounds, nop10, 10);
}

/* Planted: the ten bytes are stored as they come, under the executor. */
static void run_torn(struct verdict *v, size_t offset, long rounds)
{
	struct fl_patch p;

	if (lay(&p, offset, FL_FORM_PAD, nop10, 10))
		abort();
	epoch = 1;
	start();
	for (long i = 0; i < rounds * 10; i++)
		for (size_t k = 0; k < p.len; k++)
			fl_arch_flip_unit(p.at + k, p.bytes[i & 1 ? FL_OLD : FL_ON][k]);
	finish(v);
}

static const struct test {
	const char *name;
	void (*run)(struct verdict *, size_t offset, long rounds);
	bool syncs;			/* depends on how cores are synchronised */
} tests[] = {
	{ "flip", run_flips, false },
	{ "park", run_park, true }, { "jump", run_jump, true },
	{ "before", run_before, true },
};
static const struct test planted = { "torn", run_torn, false };

/* One offset in a child, which may die of what it finds. */
static void run_child(const struct test *t, const char *sync, struct verdict *sum,
		      size_t offset, long rounds)
{
	struct verdict *v = mmap(NULL, sizeof *v, PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid = fork();
	int status;

	if (!pid) {
		if (fl_patch_open(sync))
			_exit(77);
		t->run(v, offset, rounds);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	sum->torn += WIFSIGNALED(status);
	if (WIFEXITED(status) && WEXITSTATUS(status))
		abort();
	sum->on += v->on;
	sum->off += v->off;
	sum->lost += v->lost;
	sum->stale += v->stale;
	munmap(v, sizeof *v);
}

static int run(const struct test *t, const char *sync, size_t step, long rounds)
{
	struct verdict v = { 0 };

	for (size_t offset = 0; offset < 64; offset += step)
		run_child(t, sync, &v, offset, rounds);
	printf("%-6s %-10s offset 0..63 by %zu: on %llu off %llu | torn %llu lost %llu stale "
	       "%llu\n", t->name, sync, step, (unsigned long long)v.on,
	       (unsigned long long)v.off, (unsigned long long)v.torn,
	       (unsigned long long)v.lost, (unsigned long long)v.stale);
	if (!v.on || !v.off)
		printf("%s: one of the two bodies was never seen\n", t->name);
	return !v.on || !v.off || v.torn || v.lost || v.stale;
}

/* Under the sync number `i`. What an offset is to the processor the first one shows: under
 * others, which take longer while executors run, a short run has each third. */
static int run_tests(size_t i, bool is_long, long rounds)
{
	const char *about, *sync = fl_patch_sync_row(i, &about);
	int bad = 0;

	if (fl_patch_sync_works(sync)) {
		printf("%s does not work here\n", sync);
		return 0;
	}
	for (size_t k = 0; k < ARRAY_LEN(tests); k++)
		if (i == 0 || tests[k].syncs)
			bad |= run(&tests[k], sync, i && !is_long ? 3 : 1, rounds);
	return bad;
}

int main(int argc, char **argv)
{
	const char *mode = getenv("FLICK_TORTURE"), *about;
	const char *first = fl_patch_sync_row(0, &about);
	bool is_long = mode && !strcmp(mode, "long");
	long rounds = is_long ? 300000 : 20000, planted_rounds = 100000;
	int bad = 0, tries = 10;
	bool is_seen = false;

	setvbuf(stdout, NULL, _IOLBF, 0);
	code = mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (argc > 1 && !strcmp(argv[1], "planted"))
		return !run(&planted, first, 1, planted_rounds);
	for (size_t i = 0; fl_patch_sync_row(i, &about); i++)
		bad |= run_tests(i, is_long, rounds);
	/* A core that has to share its processor meets none at times. */
	while (tries-- && !is_seen)
		is_seen = run(&planted, first, 1, planted_rounds);
	if (!is_seen) {
		printf("the planted tear was not seen\n");
		bad = 1;
	}
	return bad;
}
