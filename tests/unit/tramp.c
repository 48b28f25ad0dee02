/*
 * unit/tramp: what a routine of routines.S records, and what it leaves as it was: behind
 * a call the registers that a call keeps, at an entry all but r11, in a second body all;
 * whichever way the stack is aligned, with a slot and without, in the middle of a chunk
 * and at its end.
 *
 * Each case is a child. The C code that a routine calls comes to a point, where
 * its stack is looked at and its scratch registers are spoilt.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <ucontext.h>

#include <cmocka.h>

#include "channel-rig.h"
#include "machine.h"
#include "obj/obj.h"
#include "patch/patch.h"
#include "probe/glue.h"
#include "probe/goal.h"

#define HOLDS(x) do { \
	if (!(x)) { \
		fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, c->name, #x); \
		_exit(1); \
	} \
} while (0)

/* ---- what is called from it --------------------------------------------------------- */

static unsigned looked, misaligned;

__attribute__((noinline)) static void look_at_stack(const void *frame)
{
	looked++;
	misaligned += (uintptr_t)frame % 16 != 0;
	__asm__ volatile("mov $-1, %%eax\n\tmov %%rax, %%rcx\n\tmov %%rax, %%rdx\n\t"
			 "mov %%rax, %%rsi\n\tmov %%rax, %%rdi\n\tmov %%rax, %%r8\n\t"
			 "mov %%rax, %%r9\n\tmov %%rax, %%r10\n\tmov %%rax, %%r11" :::
			 "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "cc");
}

void fl_point_hit(const char *);

void fl_point_hit(const char *name)
{
	(void)name;
	look_at_stack(__builtin_frame_address(0));
}

enum { ID = 3, INNER = 1, OUTER = 2, N_COUNTERS = 8 };
static unsigned handled, backwards;

/* A handler of the program's own may do with vectors what it likes. */
static void handler(uint32_t id, void *arg)
{
	uint64_t flags;

	__asm__ volatile("pushfq\n\tpop %0" : "=r"(flags));
	backwards += flags >> 10 & 1;
	handled += id == ID && arg == &handled;
	look_at_stack(__builtin_frame_address(0));
	memset(&after, 0xee, sizeof after);
	load_vectors();
}

/* ---- routines ------------------------------------------------------------------------ */

enum what { RECORD, COUNT, SAMPLE, AFTER, WINDOW, CALL };

#define ROUTINES(X) \
	X(abi_time, RECORD, 0, 16) X(abi_time_long, RECORD, 0, 16) \
	X(abi_count, COUNT, 0, 16) X(abi_count_long, COUNT, 0, 16) \
	X(abi_sample, SAMPLE, 0, 16) X(abi_after, AFTER, 0, 16) \
	X(abi_after_long, AFTER, 0, 16) \
	X(abi_window, WINDOW, 0, 16) X(abi_call, CALL, 0, 16) \
	X(bare_time, RECORD, 1, 16) X(bare_time_long, RECORD, 1, 16) \
	X(bare_count, COUNT, 1, 16) X(bare_count_long, COUNT, 1, 16) \
	X(bare_sample, SAMPLE, 1, 16) X(bare_after, AFTER, 1, 16) \
	X(bare_after_long, AFTER, 1, 16) \
	X(bare_window, WINDOW, 1, 16) X(bare_call_sse, CALL, 1, 16) \
	X(bare_call_avx, CALL, 1, 32) X(bare_call_avx512, CALL, 1, 64) \
	X(bare_call_avx512bw, CALL, 1, 64)
#define BODY_ROUTINES(X) \
	X(body_time, RECORD, 16) X(body_time_long, RECORD, 16) X(body_count, COUNT, 16) \
	X(body_count_long, COUNT, 16) X(body_sample, SAMPLE, 16) X(body_after, AFTER, 16) \
	X(body_after_long, AFTER, 16) X(body_window, WINDOW, 16) \
	X(body_call_sse, CALL, 16) X(body_call_avx, CALL, 32) X(body_call_avx512, CALL, 64) \
	X(body_call_avx512bw, CALL, 64)
#define DECLARE(name, what, bare, bytes) extern void fl_##name(void);
ROUTINES(DECLARE)

/* As the glue of a body leads there. */
#define KEEPING(name, what, bytes) \
	extern void fl_##name(void); \
	void keeping_##name(void); \
	__asm__("keeping_" #name ":\n\tpush r11_before(%rip)\n\tjmp fl_" #name);
BODY_ROUTINES(KEEPING)

static struct routine {
	const char *name;
	void (*run)(void);
	enum what what;
	bool bare;		/* every register is live */
	uint64_t vector_bytes;	/* that it needs */
	bool keeps;		/* r11, too */
} routines[] = {
#define ROW(name, what, bare, bytes) { #name, fl_##name, what, bare, bytes, false },
	ROUTINES(ROW)
#define BODY_ROW(name, what, bytes) { #name, keeping_##name, what, true, bytes, true },
	BODY_ROUTINES(BODY_ROW)
	{ "glue of ID", NULL, COUNT, true, 16, false },
	{ "masked glue of ID", NULL, COUNT, true, 16, false },
	{ "glue of a body", NULL, COUNT, true, 16, true },
	{ "masked glue of a body", NULL, COUNT, true, 16, true },
	{ "recording glue", NULL, RECORD, true, 16, false },
	{ "masked recording glue", NULL, RECORD, true, 16, false },
	{ "recording glue of a body", NULL, RECORD, true, 16, true },
	{ "masked recording glue of a body", NULL, RECORD, true, 16, true },
	{ "precise recording glue of a body", NULL, RECORD, true, 16, true },
};
extern void fl_ask_count_long(void);

static const struct routine *c;		/* the case */
static uint64_t skew;

static void check_record(const struct flick_record *r)
{
	HOLDS(r->probe == ID);
	HOLDS(r->sp == (uint32_t)(before.sp - 8));
	HOLDS(r->tsc != 0);
}

static uint64_t *counter(const struct fl_slot *s, uint32_t id)
{
	return (uint64_t *)s->ring[0].data + id;
}

/* What it is for. */
static void check_event(const struct fl_slot *s, uint64_t nth)
{
	const struct flick_record *last = (const struct flick_record *)s->ring[0].ptr - 1;
	const struct fl_frames *of = s->ring[0].frames;

	switch (c->what) {
	case RECORD:
		check_record(last);
		break;
	case WINDOW:
		check_record(last - 1);
		HOLDS(last->probe == fl_typed(FLICK_TYPE_CALLER, last[-1].probe));
		HOLDS(last->tsc == (c->bare ? before.top : before.r[RSI]));
		break;
	case COUNT:
	case AFTER:
		HOLDS(fl_count_of(*counter(s, ID)) == nth);
		break;
	case SAMPLE:
		HOLDS(of->at[of->n - 1].sp == (uint32_t)(before.sp - 8));
		break;
	case CALL:
		HOLDS(handled == nth && !backwards);
	}
}

static void check_vectors(void)
{
	bool calls = c->what == CALL;
	uint64_t bytes = calls ? c->vector_bytes : vector_bytes;
	size_t n = calls && !c->keeps ? LIVE_AT_ENTRY : bytes == 64 ? VECTORS : VECTORS / 2;

	for (size_t i = 0; c->bare && i < n; i++)
		HOLDS(!memcmp(after.v[i], before.v[i], bytes));
	if (has_masks && (!calls || strstr(c->name, "body_call_avx512bw")))
		HOLDS(!c->bare || !memcmp(after.k, before.k, sizeof after.k));
}

static void check_registers(void)
{
	for (size_t i = c->bare ? 0 : N_SCRATCH; i < REGISTERS; i++)
		HOLDS(after.r[i] == before.r[i]);
	HOLDS(after.sp == before.sp && after.top == before.top);
	HOLDS(!c->keeps || r11_after == r11_before);
	check_vectors();
}

static void fill_machine(void)
{
	unsigned char *at = (unsigned char *)&before;

	for (size_t i = 0; i < sizeof before; i++)
		at[i] = (unsigned char)(i * 167 + i / 8 * 31 + 5);
	r11_before = 0x0123456789abcdef;
}

static struct fl_slot *slot(void)
{
	return fl_channel_slot();
}

static void enter_once(uint64_t nth)
{
	struct fl_slot *s;

	fill_machine();
	direction = c->what == CALL && c->bare;
	enter(c->run, ID, skew);
	check_registers();
	s = slot();
	HOLDS(s);
	check_event(s, nth);
}

static void open_probes(struct rig *g)
{
	bool is_new;

	fl_probe_routines_open();
	HOLDS(!fl_patch_open(NULL) && !fl_probes_open(g->m));
	for (uint32_t i = 0; i <= ID; i++)
		HOLDS(fl_probe_virtual((uintptr_t)&routines[i], FL_ENTRY, FL_FORM_NONE,
				      &is_new) == (int)i);
	HOLDS(!fl_probe_handler(ID, handler, &handled));
	fl_goal_of(ID)->wants = FL_SESSION;	/* else it is not called */
}

/* The ring is at the end of a chunk. */
static void fill_chunk(struct fl_slot *s)
{
	s->ring[0].ptr = s->ring[0].limit;
}

static void run_case(struct rig *g)
{
	open_probes(g);
	looked = 0;
	enter_once(1);				/* it has no slot yet */
	HOLDS(looked > 0);
	for (uint64_t nth = 2; nth < 6; nth++)
		enter_once(nth);
	if (g->m->session[0].action != FL_ACT_COUNT)
		fill_chunk(slot());
	enter_once(6);
	if (c->what == COUNT) {
		*counter(slot(), ID) = FL_COUNT_FULL - FL_COUNT_ONE;
		enter_once(FL_COUNT_BLOCK);
	}
	HOLDS(!misaligned);
}

static enum fl_action action_of(enum what what)
{
	static const enum fl_action actions[] = {
		FL_ACT_TIME, FL_ACT_COUNT, FL_ACT_SAMPLE, FL_ACT_SAMPLE,
		FL_ACT_WINDOW, FL_ACT_CALL,
	};

	return actions[what];
}

static void assert_child(void (*run)(struct rig *), enum fl_action action)
{
	struct rig *g = rig_open(4, 8, action);
	int status = -1;

	g->m->session[0].samples = 1000000;
	waitpid(rig_fork(g, run), &status, 0);
	rig_close(g);
	assert_int_equal(status, 0);
}

static void each_routine_keeps_what_is_live(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(routines); i++) {
		c = &routines[i];
		if (c->vector_bytes > vector_bytes || (!has_masks && strstr(c->name, "bw")))
			continue;
		for (skew = 0; skew <= (c->bare ? 8 : 0); skew += 8)
			assert_child(run_case, action_of(c->what));
	}
}

/* ---- counters ------------------------------------------------------------------------ */

static void run_beyond(struct rig *g)
{
	struct fl_slot *s;

	open_probes(g);
	s = slot();
	HOLDS(s);
	s->ring[0].n_counters = N_COUNTERS;
	enter(c->run, N_COUNTERS - 1, 0);
	HOLDS(fl_count_of(*counter(s, N_COUNTERS - 1)) == 1 && !s->ring[0].lost[FL_LOST_ROOM]);
	enter(c->run, N_COUNTERS, 0);
	enter(c->run, N_COUNTERS + 1, 0);
	HOLDS(!*counter(s, N_COUNTERS) && !*counter(s, N_COUNTERS + 1));
	HOLDS(s->ring[0].lost[FL_LOST_ROOM] == 2);
}

/* Of those that have none the glue leads to a routine that looks. */
static void run_choice(struct rig *g)
{
	static void (*const looks[])(void) = {
		fl_abi_count_long, fl_bare_count_long, fl_ask_count_long, fl_body_count_long,
	};
	uint32_t n = g->m->session[0].counter_bytes / sizeof(uint64_t);

	open_probes(g);
	for (int i = 0; i < FL_N_CONVENTIONS; i++) {
		fl_table.probes[n - 1].asks = fl_table.probes[n].asks = i == FL_ASK;
		fl_table.probes[n - 1].bare = fl_table.probes[n].bare = i == FL_BARE;
		fl_table.probes[n - 1].form = fl_table.probes[n].form =
			i == FL_BODY ? FL_FORM_BODY : FL_FORM_NONE;
		HOLDS(fl_glue_routine(&fl_table.probes[n - 1], FL_ACT_COUNT) ==
		      fl_probe_routine(FL_ACT_COUNT, i));
		HOLDS(fl_glue_routine(&fl_table.probes[n], FL_ACT_COUNT) ==
		      (uintptr_t)looks[i]);
		HOLDS(fl_glue_routine(&fl_table.probes[n], FL_ACT_TIME) ==
		      fl_probe_routine(FL_ACT_TIME, i));
	}
}

static void a_probe_without_a_counter_writes_nowhere(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(routines); i++) {
		c = &routines[i];
		if (c->what == COUNT && strstr(c->name, "long"))
			assert_child(run_beyond, FL_ACT_COUNT);
	}
	assert_child(run_choice, FL_ACT_COUNT);
}

/* ---- glue that does it itself ---------------------------------------------------------- */

/* Of a page each: what is executed, the rest. Of data: go, mask, full. Those of every second
 * row of numbers are masked. */
enum { PAGE = 4096, GLUE_BYTES = FL_ARCH_RECORDING_BYTES, ROW = N_COUNTERS };
enum {
	BODY = ID + 1, BODY_OUTER, MASKED = ROW, MASKED_BODY,
	RECORDING = 2 * ROW, R_BODY, R_OUTER, R_BODY_OUTER, R_PRECISE,
	R_MASKED = 3 * ROW, R_MASKED_BODY, N_GLUES = 4 * ROW
};
static unsigned char *glue_code;
static uintptr_t glue_data[N_GLUES][3];

static void (*make_glue_of(enum fl_convention how, size_t i, uint32_t id))(void)
{
	unsigned char *at = glue_code + i * GLUE_BYTES;
	bool records = i >= RECORDING;
	const struct fl_doing_glue glue = {
		.out = at, .at = (uintptr_t)at,
		.rest = at + PAGE, .rest_at = (uintptr_t)at + PAGE,
		.id = id, .counter = FL_SLOT_HEADER_BYTES + id * 8,
		.go = (uintptr_t)&glue_data[i][0], .mask = (uintptr_t)&glue_data[i][1],
		.full = (uintptr_t)&glue_data[i][2], .keeps = how == FL_BODY,
		.does = i == R_PRECISE ? FL_GLUE_RECORDS_PRECISELY :
			records ? FL_GLUE_RECORDS : FL_GLUE_COUNTS,
	};

	glue_data[i][0] = fl_probe_routine(records ? FL_ACT_TIME : FL_ACT_COUNT, how);
	glue_data[i][1] = i / ROW % 2 ? FL_ARCH_MASK_DOES_NOT : FL_ARCH_MASK_DOES;
	glue_data[i][2] = fl_probe_routine_full(how);
	if (!fl_arch_glue_can(FL_GLUE_COUNTS))
		return records ? how == FL_BODY ? keeping_body_time_long : fl_bare_time_long :
				 how == FL_BODY ? keeping_body_count_long : fl_bare_count_long;
	assert_true(fl_arch_glue_doing(&glue));
	return (void (*)(void))(uintptr_t)at;
}

static void (*make_glue(size_t i, uint32_t id))(void)
{
	return make_glue_of(FL_BARE, i, id);
}

/* Where %r11 is live at the call. */
#define CALLING(name) \
	void (*name)(void); \
	void call_##name(void); \
	__asm__("call_" #name ":\n\tmov r11_before(%rip), %r11\n\tjmp *" #name "(%rip)");
CALLING(body_glue)
CALLING(masked_body_glue)
CALLING(recording_body_glue)
CALLING(masked_recording_body_glue)
CALLING(precise_body_glue)

/* Near data of this file's. */
static void find_glue_code(void)
{
	uintptr_t near = ((uintptr_t)glue_data & ~4095ul) + (1u << 24);

	glue_code = mmap((void *)near, 2 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	assert_ptr_not_equal(glue_code, MAP_FAILED);
}

/* Up to its return, in so many lines. */
static size_t instructions(size_t nth, size_t lines)
{
	const unsigned char *glue = glue_code + nth * GLUE_BYTES, *at = glue;
	struct fl_insn i = { 0 };
	size_t n = 0;

	for (; i.cls != FL_INSN_RET; at += i.len, n++)
		fl_arch_decode(&i, at, 16, (uintptr_t)at);
	HOLDS((uintptr_t)glue % FL_ARCH_LINE == 0 && at <= glue + lines * FL_ARCH_LINE);
	return n;
}

/* A word says if it does, whatever else there is to do. */
static void run_directed(struct rig *g)
{
	struct fl_probe *p;

	open_probes(g);
	p = &fl_table.probes[ID];
	p->go = glue_data[ID];
	p->does = FL_GLUE_COUNTS;
	HOLDS(!fl_probe_action(ID, FL_ACT_TIME) && !p->go[1]);
	HOLDS(p->go[0] == fl_probe_routine(FL_ACT_TIME, FL_ABI));
	HOLDS(!fl_probe_action(ID, FL_ACT_COUNT) && p->go[1] == UINTPTR_MAX);
	HOLDS(p->go[0] == fl_probe_routine(FL_ACT_COUNT, FL_ABI));
	for (int i = FL_GLUE_RECORDS; i <= FL_GLUE_RECORDS_PRECISELY; i++) {
		p->does = (uint8_t)i;
		HOLDS(!fl_probe_action(ID, FL_ACT_TIME) && p->go[1] == UINTPTR_MAX);
		HOLDS(!fl_probe_action(ID, FL_ACT_COUNT) && !p->go[1]);
	}
	p->does = FL_GLUE_GOES;
	HOLDS(!fl_probe_action(ID, FL_ACT_TIME) && !p->go[1]);
	HOLDS(!fl_arch_glue_can(FL_GLUE_COUNTS) || instructions(ID, 1) == 9);
	HOLDS(!fl_arch_glue_can(FL_GLUE_RECORDS) || instructions(RECORDING, 2) == 25);
}

static void a_mask_says_if_a_glue_does_it(void **state)
{
	(void)state;
	c = routines;
	assert_child(run_directed, FL_ACT_COUNT);
}

/* ---- a handler between any two instructions ------------------------------------------ */

static unsigned char *trap_at, untrapped;
static const struct flick_record *first;
static const struct flick_record one = { .tsc = 1, .probe = OUTER, .sp = 1 };
static const struct flick_record pair[2] = {
	{ .tsc = 1, .probe = OUTER, .sp = 1 }, { .tsc = 2, .probe = OUTER, .sp = 2 },
};

static void append_one(void)
{
	fl_channel_put_one(&one);
}

static void append_pair(void)
{
	fl_channel_put_pair(pair);
}

static void append_time(void)
{
	enter(c->run, OUTER, 0);
}

static struct appender {
	struct routine routine;
	void (*append)(void);
	size_t records;
} appenders[] = {
	{ { .name = "abi_time", .run = fl_abi_time }, append_time, 1 },
	{ { .name = "bare_time", .run = fl_bare_time }, append_time, 1 },
	{ { .name = "put_one", .run = (void (*)(void))fl_arch_put_one }, append_one, 1 },
	{ { .name = "put_pair", .run = (void (*)(void))fl_arch_put_pair }, append_pair, 2 },
	{ { .name = "recording glue" }, append_time, 1 },
	{ { .name = "recording glue of a body" }, append_time, 1 },
};
static const struct appender *appender;

/* How many of `id` there are; what is below ptr is whole. */
static size_t appended(uint32_t id)
{
	const struct flick_record *end = (const struct flick_record *)slot()->ring[0].ptr;
	size_t n = 0;

	for (const struct flick_record *r = first; r < end; r++) {
		HOLDS((r->probe == INNER || r->probe == OUTER) && r->sp);
		n += r->probe == id;
	}
	return n;
}

/* What was interrupted takes its long path: the kernel has seen to that. */
static void on_trap(int sig, siginfo_t *info, void *context)
{
	const struct flick_record r = { .tsc = 1, .probe = INNER, .sp = 1 };
	greg_t *pc = &((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];

	(void)sig, (void)info;
	*trap_at = untrapped;
	if ((unsigned char *)*pc == trap_at + 1)
		*pc -= 1;
	HOLDS(appended(OUTER) == 0 || appended(OUTER) == appender->records);
	HOLDS(fl_arch_put_one(&r));
}

static void append_with_trap_at(unsigned char *at)
{
	struct fl_slot *s = slot();

	s->ring[0].ptr = (uint64_t)first;
	memset((void *)first, 0, 64);
	trap_at = at;
	untrapped = *at;
	*at = FL_ARCH_TRAP;
	appender->append();
	HOLDS(*at == untrapped);			/* it was met */
	HOLDS(appended(INNER) == 1 && appended(OUTER) == appender->records);
}

static void run_interrupted(struct rig *g)
{
	struct sigaction act = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
	unsigned char *at = (unsigned char *)(uintptr_t)appender->routine.run;
	struct fl_insn i = { 0 };

	open_probes(g);
	if (!fl_arch_has_rseq())
		_exit(0);			/* each event takes the long path */
	fl_channel_put(OUTER, 1, 1);
	first = (const struct flick_record *)slot()->ring[0].ptr;
	sigaction(SIGTRAP, &act, NULL);
	HOLDS(!mprotect((void *)((uintptr_t)at & ~4095ul), 8192,
		       PROT_READ | PROT_WRITE | PROT_EXEC));
	for (; i.cls != FL_INSN_RET; at += i.len) {
		fl_arch_decode(&i, at, 16, (uintptr_t)at);
		append_with_trap_at(at);
	}
}

static void a_handler_may_enqueue_anywhere(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(appenders); i++) {
		appender = &appenders[i];
		c = &appender->routine;
		assert_child(run_interrupted, FL_ACT_TIME);
	}
}

/* ---- a handler that counts between any two instructions ------------------------------ */

static void count_slowly(void)
{
	fl_channel_count(OUTER);
}

static void end_block(void)
{
	fl_channel_end_block(OUTER);
}

static uint64_t blocks, met;

static void on_block(uint32_t probe)
{
	blocks += probe == OUTER;
}

static struct counting {
	struct routine routine;
	void (*run)(void);
	uint64_t counts;		/* that it makes */
} counting[] = {
	{ { .name = "abi_count", .run = fl_abi_count }, append_time, 1 },
	{ { .name = "abi_count_long", .run = fl_abi_count_long }, append_time, 1 },
	{ { .name = "bare_count", .run = fl_bare_count }, append_time, 1 },
	{ { .name = "count", .run = (void (*)(void))fl_channel_count }, count_slowly, 1 },
	{ { .name = "end_block", .run = (void (*)(void))fl_channel_end_block },
	  end_block, 0 },
	{ { .name = "arch_end_block", .run = (void (*)(void))fl_arch_end_block },
	  end_block, 0 },
	{ { .name = "glue" }, append_time, 1 },
	{ { .name = "glue of a body" }, append_time, 1 },
};
static const struct counting *counts_in;

static void on_trap_count(int sig, siginfo_t *info, void *context)
{
	greg_t *pc = &((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];

	(void)sig, (void)info;
	*trap_at = untrapped;
	if ((unsigned char *)*pc == trap_at + 1)
		*pc -= 1;
	fl_channel_count(OUTER);
	met++;
}

/* So many counts before the end of a block; it is asked for once. */
static void count_with_trap_at(unsigned char *at, uint64_t left)
{
	uint64_t *n = counter(slot(), OUTER), made;

	*n = FL_COUNT_FULL - left * FL_COUNT_ONE;
	blocks = met = 0;
	trap_at = at;
	untrapped = *at;
	*at = FL_ARCH_TRAP;
	counts_in->run();
	*at = untrapped;
	made = counts_in->counts + met;
	HOLDS(fl_count_of(*n) == FL_COUNT_BLOCK - left + made);
	HOLDS(blocks == (made >= left) && !(*n & FL_COUNT_FULL));
}

static void run_counted(struct rig *g)
{
	struct sigaction act = { .sa_sigaction = on_trap_count, .sa_flags = SA_SIGINFO };
	unsigned char *at = (unsigned char *)(uintptr_t)c->run;
	struct fl_insn i = { 0 };
	uint64_t all = 0;

	open_probes(g);
	fl_channel_on_block = on_block;
	if (!fl_arch_has_rseq())
		_exit(0);
	sigaction(SIGTRAP, &act, NULL);
	HOLDS(!mprotect((void *)((uintptr_t)at & ~4095ul), 8192,
		       PROT_READ | PROT_WRITE | PROT_EXEC));
	for (; i.cls != FL_INSN_RET; at += i.len) {
		fl_arch_decode(&i, at, 16, (uintptr_t)at);
		for (uint64_t left = counts_in->counts; left < 4; left++) {
			count_with_trap_at(at, left);
			all += met;
		}
	}
	HOLDS(all > 10);
}

static void a_handler_may_count_anywhere(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(counting); i++) {
		counts_in = &counting[i];
		c = &counts_in->routine;
		assert_child(run_counted, FL_ACT_COUNT);
	}
}

extern intptr_t fl_rseq_at;

static void run_without_sequences(struct rig *g)
{
	const uint64_t n = 3 * FL_COUNT_BLOCK + 1;

	open_probes(g);
	fl_channel_on_block = on_block;
	fl_rseq_at = 0;
	for (uint64_t i = 0; i < n; i++) {
		append_time();
		count_slowly();
	}
	HOLDS(fl_count_of(*counter(slot(), OUTER)) == 2 * n && blocks == 6);
}

static void blocks_end_where_there_are_no_sequences(void **state)
{
	static const struct routine plain = {
		.name = "abi_count_long", .run = fl_abi_count_long,
	};

	(void)state;
	c = &plain;
	assert_child(run_without_sequences, FL_ACT_COUNT);
}

/* ---- a fork between any two instructions --------------------------------------------- */

static bool is_child;

static void put_slowly(void)
{
	fl_channel_put(OUTER, 1, 1);
}

/* Of one in C not every instruction is executed. */
static struct forked {
	struct routine routine;
	void (*run)(void);
	size_t records;			/* or it counts, ... */
	bool in_c;
	uint64_t from, to;		/* ... so */
} forked[] = {
	{ { .name = "abi_time", .run = fl_abi_time }, append_time, 1, false, 0, 0 },
	{ { .name = "bare_time", .run = fl_bare_time }, append_time, 1, false, 0, 0 },
	{ { .name = "put_one", .run = (void (*)(void))fl_arch_put_one },
	  append_one, 1, false, 0, 0 },
	{ { .name = "put_pair", .run = (void (*)(void))fl_arch_put_pair },
	  append_pair, 2, false, 0, 0 },
	{ { .name = "put", .run = (void (*)(void))fl_channel_put }, put_slowly, 1, true,
	  0, 0 },
	{ { .name = "abi_count", .run = fl_abi_count },
	  append_time, 0, false, FL_COUNT_ONE, 2 * FL_COUNT_ONE },
	{ { .name = "bare_count", .run = fl_bare_count },
	  append_time, 0, false, FL_COUNT_ONE, 2 * FL_COUNT_ONE },
	{ { .name = "count", .run = (void (*)(void))fl_channel_count },
	  count_slowly, 0, true, FL_COUNT_FULL - FL_COUNT_ONE, 1 },
	{ { .name = "add_own", .run = (void (*)(void))fl_arch_add_own },
	  count_slowly, 0, false, FL_COUNT_ONE, 2 * FL_COUNT_ONE },
	{ { .name = "end_block", .run = (void (*)(void))fl_channel_end_block },
	  end_block, 0, true, FL_COUNT_FULL, 1 },
	{ { .name = "arch_end_block", .run = (void (*)(void))fl_arch_end_block },
	  end_block, 0, false, FL_COUNT_FULL, 1 },
	{ { .name = "glue" }, append_time, 0, false, FL_COUNT_ONE, 2 * FL_COUNT_ONE },
	{ { .name = "recording glue" }, append_time, 1, false, 0, 0 },
};
static const struct forked *forks_in;

static unsigned forks;
enum { SEEN = 2 * FL_SLOT_HEADER_BYTES };	/* of a slot, and what follows it */

/* The child goes on first: of the event it writes nothing into its parent's slot. */
static void on_trap_fork(int sig, siginfo_t *info, void *context)
{
	static unsigned char was[SEEN];
	greg_t *pc = &((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
	int pid, status = -1;

	(void)sig, (void)info;
	*trap_at = untrapped;
	if ((unsigned char *)*pc == trap_at + 1)
		*pc -= 1;
	memcpy(was, slot(), SEEN);
	pid = fork();
	is_child = !pid;
	if (pid)
		HOLDS(waitpid(pid, &status, 0) == pid && status == 0 &&
		     !memcmp(was, slot(), SEEN));
	forks += pid != 0;
}

static void fork_at(unsigned char *at)
{
	bool counts = !forks_in->records;
	struct fl_slot *s = slot();

	s->ring[0].ptr = (uint64_t)first;
	*counter(s, OUTER) = forks_in->from;
	trap_at = at;
	untrapped = *at;
	*at = FL_ARCH_TRAP;
	forks_in->run();
	if (is_child)
		_exit(0);
	HOLDS(*at == untrapped || forks_in->in_c);
	*at = untrapped;
	if (counts)
		HOLDS(*counter(s, OUTER) == forks_in->to && !s->ring[0].lost[FL_LOST_ROOM]);
	else
		HOLDS(appended(OUTER) == forks_in->records);
}

static void run_forked(struct rig *g)
{
	struct sigaction act = { .sa_sigaction = on_trap_fork, .sa_flags = SA_SIGINFO };
	unsigned char *at = (unsigned char *)(uintptr_t)forks_in->routine.run;
	struct fl_insn i = { 0 };

	open_probes(g);
	if (!fl_arch_has_rseq())
		_exit(0);
	first = (const struct flick_record *)slot()->ring[0].ptr;
	sigaction(SIGTRAP, &act, NULL);
	HOLDS(!mprotect((void *)((uintptr_t)at & ~4095ul), 8192,
		       PROT_READ | PROT_WRITE | PROT_EXEC));
	for (; i.cls != FL_INSN_RET; at += i.len) {
		fl_arch_decode(&i, at, 16, (uintptr_t)at);
		fork_at(at);
	}
}

static void a_handler_may_fork_anywhere(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(forked); i++) {
		forks_in = &forked[i];
		c = &forks_in->routine;
		assert_child(run_forked, forks_in->records ? FL_ACT_TIME : FL_ACT_COUNT);
	}
}

/* ---- the same in C: wherever it comes to --------------------------------------------- */

static uint32_t exit_id;

static void sample_call(void)
{
	fl_sample_hit(OUTER, 1000);
	fl_sample_hit(exit_id, 1000);
}

static void hit_in_window(void)
{
	fl_window_hit(OUTER, 1, 1);
}

/* What it calls of its own file lies near it. */
static const struct around {
	struct routine routine;
	void (*run)(void);
	enum fl_action action;
} around[] = {
	{ { .name = "sample_hit", .run = (void (*)(void))fl_sample_hit },
	  sample_call, FL_ACT_SAMPLE },
	{ { .name = "window_hit", .run = (void (*)(void))fl_window_hit },
	  hit_in_window, FL_ACT_WINDOW },
};
static const struct around *forks_around;
enum { BEFORE = 3072, BEHIND = 512 };

static void fork_around_at(unsigned char *at)
{
	struct fl_slot *s = slot();

	s->ring[0].ptr = (uint64_t)first;
	if (s->ring[0].frames)
		s->ring[0].frames->n = 0;
	trap_at = at;
	untrapped = *at;
	*at = FL_ARCH_TRAP;
	forks_around->run();
	if (is_child)
		_exit(0);
	*at = untrapped;
	HOLDS((const struct flick_record *)s->ring[0].ptr == first + 2);
	HOLDS(!s->ring[0].frames || !s->ring[0].frames->n);
}

/* `value` of a function is where it lies in the file; so is `arg` of the one around. */
static int fork_in_function(void *arg, const char *name, uint64_t value, uint64_t size)
{
	unsigned char *hit = (unsigned char *)(uintptr_t)c->run;
	int64_t away = (int64_t)(value - *(uint64_t *)arg);
	struct fl_insn i;

	(void)name;
	if (away < -BEFORE || away > BEHIND)
		return 0;
	for (unsigned char *at = hit + away; at < hit + away + size; at += i.len) {
		fl_arch_decode(&i, at, 16, (uintptr_t)at);
		HOLDS(i.len);
		fork_around_at(at);
	}
	return 0;
}

static int find_around(void *arg, const char *name, uint64_t value, uint64_t size)
{
	(void)size;
	if (strncmp(name, "fl_", 3) || strcmp(name + 3, c->name))
		return 0;
	*(uint64_t *)arg = value;
	return 1;
}

static void run_around(struct rig *g)
{
	struct sigaction act = { .sa_sigaction = on_trap_fork, .sa_flags = SA_SIGINFO };
	uintptr_t lo = ((uintptr_t)c->run - BEFORE) & ~4095ul;
	struct fl_obj self;
	uint64_t value;
	bool is_new;

	open_probes(g);
	exit_id = fl_probe_virtual((uintptr_t)&routines[OUTER], FL_EXIT, FL_FORM_NONE, &is_new);
	if (!fl_arch_has_rseq())
		_exit(0);
	first = (const struct flick_record *)slot()->ring[0].ptr;
	sigaction(SIGTRAP, &act, NULL);
	HOLDS(!mprotect((void *)lo, 4096 * 3, PROT_READ | PROT_WRITE | PROT_EXEC));
	HOLDS(!fl_obj_open(&self, "/proc/self/exe"));
	HOLDS(fl_obj_functions(&self, find_around, &value) == 1);
	HOLDS(!fl_obj_functions(&self, fork_in_function, &value));
	HOLDS(forks > 10);
}

static void a_handler_may_fork_in_the_middle_of_a_sample(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(around); i++) {
		forks_around = &around[i];
		c = &forks_around->routine;
		assert_child(run_around, forks_around->action);
	}
}

/* What is made at run time. */
static void make_glues(void)
{
	struct routine *r = &routines[ARRAY_LEN(routines) - 9];

	fl_probe_routines_open();
	find_glue_code();
	body_glue = make_glue_of(FL_BODY, BODY, ID);
	masked_body_glue = make_glue_of(FL_BODY, MASKED_BODY, ID);
	recording_body_glue = make_glue_of(FL_BODY, R_BODY, ID);
	masked_recording_body_glue = make_glue_of(FL_BODY, R_MASKED_BODY, ID);
	precise_body_glue = make_glue_of(FL_BODY, R_PRECISE, ID);
	r++->run = make_glue(ID, ID);
	r++->run = make_glue(MASKED, ID);
	r++->run = call_body_glue;
	r++->run = call_masked_body_glue;
	r++->run = make_glue(RECORDING, ID);
	r++->run = make_glue(R_MASKED, ID);
	r++->run = call_recording_body_glue;
	r++->run = call_masked_recording_body_glue;
	r->run = call_precise_body_glue;
	counting[ARRAY_LEN(counting) - 2].routine.run = make_glue(OUTER, OUTER);
	counting[ARRAY_LEN(counting) - 1].routine.run =
		make_glue_of(FL_BODY, BODY_OUTER, OUTER);
	appenders[ARRAY_LEN(appenders) - 2].routine.run = make_glue(R_OUTER, OUTER);
	appenders[ARRAY_LEN(appenders) - 1].routine.run =
		make_glue_of(FL_BODY, R_BODY_OUTER, OUTER);
	forked[ARRAY_LEN(forked) - 2].routine.run = make_glue(OUTER, OUTER);
	forked[ARRAY_LEN(forked) - 1].routine.run = make_glue(R_OUTER, OUTER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_routine_keeps_what_is_live),
		cmocka_unit_test(a_probe_without_a_counter_writes_nowhere),
		cmocka_unit_test(a_mask_says_if_a_glue_does_it),
		cmocka_unit_test(a_handler_may_enqueue_anywhere),
		cmocka_unit_test(a_handler_may_count_anywhere),
		cmocka_unit_test(blocks_end_where_there_are_no_sequences),
		cmocka_unit_test(a_handler_may_fork_anywhere),
		cmocka_unit_test(a_handler_may_fork_in_the_middle_of_a_sample),
	};

	choose_width();
	make_glues();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
