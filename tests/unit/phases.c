/*
 * unit/phases: no phase of a change goes on before all cores have been synchronised
 * behind the last; and what a thread that traps meanwhile may rely on.
 *
 * timeout: 30
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cmocka.h>

#include "flick/patch.h"
#include "patch/claim.h"
#include "patch/sync.h"
#include "site/site.h"

enum { AT = 64 * 4, ONE = 64 };		/* the first byte of a line; `one` returns 1 */

static unsigned char *code;
static const unsigned char mov1[5] = { 0xb8, 1, 1, 1, 1 };
static const unsigned char mov2[5] = { 0xb8, 2, 2, 2, 2 };
static const unsigned char nop5[5] = { 0x0f, 0x1f, 0x44, 0, 0 };

static unsigned char *lay(size_t offset, const void *insn, size_t n)
{
	unsigned char *at = code + AT + offset;

	memset(code + AT, 0xcc, 128);
	memcpy(at, insn, n);
	at[n] = 0xc3;
	return at;
}

static int run(const unsigned char *at)
{
	int value;

	__asm__ volatile("sub $136, %%rsp\n\tcall *%1\n\tadd $136, %%rsp"
			 : "=a"(value) : "r"(at), "a"(0)
			 : "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11",
			   "memory", "cc");
	return value;
}

/* ---- what happened, a letter each ------------------------------------------------ */

static char story[64];

static void tell(char what)
{
	size_t n = strlen(story);

	if (n + 1 < sizeof story)
		story[n] = what;
}

static void begin_story(void)
{
	memset(story, 0, sizeof story);
}

/* The phases of a commit: park, tail, head. Another point is for one test. */
static const char *hook_at;
static void (*hook)(void);

void fl_point_hit(const char *name)
{
	if (hook_at && !strcmp(name, hook_at)) {
		hook_at = NULL;
		hook();
	} else if (!strncmp(name, "commit.", 7)) {
		tell(name[7]);
	}
}

static const struct fl_sync *real;

static void all_cores(void)
{
	tell('S');
	real->all_cores();
}

static int works(void)
{
	return 0;
}

static const struct fl_sync told = { .name = "told", .probe = works, .all_cores = all_cores };

/* ---- phases ---------------------------------------------------------------------- */

static void commit(struct fl_patch *p, int from, int to)
{
	struct fl_change change;
	struct fl_set set = { .changes = &change, .room = 1 };
	size_t bad;

	assert_int_equal(fl_set_stage(&set, p, from, to), 0);
	begin_story();
	assert_int_equal(fl_set_commit(&set, &bad), 0);
}

static void a_set_syncs_behind_each_phase(void **state)
{
	unsigned char *at = lay(61, "\xe8\1\2\3\4", 5);
	struct fl_plan_in in = {
		.at = (uintptr_t)at, .form = FL_FORM_CALL, .room = 5,
		.glue = (uintptr_t)code + ONE,
	};
	struct fl_patch p;
	uint64_t datum;

	(void)state;
	assert_int_equal(fl_arch_plan(&p, &in, &datum), 0);
	assert_int_equal(fl_claim_alone(&p), 0);
	commit(&p, FL_OLD, FL_OFF);
	assert_string_equal(story, "pStShS");
	commit(&p, FL_OFF, FL_ON);		/* one store */
	assert_string_equal(story, "hS");
	commit(&p, FL_ON, FL_OFF);
	commit(&p, FL_OFF, FL_OLD);
	assert_string_equal(story, "pStShS");
	fl_unclaim_alone(&p);
}

/* Its last store needs no sync of the caller's. */
static void a_switch_of_a_place_syncs_behind_each_phase(void **state)
{
	struct flick_patch p;

	(void)state;
	assert_int_equal(flick_patch_init(&p, lay(6, mov1, 5), mov2, 5), 0);
	assert_string_equal(flick_patch_tactic(&p), "wide");
	begin_story();
	assert_int_equal(flick_patch_switch(&p, FLICK_ON), 0);
	assert_string_equal(story, "pStSh");
	begin_story();
	assert_int_equal(flick_patch_start(&p, FLICK_OFF), 0);
	while (flick_patch_finish(&p))
		;
	assert_string_equal(story, "pStSh");
	begin_story();
	flick_patch_barrier();
	assert_string_equal(story, "S");
	assert_int_equal(flick_patch_release(&p), 0);
}

/* ---- who is in the handler ------------------------------------------------------- */

static volatile int inside, may_leave, released;

static int load(const volatile int *p)
{
	return __atomic_load_n(p, __ATOMIC_SEQ_CST);
}

static void store(volatile int *p, int value)
{
	__atomic_store_n(p, value, __ATOMIC_SEQ_CST);
}

static void stay_inside(void)
{
	store(&inside, 1);
	while (!load(&may_leave))
		sched_yield();
}

static void *trap(void *arg)
{
	__asm__ volatile("int3");
	return arg;
}

static void *release(void *place)
{
	fl_unclaim_alone(place);
	store(&released, 1);
	return NULL;
}

static bool is_claimed(const struct fl_patch *p)
{
	uint64_t signals;
	bool is;

	fl_claims_lock(&signals);
	is = fl_is_claimed(p);
	fl_claims_unlock(&signals);
	return is;
}

static volatile sig_atomic_t foreign;
static uint64_t mask_in_handler;

static uint64_t mask_now(void)
{
	sigset_t set;
	uint64_t mask;

	pthread_sigmask(SIG_BLOCK, NULL, &set);
	memcpy(&mask, &set, sizeof mask);
	return mask;
}

/* The program's own. */
static void on_foreign(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)info, (void)context;
	mask_in_handler = mask_now();
	foreign++;
}

/* Flick's handler stands before it, for a place that traps. */
static void be_handled(int flags, int blocked)
{
	struct sigaction act = { .sa_sigaction = on_foreign, .sa_flags = SA_SIGINFO | flags };
	struct flick_patch p;
	struct sigaction now;

	sigaddset(&act.sa_mask, blocked);
	sigaction(SIGTRAP, &act, NULL);
	foreign = 0;
	assert_int_equal(flick_patch_init(&p, lay(6, mov1, 5), mov2, 5), 0);
	for (uint64_t t = fl_arch_ticks(); fl_arch_ticks() - t < 1 << 23;)
		;				/* it is asked once a moment */
	assert_int_equal(flick_patch_switch(&p, FLICK_ON), 0);
	assert_int_equal(flick_patch_release(&p), 0);
	sigaction(SIGTRAP, NULL, &now);
	assert_true(now.sa_sigaction != on_foreign);
}

static void a_place_is_not_released_under_a_handler(void **state)
{
	struct fl_patch p = { .at = (uintptr_t)code + 2048, .len = 5 };
	pthread_t in_handler, releaser;

	(void)state;
	be_handled(0, SIGUSR1);
	assert_int_equal(fl_claim_alone(&p), 0);
	hook = stay_inside;
	hook_at = "claims.entered";
	pthread_create(&in_handler, NULL, trap, NULL);
	while (!load(&inside))
		sched_yield();
	pthread_create(&releaser, NULL, release, &p);
	while (is_claimed(&p))
		sched_yield();
	for (int i = 0; i < 2000; i++)		/* it has had its time */
		sched_yield();
	assert_false(load(&released));
	store(&may_leave, 1);
	pthread_join(in_handler, NULL);
	pthread_join(releaser, NULL);
	assert_true(load(&released));
	assert_int_equal(foreign, 1);
}

static uint64_t bit(int sig)
{
	return 1ull << (sig - 1);
}

static void a_foreign_trap_is_handled_under_its_own_mask(void **state)
{
	uint64_t before = mask_now();

	(void)state;
	be_handled(0, SIGUSR1);
	trap(NULL);
	assert_int_equal(foreign, 1);
	assert_true(mask_in_handler == (before | bit(SIGUSR1) | bit(SIGTRAP)));
	assert_true(mask_now() == before);
	fl_patch_close();
	be_handled(SA_NODEFER, SIGUSR2);
	trap(NULL);
	assert_int_equal(foreign, 1);
	assert_true(mask_in_handler == (before | bit(SIGUSR2)));
	fl_patch_close();
}

/* ---- a thread that is late ------------------------------------------------------- */

static struct flick_patch place;
static unsigned char *place_at;

static void begin_next(void)
{
	memcpy(place_at, nop5, 1);
	assert_int_equal(flick_patch_start(&place, FLICK_ON), 0);
}

/* It met the trap of one commit, and looks for the place at rest: just then the next
 * commit puts its own trap there. */
static void a_trap_is_late_by_a_whole_commit(void **state)
{
	(void)state;
	be_handled(0, SIGUSR1);
	place_at = lay(7, nop5, 5);
	assert_int_equal(flick_call_init(&place, place_at, code + ONE, 0), 0);
	hook = begin_next;
	hook_at = "trap.looked";
	place_at[0] = 0xcc;
	assert_in_range(run(place_at), 0, 1);
	assert_null(hook_at);
	assert_int_equal(foreign, 0);
	while (flick_patch_finish(&place))
		;
	assert_int_equal(run(place_at), 1);
	assert_int_equal(flick_patch_release(&place), 0);
	fl_patch_close();
}

/* ---- a mask that changes --------------------------------------------------------- */

static volatile int blocks, over;

static void *block_all(void *arg)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	store(&blocks, 1);
	while (!load(&over))
		sched_yield();
	return arg;
}

static void who_blocks_traps_later_is_asked_later(void **state)
{
	struct flick_patch p;
	uint64_t t;
	pthread_t blocker;

	(void)state;
	assert_int_equal(flick_patch_init(&p, lay(6, mov1, 5), mov2, 5), 0);
	assert_int_equal(flick_patch_switch(&p, FLICK_ON), 0);
	pthread_create(&blocker, NULL, block_all, NULL);
	while (!load(&blocks))
		sched_yield();
	for (t = fl_arch_ticks(); fl_arch_ticks() - t < 1 << 23;)
		;
	assert_int_equal(flick_patch_switch(&p, FLICK_OFF), FLICK_E_TRAPBLOCK);
	assert_int_equal(run(code + AT + 6), 0x02020202);
	store(&over, 1);
	pthread_join(blocker, NULL);
	assert_int_equal(flick_patch_release(&p), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_set_syncs_behind_each_phase),
		cmocka_unit_test(a_switch_of_a_place_syncs_behind_each_phase),
		cmocka_unit_test(a_place_is_not_released_under_a_handler),
		cmocka_unit_test(a_foreign_trap_is_handled_under_its_own_mask),
		cmocka_unit_test(a_trap_is_late_by_a_whole_commit),
		cmocka_unit_test(who_blocks_traps_later_is_asked_later),
	};

	code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(code + ONE, "\xb8\1\0\0\0\xc3", 6);
	if (fl_patch_open(NULL))
		return 77;
	real = fl_sync;
	fl_sync = &told;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
