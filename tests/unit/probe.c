/*
 * unit/probe.c - what a switch, a sample and a dlclose leave of one another, with a
 * thread stopped, ended or interrupted where it is most awkward.
 *
 * Each target is a child, and says what was wrong by its status.
 *
 * timeout: 30
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "goal-rig.h"
#include "probe-rig.h"

static uint8_t text;			/* of the exit, which is armed */
static uint32_t entry_id, exit_id;
static const char *stop_at;
static void (*at_stop)(void);		/* runs there, once */

void fl_point_hit(const char *);

void fl_point_hit(const char *name)
{
	void (*f)(void) = at_stop;

	if (!f || strcmp(name, stop_at))
		return;
	at_stop = NULL;
	f();
}

static void stop(const char *name, void (*f)(void))
{
	stop_at = name;
	at_stop = f;
}

static void body(void)
{
}

static uint32_t add(enum fl_kind kind)
{
	bool is_new;
	int id = fl_probe_virtual((uintptr_t)body, kind, FL_FORM_NONE, &is_new);

	NEED(id >= 0 && is_new);
	fl_table.rows[id].wanted = 1;
	return (uint32_t)id;
}

/* A function with an exit that is armed, its text being a byte, and an entry. */
static void open_probes(void)
{
	NEED(!fl_patch_open(NULL));
	NEED(!fl_probes_open(g->m));
	fl_sample_turn();			/* the first does nothing */
	entry_id = add(FL_ENTRY);
	exit_id = add(FL_EXIT);
	fl_goal_begin(entry_id, FL_PROBE_CALLING);
	fl_table.probes[entry_id].reached = FL_REACHED_BY_GLUE;	/* as with a site */
	rig_arm(exit_id, &text);
}

static void sample(uint32_t sp)
{
	fl_probe_hit(entry_id, sp);
	fl_probe_hit(exit_id, sp);
}

static void runs(void (*target)(struct rig *))
{
	assert_int_equal(rig_drain(g, rig_fork(g, target)), 0);
}

/* ---- a switch that is left ----------------------------------------------------------- */

static sigjmp_buf out;

static void leave(int sig)
{
	siglongjmp(out, sig);
}

static void raise_alarm(void)
{
	raise(SIGALRM);
}

static void raise_urgent(void)
{
	raise(SIGURG);
}

/* A signal comes in the middle of a switch; its handler does not go back. */
static void leave_by(int sig, void (*raise_it)(void))
{
	const struct fl_function *f;

	open_probes();
	f = &fl_table.functions[fl_table.probes[entry_id].function];
	signal(sig, leave);
	stop("sample.ending", raise_it);
	if (!sigsetjmp(out, 1))
		for (;;)
			sample(1000);
	NEED(!at_stop);
	NEED(f->is_off && text == OFF_BYTE);
	fl_sample_turn();
	NEED(!f->is_off && text == ON_BYTE);
}

static void leave_by_alarm(struct rig *unused)
{
	(void)unused;
	leave_by(SIGALRM, raise_alarm);
}

static void leave_by_urgent(struct rig *unused)
{
	(void)unused;
	leave_by(SIGURG, raise_urgent);
}

static void a_switch_is_not_left(void **unused)
{
	(void)unused;
	runs(leave_by_alarm);
	rig_close(g);
	g = rig_open(4, 8, FL_ACT_SAMPLE);
	runs(leave_by_urgent);
}

/* ---- inside a dlclose ---------------------------------------------------------- */

/* What the loader has at the end of a dlclose. */
static void none_is_there(void (*see)(uintptr_t bias))
{
	(void)see;
}

static void call(uint32_t id, void *arg)
{
	(void)id;
	(void)arg;
}

/* Nothing is stored, and nobody waits; who samples tries again, what was wished for is
 * made so at the end. */
static void switch_in_dlclose(struct rig *unused)
{
	const struct fl_function *f;

	(void)unused;
	open_probes();
	f = &fl_table.functions[fl_table.probes[entry_id].function];
	fl_probes_freeze();
	sample(1000);
	NEED(text == ON_BYTE && !f->is_off && f->begun == 1);
	NEED(fl_probe_switch(exit_id, FL_OFF) == 0 && text == ON_BYTE);
	NEED(!fl_probe_is_on(exit_id));
	NEED(fl_probe_handler(exit_id, call, NULL) == 0);
	fl_probes_thaw(none_is_there);
	NEED(text == OFF_BYTE && !fl_switches_are_frozen());
	NEED(fl_probe_switch(exit_id, FL_ON) == 0 && text == ON_BYTE);
}

static void a_switch_in_a_dlclose_is_made_at_its_end(void **unused)
{
	(void)unused;
	runs(switch_in_dlclose);
	assert_int_equal(g->delivered, 2);
}

static void sample_in_dlclose(struct rig *unused)
{
	const struct fl_function *f;

	(void)unused;
	open_probes();
	f = &fl_table.functions[fl_table.probes[entry_id].function];
	fl_probes_freeze();
	sample(1000);
	NEED(text == ON_BYTE && !f->is_off);
	fl_probes_thaw(none_is_there);
	NEED(text == ON_BYTE && !f->is_off);
	sample(1000);
	NEED(text == OFF_BYTE && f->is_off);
	fl_probes_freeze();
	fl_sample_turn();
	NEED(text == OFF_BYTE && f->is_off);
	fl_probes_thaw(none_is_there);
	NEED(text == OFF_BYTE && f->is_off);
	fl_sample_turn();
	NEED(text == ON_BYTE && !f->is_off);
}

static void sampling_goes_on_behind_a_dlclose(void **unused)
{
	(void)unused;
	runs(sample_in_dlclose);
	assert_int_equal(g->delivered, 2);
}

/* All that a probe's path may come to, while another thread is in a dlclose. */
static void *switch_beside(void *unused)
{
	uint8_t goals[2] = { FL_OFF, FL_OFF };
	bool is_new;

	sample(2000);
	NEED(fl_probe_virtual((uintptr_t)body + 1, FL_ENTRY, FL_FORM_NONE, &is_new) >= 0);
	NEED(is_new && fl_probes_commit(2, FL_MET) == 0);
	NEED(!fl_probes_open_window());
	fl_probes_close_window();
	NEED(fl_probe_switch(exit_id, FL_OFF) == 0 && fl_probe_switch(exit_id, FL_ON) == 0);
	NEED(fl_probes_switch_set(goals, ARRAY_LEN(goals)) == 2);
	NEED(text == ON_BYTE && !fl_probe_is_on(exit_id));
	return unused;
}

static void freeze_beside_another(struct rig *unused)
{
	pthread_t t;

	(void)unused;
	open_probes();
	fl_probes_freeze();
	NEED(!pthread_create(&t, NULL, switch_beside, NULL));
	pthread_join(t, NULL);
	fl_probes_thaw(none_is_there);
	NEED(text == OFF_BYTE);
}

static void nobody_waits_for_a_dlclose(void **unused)
{
	(void)unused;
	runs(freeze_beside_another);
}

/* What is switched on goes with its module: nobody stores there any more. */
static struct fl_known *place(uintptr_t lo, size_t n)
{
	struct fl_module m = { .lo = lo, .hi = lo + n, .bias = lo };
	struct fl_known *k = fl_known_add(&m);

	NEED(k && fl_known_give_row(k, "/a/library.so"));
	return k;
}

static void go_in_dlclose(struct rig *unused)
{
	struct fl_known *k;

	(void)unused;
	open_probes();
	k = place((uintptr_t)&text, 1);
	k->first = exit_id;
	k->end = exit_id + 1;
	fl_probes_freeze();
	NEED(fl_probe_switch(exit_id, FL_OFF) == 0);
	fl_probes_thaw(none_is_there);
	NEED(text == ON_BYTE && fl_probe_switch(exit_id, FL_OFF) == FLE_GONE);
	NEED(text == ON_BYTE);
}

static void what_is_unmapped_is_not_stored_to(void **unused)
{
	(void)unused;
	runs(go_in_dlclose);
}

/* Arming is left to the end of a dlclose, but of a place that a call just came from. */
static void arm_in_dlclose(struct rig *unused)
{
	bool is_new;
	int id;

	(void)unused;
	open_probes();
	fl_probes_freeze();
	id = fl_probe_virtual((uintptr_t)body + 1, FL_ENTRY, FL_FORM_NONE, &is_new);
	NEED(id == 2 && fl_probes_commit(2, FL_RUNNING) == 0 && fl_probes_await_arming());
	NEED(fl_table.sites[2].state == FL_SITE_FOUND);
	NEED(fl_probes_commit(2, FL_MET) == 0 && !fl_probes_await_arming());
	NEED(fl_table.sites[2].state == FL_SITE_READY);
	fl_probes_thaw(none_is_there);
}

static void arming_waits_for_the_end_of_a_dlclose(void **unused)
{
	(void)unused;
	runs(arm_in_dlclose);
}

/* Flick is closed and opened between two steps of a dlclose. */
static void open_again(void)
{
	NEED(!fl_probes_open(g->m));
}

static void end_in_dlclose(struct rig *unused)
{
	(void)unused;
	open_probes();
	fl_probes_freeze();
	open_again();
	NEED(!fl_switches_are_frozen());
	fl_probes_thaw(none_is_there);
	NEED(!fl_switches_are_frozen());
	fl_probes_freeze();
	stop("probes.thawing", open_again);
	fl_probes_thaw(none_is_there);
	NEED(!at_stop && !fl_switches_are_frozen() && !fl_switches_are_unloading());
	fl_probes_freeze();
	NEED(fl_switches_are_frozen());
	fl_probes_thaw(none_is_there);
	NEED(!fl_switches_are_frozen());
}

static void a_dlclose_of_an_earlier_use_ends_with_it(void **unused)
{
	(void)unused;
	runs(end_in_dlclose);
}

/* In the middle of the lock's holder: freeze waits for him, and for nobody else. */
static uint32_t came, has_frozen;

static void *freeze_once(void *unused)
{
	while (!load_acquire(&came))
		usleep(100);
	fl_probes_freeze();
	store_release(&has_frozen, 1);
	return unused;
}

static void hold_up(void)
{
	store_release(&came, 1);
	usleep(50000);
	NEED(!load_acquire(&has_frozen) && text == ON_BYTE);
}

static void freeze_in_switch(struct rig *unused)
{
	pthread_t t;

	(void)unused;
	open_probes();
	came = has_frozen = 0;
	NEED(!pthread_create(&t, NULL, freeze_once, NULL));
	stop("sample.ending", hold_up);
	sample(1000);
	NEED(!at_stop && text == OFF_BYTE);
	pthread_join(t, NULL);
}

static void a_freeze_waits_for_who_is_storing(void **unused)
{
	(void)unused;
	runs(freeze_in_switch);
}

/* ---- samples -------------------------------------------------------------------- */

static void hit_alone(struct rig *unused)
{
	(void)unused;
	open_probes();
	for (int i = 0; i < 10; i++)
		sample(1000);
}

static void a_thread_without_a_slot_is_counted(void **unused)
{
	(void)unused;
	for (uint32_t i = 0; i < g->m->n_slots; i++)
		fl_shm_slot(g->m, i)->state = FL_SLOT_CLAIMED;
	runs(hit_alone);
	assert_int_equal(g->m->session[0].lost[FL_LOST_SLOT], 20);
	assert_int_equal(rig_sum(g).lost[FL_LOST_SLOT], 20);
}

static uint32_t deep_sp;

/* A handler that siglongjmp() leaves: its calls have no exit. */
static void interrupt(void)
{
	fl_probe_hit(entry_id, deep_sp - 100);
}

static void fill_frames(struct rig *unused)
{
	struct fl_slot *s = fl_channel_slot();

	(void)unused;
	open_probes();
	g->m->session[0].samples = 1u << 20;
	for (uint32_t i = 0; i < 3 * FL_FRAMES; i++) {
		deep_sp = 1000000 - i * 1000;
		stop("sample.frame", interrupt);
		fl_probe_hit(entry_id, deep_sp);
		NEED(s->ring[0].frames->n <= FL_FRAMES);
	}
	s->ring[0].frames->n = FL_FRAMES - 1;
	deep_sp -= 1000;
	stop("sample.frame", interrupt);
	fl_probe_hit(entry_id, deep_sp);
	NEED(s->ring[0].frames->n <= FL_FRAMES);
}

static void frames_stay_in_their_table(void **unused)
{
	(void)unused;
	runs(fill_frames);
}

/* ---- signals in the middle -------------------------------------------------------- */

/* A program's own: its handler enqueues, a series of its own. */
static uint64_t taken;

static void on_urgent(int sig)
{
	(void)sig;
	fl_channel_put(1, taken, rig_check(taken, 1));
	taken++;
}

static void signal_while_enqueueing(struct rig *r)
{
	static const char *const points[] = { "ring.counted", "ring.claimed", "ring.moved" };

	signal(SIGURG, on_urgent);
	for (uint64_t i = 0; i < 30000; i++) {
		if (!at_stop)
			stop(points[i % ARRAY_LEN(points)], raise_urgent);
		fl_channel_put(0, i, rig_check(i, 0));
	}
	r->shared[0] = 30000 + taken;
	NEED(taken > 50);
}

static void a_signal_in_the_middle_overwrites_nothing(void **unused)
{
	(void)unused;
	runs(signal_while_enqueueing);
	assert_int_equal(g->delivered, g->shared[0]);
	assert_int_equal(g->misordered, 0);
	assert_int_equal(g->torn, 0);
}

static void signal_while_claiming(struct rig *unused)
{
	(void)unused;
	signal(SIGURG, on_urgent);
	stop("thread.claim", raise_urgent);
	fl_channel_put(0, 0, rig_check(0, 0));
	NEED(taken == 1);
}

/* The handler goes elsewhere: what its thread enqueues from there is delivered. */
static void leave_while_claiming(struct rig *unused)
{
	(void)unused;
	signal(SIGURG, leave);
	stop("thread.claim", raise_urgent);
	if (!sigsetjmp(out, 1))
		fl_channel_put(0, 0, rig_check(0, 0));
	NEED(!at_stop);
	fl_channel_put(0, 0, rig_check(0, 0));
}

static void a_signal_in_a_claim_takes_no_second_slot(void **unused)
{
	(void)unused;
	runs(signal_while_claiming);
	assert_int_equal(g->m->n_slots_used, 1);
	assert_int_equal(g->delivered, 2);
	assert_int_equal(g->m->session[0].lost[FL_LOST_SLOT], 0);
}

static void a_claim_is_not_left(void **unused)
{
	(void)unused;
	runs(leave_while_claiming);
	assert_int_equal(g->m->n_slots_used, 1);
	assert_int_equal(g->delivered, 1);
	assert_int_equal(g->m->session[0].lost[FL_LOST_SLOT], 0);
}

/* ---- probes without a site -------------------------------------------------------- */

/* Where no module is: one that went. */
enum { PLACE = 0x10000, SIZE = 0x1000 };

static int find(uintptr_t function, bool *is_new)
{
	return fl_probe_virtual(function, FL_ENTRY, FL_FORM_NONE, is_new);
}

static int find_ready(uintptr_t function)
{
	return fl_probe_virtual_ready(function, FL_ENTRY, FL_FORM_NONE);
}

static void unload(struct rig *unused)
{
	bool is_new;
	int id, again;

	(void)unused;
	open_probes();
	place(PLACE, SIZE);
	id = find(PLACE + 16, &is_new);
	NEED(id >= 0 && is_new && find_ready(PLACE + 16) == -ENOENT);
	fl_table.rows[id].wanted = 1;
	NEED(!fl_probes_commit((uint32_t)id, FL_RUNNING));
	NEED(find_ready(PLACE + 16) == id && find(PLACE + 16, &is_new) == id && !is_new);
	NEED(find_ready(PLACE + 32) == -ENOENT && fl_probe_is_on((uint32_t)id));
	fl_probes_freeze();
	fl_probes_thaw(none_is_there);
	NEED(find_ready(PLACE + 16) == -ENOENT && !fl_probe_is_on((uint32_t)id));
	NEED(fl_probe_switch((uint32_t)id, FL_ON) == FLE_GONE);
	place(PLACE, SIZE);
	again = find(PLACE + 16, &is_new);
	NEED(again > id && is_new);
}

static void a_place_has_a_probe_for_each_module(void **unused)
{
	(void)unused;
	runs(unload);
}

static void count_call(uint32_t id, void *arg)
{
	*(uint32_t *)arg += id + 1;
}

/* The calls of a probe's site that are another function's are not the probe's. */
static void hit_with_handler(struct rig *unused)
{
	uint32_t sum = 0;

	(void)unused;
	open_probes();
	NEED(!fl_probe_handler(exit_id, count_call, &sum));
	fl_probe_hit(exit_id, 1000);
	fl_probe_ask(exit_id, (uintptr_t)body, 1000);
	NEED(sum == 2 * (exit_id + 1) && !fl_table.probes[exit_id].is_shared);
	fl_probe_ask(exit_id, (uintptr_t)body + 1, 1000);
	NEED(sum == 2 * (exit_id + 1) && fl_table.probes[exit_id].is_shared);
}

static void a_probe_without_a_site_calls_its_handler(void **unused)
{
	(void)unused;
	runs(hit_with_handler);
	assert_int_equal(g->delivered, 0);
}

/* Its function is off, but the exit is another's, too. */
static void switch_shared(struct rig *unused)
{
	const struct fl_function *f;

	(void)unused;
	open_probes();
	f = &fl_table.functions[fl_table.probes[entry_id].function];
	fl_table.probes[exit_id].is_shared = 1;
	sample(1000);
	NEED(f->is_off && text == ON_BYTE && fl_probe_is_on(exit_id));
	fl_sample_turn();
	fl_table.probes[exit_id].is_shared = 0;
	sample(1000);
	NEED(f->is_off && text == OFF_BYTE && !fl_probe_is_on(exit_id));
	fl_sample_turn();
	NEED(!f->is_off && text == ON_BYTE && fl_probe_is_on(exit_id));
}

static pthread_t rearming;

static void *rearm(void *unused)
{
	fl_sample_turn();
	return unused;
}

static void end_epoch(void)
{
	NEED(!pthread_create(&rearming, NULL, rearm, NULL));
	usleep(20000);
}

/* A site of a function that is off was armed since, on. The thread that switches it
 * off is stopped before it does, and meanwhile the epoch ends. */
static void lose_function(struct rig *unused)
{
	const struct fl_function *f;

	(void)unused;
	open_probes();
	f = &fl_table.functions[fl_table.probes[entry_id].function];
	sample(1000);
	NEED(f->is_off && text == OFF_BYTE);
	rig_let(exit_id, FL_HOLD_SAMPLED);
	stop("probe.switching", end_epoch);
	sample(1000);
	NEED(!at_stop);
	pthread_join(rearming, NULL);
	fl_sample_turn();
	NEED(!f->is_off && text == ON_BYTE && fl_probe_is_on(exit_id));
}

static void no_function_is_lost_to_a_late_switch(void **unused)
{
	(void)unused;
	runs(lose_function);
}

static void a_shared_exit_stays_on(void **unused)
{
	(void)unused;
	runs(switch_shared);
	assert_int_equal(g->delivered, 4);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(frames_stay_in_their_table),
		TEST(a_thread_without_a_slot_is_counted),
		TEST(a_switch_is_not_left),
		TEST(a_switch_in_a_dlclose_is_made_at_its_end),
		TEST(sampling_goes_on_behind_a_dlclose),
		TEST(nobody_waits_for_a_dlclose),
		TEST(what_is_unmapped_is_not_stored_to),
		TEST(arming_waits_for_the_end_of_a_dlclose),
		TEST(a_dlclose_of_an_earlier_use_ends_with_it),
		TEST(a_freeze_waits_for_who_is_storing),
		TEST(a_signal_in_the_middle_overwrites_nothing),
		TEST(a_signal_in_a_claim_takes_no_second_slot),
		TEST(a_claim_is_not_left),
		TEST(a_place_has_a_probe_for_each_module),
		TEST(a_probe_without_a_site_calls_its_handler),
		TEST(a_shared_exit_stays_on),
		TEST(no_function_is_lost_to_a_late_switch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
