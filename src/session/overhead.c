/*
 * overhead.c - what the probes of one call cost here, in ticks.
 *
 * The very glue, routines and ring of a target run for some milliseconds in a child
 * of flick's: entry, a little work, exit, entry. What each pair takes beside the work,
 * and how much of that lies between its two clock readings, is taken out of all times
 * that are made of such records (analysis/stack.h). Beside a little work a core runs a
 * part of a probe for nothing; beside more work it does not. Programs have both, so the
 * mean of the two is taken. A program whose caches are full pays more than that;
 * self times rest on samples where the system gives them (profile.c).
 *
 * Where calls are sampled, it is also measured what probes of calls in a timed call take of
 * it: for timed ones the part that they do not measure themselves, for others all.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arch/arch.h"
#include "patch/patch.h"
#include "probe/probe.h"
#include "session/cost.h"

enum {
	ROUNDS = 16,
	PAIRS = 300,			/* a round: less than a chunk, so nobody waits */
	LITTLE = 10, MORE = 100,	/* steps of work */
	GAP = 4,			/* of samples: one call in so many is timed */
	TOGETHER = 64,			/* pairs whose mean is taken */
	NEVER = 1 << 30			/* as good as */
};

/* Probes; the last two are of a call around a round. */
enum { ENTRY, EXIT, AROUND, BEHIND, N_PROBES };

struct trial {
	struct fl_region *m;
	struct fl_reader *reader;
	struct fl_near near;
	void (*call[N_PROBES])(void);
	bool is_sampled;
	uint32_t inside[ROUNDS * PAIRS / TOGETHER], n_inside;	/* means */
	uint64_t sum;						/* for the next mean */
	uint32_t n_summed;
	uint32_t bare[ROUNDS], full[ROUNDS], work[ROUNDS];	/* of all pairs of a round */
	uint64_t begun;			/* of the call whose entry was fed last */
};

/* The clock may go in steps of 25 ticks and more: the time between two readings is right only
 * as a mean of many. */
static void add_inside(struct trial *t, uint64_t ticks)
{
	t->sum += ticks;
	if (++t->n_summed < TOGETHER)
		return;
	if (t->n_inside < ARRAY_LEN(t->inside))
		t->inside[t->n_inside++] = (uint32_t)((t->sum + TOGETHER / 2) / TOGETHER);
	t->sum = t->n_summed = 0;
}

static void feed(void *arg, const struct fl_batch *b)
{
	struct trial *t = arg;

	for (size_t i = 0; i < b->n; i++) {
		const struct flick_record *r = &b->records[i];

		if (fl_record_probe(r) == ENTRY)
			t->begun = r->tsc;
		else if (fl_record_probe(r) == EXIT)
			add_inside(t, r->tsc - t->begun);
	}
}

static void count(void *arg, uint32_t thread, uint32_t probe, uint64_t n)
{
	(void)arg, (void)thread, (void)probe, (void)n;
}

static void thread_end(void *arg, uint32_t thread, uint64_t alive)
{
	(void)arg, (void)thread, (void)alive;
}

enum {
	HOT_BYTES = FL_ARCH_RECORDING_BYTES > FL_ARCH_GLUE_BYTES ? FL_ARCH_RECORDING_BYTES :
								   FL_ARCH_GLUE_BYTES,
	ALL_BYTES = HOT_BYTES + FL_ARCH_RECORDING_REST_BYTES
};

/* Make glue as at entries and exits, as probe/glue.c makes it where each call is recorded. It
 * stays until the process ends: the kernel reads the sequence that the thread's rseq area names
 * when the thread is interrupted next, and ends who has none there. */
static int make_glue(struct trial *t, enum fl_action entry, enum fl_action exit,
		     enum fl_convention way)
{
	const enum fl_action actions[] = { entry, exit, FL_ACT_SAMPLE, FL_ACT_AFTER };
	const struct fl_shm_session *s = &t->m->session[0];
	enum fl_glue_does does = s->precise ? FL_GLUE_RECORDS_PRECISELY : FL_GLUE_RECORDS;
	bool is_own = s->action == FL_ACT_TIME && fl_arch_glue_can(does);
	uintptr_t here = (uintptr_t)make_glue;
	int err = fl_near_alloc(&t->near, FL_NEAR_TO(here, here + 1), N_PROBES * ALL_BYTES,
				N_PROBES * 2 * sizeof(uintptr_t));

	for (uint32_t id = 0; !err && id < N_PROBES; id++) {
		size_t hot = id * ALL_BYTES, rest = hot + HOT_BYTES;
		uintptr_t *go = (uintptr_t *)t->near.data + 2 * id;
		struct fl_doing_glue g = {
			.does = does, .id = id, .go = (uintptr_t)go, .mask = (uintptr_t)&go[1],
			.out = t->near.write + hot, .at = (uintptr_t)t->near.code + hot,
			.rest = t->near.write + rest, .rest_at = (uintptr_t)t->near.code + rest,
		};

		go[0] = fl_probe_routine(actions[id], way);
		go[1] = FL_ARCH_MASK_DOES;
		t->call[id] = (void (*)(void))g.at;
		if (!(is_own ? fl_arch_glue_doing(&g) : fl_arch_glue(g.out, g.at, id, g.go, 0)))
			err = FLE_NOREACH;
	}
	return err ? err : fl_near_seal(&t->near);
}

static void nothing(void)
{
}

/* A little work, each step of which waits for the one before, as in most functions:
 * a core runs part of a probe beside it. */
static inline uint64_t work(uint64_t x, int steps)
{
	for (int i = 0; i < steps; i++) {
		x *= 0x9e3779b97f4a7c15ull;
		__asm__ volatile("" : "+r"(x));
	}
	return x;
}

__attribute__((noinline)) static uint32_t time_pairs(void (*entry)(void), void (*exit)(void),
						     int steps)
{
	void (*volatile call_entry)(void) = entry;
	void (*volatile call_exit)(void) = exit;
	uint64_t from = fl_arch_ticks(), x = from;

	for (int i = 0; i < PAIRS; i++) {
		call_entry();
		x = work(x, steps);
		call_exit();
	}
	__asm__ volatile("" : : "r"(x));
	return (uint32_t)(fl_arch_ticks() - from);
}

/* What the work takes alone. */
__attribute__((noinline)) static uint32_t time_work(int steps)
{
	uint64_t from = fl_arch_ticks(), x = from;

	for (int i = 0; i < PAIRS; i++)
		x = work(x, steps);
	__asm__ volatile("" : : "r"(x));
	return (uint32_t)(fl_arch_ticks() - from);
}

static int compare(const void *x, const void *y)
{
	const uint32_t *a = x, *b = y;

	return *a < *b ? -1 : *a > *b;
}

/* The value at the end of the smallest tenth: what others do on the machine only adds, and to
 * take out too much is worse than too little. */
static uint32_t tenth(uint32_t *v, size_t n)
{
	qsort(v, n, sizeof(*v), compare);
	return n ? v[n / 10] : 0;
}

static void begin_inside(struct trial *t)
{
	t->n_inside = t->n_summed = 0;
	t->sum = 0;
}

/* The core does not foresee a timed call among others that are not timed. */
static void time_samples(struct trial *t, int steps)
{
	fl_sample_space(ENTRY, GAP);
	begin_inside(t);
	for (int i = 0; i < ROUNDS; i++) {
		time_pairs(t->call[ENTRY], t->call[EXIT], steps);
		fl_reader_poll(t->reader, false);
	}
	fl_sample_space(ENTRY, 1);
}

/* The loop without probes takes its share, which is subtracted. */
static struct fl_overhead measure_beside(struct trial *t, int steps)
{
	struct fl_overhead o;
	uint32_t work_ticks, bare, full;

	begin_inside(t);
	for (int i = 0; i < ROUNDS; i++) {
		t->bare[i] = time_pairs(nothing, nothing, steps);
		t->full[i] = time_pairs(t->call[ENTRY], t->call[EXIT], steps);
		t->work[i] = time_work(steps);
		fl_reader_poll(t->reader, false);
	}
	if (t->is_sampled)
		time_samples(t, steps);
	bare = tenth(t->bare, ROUNDS);
	full = tenth(t->full, ROUNDS);
	work_ticks = tenth(t->work, ROUNDS) / PAIRS;
	o.pair = full > bare ? (full - bare) / PAIRS : 0;
	o.inside = tenth(t->inside, t->n_inside);
	o.inside = o.inside > work_ticks ? o.inside - work_ticks : 0;
	o.inside = o.inside < o.pair ? o.inside : o.pair;
	return o;
}

/* By how many parts of a tick each pair makes a timed call longer that stands above it. This is
 * measured where nothing else is done, because work beside calls hides a part of it, and of the
 * shortest calls least. */
static uint32_t measure_within(struct trial *t)
{
	uint32_t bare, full;

	for (int i = 0; i < ROUNDS; i++) {
		uint64_t spent;

		t->bare[i] = time_work(0);
		t->call[AROUND]();
		spent = fl_channel_own_slot()->ring[0].frames->spent;
		t->full[i] = time_pairs(t->call[ENTRY], t->call[EXIT], 0);
		spent = fl_channel_own_slot()->ring[0].frames->spent - spent;
		t->full[i] -= (uint32_t)(spent / FL_TICK_PARTS);
		t->call[BEHIND]();
		fl_reader_poll(t->reader, false);
	}
	bare = tenth(t->bare, ROUNDS);
	full = tenth(t->full, ROUNDS);
	return full > bare ? (full - bare) * FL_TICK_PARTS / PAIRS : 0;
}

static void measure_samples(struct trial *t, enum fl_convention way, struct fl_overhead *o)
{
	fl_sample_space(ENTRY, NEVER);
	o->looked = measure_within(t);
	fl_sample_space(ENTRY, GAP);
	o->timed = GAP * measure_within(t) - (GAP - 1) * o->looked;
	fl_sample_space(ENTRY, 1);
	if (!make_glue(t, FL_ACT_AFTER, FL_ACT_AFTER, way))
		o->counted = measure_within(t);
	o->looked -= o->looked < o->counted ? o->looked : o->counted;
}

static struct fl_overhead measure(struct trial *t, enum fl_action entry,
				  enum fl_convention way)
{
	const enum fl_action exit = entry == FL_ACT_SAMPLE ? FL_ACT_AFTER : FL_ACT_TIME;
	struct fl_overhead little, more, o;

	if (make_glue(t, entry, exit, way))
		return (struct fl_overhead){ 0 };
	little = measure_beside(t, LITTLE);
	more = measure_beside(t, MORE);
	o = (struct fl_overhead){ .inside = (little.inside + more.inside) / 2,
				  .pair = (little.pair + more.pair) / 2 };
	if (t->is_sampled)
		measure_samples(t, way, &o);
	return o;
}

/* Samples are paired by the function of probes 0 and 1, which stays on, as does the function
 * of probes 2 and 3. */
static int open_probes(const struct trial *t)
{
	static const uint8_t kinds[] = { FL_ENTRY, FL_EXIT, FL_ENTRY, FL_EXIT };
	bool is_new;
	int err = fl_patch_open(NULL);

	if (!err)
		err = fl_probes_open(t->m);
	for (int i = ENTRY; !err && i <= BEHIND; i++) {
		uintptr_t of = i < AROUND ? (uintptr_t)nothing : (uintptr_t)measure;

		if (fl_probe_virtual(of, kinds[i], FL_FORM_NONE, &is_new) != i)
			err = FLE_NOPROBE;
	}
	return err;
}

/* The trial has a process of its own, because it has a target's channel. In windows calls are
 * counted, too, as they are beside samples. */
static void run_child(struct fl_overhead out[2], const struct fl_session_options *asked)
{
	static struct trial t;
	enum fl_action action = asked->action;
	struct fl_shm_options o = {
		.n_slots = 2, .max_sites = 16, .samples = UINT32_MAX / 32,
		.precise = asked->precise,
		.action = action == FL_ACT_WINDOW ? FL_ACT_SAMPLE : action,
	};
	struct fl_sink sink = { &t, feed, count, thread_end };
	int fd;

	if (fl_shm_create(&o, &t.m, &fd) || fl_channel_open(t.m) ||
	    fl_reader_open(&t.reader, t.m, &sink, 0))
		return;
	t.m->target_pid = getpid();
	fl_arch_rseq_open();
	t.is_sampled = action == FL_ACT_SAMPLE;
	if ((t.is_sampled || o.precise) && open_probes(&t))
		return;
	out[0] = measure(&t, action, FL_ABI);
	out[1] = measure(&t, action, FL_BARE);
}

void fl_overhead_begin(struct fl_session *s)
{
	struct fl_calibrator *c = &s->calibrator;
	enum fl_action action = s->o->raw ? FL_ACT_COUNT : s->o->action;

	c->out = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	c->pid = c->out == MAP_FAILED ? -1 : fork();
	if (c->pid)
		return;
	c->out->jump = fl_jumps_measure();
	c->out->call_ps = fl_jumps_measure_call();
	if (action == FL_ACT_TIME || action == FL_ACT_WINDOW || action == FL_ACT_SAMPLE)
		run_child(c->out->probes, s->o);
	c->out->sample_ns = fl_sampler_measure(action == FL_ACT_SAMPLE ? FL_SAMPLED_CALLS :
					      FL_SAMPLED_PLACES);
	_exit(0);
}

void fl_overhead_end(struct fl_session *s)
{
	struct fl_calibrator *c = &s->calibrator;
	int status;

	if (c->pid > 0) {		/* the session may have reaped it */
		waitpid(c->pid, &status, 0);
		s->prices = *c->out;
		memcpy(s->view.overhead, s->prices.probes, sizeof(s->prices.probes));
	}
	if (c->out && c->out != MAP_FAILED)
		munmap(c->out, 4096);
	*c = (struct fl_calibrator){ 0 };
}
