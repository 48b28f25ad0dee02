/*
 * torture-rig.c - executors run places while patchers switch them.
 *
 * READER code. Hides threads, processors, and how an execution is judged.
 *
 *	patcher					executor
 *	seq = busy, next number	(A)		load seq		(B)
 *	switch, in whatever steps		call the place
 *	synchronise all cores			load seq		(B)
 *	seq = settled in STATE	(A)
 *
 * (A) pairs with (B): an executor that reads `settled` twice, and the same
 * number, called the place after all cores had been synchronised and before the
 * next switch began. If it met anything but STATE, that is stale, and counts as stray.
 */
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "calibrate.h"
#include "os/os.h"
#include "torture.h"

enum {
	BUSY = 1, STATE = 2, NUMBER = 4,	/* of seq */
	STRAYS = 1000,			/* traps to put up with */
	EXTRA_NS = 5000000000u,		/* to wait until both states are seen */
	N_OFFSETS = FL_ARCH_LINE
};

static struct fl_rig rig;

/* ---- notes and tallies ------------------------------------------------------------- */

void fl_rig_note(const char *format, ...)
{
	struct fl_ledger *l = rig.ledger;
	va_list ap;

	if (__atomic_exchange_n(&l->noted, 1, __ATOMIC_RELAXED))	/* ordering: none */
		return;
	va_start(ap, format);
	vsnprintf(l->note, sizeof l->note, format, ap);
	va_end(ap);
}

static void add(uint64_t *to, uint64_t n)
{
	if (n)
		__atomic_fetch_add(to, n, __ATOMIC_RELAXED);
}

void fl_tally_merge(struct fl_tally *to, const struct fl_tally *from)
{
	add(&to->old, from->old);
	add(&to->new, from->new);
	add(&to->torn, from->torn);
	add(&to->lost, from->lost);
	add(&to->stray, from->stray);
	for (size_t i = 0; i < FL_N_TACTICS; i++)
		add(&to->switched[i], from->switched[i]);
}

uint64_t fl_any(uint64_t *seed, uint64_t n)
{
	*seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (*seed >> 33) % n;
}

/* ---- judging an execution ------------------------------------------------------------ */

static const char *const shape_names[FL_N_SHAPES] = {
	"mov of one byte", "switched call", "mov", "movabs", "call", "jump", "nop",
	"jump to a stub",
};

static void note_place(const struct fl_torture_place *p, const char *what, uint64_t value)
{
	fl_rig_note("%s at offset %u, %s: %s (%llx)", shape_names[p->shape], p->offset,
		    fl_tactic_names[p->tactic], what, (unsigned long long)value);
}

static void note_error(const struct fl_torture_place *p, const char *what, int err)
{
	const char *text = fl_err_text(err);

	fl_rig_note("%s at offset %u, %s: %s (%s)", shape_names[p->shape], p->offset,
		    fl_tactic_names[p->tactic], what, text ? text : strerror(-err));
}

/* A call returned neither value. */
static void judge_wrong(const struct fl_torture_place *p, struct fl_tally *t, uint64_t v)
{
	if (v)
		t->torn++;
	else
		t->lost++;
	note_place(p, v ? "a value that never was" : "the instruction was left out", v);
}

void fl_place_run(struct fl_torture_place *p, struct fl_tally *t)
{
	uint32_t before = load_acquire(&p->seq);	/* (B) pairs with (A) */
	uint64_t v = p->entry();
	bool is_new = v == p->values[1];
	uint32_t after = load_acquire(&p->seq);		/* (B) pairs with (A) */

	t->old += v == p->values[0];
	t->new += is_new;
	if (v != p->values[0] && !is_new)
		judge_wrong(p, t, v);
	else if (before == after && !(before & BUSY) && is_new != !!(before & STATE)) {
		t->stray++;
		note_place(p, "stale, though all cores had been synchronised", v);
	}
}

void fl_place_loosen(struct fl_torture_place *p)
{
	/* ordering: (A) pairs with (B) */
	__atomic_store_n(&p->seq, (p->seq & ~(uint32_t)(BUSY | STATE)) + NUMBER + BUSY,
			 __ATOMIC_SEQ_CST);
}

void fl_place_settle(struct fl_torture_place *p, enum flick_state s)
{
	uint32_t seq = p->seq & ~(uint32_t)(BUSY | STATE);

	/* (A) pairs with (B) */
	store_release(&p->seq, seq + (s == FLICK_ON ? STATE : 0));
}

void fl_rig_settle(struct fl_torture_place *p, size_t n)
{
	flick_patch_barrier();
	for (size_t i = 0; i < n; i++)
		fl_place_settle(&p[i], flick_patch_state(&p[i].patch));
}

/* ---- executors ----------------------------------------------------------------------- */

static void run_current(uint64_t current, struct fl_tally *t)
{
	struct fl_torture_place *p = rig.places + (current >> 32);

	for (uint32_t n = (uint32_t)current; n; n--)
		fl_place_run(p++, t);
}

static void run_all_current(struct fl_worker *w)
{
	for (unsigned i = 0; i < rig.n_patchers; i++)
		run_current(load_relaxed(&rig.current[i]), w->tally);
}

static void *execute(void *arg)
{
	while (!load_relaxed(&rig.stop))
		rig.execute(arg);
	return NULL;
}

/* ---- processors and threads ------------------------------------------------------------ */

static int nth_cpu(const cpu_set_t *set, unsigned n)
{
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, set) && !n--)
			return cpu;
	return 0;
}

static void (*patch)(struct fl_worker *);

static void *run_patcher(void *arg)
{
	patch(arg);
	return NULL;
}

/* The first half of the processors is the patchers', the rest the executors'. */
static void choose_cpu(pthread_attr_t *attr, const struct fl_worker *w)
{
	unsigned n = fl_trial_cpus(), half = (n + 1) / 2;
	cpu_set_t all, one;

	if (rig.cpus == FL_CPUS_ANY || n < 2 || sched_getaffinity(0, sizeof all, &all))
		return;
	CPU_ZERO(&one);
	CPU_SET(nth_cpu(&all, w->run == run_patcher ? w->i % half : half + w->i % (n - half)),
		&one);
	pthread_attr_setaffinity_np(attr, sizeof one, &one);
}

static void start(struct fl_worker *w)
{
	pthread_attr_t attr;
	int err;

	pthread_attr_init(&attr);
	choose_cpu(&attr, w);
	err = pthread_create(&w->thread, &attr, w->run, w);
	pthread_attr_destroy(&attr);
	if (err) {
		rig.ledger->error = -err;
		_exit(0);
	}
}

static void seen(uint64_t *old, uint64_t *new)
{
	*old = *new = 0;
	for (unsigned i = 0; i < rig.n_executors; i++) {
		*old += load_relaxed(&rig.ledger->executors[i].t.old);
		*new += load_relaxed(&rig.ledger->executors[i].t.new);
	}
}

bool fl_rig_is_over(const struct fl_rig *r)
{
	uint64_t now = fl_os_monotonic_ns(), old, new;

	if (now < r->end_ns)
		return false;
	seen(&old, &new);
	return (old && new) || now > r->end_ns + EXTRA_NS;
}

void fl_rig_show(struct fl_worker *w, size_t first, size_t n)
{
	store_relaxed(&rig.current[w->i], (uint64_t)first << 32 | n);
}

static void wait_for_executors(void)
{
	for (unsigned i = 0; i < rig.n_executors; i++)
		while (!load_relaxed(&rig.ledger->executors[i].t.old))
			sched_yield();
}

void fl_rig_run(struct fl_rig *r, void (*body)(struct fl_worker *))
{
	struct fl_worker executors[FL_RIG_EXECUTORS], patchers[FL_RIG_PATCHERS];

	patch = body;
	for (unsigned i = 0; i < r->n_executors; i++) {
		executors[i] = (struct fl_worker){
			.rig = r, .i = i, .run = execute,
			.tally = &r->ledger->executors[i].t,
		};
		start(&executors[i]);
	}
	for (unsigned i = 0; i < r->n_patchers; i++) {
		size_t first = r->n * i / r->n_patchers;

		patchers[i] = (struct fl_worker){
			.rig = r, .i = i, .run = run_patcher, .first = first,
			.n = r->n * (i + 1) / r->n_patchers - first,
			.tally = &r->ledger->patchers[i].t, .seed = i + 1,
		};
		fl_rig_show(&patchers[i], first, 1);
	}
	wait_for_executors();
	for (unsigned i = 0; i < r->n_patchers; i++)
		start(&patchers[i]);
	for (unsigned i = 0; i < r->n_patchers; i++)
		pthread_join(patchers[i].thread, NULL);
	store_relaxed(&rig.stop, 1);
	for (unsigned i = 0; i < r->n_executors; i++)
		pthread_join(executors[i].thread, NULL);
}

/* ---- places --------------------------------------------------------------------------- */

static uint8_t tactic_of(const struct flick_patch *p)
{
	uint8_t t = 0;

	while (t < FL_WIDE && strcmp(fl_tactic_names[t], flick_patch_tactic(p)))
		t++;
	return t;
}

static void give_up(int err)
{
	rig.ledger->error = err;
	_exit(0);
}

/* False: flick refuses such a place. */
static bool take(struct fl_torture_place *p)
{
	int err = p->shape == FL_SHAPE_CALL ?
		flick_call_init(&p->patch, p->at, p->target, 0) :
		flick_patch_init(&p->patch, p->at, p->bytes[1], p->len);

	if (err == FLICK_E_STRADDLE || err == FLICK_E_SIGBLOCK)
		return false;
	if (!err && flick_patch_state(&p->patch) == FLICK_ON)
		err = flick_call_off(&p->patch);
	if (err)
		give_up(err);
	p->tactic = tactic_of(&p->patch);
	fl_place_settle(p, FLICK_OFF);
	return true;
}

/* The n-th shape of the mask. */
static enum fl_placing shape_of(unsigned int shapes, size_t n)
{
	int s = -1;

	n %= (size_t)__builtin_popcount(shapes);
	do
		s++;
	while (!(shapes >> s & 1) || n--);
	return (enum fl_placing)s;
}

static void lay(struct fl_rig *r, size_t i, enum fl_placing shape, unsigned offset)
{
	fl_place_lay(&r->places[i], r->room, i, shape, offset);
}

/* Make the places executable, as code is; flick makes them writable. */
static void open_text(struct fl_rig *r)
{
	int err = mprotect(r->room, r->room_bytes, PROT_READ | PROT_EXEC) ? -errno :
		  flick_text_writable(r->room, r->room_bytes);

	if (err)
		give_up(err);
}

/* The place that was laid as number `i` becomes the rig's next one. */
static void take_next(struct fl_rig *r, size_t i)
{
	r->places[r->n] = r->places[i];
	r->n += take(&r->places[r->n]);
}

void fl_rig_lay(struct fl_rig *r, size_t n, unsigned int shapes)
{
	size_t all = 2 * n < FL_RIG_PLACES ? 2 * n : FL_RIG_PLACES;

	for (size_t i = 0; i < all; i++)
		lay(r, i, shape_of(shapes, i), (unsigned)(i * 13 % N_OFFSETS));
	open_text(r);
	for (size_t i = 0; i < all && r->n < n; i++)
		take_next(r, i);
}

void fl_rig_lay_tactic(struct fl_rig *r, enum fl_tactic tactic)
{
	size_t all = FL_N_SHAPES * N_OFFSETS;

	for (size_t i = 0; i < all; i++)
		lay(r, i, (enum fl_placing)(i / N_OFFSETS), (unsigned)(i % N_OFFSETS));
	open_text(r);
	for (size_t i = 0; i < all; i++) {
		struct fl_torture_place p = r->places[i];

		if (!take(&p))
			continue;
		flick_patch_release(&p.patch);
		if (p.tactic == tactic)
			take_next(r, i);
	}
}

static void release(struct fl_torture_place *p, struct fl_tally *t)
{
	/* The bytes that were laid: on for a call, else off. */
	const uint8_t *was = p->bytes[p->shape == FL_SHAPE_CALL];
	int err = flick_patch_release(&p->patch);

	if (!err && !memcmp(p->at, was, p->len))
		return;
	t->lost++;
	if (err)
		note_error(p, "it was not given back", err);
	else
		note_place(p, "other bytes are left behind", p->at[p->len - 1]);
}

void fl_rig_release(struct fl_rig *r)
{
	for (size_t i = 0; i < r->n; i++)
		release(&r->places[i], &r->ledger->patchers[0].t);
	flick_text_restore(r->room, r->room_bytes);
}

/* ---- switching ------------------------------------------------------------------------- */

static bool judge_switch(struct fl_worker *w, struct fl_torture_place *p, int err)
{
	if (err) {
		w->tally->lost++;
		note_error(p, "a switch failed", err);
	} else {
		w->tally->switched[p->tactic]++;
	}
	return !err;
}

bool fl_place_switch(struct fl_worker *w, struct fl_torture_place *p, enum flick_state to)
{
	return judge_switch(w, p, flick_patch_switch(&p->patch, to));
}

bool fl_place_start(struct fl_worker *w, struct fl_torture_place *p, enum flick_state to)
{
	return judge_switch(w, p, flick_patch_start(&p->patch, to));
}

void fl_place_finish(struct fl_worker *w, struct fl_torture_place *p)
{
	int err;

	do
		err = flick_patch_finish(&p->patch);
	while (err == -EAGAIN);
	if (!err)
		return;
	w->tally->lost++;
	note_error(p, "finish failed", err);
}

/* ---- faults ---------------------------------------------------------------------------- */

static void on_fault(int sig, siginfo_t *info, void *uc)
{
	(void)info;
	add(&rig.ledger->shared.torn, 1);
	fl_rig_note("signal %d at %#lx", sig, (unsigned long)fl_arch_pc(uc));
	_exit(0);
}

/* A trap that flick did not take for its own: try again, for a while. */
static void on_stray(int sig, siginfo_t *info, void *uc)
{
	uintptr_t pc = fl_arch_trap_pc(uc);

	(void)sig;
	(void)info;
	fl_rig_note("a trap at %#lx reached the program", (unsigned long)pc);
	if (__atomic_add_fetch(&rig.ledger->shared.stray, 1, __ATOMIC_RELAXED) >= STRAYS)
		_exit(0);
	fl_arch_retry(uc, pc);
}

static void catch_faults(void)
{
	static const int deaths[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE };
	struct sigaction fault = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	struct sigaction stray = { .sa_sigaction = on_stray, .sa_flags = SA_SIGINFO };

	for (size_t i = 0; i < ARRAY_LEN(deaths); i++)
		sigaction(deaths[i], &fault, NULL);
	sigaction(SIGTRAP, &stray, NULL);
}

static unsigned clamp(unsigned n, unsigned lo, unsigned hi)
{
	return n < lo ? lo : n > hi ? hi : n;
}

void fl_rig_main(struct fl_ledger *l, fl_torture_fn *test, const char *sync,
		 enum fl_rig_cpus where, unsigned ms)
{
	unsigned cpus = fl_trial_cpus();
	int err;

	rig = (struct fl_rig){
		.ledger = l, .cpus = where, .execute = run_all_current,
		.n_executors = clamp(cpus / 2, 1, FL_RIG_EXECUTORS),
		.n_patchers = clamp((cpus + 1) / 2, 2, FL_RIG_PATCHERS),
	};
	catch_faults();
	err = flick_patch_open(sync);
	rig.room = err ? NULL : fl_places_map(&rig.room_bytes);
	rig.places = calloc(FL_RIG_PLACES, sizeof *rig.places);
	if (err || !rig.room || !rig.places)
		give_up(err ? err : -ENOMEM);
	rig.end_ns = fl_os_monotonic_ns() + ms * UINT64_C(1000000);
	test(&rig);
	l->done = true;
}
