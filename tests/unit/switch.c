/*
 * unit/switch.c - a switch against a dlclose, instruction by instruction: threads of one
 * core, so that one is held up anywhere, also between its look and its store.
 *
 * timeout: 60
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cmocka.h>

#include "goal-rig.h"
#include "os/os.h"
#include "patch/sync.h"
#include "stop-at.h"

enum { ROUNDS = 400, SWITCHERS = 2 };

static struct rig *g;
static uint8_t *page;
static uint32_t over;
static bool with_lock;

static int set_up(void **unused)
{
	(void)unused;
	g = rig_open(4, 8, FL_ACT_COUNT);
	return 0;
}

static int tear_down(void **unused)
{
	(void)unused;
	rig_close(g);
	return 0;
}

static void body(void)
{
}

static void open_probe(void)
{
	bool is_new;

	NEED(!fl_patch_open(NULL));
	NEED(!with_lock || !fl_os_fault_open("membarrier:1"));
	NEED(!fl_probes_open(g->m));
	NEED(fl_probe_virtual((uintptr_t)body, FL_ENTRY, FL_FORM_NONE, &is_new) == 0);
	page = mmap(NULL, FL_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	NEED(page != MAP_FAILED);
	rig_arm(0, page);
}

static void stay_on_one_core(void)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	NEED(!sched_setaffinity(0, sizeof one, &one));
}

static void *switch_on_and_off(void *unused)
{
	for (unsigned i = 0; !load_relaxed(&over); i++)
		NEED(!fl_probe_switch(0, i % 2 ? FL_ON : FL_OFF));
	return unused;
}

static void *switch_until_closed(void *unused)
{
	for (unsigned i = 0; !fl_probe_switch(0, i % 2 ? FL_ON : FL_OFF); i++)
		;
	return unused;
}

static void none_is_there(void (*see)(uintptr_t bias))
{
	(void)see;
}

/* Whoever stores meanwhile faults. */
static void unmap_at_times(struct rig *unused)
{
	pthread_t t[SWITCHERS];

	(void)unused;
	open_probe();
	stay_on_one_core();
	for (size_t i = 0; i < SWITCHERS; i++)
		NEED(!pthread_create(&t[i], NULL, switch_on_and_off, NULL));
	for (int i = 0; i < ROUNDS; i++) {
		usleep(300);
		fl_probes_freeze();
		NEED(!mprotect(page, FL_PAGE, PROT_NONE));
		usleep(300);
		NEED(!mprotect(page, FL_PAGE, PROT_READ | PROT_WRITE));
		fl_probes_thaw(none_is_there);
	}
	store_relaxed(&over, 1);
	for (size_t i = 0; i < SWITCHERS; i++)
		pthread_join(t[i], NULL);
}

static void nobody_stores_while_frozen(void **unused)
{
	(void)unused;
	with_lock = false;
	assert_int_equal(rig_drain(g, rig_fork(g, unmap_at_times)), 0);
}

static void nor_without_sequences(void **unused)
{
	(void)unused;
	with_lock = true;
	assert_int_equal(rig_drain(g, rig_fork(g, unmap_at_times)), 0);
}

/* ---- what is deferred ------------------------------------------------------------------ */

static uint32_t last = 1;		/* wished; 1: on, as it is at first */

static void *wish(void *unused)
{
	for (uint32_t i = 0; !load_relaxed(&over); i++) {
		store_relaxed(&last, i % 2);
		NEED(!fl_probe_switch(0, i % 2 ? FL_ON : FL_OFF));
		if (i % 64 == 0)
			usleep(20);
	}
	return unused;
}

/* The freezes end at any moment of the last switch. */
static void freeze_while_wishing(void)
{
	pthread_t t;

	store_relaxed(&over, 0);
	NEED(!pthread_create(&t, NULL, wish, NULL));
	for (int i = 0; i < ROUNDS; i++) {
		fl_probes_freeze();
		if (i == ROUNDS - 1)
			store_relaxed(&over, 1);
		fl_probes_thaw(none_is_there);
	}
	pthread_join(t, NULL);
	NEED(*page == (last ? ON_BYTE : OFF_BYTE) && fl_probe_is_on(0) == last);
}

static void freeze_at_times(struct rig *unused)
{
	(void)unused;
	open_probe();
	for (int i = 0; i < 40; i++)
		freeze_while_wishing();
}

static void the_last_wish_is_made_so(void **unused)
{
	(void)unused;
	with_lock = false;
	assert_int_equal(rig_drain(g, rig_fork(g, freeze_at_times)), 0);
}

static void and_without_sequences(void **unused)
{
	(void)unused;
	with_lock = true;
	assert_int_equal(rig_drain(g, rig_fork(g, freeze_at_times)), 0);
}

/* ---- a set, and the end ------------------------------------------------------------------ */

static const struct fl_sync *real;
static unsigned syncs;

/* What is stored is there when the cores are told. */
static void all_cores(void)
{
	syncs += *page == OFF_BYTE;
	real->all_cores();
}

static int works(void)
{
	return 0;
}

static const struct fl_sync told = { .name = "told", .probe = works, .all_cores = all_cores };

static void switch_a_set(struct rig *unused)
{
	const uint8_t off[1] = { FL_OFF }, on[1] = { FL_ON };

	(void)unused;
	open_probe();
	real = fl_sync;
	fl_sync = &told;
	NEED(fl_probes_switch_set(off, 1) == 1 && *page == OFF_BYTE && syncs == 1);
	NEED(fl_probes_switch_set(on, 1) == 1 && *page == ON_BYTE);
}

static void a_set_is_synchronised_behind_its_stores(void **unused)
{
	(void)unused;
	with_lock = false;
	assert_int_equal(rig_drain(g, rig_fork(g, switch_a_set)), 0);
}

/* It was stored to by somebody who was held up: a wish for what is said to be so
 * makes it so. */
static void wish_again(struct rig *unused)
{
	const uint8_t on[1] = { FL_ON };

	(void)unused;
	open_probe();
	*page = OFF_BYTE;
	NEED(!fl_probe_switch(0, FL_ON) && *page == ON_BYTE);
	*page = OFF_BYTE;
	NEED(fl_probes_switch_set(on, 1) == 1 && *page == ON_BYTE);
	*page = OFF_BYTE;
	rig_let(0, FL_HOLD_SAMPLED);
	NEED(*page == ON_BYTE);
}

/* Each in a region of its own. */
static void runs(void (*target)(struct rig *), bool locks)
{
	tear_down(NULL);
	set_up(NULL);
	with_lock = locks;
	assert_int_equal(rig_drain(g, rig_fork(g, target)), 0);
}

static void the_text_says_what_is_on(void **unused)
{
	(void)unused;
	runs(wish_again, false);
	runs(wish_again, true);
}

/* What is there when it has been closed stays there. */
static void close_at_a_time(struct rig *unused)
{
	pthread_t t[SWITCHERS];

	(void)unused;
	open_probe();
	stay_on_one_core();
	for (size_t i = 0; i < SWITCHERS; i++)
		NEED(!pthread_create(&t[i], NULL, switch_until_closed, NULL));
	usleep(300);
	fl_probes_retire();
	*page = 0;
	for (size_t i = 0; i < SWITCHERS; i++)
		pthread_join(t[i], NULL);
	NEED(*page == 0);
	NEED(fl_probe_switch(0, FL_ON) == FLE_REFUSED && *page == 0);
}

static void nobody_stores_behind_the_end(void **unused)
{
	(void)unused;
	for (int i = 0; i < 60; i++)
		runs(close_at_a_time, i % 4 == 3);
}

static void switch_on(void)
{
	NEED(!fl_probe_switch(0, FL_ON));
}

/* As another thread does, without the lock. */
static void close_while_a_sequence_switches(struct rig *unused)
{
	(void)unused;
	open_probe();
	stop("probes.closing", switch_on);
	fl_probes_retire();
	NEED(!stop_at && *page == OFF_BYTE && !fl_probe_is_on(0));
}

static volatile int told_handler = 1;

static void on_urgent(int sig)
{
	(void)sig;
	told_handler = fl_probe_switch(0, FL_ON);
}

static void raise_urgent(void)
{
	raise(SIGURG);
}

/* It waits for the end of its own thread's lock. */
static void close_while_a_handler_switches(struct rig *unused)
{
	(void)unused;
	open_probe();
	signal(SIGURG, on_urgent);
	stop("probes.closing", raise_urgent);
	fl_probes_retire();
	NEED(!stop_at && told_handler == FLE_REFUSED);
	NEED(*page == OFF_BYTE && !fl_probe_is_on(0));
}

static pthread_t closer;
static uint32_t all_are_off, is_stored;

static void let_the_other_store(void)
{
	store_release(&all_are_off, 1);
	while (!load_acquire(&is_stored))
		usleep(100);
}

static void *retire(void *unused)
{
	fl_probes_retire();
	return unused;
}

/* Once its goal is known to be `on`, and before it is stored. */
static void begin_the_end(void)
{
	stop("probes.closing", let_the_other_store);
	NEED(!pthread_create(&closer, NULL, retire, NULL));
	while (!load_acquire(&all_are_off))
		usleep(100);
}

static void close_between_a_look_and_its_store(struct rig *unused)
{
	(void)unused;
	open_probe();
	NEED(!fl_probe_switch(0, FL_OFF));
	all_are_off = is_stored = 0;
	stop("goal.converging", begin_the_end);
	NEED(!fl_probe_switch(0, FL_ON));
	store_release(&is_stored, 1);
	pthread_join(closer, NULL);
	NEED(!stop_at && *page == OFF_BYTE && !fl_probe_is_on(0));
}

static void what_was_switched_off_at_the_end_stays_off(void **unused)
{
	(void)unused;
	runs(close_while_a_sequence_switches, false);
	runs(close_while_a_handler_switches, false);
	runs(close_while_a_handler_switches, true);
	runs(close_between_a_look_and_its_store, false);
}

/* ---- forks, and restarts that are denied ----------------------------------------------- */

static void fork_begins(void)
{
	NEED(fl_probes_keep_modules(1));
}

static void *fork_ends(void *unused)
{
	enum { SOON_US = 20000 };

	usleep(SOON_US);
	NEED(!fl_switches_are_unloading());
	fl_probes_let_modules();
	return unused;
}

/* It begins when the freeze has looked for forks. */
static void fork_at_a_freeze(struct rig *unused)
{
	pthread_t t;

	(void)unused;
	open_probe();
	stop("probes.freezing", fork_begins);
	NEED(!pthread_create(&t, NULL, fork_ends, NULL));
	fl_probes_freeze();
	pthread_join(t, NULL);
	fl_probes_thaw(none_is_there);
	NEED(!stop_at);
}

static void a_freeze_waits_for_a_fork_that_comes_between(void **unused)
{
	(void)unused;
	runs(fork_at_a_freeze, false);
}

static uint64_t us_of_a_freeze(void)
{
	struct timespec from, to;

	clock_gettime(CLOCK_MONOTONIC, &from);
	fl_probes_freeze();
	clock_gettime(CLOCK_MONOTONIC, &to);
	fl_probes_thaw(none_is_there);
	return (uint64_t)((to.tv_sec - from.tv_sec) * 1000000 +
			  (to.tv_nsec - from.tv_nsec) / 1000);
}

/* A thread may have seen that there are restarts, and be on its way. */
static void freeze_without_restarts(struct rig *unused)
{
	(void)unused;
	open_probe();
	NEED(!fl_os_fault_open("membarrier:1+"));
	for (int i = 0; i < 3; i++)
		NEED(us_of_a_freeze() >= 1000);
}

static void each_freeze_waits_where_restarts_came_to_be_denied(void **unused)
{
	(void)unused;
	runs(freeze_without_restarts, false);
}

/* ---- whose a freeze is ---------------------------------------------------------------- */

static void *thaw(void *unused)
{
	fl_probes_thaw(none_is_there);
	return unused;
}

static void freeze_twice(struct rig *unused)
{
	const uint8_t off[1] = { FL_OFF };
	uint32_t unloads = fl_switches_unloads();
	uint64_t signals, us = UINT64_MAX;
	pthread_t t;

	(void)unused;
	open_probe();
	fl_probes_freeze();
	fl_probes_freeze();
	NEED(fl_switches_unloads() == unloads + 2);
	NEED(!fl_switches_try(&signals));
	NEED(fl_probes_switch_set(off, 1) == 1 && *page == ON_BYTE);
	rig_hold(0, FL_HOLD_SAMPLED);
	NEED(*page == ON_BYTE && !fl_probe_is_on(0));
	NEED(!fl_probes_keep_modules(1));	/* its own: nobody waits for that */
	NEED(!pthread_create(&t, NULL, thaw, NULL) && !pthread_join(t, NULL));
	NEED(fl_switches_are_frozen() && *page == ON_BYTE);
	fl_probes_thaw(none_is_there);
	NEED(!fl_switches_are_frozen() && *page == OFF_BYTE);
	for (int i = 0; i < 5; i++) {
		uint64_t now = us_of_a_freeze();

		us = now < us ? now : us;
	}
	NEED(us < 50000);			/* no fork is waited for */
}

static void a_freeze_is_its_threads_and_one(void **unused)
{
	(void)unused;
	runs(freeze_twice, false);
	runs(freeze_twice, true);
}

static void be_a_child(struct rig *unused)
{
	(void)unused;
	open_probe();
	fl_probes_freeze();
	NEED(!fl_switches_in_child() && !fl_switches_are_frozen());
	NEED(fl_switches_in_child());
}

static void a_child_has_no_freeze(void **unused)
{
	(void)unused;
	runs(be_a_child, false);
}

/* ---- what comes in between --------------------------------------------------------------- */

static void end_freeze(void)
{
	fl_probes_thaw(none_is_there);
}

/* Between its look and its note the freeze ends. */
static void defer_too_late(struct rig *unused)
{
	(void)unused;
	open_probe();
	fl_probes_freeze();
	stop("switch.flipped", end_freeze);
	NEED(!fl_probe_switch(0, FL_OFF) && *page == OFF_BYTE);
}

static void what_is_noted_too_late_is_made_so(void **unused)
{
	(void)unused;
	runs(defer_too_late, false);
	runs(defer_too_late, true);
}

/* What was wished in a freeze is just being made so. */
static void wish_otherwise(struct rig *unused)
{
	(void)unused;
	open_probe();
	fl_probes_freeze();
	NEED(!fl_probe_switch(0, FL_OFF));
	signal(SIGURG, on_urgent);
	stop("goal.converging", with_lock ? raise_urgent : switch_on);
	fl_probes_thaw(none_is_there);
	NEED(!stop_at && *page == ON_BYTE && fl_probe_is_on(0));
	NEED(!with_lock || !told_handler);
}

static void who_wishes_otherwise_meanwhile_has_it(void **unused)
{
	(void)unused;
	runs(wish_otherwise, false);
	runs(wish_otherwise, true);
}

static void close_table(void)
{
	fl_table.holds = FL_HOLD_CLOSED;
}

static void try_and_be_too_late(struct rig *unused)
{
	const uint8_t off[1] = { FL_OFF };
	uint64_t signals;

	(void)unused;
	open_probe();
	NEED(fl_switches_try(&signals));
	fl_switches_unlock(&signals);
	stop("switches.trying", fl_probes_freeze);
	NEED(!fl_switches_try(&signals));
	fl_probes_thaw(none_is_there);
	stop("switches.trying", close_table);
	NEED(!fl_switches_try(&signals));
	NEED(fl_probes_switch_set(off, 1) == 0 && *page == ON_BYTE);
}

static void who_tries_looks_again_with_the_lock(void **unused)
{
	(void)unused;
	runs(try_and_be_too_late, false);
}

/* ---- a freeze between any two instructions of a switch ----------------------------------- */

static unsigned char *trap_at, untrapped;
static uint32_t held;
static unsigned met, meetings;		/* this time; at which modules begin to go */
static bool was_stored;

/* In the sequence the kernel has the thread begin anew. */
static void on_trap(int sig, siginfo_t *info, void *context)
{
	greg_t *pc = &((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
	bool is_outside = (unsigned char *)*pc == trap_at + 1;

	(void)sig, (void)info;
	if (++met == meetings || is_outside) {
		*trap_at = untrapped;
		held = 1;
		was_stored = *page == ON_BYTE;
	}
	if (is_outside)
		*pc -= 1;
}

static unsigned flip_with_trap_at(unsigned char *at, enum fl_flip_when when)
{
	enum fl_flipped how;

	*page = OFF_BYTE;
	held = met = 0;
	was_stored = true;
	trap_at = at;
	untrapped = *at;
	*at = FL_ARCH_TRAP;
	how = fl_arch_flip_unless(&held, (const struct fl_flip *)&fl_table.switches[0],
				  FL_ON, when);
	*at = (unsigned char)untrapped;
	NEED(how == FL_FLIPPED ? *page == ON_BYTE : *page == OFF_BYTE);
	NEED(was_stored == (how == FL_FLIPPED));
	return met;
}

static void interrupt_a_switch(struct rig *unused)
{
	struct sigaction act = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
	unsigned char *at = (unsigned char *)(uintptr_t)fl_arch_flip_unless;
	struct fl_insn i = { 0 };
	unsigned n = 0;

	(void)unused;
	open_probe();
	if (!fl_arch_has_rseq())
		_exit(0);
	sigaction(SIGTRAP, &act, NULL);
	NEED(!mprotect((void *)((uintptr_t)at & ~4095ul), 8192,
		       PROT_READ | PROT_WRITE | PROT_EXEC));
	for (; i.cls != FL_INSN_RET; at += i.len) {
		fl_arch_decode(&i, at, 16, (uintptr_t)at);
		for (meetings = 1; meetings <= 3; meetings++) {
			n += flip_with_trap_at(at, FL_FLIP_ALWAYS);
			n += flip_with_trap_at(at, FL_FLIP_IF_OTHER);
		}
	}
	NEED(n > 100);
}

static void modules_may_begin_to_go_anywhere_in_a_switch(void **unused)
{
	(void)unused;
	runs(interrupt_a_switch, false);
}

/* Else the cores that execute it would have to fetch it again. */
static void switch_to_what_it_is(struct rig *unused)
{
	const struct fl_flip *f;

	(void)unused;
	open_probe();
	if (!fl_arch_has_rseq())
		_exit(0);
	f = (const struct fl_flip *)&fl_table.switches[0];
	NEED(!mprotect(page, FL_PAGE, PROT_READ));
	NEED(fl_arch_flip_unless(&held, f, FL_ON, FL_FLIP_IF_OTHER) == FL_FLIPPED);
	NEED(!mprotect(page, FL_PAGE, PROT_READ | PROT_WRITE));
	NEED(fl_arch_flip_unless(&held, f, FL_OFF, FL_FLIP_IF_OTHER) == FL_FLIPPED);
	NEED(*page == OFF_BYTE);
}

static void the_byte_that_is_there_is_not_stored(void **unused)
{
	(void)unused;
	runs(switch_to_what_it_is, false);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(nobody_stores_while_frozen),
		TEST(nor_without_sequences),
		TEST(the_last_wish_is_made_so),
		TEST(and_without_sequences),
		TEST(a_set_is_synchronised_behind_its_stores),
		TEST(the_text_says_what_is_on),
		TEST(nobody_stores_behind_the_end),
		TEST(what_was_switched_off_at_the_end_stays_off),
		TEST(a_freeze_waits_for_a_fork_that_comes_between),
		TEST(each_freeze_waits_where_restarts_came_to_be_denied),
		TEST(a_freeze_is_its_threads_and_one),
		TEST(a_child_has_no_freeze),
		TEST(what_is_noted_too_late_is_made_so),
		TEST(who_wishes_otherwise_meanwhile_has_it),
		TEST(who_tries_looks_again_with_the_lock),
		TEST(modules_may_begin_to_go_anywhere_in_a_switch),
		TEST(the_byte_that_is_there_is_not_stored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
